"""Moving logs from the store to the archive.

Responsible for the order in which that is safe: segments are written to the archive and read back, then the head says
that they are there, then they leave the store. Refuses to know how the archive keeps files. Invariant: at every moment
archive and store together hold the whole log; only segments below the last snapshot but one leave the store, so that
every replica can still begin from a snapshot and go on from there.

Whatever is interrupted is done again from the start: a file that is there already is found, a head that says so
already is left alone, and segments below it that were not deleted are deleted at the next run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from coordinator import logs
from coordinator.core.ids import ApplicationId, Sequence
from coordinator.runtime import places
from coordinator.runtime.housekeeping import Chore, alone, entries
from coordinator.runtime.journal import Journal, Mark
from coordinator.runtime.options import Options
from coordinator.runtime.shelf import Shelf
from coordinator.runtime.snapshot import Snapshots
from state_backend.api import Lock, StateBackend
from state_backend.errors import Conflict
from state_backend.values import Delete, Entry, Keyspace

#: A file of events is about so large, and at least one segment.
FILE_BYTES = 4 << 20
#: Keys of one transaction; etcd's limit is 128.
DELETES = 100
_PAGE = 16

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive segments as the store holds them."""

    first: int
    last: int
    sealed: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Application:
    """One application's log, with its shelf and its snapshots."""

    journal: Journal
    shelf: Shelf
    snapshots: Snapshots

    @property
    def name(self) -> ApplicationId:
        """Which one."""
        return self.journal.application


#: Makes one; raises nothing.
Opened = Callable[[ApplicationId], Application]


class Archiver(Chore):
    """Archives what every snapshot but the last two has made superfluous in the store."""

    def __init__(self, backend: StateBackend, opened: Opened, options: Options) -> None:
        self.every_s = options.archive_every_s
        self._backend = backend
        self._opened = opened
        self._swept: set[ApplicationId] = set()  #: What an earlier run, or holder of the lock, has left there is gone.

    def begin(self) -> None:
        self._swept.clear()

    async def run(self, lock: Lock) -> None:
        there: set[ApplicationId] = set()
        async for entry in entries(self._backend, Keyspace.HEADS):
            with alone(entry.key, "not archived"):
                there.add(name := places.application_of(entry.key))
                await self._look_at(lock, self._opened(name), entry)
        self._swept &= there

    async def _look_at(self, lock: Lock, application: Application, entry: Entry) -> None:
        mark = application.journal.mark_of(entry)
        if 0 < mark.head.previous_snapshot >= mark.head.archived_below:
            self._swept.discard(application.name)  # until it has been: what fails on the way leaves segments there
            await archive(self._backend, lock, application, mark.head.previous_snapshot)
            await self._keep_snapshot(application, mark.head.previous_snapshot)
        elif application.name in self._swept:
            return
        await sweep(self._backend, lock, application)
        self._swept.add(application.name)

    async def _keep_snapshot(self, application: Application, sequence: Sequence) -> None:
        parts = await application.snapshots.parts(sequence)
        if parts:  # else a newer one has taken its place meanwhile
            await application.shelf.keep_snapshot(sequence, parts)


async def archive(backend: StateBackend, lock: Lock, application: Application, until: int) -> None:
    """Has all events up to ``until`` in the archive, and the head say so. Segments are left where they are.

    Nothing is added to an archive that misses what it should end with: its place may be there without being mounted.
    """
    mark, _ = await application.journal.mark()
    await application.shelf.check_ends(mark.head.archived_below)
    async for stretch in _stretches(backend, application.journal, mark, until):
        file = await application.shelf.keep_events(stretch.first, stretch.last, stretch.sealed)
        await say(lock, application.journal, file.last + 1)
        if file.last < stretch.last:  # an earlier try came less far: go on from there
            await archive(backend, lock, application, until)
            return


async def say(lock: Lock, journal: Journal, archived_below: int) -> Mark:
    """Has the head say that all events below are in the archive. Raises `Conflict` where the lock is not ours."""
    while True:
        mark, _ = await journal.mark()
        if not mark.revision or mark.head.archived_below >= archived_below:  # it has left the store: its head is gone
            return mark
        head = replace(mark.head, archived_below=Sequence(archived_below))
        try:
            return await journal.set_head(mark, head, (lock.guard,))
        except Conflict as conflict:
            check_held(lock, conflict)


def check_held(lock: Lock, conflict: Conflict) -> None:
    """Raises it where it says that the lock is not ours; else somebody was faster, and one looks again."""
    lock.check()
    if any(failed.compare == lock.guard for failed in conflict.failed):
        raise conflict


async def sweep(backend: StateBackend, lock: Lock, application: Application) -> None:
    """Deletes from the store the segments that the head says are archived; one whose key is damaged stays."""
    mark, _ = await application.journal.mark()
    prefix = places.within_application(application.name)
    more = True
    while more:
        page = await backend.scan_keys(Keyspace.EVENTS, prefix, limit=DELETES)
        gone = [key for key in page.keys if places.begins_by(key, mark.head.archived_below - 1)]
        if gone:
            await backend.put_txn((lock.guard,), [Delete(Keyspace.EVENTS, key) for key in gone])
            log.info("segments left the store", application=application.name, segments=len(gone))
        more = page.more and bool(gone)


async def _stretches(backend: StateBackend, journal: Journal, mark: Mark, until: int) -> AsyncIterator[Stretch]:
    """The segments that are not archived yet and hold no event above ``until``, about a file at a time."""
    held: list[bytes] = []
    size, first = 0, max(1, mark.head.archived_below)
    following = first
    async for sealed, next_sequence in _sealed(backend, journal, first - 1):
        if next_sequence - 1 > until:
            break
        held.append(sealed)
        size, following = size + len(sealed), next_sequence
        if size >= FILE_BYTES:
            yield Stretch(first, following - 1, tuple(held))
            held, size, first = [], 0, following
    if held:
        yield Stretch(first, following - 1, tuple(held))


async def _sealed(backend: StateBackend, journal: Journal, after: int) -> AsyncIterator[tuple[bytes, int]]:
    """Each segment as it is stored, proved whole and in its place, and the number of the event that follows it."""
    prefix = places.within_application(journal.application)
    last_key, more = places.segment(journal.application, after), True
    while more:
        with journal.damage():
            page = await backend.scan(Keyspace.EVENTS, prefix, last_key, _PAGE)
        for entry in page.entries:
            segment = journal.decode(entry)
            journal.check_follows(after, segment)
            after, last_key = segment.next_sequence - 1, entry.key
            yield entry.value, segment.next_sequence
        more = page.more
