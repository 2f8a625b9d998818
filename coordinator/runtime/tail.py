"""The log as it is read by people and programs: a stretch of it, or all that comes.

Responsible for finding where a stretch begins and for following without a gap. Refuses to fold anything. Invariant:
what is given begins right after the event that was asked for, in order, and nothing is missing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from coordinator.core.events import ApplicationEnded, Recorded, SweepChanged
from coordinator.runtime import places
from coordinator.runtime.errors import SetBack, UnknownApplication
from coordinator.runtime.journal import Journal, Mark
from coordinator.wire.codec import Segment, record_to_message
from state_backend import errors
from state_backend.api import StateBackend, Watch
from state_backend.errors import Compacted
from state_backend.values import Commit, Keyspace, Revision, Written


async def events(journal: Journal, after: int, limit: int, bytes_max: int | None = None) -> list[Recorded]:
    """Up to ``limit`` events above ``after``. Raises `Archived`, `ArchiveUnread` and `UnknownApplication`.

    ``bytes_max``: nothing further is read once two events or more take more bytes as messages.
    """
    found: list[Recorded] = []
    while True:
        mark, at = await known_mark(journal)
        reached = found[-1].sequence if found else after
        try:
            if limit > 0:
                await _stretch(journal.log(reached, mark, at), reached, found, limit, bytes_max)
            return found
        except Compacted:  # what was read is kept: reading may take longer than the store's history is
            continue


async def _stretch(
    segments: AsyncIterator[Segment], after: int, found: list[Recorded], limit: int, bytes_max: int | None
) -> None:
    """Adds to what was found already."""
    taken = sum(map(_message_bytes, found)) if bytes_max is not None else 0
    async for segment in segments:
        for recorded in _above(segment, after):
            found.append(recorded)
            if bytes_max is not None:
                taken += _message_bytes(recorded)
            if len(found) >= limit or (bytes_max is not None and taken > bytes_max and len(found) > 1):
                return


def _message_bytes(recorded: Recorded) -> int:
    return record_to_message(recorded).ByteSize()


async def follow(
    backend: StateBackend,
    journal: Journal,
    after: int,
    is_over: Callable[[int], Awaitable[bool]] | None = None,
    note: Callable[[Watch], None] = lambda watch: None,  # noqa: ARG005 - most do not end it
) -> AsyncIterator[Recorded]:
    """All events above ``after``, then each new one, until the caller stops.

    ``is_over``: whether the application is over and nothing follows this event: then it ends. ``note``: hears of every
    watch that is waited for; after one is closed, ``is_over`` is asked again.
    """
    read: Segment | None = None
    while True:
        mark, at = await known_mark(journal)
        try:
            if read is not None:
                await _check_stands(read, journal, mark, at)
            async for segment in journal.log(after, mark, at):
                for recorded in _above(segment, after):
                    yield recorded
                read, after = segment, max(after, segment.next_sequence - 1)
            if is_over is not None and await is_over(after):
                return
            async for segment in _coming(backend, journal, Revision(at + 1), note):
                if segment.first_sequence > after + 1:
                    journal.check_follows(after, segment)
                for recorded in _above(segment, after):
                    yield recorded
                read, after = segment, max(after, segment.next_sequence - 1)
                if is_over is not None and _may_end(segment) and await is_over(after):
                    return
        except errors.SetBack as error:  # what follows may be of another log
            raise SetBack(journal.application, after) from error
        except Compacted:
            continue


async def _check_stands(read: Segment, journal: Journal, mark: Mark, at: Revision) -> None:
    """A watch that has missed something says nothing of whose log goes on. Raises `SetBack`, else as `Journal.log`."""
    there = await anext(journal.log(read.first_sequence - 1, mark, at), None)
    if there is None or there.commit_id != read.commit_id:
        raise SetBack(journal.application, read.next_sequence - 1)


def _may_end(segment: Segment) -> bool:
    """An application is over with its end, or when what it left is swept."""
    return any(isinstance(recorded.event, (ApplicationEnded, SweepChanged)) for recorded in segment.records)


async def known_mark(journal: Journal) -> tuple[Mark, Revision]:
    """The log's end, and the store's revision; of an application that has left the store, as the archive says."""
    mark, at = await journal.mark()
    if mark.revision:
        return mark, at
    ended = await journal.ended()
    if ended is None:
        raise UnknownApplication(journal.application)
    return Mark(ended.head, mark.revision), at


async def _coming(
    backend: StateBackend, journal: Journal, from_revision: Revision, note: Callable[[Watch], None]
) -> AsyncIterator[Segment]:
    """Each segment as it is appended. Raises `DamagedLog`."""
    prefix = places.within_application(journal.application)
    async with backend.watch(Keyspace.EVENTS, prefix, from_revision) as watch:
        note(watch)
        with journal.damage():
            async for commit in watch:
                for segment in _segments_of(journal, commit):
                    yield segment


def _segments_of(journal: Journal, commit: Commit) -> list[Segment]:
    return [journal.decode(change.entry) for change in commit.changes if isinstance(change, Written)]


def _above(segment: Segment, after: int) -> list[Recorded]:
    return [recorded for recorded in segment.records if recorded.sequence > after]
