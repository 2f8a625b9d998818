"""Taking applications that have ended out of the store.

Responsible for leaving nothing of them there, once all of it is in the archive. Refuses to take anything that is not.
Invariant: each transaction compares the registration, the head that says that all is archived, the lock, and that no
driver gives signs of life: what is appended meanwhile keeps the rest in the store. The registration and the head go
last; until then the application is found where it was, and its log is whole.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from coordinator import logs
from coordinator.core.ids import Sequence
from coordinator.runtime import places
from coordinator.runtime.archiving import DELETES, Application, Opened, archive, check_held
from coordinator.runtime.clock import Clock
from coordinator.runtime.errors import DamagedLog
from coordinator.runtime.housekeeping import Chore, alone, entries
from coordinator.runtime.journal import Mark
from coordinator.runtime.loading import ends_early
from coordinator.runtime.options import Options
from coordinator.wire.errors import WireError
from coordinator.wire.records import ApplicationRecord, decode, encode
from state_backend.api import Lock, StateBackend
from state_backend.errors import Conflict
from state_backend.values import Absent, Compare, Delete, Entry, Keyspace, RevisionIs

_MANY = (Keyspace.SNAPSHOTS, Keyspace.EVENTS, Keyspace.LIVE, Keyspace.EXPIRED, Keyspace.FENCED)
_ONE = (Keyspace.DELETED, Keyspace.LOST)
#: Applications that leave at the same time. Each waits for the store and the archive most of the time, some twenty
#: times, and thousands may end in an hour.
_AT_ONCE = 8

log = logs.logger(__name__)


class Retention(Chore):
    """Takes out what ended long enough ago."""

    def __init__(self, backend: StateBackend, opened: Opened, options: Options, clock: Clock) -> None:
        self.every_s = options.archive_every_s
        self._backend = backend
        self._opened = opened
        self._options = options
        self._clock = clock
        self._ahead: dict[str, float] = {}  #: What ended later than it is now, and since when that is known.

    def begin(self) -> None:
        self._ahead.clear()

    async def run(self, lock: Lock) -> None:
        over: list[Entry] = []
        known, self._ahead = self._ahead, {}
        async for entry in entries(self._backend, Keyspace.APPLICATIONS):
            if self._is_over(entry, known):
                over.append(entry)
            if len(over) == _AT_ONCE:
                await self._try_all(lock, over)
                over = []
        await self._try_all(lock, over)

    async def _try_all(self, lock: Lock, over: list[Entry]) -> None:
        """All of them come to an end, also where one fails for a reason that is not its own."""
        done = await asyncio.gather(*(self._try(lock, entry) for entry in over), return_exceptions=True)
        for failed in done:
            if failed is not None:
                raise failed

    def _is_over(self, entry: Entry, known: dict[str, float]) -> bool:
        try:
            record = decode(ApplicationRecord, entry.value, places.name(Keyspace.APPLICATIONS, entry.key))
        except WireError as error:
            log.error("an application's record is damaged", error=str(error))
            return False
        return record.ending is not None and self._kept_s(entry.key, record, known) >= self._options.retention_s

    def _kept_s(self, key: str, record: ApplicationRecord, known: dict[str, float]) -> float:
        """How long ago it ended; where a clock was ahead when it did, for how long that is known."""
        kept_ms = self._clock.wall_ms() - record.ended_ms
        if kept_ms >= 0:
            return kept_ms / 1000
        now_s = self._clock.monotonic_s()
        since_s = self._ahead[key] = known.get(key, now_s)
        return now_s - since_s

    async def _try(self, lock: Lock, entry: Entry) -> None:
        with alone(entry.key, "not taken out of the store"):
            application = self._opened(places.application_of(entry.key))
            if await take_out(self._backend, lock, application):
                log.info("application left the store", application=application.name)


async def take_out(backend: StateBackend, lock: Lock, application: Application) -> bool:
    """Takes an application that has ended out of the store. False: something of it still goes on."""
    key = places.of_application(application.name)
    still = (lock.guard, Absent(Keyspace.SESSIONS, key))
    record = (await backend.get(Keyspace.APPLICATIONS, key)).entry
    if record is None or (await backend.get(Keyspace.SESSIONS, key)).entry is not None:
        return False
    try:
        mark = await _all_archived(backend, lock, application)
        if mark is None:
            return False
        await application.shelf.keep_ended(record.value, encode(mark.head))
        own = (RevisionIs(Keyspace.HEADS, key, mark.revision), RevisionIs(Keyspace.APPLICATIONS, key, record.revision))
        for keyspace in _MANY:
            await _clear(backend, keyspace, places.within_application(application.name), (*still, *own))
        last = [Delete(keyspace, key) for keyspace in (*_ONE, Keyspace.HEADS, Keyspace.APPLICATIONS)]
        await backend.put_txn((*still, *own), last)
        gone = (lock.guard, Absent(Keyspace.HEADS, key))
        await _clear(backend, Keyspace.SNAPSHOTS, places.within_application(application.name), gone)
    except Conflict as conflict:
        check_held(lock, conflict)
        return False  # somebody has written to it meanwhile: the next run sees what
    return True


async def _all_archived(backend: StateBackend, lock: Lock, application: Application) -> Mark | None:
    """The head that says that all is archived, and names no snapshot: they go first. None: more came meanwhile."""
    journal = application.journal
    before, _ = await journal.mark()
    await archive(backend, lock, application, before.head.next_sequence - 1)
    mark, _ = await journal.mark()
    if mark.head.next_sequence != before.head.next_sequence:
        return None
    if mark.head.archived_below < mark.head.next_sequence:
        raise DamagedLog(application.name, ends_early(mark, mark.head.archived_below))
    head = replace(mark.head, last_snapshot=Sequence(0), previous_snapshot=Sequence(0), snapshot_parts=0)
    if head == mark.head:
        return mark
    return await journal.set_head(mark, head, (lock.guard,))


async def _clear(backend: StateBackend, keyspace: Keyspace, prefix: str, still: tuple[Compare, ...]) -> None:
    """Deletes all keys of the application in a keyspace of which it has many."""
    more = True
    while more:
        page = await backend.scan_keys(keyspace, prefix, limit=DELETES)
        if page.keys:
            await backend.put_txn(still, [Delete(keyspace, key) for key in page.keys])
        more = page.more
