"""How many requests a second become durable, on each store?

Batches of GetShuffleId by tasks of one stage attempt (repeats, one event with a count per commit), and batches of facts
that each append an event, through a replica in this process, with one batch under way and with four. Beside them a bare
client of the same store that writes a value of the same size with the same compare, one transaction after the other:
what the store itself allows. The last column is of GetShuffleId with four under way.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import tempfile
import time
from collections.abc import AsyncIterator, Callable
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
_UNDER_WAY = 4  # batches: a stream does not wait for one answer before it sends more
_APPLICATION = ApplicationId("bench")
_CLIENT = ClientId("driver")


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    seconds = 1.0 if wishes.quick else 5.0
    table = Table(title=f"Durable requests a second, batches of {_BATCH}, {seconds:.0f} s each")
    table.add_column("store")
    for heading in ("bare writes/s", *(f"{what}/s, {count} under way" for what in _WHAT for count in (1, _UNDER_WAY))):
        table.add_column(heading, justify="right")
    table.add_column("requests a bare write", justify="right")
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
        rates = [
            await _through_replica(backend, seconds, make, count)
            for make in _WHAT.values()
            for count in (1, _UNDER_WAY)
        ]
    finally:
        await backend.close()
    table.add_row(name, *(f"{rate:,.0f}" for rate in (bare, *rates)), f"{rates[1] / bare:,.0f}")


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


_WHAT: dict[str, Callable[[int], c.Command]] = {"GetShuffleId": _asks, "facts": _facts}


async def _through_replica(
    backend: StateBackend, seconds: float, make: Callable[[int], c.Command], under_way: int
) -> float:
    """Requests a second of one client with so many batches under way."""
    application = ApplicationId(f"{_APPLICATION}-{time.time_ns()}")
    async with Replica(backend, Options(replica=f"bench-{time.time_ns()}", reap=False)) as replica:
        await replica.register(c.Request(_CLIENT, 1, c.RegisterApplication(application, Driver())))
        numbers = itertools.count(await _one_shuffle(replica, application), _BATCH)
        end = time.perf_counter() + seconds

        async def stream() -> int:
            done = 0
            while time.perf_counter() < end:
                first = next(numbers)
                confirmed = first - 1 - under_way * _BATCH  # what is under way has no answer yet
                batch = [
                    c.Request(_CLIENT, number, make(number), max(0, confirmed))
                    for number in range(first, first + _BATCH)
                ]
                await replica.submit(application, batch)
                done += _BATCH
            return done

        begun = time.perf_counter()
        done = sum(await asyncio.gather(*(stream() for _ in range(under_way))))
        return done / (time.perf_counter() - begun)


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
