"""A store as a source, read without a server.

Responsible for reading what replicas have written, also where some of it is damaged, and for having a command carried
out by a replica of its own. Refuses to write anything unless it is told a command. Invariant: a store that does not
exist is not made by looking for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.app import replica_name
from coordinator.archive.api import Archive, ArchiveError
from coordinator.archive.files import Ended
from coordinator.archive.open import open_archive
from coordinator.cli.exits import nowhere
from coordinator.cli.sources.api import IN_ARCHIVE, FoldedSource, above, each
from coordinator.core.commands import Command, Request
from coordinator.core.events import Recorded
from coordinator.core.evolve import apply
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.rejections import Answer
from coordinator.core.state import State, empty
from coordinator.runtime import loading, peers, places, signs, tail
from coordinator.runtime.aside import at_once
from coordinator.runtime.clock import Clock
from coordinator.runtime.errors import ArchiveUnread, DamagedLog
from coordinator.runtime.journal import CommitIds, Journal
from coordinator.runtime.listing import record_of
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.runtime.shelf import Shelf, ended_applications
from coordinator.runtime.snapshot import Snapshots
from coordinator.runtime.verifying import Verdict, verify
from coordinator.server import shown
from coordinator.wire.codec import Segment, decode_segment
from coordinator.wire.errors import WireError
from coordinator.wire.records import ApplicationRecord, AuditRecord
from state_backend import salvage
from state_backend.address import SqliteAddress, parse_address
from state_backend.api import StateBackend
from state_backend.errors import Corrupt
from state_backend.open import open_backend
from state_backend.values import Entry, Keyspace

_READER = "shufflectl"
_PAGE = 64


async def open_store(address: str, is_default: bool = False, archive: str = "") -> StoreSource:
    """Opens a store that exists, and its archive; an archive alone where nobody has named a store and there is none.

    Raises what opening raises, and a failure where there is nothing.
    """
    kept = open_archive(archive) if archive else None
    parsed = parse_address(address)
    if isinstance(parsed, SqliteAddress):
        if is_default and kept is not None and _is_all_there_is(kept, Path(parsed.path)):
            return StoreSource(await open_backend("memory:"), f"archive {kept.where}", kept)
        _check_there(Path(parsed.path), is_default)
    shown_address = address.rpartition("@")[2] if "@" in address else address
    return StoreSource(await open_backend(parsed), f"store {shown_address}", kept)


def _is_all_there_is(archive: Archive, store: Path) -> bool:
    return not archive.is_missing and not store.exists()


def _check_there(path: Path, is_default: bool) -> None:
    if path.exists() and path.stat().st_size:  # SQLite takes an empty file for a store, and would write into it
        return
    looked = " (the file that drivers share where nobody names a coordinator)" if is_default else ""
    raise nowhere(
        f"there is no store at {path}{looked}",
        "a file that a coordinator has written",
        "Attach to a Spark session first, or name a source with --store, --server or --log.",
    )


class StoreSource(FoldedSource):
    """One store, open, with its archive where one is named."""

    def __init__(self, backend: StateBackend, where: str, archive: Archive | None) -> None:
        super().__init__()
        self._archive = archive
        self.elsewhere = "" if archive is not None else IN_ARCHIVE
        if archive is not None and archive.is_missing:
            self.remarks.append(archive.not_there)
        self.where = where
        self._backend = backend

    async def close(self) -> None:
        await self._backend.close()

    async def applications(self) -> list[pb.Application]:
        found = [record async for record in self._records()]
        found += await self._left({record.application for record in found})
        heard = await signs.last(self._backend, [record.application for record in found if record.ending is None])
        oldest_first = sorted(found, key=lambda record: record.registered_ms)
        return [shown.record_shown(record, heard.get(record.application)) for record in oldest_first]

    async def state(self, application: ApplicationId) -> State:
        journal = self._journal(application)
        try:
            loaded = await loading.load(journal, Snapshots(self._backend, application, at_once))
        except DamagedLog:
            return await self._state_before_damage(application)
        if not loaded.mark.revision:
            return await loading.load_ended(journal, Snapshots(self._backend, application, at_once))
        return loaded.state

    def batches(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        return self._batches(application, after, self._note)

    def events_aside(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        return each(self._batches(application, after, lambda _: None))

    async def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        async for recorded in tail.follow(self._backend, self._journal(application), after):
            yield recorded

    async def command(self, application: ApplicationId, command: Command) -> Answer:
        async with Replica(self._backend, Options(replica=replica_name(), reap=False)) as replica:
            answers = await replica.submit(application, [Request(ClientId(""), 0, command)])
            return answers[0]

    async def replicas(self) -> list[pb.Replica]:
        return [shown.replica_shown(peer) for peer in await peers.roll_call(self._backend)]

    async def refusals(self) -> list[AuditRecord]:
        """Who was refused outside every log, the oldest first; damaged records are named."""
        found: list[AuditRecord] = []
        async for item in salvage.entries(self._backend, Keyspace.AUDIT):
            record = record_of(Keyspace.AUDIT, AuditRecord, item)
            if isinstance(record, Exception):
                self.problems.append(record)
            else:
                found.append(record)
        return found

    async def verify(self, application: ApplicationId) -> Verdict:
        """Reads all of it, and compares it with all that stands beside it."""
        snapshots = Snapshots(self._backend, application, at_once)
        return await verify(self._backend, self._journal(application), snapshots)

    # ---- within ----

    async def _batches(
        self, application: ApplicationId, after: int, note: Callable[[Exception], None]
    ) -> AsyncIterator[Sequence[Recorded]]:
        async for item in self._salvage(application, after):
            if not isinstance(item, Segment):
                note(item)
            elif records := above(after, item.records):
                yield records

    def _note(self, problem: Exception) -> None:
        if str(problem) not in map(str, self.problems):  # who reads twice meets it twice
            self.problems.append(problem)

    def _journal(self, application: ApplicationId) -> Journal:
        shelf = Shelf(self._archive, application, asyncio.to_thread) if self._archive is not None else None
        return Journal(self._backend, application, _READER, CommitIds(_READER), Clock(), shelf)

    async def _state_before_damage(self, application: ApplicationId) -> State:
        state = empty()
        async for item in self._salvage(application, 0):
            if not isinstance(item, Segment):
                self._note(item)
                break
            for recorded in item.records:
                apply(state, recorded)
        return state

    async def _records(self) -> AsyncIterator[ApplicationRecord]:
        async for item in salvage.entries(self._backend, Keyspace.APPLICATIONS, limit=_PAGE):
            record = record_of(Keyspace.APPLICATIONS, ApplicationRecord, item)
            if isinstance(record, Exception):
                self.problems.append(record)
            else:
                yield record

    async def _left(self, there: set[ApplicationId]) -> list[ApplicationRecord]:
        """Applications that only the archive holds."""
        if self._archive is None:
            return []
        try:
            ended = await ended_applications(self._archive, asyncio.to_thread)
        except ArchiveError as error:
            self.problems.append(error)
            return []
        self.problems += [one for one in ended if isinstance(one, WireError)]
        return [one.record for one in ended if isinstance(one, Ended) and one.record.application not in there]

    async def _salvage(self, application: ApplicationId, after: int) -> AsyncIterator[Segment | Exception]:
        """The segments from the one that holds the event above ``after``; an error where one is damaged or missing."""
        journal = self._journal(application)
        mark, _ = await tail.known_mark(journal)
        expected: int | None = after + 1
        async for item in self._found(journal, mark.head.archived_below, after):
            first = item.first_sequence if isinstance(item, Segment) else 0
            if expected is not None and first > expected:
                if (await tail.known_mark(journal))[0].head.archived_below > mark.head.archived_below:
                    async for moved in self._salvage(application, expected - 1):
                        yield moved
                    return
                yield DamagedLog(application, f"after event {expected - 1} comes event {first}")
            expected = item.next_sequence if isinstance(item, Segment) else None
            yield item
        if expected is not None and expected < mark.head.next_sequence:
            yield DamagedLog(application, loading.ends_early(mark, expected))

    async def _found(self, journal: Journal, archived_below: int, after: int) -> AsyncIterator[Segment | Exception]:
        """What is there of them, in the archive and in the store."""
        try:
            async for segment in journal.archived(after, archived_below):
                yield segment
                after = segment.next_sequence - 1
        except (ArchiveUnread, DamagedLog) as error:
            yield error
            after = max(after, archived_below - 1)
        first = await journal.segment_start(after + 1)
        last_key = places.segment(journal.application, first - 1 if first is not None else after)
        prefix = places.within_application(journal.application)
        async for item in salvage.entries(self._backend, Keyspace.EVENTS, prefix, last_key, _PAGE):
            yield _segment_of(item)


def _segment_of(item: Entry | Corrupt) -> Segment | Exception:
    """The segment that an entry holds, or what is wrong with it."""
    if isinstance(item, Corrupt):
        return item
    try:
        return decode_segment(item.value, places.name(Keyspace.EVENTS, item.key))
    except WireError as error:
        return error
