"""Logs in a store, and what has moved from it to an archive.

Responsible for planning by the heads alone, and for reading a stretch of one log wherever it stands by now. Refuses to
write. Invariant: what is planned is read, though segments move to the archive meanwhile; what is missing is a problem
that names the events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from coordinator.archive import files
from coordinator.archive.api import Archive, ArchiveError
from coordinator.archive.open import open_archive
from coordinator.archive.tries import furthest
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.wire import framing, logfile
from coordinator.wire.errors import WireError
from coordinator.wire.records import Head, decode
from replay.frames.options import NotThere, Reading, address_of
from replay.frames.pieces import Piece, StorePiece, Trouble, ranges
from replay.frames.salvage import Found, Gaps, Problem, records_of
from replay.frames.sources.loops import each, waited
from state_backend import salvage
from state_backend.address import SqliteAddress, parse_address
from state_backend.api import StateBackend
from state_backend.errors import Corrupt
from state_backend.keys import first_number_of, join_key, key_prefix
from state_backend.open import open_backend
from state_backend.values import Entry, Keyspace

#: A sealed segment with its place, or what is in its way.
Sealed = tuple[str, bytes] | Problem

_PAGE = 64
_BACK = 256  #: How far before an event its segment is looked for first.


def plan(reading: Reading) -> list[Piece]:
    """Ranges of every application that is wanted."""
    return waited(_plan(reading))


def read(reading: Reading, piece: StorePiece) -> Iterator[Found]:
    """What is in the piece. Opens the store on its own: it may run on another machine."""
    for found in each(_read(reading, piece)):
        yield from found


async def _open(reading: Reading) -> StateBackend:
    address = address_of(reading)
    parsed = parse_address(address) if isinstance(address, str) else address
    if isinstance(parsed, SqliteAddress) and not parsed.path.exists():
        raise NotThere(f"there is no store at {parsed.path}", "a file that a coordinator has written",
                       "Check the path; every worker has to see the file.")  # fmt: skip
    return await open_backend(parsed)


def _archive(reading: Reading) -> Archive | None:
    return open_archive(reading.archive) if reading.archive else None


# ---- planning --------------------------------------------------------------------------------------------------------


async def _plan(reading: Reading) -> list[Piece]:
    archive = _archive(reading)
    async with await _open(reading) as backend:
        heads = [one async for one in _heads(backend, reading)]  # several may not say whose they are
    known = {application for application, _ in heads}
    if archive is not None:
        heads += [one for one in _left(archive, reading).items() if one[0] not in known]
    heads.sort(key=lambda one: one[0])
    pieces = [piece for application, head in heads for piece in _pieces(reading, application, head)]
    if archive is not None and archive.is_missing and not known.issuperset(reading.applications or [""]):
        pieces.insert(0, Trouble("", Problem(archive.not_there)))
    return pieces


def _pieces(reading: Reading, application: str, head: Head | Problem) -> Iterator[Piece]:
    if isinstance(head, Problem):
        yield Trouble(application, head)
        return
    first, last = reading.span(1, head.next_sequence - 1)
    for begin, end in ranges(first, last, reading.partition_events):
        yield StorePiece(application, begin, end)


async def _heads(backend: StateBackend, reading: Reading) -> AsyncIterator[tuple[str, Head | Problem]]:
    if reading.applications:
        for application in dict.fromkeys(reading.applications):
            head = await _head(backend, application)
            if head is not None:
                yield application, head
        return
    async for item in _entries(backend, Keyspace.HEADS, "", None):
        if isinstance(item, Problem):
            yield "", item
        else:
            yield unquote(item.key, errors="replace"), _head_of(item)


async def _head(backend: StateBackend, application: str) -> Head | Problem | None:
    try:
        entry = (await backend.get(Keyspace.HEADS, join_key(application))).entry
    except Corrupt as error:
        return Problem(str(error))
    return _head_of(entry) if entry is not None else None


def _head_of(entry: Entry) -> Head | Problem:
    try:
        return decode(Head, entry.value, f"heads/{entry.key}")
    except WireError as error:
        return Problem(str(error))


def _left(archive: Archive, reading: Reading) -> dict[str, Head | Problem]:
    """Applications that have left the store."""
    folders = archive.folders()
    found = {application: _ended(archive, folder) for folder in folders
             if reading.wants(application := files.application_of(folder))}  # fmt: skip
    return {application: head for application, head in found.items() if head is not None}


def _ended(archive: Archive, folder: str) -> Head | Problem | None:
    name = files.ended_name(folder)
    try:
        return files.ended(archive.read(name), name).head
    except FileNotFoundError:
        return None  # it is still in the store
    except (WireError, ArchiveError) as error:
        return Problem(str(error))


# ---- reading ---------------------------------------------------------------------------------------------------------


async def _read(reading: Reading, piece: StorePiece) -> AsyncGenerator[list[Found], None]:
    gaps = Gaps(piece.first, piece.last)
    async with await _open(reading) as backend:
        async for found in _Log(backend, _archive(reading), piece.application).stretch(piece.first, piece.last):
            yield list(gaps.told(found))
    yield list(gaps.end())


@dataclass(frozen=True, slots=True)
class _Log:
    """One application's log, in the store and in the archive."""

    backend: StateBackend
    archive: Archive | None
    application: str

    async def stretch(self, first: int, last: int) -> AsyncIterator[list[Found]]:
        """The segments that hold these events; they may hold more at both ends."""
        while first <= last:
            below = await self._archived_below()
            if first < below:
                for archived in self._archived(first, min(last, below - 1)):
                    yield archived
                first = below
                continue
            async for found, begin in self._stored(first, last):
                if begin > first and await self._archived_below() > first:
                    break  # it has moved to the archive meanwhile
                yield found
                first = max([begin, *(one.sequence for one in found if one.sequence is not None)]) + 1
            else:
                if await self._archived_below() <= first:
                    return

    async def _archived_below(self) -> int:
        head = await _head(self.backend, self.application)
        if isinstance(head, Head):
            return head.archived_below
        ended = _ended(self.archive, self._folder) if self.archive is not None and head is None else None
        return ended.next_sequence if isinstance(ended, Head) else 0

    @property
    def _folder(self) -> str:
        return files.folder_of(ApplicationId(self.application))

    def _archived(self, first: int, last: int) -> Iterator[list[Found]]:
        """What is in segments. Files may hold the same events, where archiving was interrupted: each is given once."""
        if self.archive is None:
            told = f"events {first} to {last} have moved to an archive: name it with the option archive"
            yield [Problem(told, first)]
            return
        known = files.events_files(self.archive.names(self._folder))
        while first <= last:
            file = furthest((one for one in known if one.holds(first)), self.archive.read)
            if file is None:
                following = min((one.first for one in known if one.first > first), default=last + 1)
                yield [_neither(first, min(last, following - 1), self.archive.where)]
                first = following
                continue
            for sealed in self._of_file(self.archive, file, first):
                yield [one for one in _opened(sealed) if one.sequence is None or one.sequence >= first]
            first = file.last + 1

    def _of_file(self, archive: Archive, file: files.EventsFile, first: int) -> Iterator[Sealed]:
        try:
            yield from framing.unpack(logfile.MAGIC, archive.read(file.name), file.name)
        except (WireError, ArchiveError, FileNotFoundError) as error:
            yield Problem(str(error), first)

    async def _stored(self, first: int, last: int) -> AsyncIterator[tuple[list[Found], int]]:
        """What is in segments, each with the number of its first event; of one in a wrong place with that before it."""
        start = await self._segment_of(first)
        after = join_key(self.application, start - 1) if start > 1 else None  # a damaged key may sort before all others
        begin = first
        async for item in _entries(self.backend, Keyspace.EVENTS, key_prefix(self.application), after):
            if isinstance(item, Problem):
                yield [item], begin
                continue
            number = _begins(item.key)
            found = _opened((f"events/{item.key}", item.value), begin if number is None else number)
            if number is None or (found and found[0].sequence != number):
                found = [_misplaced(item.key, found), *found]
            elif number > last:
                return
            else:
                begin = number
            yield found, begin

    async def _segment_of(self, sequence: int) -> int:
        """Where the segment begins that holds this event."""
        width = _BACK
        while True:
            floor = max(0, sequence - width)
            begun = await self._begun_between(floor, sequence)
            if begun is not None or not floor:
                return begun or 1
            width *= 8

    async def _begun_between(self, after: int, upto: int) -> int | None:
        """The last segment that begins above ``after`` and not above ``upto``."""
        found: int | None = None
        last_key: str | None = join_key(self.application, after)
        while last_key is not None:
            page = await self.backend.scan_keys(Keyspace.EVENTS, key_prefix(self.application), last_key)
            numbers = [number for key in page.keys if (number := _begins(key)) is not None]
            found = max((number for number in numbers if number <= upto), default=found)
            last_key = page.keys[-1] if page.more and max(numbers, default=0) <= upto else None
        return found


def _begins(key: str) -> int | None:
    """The event that a segment begins with, as its key says; None: the key is damaged."""
    return first_number_of(key, 1)


def _misplaced(key: str, found: list[Found]) -> Problem:
    """A segment that nobody finds by its number."""
    begins = next((one.sequence for one in found if isinstance(one, Recorded)), None)
    told = "" if begins is None else f", which is {begins}"
    return Problem(f"events/{key}: the key is damaged; expected the number of the first event in it{told}")


def _neither(first: int, last: int, where: str) -> Problem:
    return Problem(f"events {first} to {last} are neither in the store nor in the archive at {where}", first)


def _opened(sealed: Sealed, begin: int | None = None) -> list[Found]:
    """What is in it; a problem that knows no place stands where its segment begins."""
    if isinstance(sealed, Problem):
        return [sealed]
    place, value = sealed
    return [replace(one, sequence=begin) if one.sequence is None else one for one in records_of(value, place)]


async def _entries(
    backend: StateBackend, keyspace: Keyspace, prefix: str, last_key: str | None
) -> AsyncIterator[Entry | Problem]:
    """Every entry behind a key, with a problem in the place of each that the store itself finds damaged."""
    async for item in salvage.entries(backend, keyspace, prefix, last_key, _PAGE):
        yield Problem(str(item)) if isinstance(item, Corrupt) else item
