"""The state backend on etcd, through stubs of the few messages of its v3 API that are used.

Responsible for: turning the contract into etcd requests and back. Refuses to know: anything above the contract.
Invariant: what is stored is plain etcd that any client can read: `<prefix>/<keyspace>/<key>` and the value's bytes.
"""
