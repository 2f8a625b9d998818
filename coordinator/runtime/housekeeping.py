"""What is done once, whoever does it.

Responsible for the lock, and for doing each chore again and again while it is held. Refuses to know what the chores
are. Invariant: a chore runs only on the replica that holds the lock, and every transaction of it carries the lock's
guard; when the lock is lost all chores end at once, and whoever takes it next begins anew.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

import structlog

from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.options import Options
from state_backend.api import Lock, StateBackend
from state_backend.errors import Closed, StateBackendError
from state_backend.values import Keyspace

LOCK = "housekeeping"

log = structlog.get_logger(__name__)


class Chore(ABC):
    """Something to be done every so often. ``every_s``: the pause between."""

    every_s: float

    def begin(self) -> None:
        """The lock has been taken: what was known before counts no more."""
        return

    @abstractmethod
    async def look(self, lock: Lock) -> None:
        """Does what is to be done now. Raises what the store says; the lock is then taken anew."""


class Housekeeper:
    """Waits for the lock, then does the chores, until it is stopped."""

    def __init__(self, backend: StateBackend, chores: Sequence[Chore], options: Options, clock: Clock) -> None:
        self._backend = backend
        self._chores = chores
        self._options = options
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Takes part in housekeeping until `stop`."""
        self._task = asyncio.create_task(self._run(), name="housekeeping")

    async def stop(self) -> None:
        """Leaves it to others."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        failures = 0
        while True:
            for chore in self._chores:
                chore.begin()
            try:
                async with self._backend.lock(Keyspace.SESSIONS, LOCK, self._options.lease_s) as lock:
                    failures = 0
                    log.info("keeping house", replica=self._options.replica, token=lock.token)
                    await self._keep(lock)
            except Closed:
                return
            except StateBackendError as error:
                log.warning("housekeeping interrupted, beginning anew", error=str(error))
            except Exception:
                log.exception("a defect in housekeeping; beginning anew")
            failures += 1
            await self._clock.sleep(back_off_s(failures))

    async def _keep(self, lock: Lock) -> None:
        """All chores, each at its own pace, until one fails."""
        tasks = [asyncio.create_task(self._repeat(chore, lock)) for chore in self._chores]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _repeat(self, chore: Chore, lock: Lock) -> None:
        while True:
            await chore.look(lock)
            await self._clock.sleep(chore.every_s)
