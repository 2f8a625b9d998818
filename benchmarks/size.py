"""How soon does a fresh replica serve an application with a very long log, and in how much memory?

One application tells 100,000 shuffles, more than 1,000,000 events, to a replica that archives. Then a fresh process
serves it from its snapshot; beside it one that serves an application which has only the shuffles that are alive. The
third row is the worst case: nothing was let go by Spark's cleaner, so every lineage may still be asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.size_load import APPLICATION, Load
from coordinator.archive.folder import Folder
from coordinator.runtime.aside import at_once
from coordinator.runtime.clock import Clock
from coordinator.runtime.journal import CommitIds, Journal
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.runtime.shelf import Shelf
from coordinator.runtime.snapshot import Snapshots
from coordinator.runtime.verifying import Verdict, verify
from state_backend.api import StateBackend
from state_backend.open import open_backend
from state_backend.values import Keyspace

SHUFFLES, ALIVE = 100_000, 100
_QUICK = 50
_RUNS = 5


@dataclass(frozen=True)
class Told:
    """An application that was told, and what is left of it where."""

    store: str
    archive: Folder
    shuffles: int
    seconds: float
    store_segments: int
    archived_bytes: int


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the tables."""
    shuffles = SHUFFLES // _QUICK if wishes.quick else SHUFFLES
    with tempfile.TemporaryDirectory(prefix="bench-size-") as name:
        cases = {
            "all but 100 let go": (shuffles, True),
            "the 100 alone (baseline)": (ALIVE, True),
            "no lineage let go": (shuffles, False),
        }
        folders = [Path(name) / str(n) for n in range(len(cases))]
        for folder in folders:
            folder.mkdir()
        told = {
            case: asyncio.run(tell(folder, *size)) for folder, (case, size) in zip(folders, cases.items(), strict=True)
        }
        console.print(_logs(told))
        console.print(_starts(told))


async def tell(folder: Path, shuffles: int, cleaned: bool = True) -> Told:
    """Tells it to a replica that archives, until all that may leave the store has."""
    store, archive = f"sqlite://{folder}/store.db", Folder(folder / "archive")
    async with await open_backend(store) as backend:
        options = Options("teller", archive_every_s=1.0)
        async with Replica(backend, options, aside=asyncio.to_thread, archive=archive) as replica:
            began_s = time.perf_counter()
            await Load(replica, shuffles, min(ALIVE, shuffles), cleaned).tell()
            seconds = time.perf_counter() - began_s
            await _until_archived(backend)
        segments = await _count(backend, Keyspace.EVENTS)
    written = sum(path.stat().st_size for path in (folder / "archive").rglob("*.log"))
    return Told(store, archive, shuffles, seconds, segments, written)


async def _until_archived(backend: StateBackend) -> None:
    journal = Journal(backend, APPLICATION, "bench", CommitIds("bench"), Clock())
    while True:
        mark, _ = await journal.mark()
        first = await backend.scan_keys(Keyspace.EVENTS, limit=1)
        begun = int(first.keys[0].rpartition("/")[2])
        if begun > mark.head.previous_snapshot or not mark.head.previous_snapshot:
            return
        await asyncio.sleep(0.2)


async def _count(backend: StateBackend, keyspace: Keyspace) -> int:
    found, after, more = 0, None, True
    while more:
        page = await backend.scan_keys(keyspace, after=after)
        found, after, more = found + len(page.keys), page.keys[-1] if page.keys else None, page.more
    return found


async def check(told: Told) -> Verdict:
    """Reads all of it, from store and archive."""
    async with await open_backend(told.store) as backend:
        shelf = Shelf(told.archive, APPLICATION, at_once)
        journal = Journal(backend, APPLICATION, "bench", CommitIds("bench"), Clock(), shelf)
        return await verify(backend, journal, Snapshots(backend, APPLICATION, at_once))


def fresh(told: Told, runs: int = _RUNS) -> dict[str, float]:
    """The median of several fresh processes, one after the other."""
    command = [sys.executable, "-m", "benchmarks.size_replica", told.store, APPLICATION, str(told.shuffles - 1)]
    found = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(runs)]
    return {name: sorted(one[name] for one in found)[runs // 2] for name in found[0]}


def _logs(told: dict[str, Told]) -> Table:
    table = Table(title="The log: told to one replica over SQLite, archived, verified")
    headings = ("events", "shuffles", "told in s", "events/s", "segments in the store", "archive MB", "verified in s")
    table.add_column("application")
    for heading in headings:
        table.add_column(heading, justify="right")
    for case, one in told.items():
        began_s = time.perf_counter()
        verdict = asyncio.run(check(one))
        seconds = time.perf_counter() - began_s
        if verdict.problems:
            raise RuntimeError(f"{case}: {verdict.problems}")
        cells = (verdict.events, one.shuffles, one.seconds, verdict.events / one.seconds, one.store_segments)
        table.add_row(case, *(f"{cell:,.0f}" for cell in cells), f"{one.archived_bytes / 1e6:.1f}", f"{seconds:.1f}")
    return table


def _starts(told: dict[str, Told]) -> Table:
    table = Table(title=f"A fresh replica: from the first question to a durable answer; medians of {_RUNS} processes")
    table.add_column("application")
    for heading in ("session open, s", "first answer, s", "memory held, MB", "at the most, MB"):
        table.add_column(heading, justify="right")
    for case, one in told.items():
        found = fresh(one)
        cells = (found["opened_s"], found["answered_s"], found["held_kb"] / 1024, found["peak_kb"] / 1024)
        table.add_row(case, *(f"{cell:.3f}" for cell in cells[:2]), *(f"{cell:.1f}" for cell in cells[2:]))
    return table
