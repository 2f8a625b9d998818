"""One application's part of the archive.

Responsible for finding the file that holds an event, and for reading and keeping without holding up the event loop.
Refuses to know the store. Invariant: events come in order and without a gap, or an error says which is missing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

from coordinator.archive import files, keeping
from coordinator.archive.api import Archive, Missing
from coordinator.archive.files import Ended, EventsFile
from coordinator.core.ids import ApplicationId
from coordinator.runtime.aside import Aside
from coordinator.wire.codec import Segment
from coordinator.wire.errors import WireError
from coordinator.wire.snapshots import Snapshot

T = TypeVar("T")


class Shelf:
    """What the archive holds of one application."""

    def __init__(self, archive: Archive, application: ApplicationId, aside: Aside[Any]) -> None:
        self.where = archive.where
        self._archive = archive
        self._application = application
        self._folder = files.folder_of(application)
        self._aside = aside

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def segments(self, after: int, below: int) -> AsyncIterator[Segment]:
        """The segments from the one that holds the event above ``after`` on, up to those from ``below`` on."""
        known = files.events_files(await self._names())
        while after + 1 < below:
            for segment in await self._holding(after + 1, known):
                if after < segment.next_sequence - 1 and segment.first_sequence < below:
                    yield segment
                    after = segment.next_sequence - 1

    async def _holding(self, sequence: int, known: list[EventsFile]) -> list[Segment]:
        """Of the file that goes furthest and is whole: a try that broke off may have left one there that is torn."""
        wrong: list[Exception] = []
        for file in sorted((one for one in known if one.holds(sequence)), key=lambda one: one.last, reverse=True):
            try:
                return await self._segments(file)
            except (WireError, Missing) as error:
                wrong.append(error)
        raise wrong[0] if wrong else Missing(self._application, sequence, self.where)

    async def _segments(self, file: EventsFile) -> list[Segment]:
        try:
            return await self._do(lambda: files.segments(file, self._archive.read(file.name)))
        except FileNotFoundError as error:
            raise Missing(self._application, file.first, self.where) from error

    async def snapshot(self, at_most: int | None = None) -> Snapshot | None:
        """The newest snapshot, of no later event than this one; None, too, where newer ones take its place just now."""
        sequences = files.snapshot_sequences(await self._names())
        newest = max((one for one in sequences if at_most is None or one <= at_most), default=None)
        if newest is None:
            return None
        name = files.snapshot_name(self._folder, newest)
        try:
            return await self._do(lambda: files.snapshot(self._archive.read(name), name))
        except FileNotFoundError:
            return None

    async def ended(self) -> Ended | None:
        """The last record, where the application has left the store."""
        name = files.ended_name(self._folder)
        if name not in await self._names():
            return None
        return await self._do(lambda: files.ended(self._archive.read(name), name))

    async def _names(self) -> list[str]:
        return await self._do(lambda: self._archive.names(self._folder))

    # ---- keeping ----------------------------------------------------------------------------------------------------

    async def check_ends(self, below: int) -> None:
        """Raises `Missing` unless a file holds the last event before this one."""
        if below > 1 and not any(file.holds(below - 1) for file in files.events_files(await self._names())):
            raise Missing(self._application, below - 1, self.where)

    async def keep_events(self, first: int, last: int, sealed: Sequence[bytes]) -> EventsFile:
        """The file that holds the first of these segments, read back."""
        return await self._do(lambda: keeping.keep_events(self._archive, self._folder, first, last, sealed))

    async def keep_snapshot(self, sequence: int, parts: Sequence[bytes]) -> None:
        """Keeps a snapshot."""
        await self._do(lambda: keeping.keep_snapshot(self._archive, self._folder, sequence, parts))

    async def keep_ended(self, record: bytes, head: bytes) -> None:
        """Keeps the last record."""
        await self._do(lambda: keeping.keep_ended(self._archive, self._folder, record, head))

    async def _do(self, run: Callable[[], T]) -> T:
        done: T = await self._aside(run)
        return done


async def ended_applications(archive: Archive, aside: Aside[Any]) -> list[Ended | WireError]:
    """The applications that have left the store, with an error in the place of each last record that is damaged."""
    folders: list[str] = await aside(archive.folders)
    shelves = [Shelf(archive, files.application_of(folder), aside) for folder in folders]
    return [found for shelf in shelves if (found := await _ended(shelf)) is not None]


async def _ended(shelf: Shelf) -> Ended | WireError | None:
    try:
        return await shelf.ended()
    except WireError as error:
        return error
