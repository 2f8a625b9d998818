"""Closing applications whose driver is gone.

Responsible for counting a driver's silence and for ending its application with cause `application lost`. Refuses to
know sessions and drivers: all that it sees is whether a sign of life changes, and a damaged one does when it is written
anew. Invariant: silence is counted by this replica's own monotonic clock, from the moment that it holds the lock with a
writable store, for a full time-out; the ending append compares the sign of life that was counted and the lock that was
held. So an outage of the store reaps nobody, and neither does a replica that was paused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from coordinator import logs
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Ending
from coordinator.runtime import places
from coordinator.runtime.clock import Clock
from coordinator.runtime.housekeeping import Chore, alone
from coordinator.runtime.options import Options
from state_backend import salvage
from state_backend.api import Lock, StateBackend
from state_backend.keys import join_key
from state_backend.values import Compare, Entry, Keyspace, Put, Revision, RevisionIs

_LOOKS_PER_SILENCE = 6

#: Ends an application if the compares hold; False where they did not.
End = Callable[[ApplicationId, Ending, Sequence[Compare]], Awaitable[bool]]

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Silence:
    """A sign of life, and since when it has not changed."""

    revision: Revision
    since_s: float


class Reaper(Chore):
    """Looks a few times in each time-out."""

    def __init__(self, backend: StateBackend, end: End, options: Options, clock: Clock) -> None:
        self.every_s = options.silence_s / _LOOKS_PER_SILENCE
        self._backend = backend
        self._end = end
        self._options = options
        self._clock = clock
        self._silences: dict[str, Silence] = {}

    def begin(self) -> None:
        self._silences.clear()

    async def run(self, lock: Lock) -> None:
        """Counts every driver's silence and ends what was silent for too long. Raises what the store says."""
        await self._prove_writable(lock)
        begun_s = self._clock.monotonic_s()  # what was read may have changed just before, however long that took
        there = [entry async for entry in salvage.all_replaceable(self._backend, Keyspace.SESSIONS)]
        read_s = self._clock.monotonic_s()
        self._silences = {entry.key: self._count(entry, read_s) for entry in there}
        for key, silence in list(self._silences.items()):
            if begun_s - silence.since_s >= self._options.silence_s:
                await self._reap(lock, key, silence)

    async def _prove_writable(self, lock: Lock) -> None:
        """Where nothing can be written, drivers cannot give signs of life either."""
        key = join_key("pulse", self._options.replica)
        await self._backend.put_txn((lock.guard,), (Put(Keyspace.LOCKS, key, b"", lock.lease.id),))

    def _count(self, entry: Entry, read_s: float) -> Silence:
        known = self._silences.get(entry.key)
        return known if known is not None and known.revision == entry.revision else Silence(entry.revision, read_s)

    async def _reap(self, lock: Lock, key: str, silence: Silence) -> None:
        compares = (lock.guard, RevisionIs(Keyspace.SESSIONS, key, silence.revision))
        with alone(key, "application not reaped"):
            application = places.application_of(key)
            if await self._end(application, Ending.LOST, compares):
                log.info("application lost", application=application, silent_s=self._options.silence_s)
