#!/bin/sh
# Makes the stubs of etcd's API from proto/etcd again, with the oldest generator that our users' protobuf may meet.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(dirname -- "$(dirname -- "$here")")
generator="$root/.cache/protoc-1.62.3"

if [ ! -x "$generator/bin/python" ] || ! "$generator/bin/python" -c 'import grpc_tools' 2>/dev/null; then
    python3 -m venv "$generator"
    "$generator/bin/python" -m pip --quiet install 'grpcio-tools==1.62.3' 'setuptools<80'
fi

cd "$root"
# The proto files stand in proto/etcd and are named as if in the package, so that imports name the package.
"$generator/bin/python" -m grpc_tools.protoc -I state_backend/etcd/stubs=proto/etcd \
    --python_out=. --pyi_out=. --grpc_python_out=. \
    state_backend/etcd/stubs/kv.proto state_backend/etcd/stubs/rpc.proto
rm -f state_backend/etcd/stubs/kv_pb2_grpc.py
