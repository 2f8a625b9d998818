"""`shufflectl audit`: who was refused."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.open import open_backend
from state_backend.values import Keyspace
from tests.unit.cli.calling import Shufflectl


async def refused(store: str) -> None:
    async with await open_backend(store) as backend, Replica(backend, Options("a", reap=False)) as replica:
        for _ in range(1_200):
            await replica.audit("ipv4:10.0.0.7", "wrong token", "an application")
        await replica.audit("ipv4:10.0.0.8", "malformed", "x")


async def damage(store: str) -> None:
    async with await open_backend(store) as backend:
        await backend.put(Keyspace.AUDIT, "0/peer/kind", b"torn")


def test_refusals_are_listed_with_their_counts(shufflectl: Shufflectl, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/store.db"
    asyncio.run(refused(store))
    rows = shufflectl("audit", "--store", store, "-o", "json").data
    assert sorted((row["peer"], row["kind"], row["last"]) for row in rows) == [
        ("ipv4:10.0.0.7", "wrong token", "an application"),
        ("ipv4:10.0.0.8", "malformed", "x"),
    ]
    assert sum(row["count"] for row in rows) == 1_201
    shown = shufflectl("audit", "--store", store).out
    assert shown.splitlines()[0].split() == ["MINUTE", "PEER", "KIND", "COUNT", "LAST", "ABOUT"]
    asyncio.run(damage(store))
    damaged = shufflectl("audit", "--store", store)
    assert (damaged.code, "audit/0/peer/kind" in damaged.err, "wrong token" in damaged.out) == (6, True, True)


def test_a_record_that_the_store_itself_finds_damaged_hides_no_other(shufflectl: Shufflectl, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/store.db"
    asyncio.run(refused(store))
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE version SET checksum = checksum + 1 WHERE key LIKE '%malformed'")
    damaged = shufflectl("audit", "--store", store)
    assert (damaged.code, "fails its checksum" in damaged.err, "wrong token" in damaged.out) == (6, True, True)


def test_where_nobody_was_refused(shufflectl: Shufflectl, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/store.db"
    asyncio.run(empty(store))
    assert "Nobody was refused" in shufflectl("audit", "--store", store).out
    assert shufflectl("audit", "--store", f"sqlite://{tmp_path}/other.db").code == 3


def test_it_is_asked_of_a_store(shufflectl: Shufflectl) -> None:
    called = shufflectl("--server", "127.0.0.1:1", "audit")
    assert (called.code, "Name it with --store" in called.err) == (2, True)


async def empty(store: str) -> None:
    async with await open_backend(store) as backend:
        assert not (await backend.scan_keys(Keyspace.AUDIT)).keys
