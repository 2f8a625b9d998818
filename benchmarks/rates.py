"""How many requests a second become durable, on each store?

Batches of GetShuffleId by tasks of one stage attempt (repeats, one event with a count per commit), and batches of facts
that each append an event, through a replica in this process; beside a bare client of the same store that writes a value
of the same size with the same compare, one batch a transaction: what the store itself allows.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, ExecutionId, JobId, Span, StageAttempt, StageId
from coordinator.core.values import Driver, Lineage
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.api import StateBackend
from state_backend.open import open_backend
from state_backend.values import Keyspace, Put, RevisionIs

_BATCH = 256
_APPLICATION = ApplicationId("bench")
_CLIENT = ClientId("driver")


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    seconds = 1.0 if wishes.quick else 5.0
    table = Table(title=f"Durable requests a second, batches of {_BATCH}, {seconds:.0f} s each")
    table.add_column("store")
    headings = ("bare writes/s", "GetShuffleId/s", "commits/s", "of bare", "facts/s", "commits/s ", "of bare ")
    for heading in headings:
        table.add_column(heading, justify="right")
    asyncio.run(_measure_all(table, seconds))
    console.print(table)


async def _measure_all(table: Table, seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-rates-") as folder:
        for name, address in (("memory", "memory:"), ("SQLite", f"sqlite:///{folder}/store.db")):
            await _measure(table, name, address, seconds)
        async with _etcd(Path(folder)) as address:
            await _measure(table, "etcd, 1 member", f"{address}/bench", seconds)


@contextlib.asynccontextmanager
async def _etcd(folder: Path) -> AsyncIterator[str]:
    from tests.support.etcd import running_etcd

    with running_etcd(folder / "etcd") as cluster:
        yield "etcd://" + ",".join(endpoint.removeprefix("http://") for endpoint in cluster.endpoints)


async def _measure(table: Table, name: str, address: str, seconds: float) -> None:
    backend = await open_backend(address)
    try:
        bare = await _bare(backend, seconds)
        asked, ask_commits = await _through_replica(backend, seconds, _asks)
        told, tell_commits = await _through_replica(backend, seconds, _facts)
    finally:
        await backend.close()
    cells = (bare, asked, ask_commits, None, told, tell_commits, None)
    ratios = {3: ask_commits / bare, 6: tell_commits / bare}
    table.add_row(name, *(f"{ratios[i]:.2f}" if cell is None else f"{cell:,.0f}" for i, cell in enumerate(cells)))


async def _bare(backend: StateBackend, seconds: float) -> float:
    """Transactions a second of a client that does nothing else: a value and a head, compared."""
    head = await backend.put(Keyspace.HEADS, "bare", b"0")
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        operations = (
            Put(Keyspace.EVENTS, f"bare/{done:020}", b"x" * 400),
            Put(Keyspace.HEADS, "bare", str(done).encode()),
        )
        head = await backend.put_txn((RevisionIs(Keyspace.HEADS, "bare", head),), operations)
        done += 1
    return done / seconds


def _asks(_: int) -> c.Command:
    return c.GetShuffleId(AppShuffle(0), StageAttempt(StageId(1), 0))


def _facts(number: int) -> c.Command:
    return c.ReportExecutionStarted(ExecutionId(number), "q")


async def _through_replica(backend: StateBackend, seconds: float, make: object) -> tuple[float, float]:
    """Requests a second, and commits a second, of one stream of batches."""
    assert callable(make)
    application = ApplicationId(f"{_APPLICATION}-{time.time_ns()}")
    async with Replica(backend, Options(replica=f"bench-{time.time_ns()}", reap=False)) as replica:
        await replica.register(c.Request(_CLIENT, 1, c.RegisterApplication(application, Driver())))
        number = await _one_shuffle(replica, application)
        begun, done, commits = time.perf_counter(), 0, 0
        while time.perf_counter() - begun < seconds:
            batch = [c.Request(_CLIENT, number + i, make(number + i), number - 1) for i in range(_BATCH)]
            await replica.submit(application, batch)
            number, done, commits = number + _BATCH, done + _BATCH, commits + 1
        elapsed = time.perf_counter() - begun
    return done / elapsed, commits / elapsed


async def _one_shuffle(replica: Replica, application: ApplicationId) -> int:
    """A readable shuffle and a stage that reads it; the next request number."""
    writer, reader = StageAttempt(StageId(0), 0), StageAttempt(StageId(1), 0)
    shuffle = AppShuffle(0)
    lineage = (Lineage(shuffle, maps=4),)
    commands: list[c.Command] = [
        c.RegisterClient(_CLIENT),
        c.ReportJobStarted(JobId(0), StageId(1), (shuffle,), stages=(Span(0, 1),), lineage=lineage),
        c.ReportStageSubmitted(writer, writes=shuffle, tasks=4),
        c.ReportStageCompleted(writer, shuffle_bytes_written=1_000),
        c.ReportStageSubmitted(reader, reads=(shuffle,), tasks=1_000_000),
    ]
    await replica.submit(application, [c.Request(_CLIENT, 2 + i, command) for i, command in enumerate(commands)])
    return 2 + len(commands)
