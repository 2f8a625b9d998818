"""How many applications run.

Responsible for refusing one more where the store has as many as it shall have. Refuses to know what they do. Invariant:
the store is asked at most every few seconds, whoever registers; in between, what was let in here is added.

An application that was let in by two replicas at one moment may be one too many for each; it is a bound on what grows
and no ration.
"""

from __future__ import annotations

import asyncio

from coordinator.core.ids import ApplicationId
from coordinator.runtime.clock import Clock
from coordinator.runtime.errors import TooManyApplications
from state_backend.api import StateBackend
from state_backend.values import Keyspace

_COUNT_EVERY_S = 5.0


class Census:
    """The count, as of a moment ago."""

    def __init__(self, backend: StateBackend, most: int, clock: Clock) -> None:
        self._backend = backend
        self._most = most
        self._clock = clock
        self._count = 0
        self._counted_s = float("-inf")
        self._counting = asyncio.Lock()  #: Whoever comes meanwhile waits for the count, and is in none of it yet.

    async def let_in(self, application: ApplicationId) -> None:
        """Counts one more. Raises `TooManyApplications`, and what the store says."""
        async with self._counting:
            if self._clock.monotonic_s() - self._counted_s >= _COUNT_EVERY_S:
                self._count = len((await self._backend.scan_keys(Keyspace.SESSIONS, limit=self._most)).keys)
                self._counted_s = self._clock.monotonic_s()
            if self._count >= self._most:
                raise TooManyApplications(application, self._most)
            self._count += 1
