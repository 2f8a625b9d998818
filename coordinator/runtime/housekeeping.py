"""What is done once, whoever does it.

Responsible for the lock, and for doing each chore again and again while it is held. Refuses to know what the chores
are. Invariant: a chore runs only on the replica that holds the lock, and every transaction of it carries the lock's
guard; when the lock is lost all chores end at once, and whoever takes it next begins anew. What fails, for one
application or as one whole run, keeps nothing else from being done.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from coordinator import logs
from coordinator.archive.api import ArchiveError
from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.errors import CoordinatorError
from coordinator.runtime.options import Options
from state_backend import salvage
from state_backend.api import Lock, StateBackend
from state_backend.errors import Closed, Conflict, HoldLost, OutcomeUnknown, StateBackendError, Unavailable
from state_backend.values import Entry, Keyspace

LOCK = "housekeeping"
#: The lock is not ours, or the backend was closed. A compare that fails and that nobody has looked at is the guard.
_OVER = (HoldLost, Closed, Conflict)
#: What is wrong with more than one application.
_WIDER = (*_OVER, Unavailable, OutcomeUnknown)
#: What says in words what is wrong; all else is a mistake in this program.
_IN_WORDS = (ArchiveError, CoordinatorError, StateBackendError)

log = logs.logger(__name__)


class Chore(ABC):
    """Something to be done every so often. ``every_s``: the pause between."""

    every_s: float

    def begin(self) -> None:
        """The lock has been taken, or a run has failed: what was known before counts no more."""
        return

    @abstractmethod
    async def run(self, lock: Lock) -> None:
        """Does what is to be done now. Raises what the store says; the next run begins anew."""


async def entries(backend: StateBackend, keyspace: Keyspace) -> AsyncIterator[Entry]:
    """All of them, each page as of its own moment: what a chore does between may outlast the store's history.

    One that the store finds damaged is told to the log, and keeps nothing from being done for the others.
    """
    async for item in salvage.entries(backend, keyspace):
        if isinstance(item, Entry):
            yield item
        else:
            log.error("a record is damaged", error=str(item))


@contextmanager
def alone(application: str, failed: str) -> Iterator[None]:
    """What is wrong with one application is told, and is no other one's."""
    try:
        yield
    except _WIDER:
        raise
    except Exception as error:
        log.warning(failed, application=application, error=str(error), exc_info=not isinstance(error, _IN_WORDS))


class Housekeeper:
    """Waits for the lock, then does the chores, until it is stopped."""

    def __init__(self, backend: StateBackend, chores: Sequence[Chore], options: Options, clock: Clock) -> None:
        self._backend = backend
        self._chores = chores
        self._options = options
        self._clock = clock
        self._failures = 0  #: Times that the lock was sought since a chore last came to its end.
        self._stopping = False  #: Said beside the cancellation, which a lock that is lost just now takes for its own.
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Takes part in housekeeping until `stop`."""
        self._stopping = False
        self._task = asyncio.create_task(self._run(), name="housekeeping")

    async def stop(self) -> None:
        """Leaves it to others."""
        if self._task is not None:
            self._stopping = True
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while not self._stopping:
            for chore in self._chores:
                chore.begin()
            try:
                async with self._backend.lock(Keyspace.SESSIONS, LOCK, self._options.lease_s) as lock:
                    log.info("keeping house", replica=self._options.replica, token=lock.token)
                    await self._keep(lock)
            except Closed:
                return
            except StateBackendError as error:
                log.warning("housekeeping interrupted, beginning anew", error=str(error))
            except Exception:
                log.exception("a defect in housekeeping; beginning anew")
            self._failures += 1
            await self._clock.sleep(back_off_s(self._failures))

    async def _keep(self, lock: Lock) -> None:
        """All chores, each at its own pace, until the lock is lost."""
        tasks = [asyncio.create_task(self._repeat(chore, lock)) for chore in self._chores]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _repeat(self, chore: Chore, lock: Lock) -> None:
        while True:
            await self._run_once(chore, lock)
            await self._clock.sleep(chore.every_s)

    async def _run_once(self, chore: Chore, lock: Lock) -> None:
        try:
            await chore.run(lock)
            self._failures = 0
        except _OVER:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            lock.check()
            chore.begin()
            why = {"error": str(error), "exc_info": not isinstance(error, _IN_WORDS)}
            log.warning("a chore has failed, its next run begins anew", chore=type(chore).__name__, **why)
