"""Another client of etcd, run in a process of its own: the package etcd3, which needs protobuf in pure Python.

Responsible for: reading, writing and moving in our keyspaces as a stranger would. Refuses to know: our code.
Invariant: it prints what it saw as JSON, and asserts nothing.

    foreign_client.py PORT read PREFIX | write KEY VALUE | move FROM TO
"""

from __future__ import annotations

import json
import sys

import etcd3


def main(port: str, verb: str, *arguments: str) -> object:
    client = etcd3.client(host="127.0.0.1", port=int(port))
    if verb == "read":
        return {meta.key.decode(): value.decode() for value, meta in client.get_prefix(arguments[0])}
    if verb == "write":
        client.put(arguments[0], arguments[1])
        return client.get(arguments[0])[1].mod_revision
    source, destination = arguments
    value, meta = client.get(source)
    moved, _ = client.transaction(
        compare=[client.transactions.mod(source) == meta.mod_revision, client.transactions.create(destination) == 0],
        success=[client.transactions.delete(source), client.transactions.put(destination, value)],
        failure=[],
    )
    return moved


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
