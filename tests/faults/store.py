"""The store as plain bytes.

Responsible for reading every key through etcd's own client, or every row of the SQLite file. Refuses to know what the
bytes mean. Invariant: nothing of the project takes part.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tests.faults.cluster import PREFIX, Cluster

#: The store's keys without the prefix (`events/app/000…1`), and their values.
Bytes = Mapping[str, bytes]


def of_sqlite(path: Path) -> Bytes:
    """All keys that are there now."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT keyspace, key, value FROM version WHERE ended IS NULL").fetchall()
    return {f"{keyspace}/{key}": value for keyspace, key, value in rows}


def keys_of_etcd(cluster: Cluster, prefix: str = PREFIX) -> list[str]:
    """All keys without their values, which may be many: at one revision, from whichever member answers first."""
    name = next(name for name in cluster.members if name not in cluster.paused and cluster.running(name))
    told = cluster.etcdctl(name, "get", f"{prefix}/", "--prefix", "--keys-only", "--command-timeout", "60s")
    return [key.removeprefix(f"{prefix}/") for key in told.split()]


def of_etcd(cluster: Cluster, prefix: str = PREFIX) -> Bytes:
    """All keys, at one revision, from whichever member answers first."""
    name = next(name for name in cluster.members if name not in cluster.paused and cluster.running(name))
    told = json.loads(cluster.etcdctl(name, "get", f"{prefix}/", "--prefix", "--write-out", "json"))
    found = {}
    for entry in told.get("kvs", []):
        key = base64.b64decode(entry["key"]).decode().removeprefix(f"{prefix}/")
        found[key] = base64.b64decode(entry.get("value", ""))
    return found
