//go:build tools

// Package tools pins the etcd that the tests run against; nothing here is compiled into the product.
package tools

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
