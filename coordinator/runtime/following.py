"""Hearing of what other replicas append.

Responsible for one watch over all heads, and for nudging the engines whose head has moved. Refuses to read a log.
Invariant: no commit is missed: where the watch has a gap, every engine is nudged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from coordinator import logs
from coordinator.core.ids import ApplicationId
from coordinator.runtime import places
from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.engine import Engine
from state_backend.api import StateBackend
from state_backend.errors import Closed, StateBackendError
from state_backend.values import Commit, Keyspace, Revision, Written

log = logs.logger(__name__)


class Follower:
    """The watch of one replica."""

    def __init__(
        self,
        backend: StateBackend,
        find: Callable[[ApplicationId], Engine | None],
        all_engines: Callable[[], Iterable[Engine]],
        clock: Clock,
    ) -> None:
        self._backend = backend
        self._find = find
        self._all = all_engines
        self._clock = clock
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watches from now on, until `stop`. May be repeated, and begins anew what has ended."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="follower")

    async def stop(self) -> None:
        """Watches no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except Closed:
                return
            except StateBackendError as error:
                log.warning("watch interrupted, starting again", error=str(error))
            except Exception:  # what others append must be heard, whatever else stands in the store
                log.exception("a defect in the watch, starting again")
            self._failures += 1
            await self._clock.sleep(back_off_s(self._failures))

    async def _follow(self) -> None:
        """From the present on; what came before it is read by every engine that is alive."""
        present = (await self._backend.scan_keys(Keyspace.HEADS, limit=1)).revision
        async with self._backend.watch(Keyspace.HEADS, "", Revision(present + 1)) as watch:
            for engine in self._all():  # all: a store that was set back is not as far as an engine has seen it
                engine.nudge(Revision(max(present, engine.mark.revision + 1)))
            async for commit in watch:
                self._failures = 0
                self._tell(commit)

    def _tell(self, commit: Commit) -> None:
        for change in commit.changes:
            if isinstance(change, Written):
                engine = self._find(places.application_of(change.entry.key))
                if engine is not None:
                    engine.nudge(change.entry.revision)
