"""A log that was told, and an archive that it moves to: what the tests of archiving share.

Responsible for telling a log, for one look of the archiver, and for saying whether store and archive are still that
log. Refuses to know what went wrong in between. Invariant: archive and store are read as a replica reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from coordinator.archive.api import Archive, ArchiveAway
from coordinator.archive.folder import Folder
from coordinator.core.commands import EndApplication
from coordinator.core.digest import digest
from coordinator.core.events import Recorded
from coordinator.core.evolve import fold
from coordinator.core.ids import ApplicationId
from coordinator.core.state import empty
from coordinator.runtime import places
from coordinator.runtime.archiving import Application, Archiver
from coordinator.runtime.aside import at_once
from coordinator.runtime.housekeeping import LOCK
from coordinator.runtime.journal import CommitIds, Journal
from coordinator.runtime.replica import Replica
from coordinator.runtime.shelf import Shelf
from coordinator.runtime.snapshot import Snapshots
from coordinator.runtime.verifying import Verdict, verify
from coordinator.wire.records import Head, decode
from state_backend.api import StateBackend
from state_backend.memory import MemoryBackend
from state_backend.values import Keyspace
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered

OFTEN = replace(OPTIONS, snapshot_every_events=15, archive_every_s=5.0)
JOBS = 7


class Failing(Folder):
    """Fails at one call, and does or does not do what it was asked before."""

    def __init__(self, path: Path, at: int, done: bool = False) -> None:
        super().__init__(path)
        self._left, self._done = at, done

    def _meet(self, do: Callable[[], Any]) -> Any:
        self._left -= 1
        if self._left != -1:
            return do()
        if self._done:
            do()
        raise ArchiveAway(self.where, "it is to fail")

    def read(self, name: str) -> bytes:
        found: bytes = self._meet(lambda: super(Failing, self).read(name))
        return found

    def write(self, name: str, content: bytes) -> None:
        self._meet(lambda: super(Failing, self).write(name, content))

    def names(self, folder: str) -> list[str]:
        found: list[str] = self._meet(lambda: super(Failing, self).names(folder))
        return found

    def remove(self, name: str) -> None:
        self._meet(lambda: super(Failing, self).remove(name))


def opened(backend: StateBackend, archive: Archive | None, name: ApplicationId = facts.APP) -> Application:
    shelf = Shelf(archive, name, at_once) if archive is not None else None
    journal = Journal(backend, name, "test", CommitIds("test"), virtual.clock(), shelf)
    return Application(journal, shelf, Snapshots(backend, name, at_once))  # type: ignore[arg-type]


@asynccontextmanager
async def replica(world: World, archive: Archive | None, **options: Any) -> AsyncIterator[Replica]:
    backend = MemoryBackend(world.store)
    chosen = replace(OFTEN, **{"reap": False, **options})
    async with Replica(backend, chosen, virtual.clock(), archive=archive) as started:
        yield started
    await backend.close()


async def told(world: World, end: bool = False) -> list[Recorded]:
    """A replica hears some jobs, which make snapshots. Gives the whole log."""
    async with replica(world, None, replica="teller") as teller:
        number = await registered(teller)
        for job in range(JOBS):
            await teller.submit(facts.APP, number(facts.whole(job)))
        if end:
            await teller.submit(facts.APP, number([EndApplication()]))
        await asyncio.sleep(1)
    return [recorded for segment in await checks.read_log(world.reader(), facts.APP) for recorded in segment.records]


async def head(world: World, name: ApplicationId = facts.APP) -> Head:
    entry = (await world.reader().get(Keyspace.HEADS, places.of_application(name))).entry
    assert entry is not None
    return decode(Head, entry.value, "head")


def kept(folder: Path) -> list[Path]:
    """The archive's files; events come before snapshots."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def look(world: World, archive: Archive, backend: StateBackend | None = None) -> None:
    """One look of a new holder of the lock, whose line to the store may have faults."""
    async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
        store = backend or locks
        await Archiver(store, lambda _: opened(store, archive), OFTEN).run(lock)


async def verdict(world: World, archive: Archive | None) -> Verdict:
    application = opened(world.reader(), archive)
    return await verify(world.reader(), application.journal, application.snapshots)


async def assert_whole(world: World, archive: Archive, log: list[Recorded]) -> None:
    """Archive and store are the log that was told, for readers and for a replica that begins."""
    found = await verdict(world, archive)
    assert (found.problems, found.events) == ((), len(log))
    async with replica(world, archive, replica="reader") as reader:
        assert await reader.events(facts.APP, 0, 100_000) == log
        for after in (0, 1, 17, found.archived_below - 2, found.archived_below - 1, found.archived_below, len(log)):
            assert await reader.events(facts.APP, max(0, after), 5) == log[max(0, after) :][:5]
        if (await world.reader().scan_keys(Keyspace.HEADS)).keys:
            assert digest(await reader.view(facts.APP)) == digest(fold(empty(), log))
