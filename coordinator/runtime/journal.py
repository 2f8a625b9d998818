"""The log of one application in the store: appending to it, and reading what was appended.

Responsible for one commit being one transaction that compares the head, and for knowing how it ended. Refuses to decide
anything. Invariant: a segment is in the log once or not at all, whatever the store answered; `append` returns only when
it is there, and raises `Conflict` only when it is not and never will be.

The outcome of a transaction that was not answered cannot be read, since the request may still be under way. So the same
segment, with the same commit id and the same compare, is submitted until it succeeds or the compare fails; then the key
where it would stand says who has won.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from coordinator import logs
from coordinator.archive.api import ArchiveError
from coordinator.archive.files import Ended
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.core.ids import Sequence as Place
from coordinator.runtime import places
from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.errors import Archived, DamagedLog, NewerLog, SetBack, UnknownApplication, unread
from coordinator.runtime.observing import Observer
from coordinator.runtime.shelf import Shelf
from coordinator.wire.codec import Segment, decode_segment, encode_segment
from coordinator.wire.errors import TooNew, UnknownEvent, WireError
from coordinator.wire.records import Head, decode, encode
from coordinator.wire.upcast import VERSION
from coordinator.wire.versions import needed
from state_backend.api import StateBackend
from state_backend.errors import Closed, Conflict, Corrupt, OutcomeUnknown, StateBackendError
from state_backend.values import (
    Absent,
    Compare,
    Entry,
    Keyspace,
    Operation,
    Page,
    Put,
    Revision,
    RevisionIs,
)

T = TypeVar("T")

#: A segment beyond it is cut between commands: etcd takes requests of 1.5 MiB.
SEGMENT_BYTES_MAX = 1 << 20
#: Read at once. Small segments are read many at a time: each page is a round trip, and a driver waits for all of them.
PAGE_SEGMENTS = 64
PAGE_BYTES = PAGE_SEGMENTS * SEGMENT_BYTES_MAX
PAGE_GROWTH = 8  #: So that what follows a snapshot, some hundred small segments, is two pages.

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the log was read: the head, and the revision of the commit that wrote it (0: there was none)."""

    head: Head
    revision: Revision
    tail: int = 0  #: The first event of the last segment; 0: it was not read.


NOWHERE = Mark(Head(Place(1)), Revision(0))
_NO_HEAD = Revision(-1)  #: No commit has it.


def on_the_way(mark: Mark, segment: Segment) -> Mark:
    """How far a log was read that is being read up to a mark. Nothing can be appended to it: it is no head's."""
    head = replace(mark.head, next_sequence=Place(segment.next_sequence), commit_id=segment.commit_id)
    return Mark(head, _NO_HEAD, segment.first_sequence)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A segment, and its bytes."""

    segment: Segment
    value: bytes


class CommitIds:
    """Names for commits, never the same twice: the run's own name and a count."""

    def __init__(self, replica: str) -> None:
        self._replica = replica
        self._count = 0

    def next(self) -> bytes:
        """A new one."""
        self._count += 1
        return f"{self._replica}/{self._count}".encode()


class Journal:
    """One application's log."""

    def __init__(
        self,
        backend: StateBackend,
        application: ApplicationId,
        replica: str,
        ids: CommitIds,
        clock: Clock,
        shelf: Shelf | None = None,
        observer: Observer | None = None,
    ) -> None:
        """``shelf``: where what has left the store is read. ``observer``: hears of each try that told nothing."""
        self.application = application
        self.shelf = shelf
        self._backend = backend
        self._replica = replica
        self._ids = ids
        self._clock = clock
        self._observer = observer or Observer()
        self._head_key = places.of_application(application)

    # ---- appending --------------------------------------------------------------------------------------------------

    def seal(self, records: Sequence[Recorded]) -> Sealed:
        """The segment of these events under a new commit id, and its bytes."""
        segment = Segment(records[0].sequence, self._ids.next(), self._replica, tuple(records))
        return Sealed(segment, encode_segment(segment))

    async def append(
        self,
        mark: Mark,
        sealed: Sealed,
        operations: Sequence[Operation],
        compares: Sequence[Compare] = (),
    ) -> Mark:
        """Appends the segment and does the operations, or neither. Gives the new mark.

        Raises `Conflict` where the head, or one of ``compares``, is not as expected; else what the store says while
        nothing has happened. Once an outcome is unknown it does not return before it is known.
        """
        segment, value = sealed.segment, sealed.value
        key = places.segment(self.application, segment.first_sequence)
        head = _following(mark.head, segment)
        writes = (Put(Keyspace.EVENTS, key, value), self._put_head(head), *operations)
        try:
            return Mark(head, await self._settle((self._expect(mark), *compares), writes), segment.first_sequence)
        except Conflict:
            won = await self._own_segment(key, segment.commit_id)
            if won is None:
                raise
            return Mark(head, won.revision, segment.first_sequence)

    async def set_head(self, mark: Mark, head: Head, compares: Sequence[Compare] = ()) -> Mark:
        """Changes what the head says beside the place in the log. Raises `Conflict` where a compare does not hold.

        Raises `UnknownApplication` where there is none: a head without a log would be one that nobody can read.
        """
        if not mark.revision:
            raise UnknownApplication(self.application)
        writes = (self._put_head(head),)
        return Mark(head, await self._settle((self._expect(mark), *compares), writes), mark.tail)

    def _expect(self, mark: Mark) -> Compare:
        if mark.revision == 0:
            return Absent(Keyspace.HEADS, self._head_key)
        return RevisionIs(Keyspace.HEADS, self._head_key, mark.revision)

    def _put_head(self, head: Head) -> Put:
        return Put(Keyspace.HEADS, self._head_key, encode(head))

    async def _settle(self, compares: Sequence[Compare], writes: Sequence[Operation]) -> Revision:
        """Submits the same transaction until its outcome is known. The compares see to it that it happens once."""
        try:
            return await self._backend.put_txn(compares, writes)
        except OutcomeUnknown as error:
            log.warning("outcome unknown, submitting again", application=self.application, error=str(error))
            self._observer.refused(self.application)
        return await self._until_told(lambda: self._backend.put_txn(compares, writes))

    async def _own_segment(self, key: str, commit_id: bytes) -> Entry | None:
        """The entry of our segment, if it is ours that stands there; asks until the store says. Raises `DamagedLog`."""
        entry = await self._until_told(lambda: self._entry(key))
        return entry if entry is not None and self.decode(entry).commit_id == commit_id else None

    async def _entry(self, key: str) -> Entry | None:
        with self.damage():
            return (await self._backend.get(Keyspace.EVENTS, key)).entry

    async def _until_told(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Asks until the store says something. Raises `Conflict`, and `OutcomeUnknown` where the store was closed."""
        failures = 0
        while True:
            try:
                return await ask()
            except Conflict:
                raise
            except Closed as error:
                raise OutcomeUnknown("a commit", "the store was closed meanwhile") from error
            except StateBackendError:
                self._observer.refused(self.application)
                await self._clock.sleep(back_off_s(failures))
                failures += 1

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def mark(self) -> tuple[Mark, Revision]:
        """The log's present end (linearizable), and the store's revision at that moment."""
        with self.damage():
            reading = await self._backend.get(Keyspace.HEADS, self._head_key)
        return self.mark_of(reading.entry), reading.revision

    def mark_of(self, entry: Entry | None) -> Mark:
        """The mark that a head's entry is."""
        if entry is None:
            return NOWHERE
        try:
            head = decode(Head, entry.value, places.name(Keyspace.HEADS, entry.key))
        except WireError as error:
            raise DamagedLog(self.application, error) from error
        if head.version > VERSION:
            raise NewerLog(self.application, f"its head has version {head.version}, this release reads {VERSION}")
        return Mark(head, entry.revision)

    async def log(self, after: int, mark: Mark, at: Revision | None) -> AsyncIterator[Segment]:
        """The segments from the one that holds the event above ``after`` on, archive and store read as one log.

        ``at``: as of this revision of the store. Raises `Compacted` where that is too long ago, `Archived` where no
        archive is named, `ArchiveUnread` where it misses something.
        """
        async for segment in self.archived(after, mark.head.archived_below):
            yield segment
            after = segment.next_sequence - 1
        if after + 1 >= mark.head.next_sequence:
            return
        first = await self.segment_start(after + 1, at)
        async for segment in self.segments((after + 1 if first is None else first) - 1, at):
            if after + 1 not in range(segment.first_sequence, segment.next_sequence):
                self.check_follows(after, segment)
            yield segment
            after = segment.next_sequence - 1

    async def ended(self) -> Ended | None:
        """What the archive says of an application that has left the store. Raises `ArchiveUnread` and `DamagedLog`."""
        try:
            return await self.shelf.ended() if self.shelf is not None else None
        except ArchiveError as error:
            raise unread(self.application, error) from error
        except WireError as error:
            raise DamagedLog(self.application, error) from error

    async def archived(self, after: int, below: int) -> AsyncIterator[Segment]:
        """The archive's part of it, up to the event before ``below``."""
        if after + 1 >= below:
            return
        if self.shelf is None:
            raise Archived(self.application, below)
        try:
            async for segment in self.shelf.segments(after, below):
                yield segment
        except ArchiveError as error:
            raise unread(self.application, error) from error
        except (TooNew, UnknownEvent) as error:
            raise NewerLog(self.application, error) from error
        except WireError as error:
            raise DamagedLog(self.application, error) from error

    async def segments(self, after: int, at: Revision | None = None) -> AsyncIterator[Segment]:
        """The store's segments that begin after this sequence number, in order, each whole, none missing in between.

        ``at``: as of this revision of the store. Raises `Compacted` where that is too long ago.
        """
        prefix = places.within_application(self.application)
        last_key, more, limit = places.segment(self.application, after), True, PAGE_SEGMENTS
        while more:
            with self.damage():
                page = await self._backend.scan(Keyspace.EVENTS, prefix, last_key, limit, at)
            limit = _next_limit(limit, page)
            for entry in page.entries:
                segment = self.decode(entry)
                self.check_follows(after, segment)
                after, last_key = segment.next_sequence - 1, entry.key
                yield segment
            more = page.more

    async def since(self, mark: Mark, at: Revision) -> AsyncIterator[Segment]:
        """The segments behind this mark, whose log is not archived that far. Raises `SetBack`, else as `segments`.

        A sequence number alone does not say whose log it counts: the segment that the mark ends with is read once more.
        """
        if not mark.revision:
            async for segment in self.segments(0, at):
                yield segment
            return
        tail = mark.tail or await self.segment_start(mark.head.next_sequence - 1, at) or mark.head.next_sequence
        stands = False
        try:
            async for segment in self.segments(tail - 1, at):
                if stands:
                    yield segment
                elif segment.commit_id != mark.head.commit_id:
                    break
                stands = True
        except DamagedLog:
            if stands or await self._is_there(tail, mark.head.commit_id):
                raise
        if not stands:
            raise SetBack(self.application, mark.head.next_sequence - 1)

    async def _is_there(self, first_sequence: int, commit_id: bytes) -> bool:
        """Whether it is the segment of this commit that begins there. Raises `DamagedLog`."""
        entry = await self._entry(places.segment(self.application, first_sequence))
        return entry is not None and self.decode(entry).commit_id == commit_id

    async def segment_start(self, sequence: int, at: Revision | None = None) -> int | None:
        """The first sequence number of the segment that holds this event; None: the store has none that could."""
        prefix = places.within_application(self.application)
        width = 256
        while True:
            floor = max(0, sequence - width)
            found: str | None = None
            last_key: str | None = places.segment(self.application, floor)
            while last_key is not None:
                with self.damage():
                    page = await self._backend.scan_keys(Keyspace.EVENTS, prefix, last_key, at=at)
                upto = [key for key in page.keys if places.begins_by(key, sequence)]
                found = upto[-1] if upto else found
                last_key = page.keys[-1] if page.more and len(upto) == len(page.keys) else None
            if found is not None or floor == 0:
                return places.first_sequence_of(found) if found is not None else None
            width *= 8

    @contextmanager
    def damage(self) -> Iterator[None]:
        """What the store itself finds damaged is as what does not decode: it is there, and no store is away."""
        try:
            yield
        except Corrupt as error:
            raise DamagedLog(self.application, error) from error

    def decode(self, entry: Entry) -> Segment:
        """The segment that stands there; raises `DamagedLog` and `NewerLog`."""
        try:
            return decode_segment(entry.value, places.name(Keyspace.EVENTS, entry.key))
        except (TooNew, UnknownEvent) as error:
            raise NewerLog(self.application, error) from error
        except WireError as error:
            raise DamagedLog(self.application, error) from error

    def check_follows(self, after: int, segment: Segment) -> None:
        """Raises `DamagedLog` where the segment is not the one that comes next."""
        if segment.first_sequence != after + 1:
            raise DamagedLog(self.application, f"after event {after} comes event {segment.first_sequence}")


def _following(head: Head, segment: Segment) -> Head:
    return replace(
        head,
        next_sequence=Place(segment.next_sequence),
        time_ms=segment.records[-1].time_ms,
        commit_id=segment.commit_id,
        version=max(head.version, needed(segment.records)),
    )


def _next_limit(limit: int, page: Page) -> int:
    """Many times as many segments, as long as so many of the largest met are no more than a page may hold."""
    largest = max((len(entry.value) for entry in page.entries), default=SEGMENT_BYTES_MAX)
    return max(PAGE_SEGMENTS, min(PAGE_GROWTH * limit, PAGE_BYTES // max(1, largest)))
