"""The applications that are alive on this replica.

Responsible for loading each once, however many ask, and for forgetting those that nobody asks about. Refuses to know
what they do. Invariant: at most one engine an application, and one that is broken is never given out again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from coordinator.archive.api import Archive
from coordinator.core.ids import ApplicationId
from coordinator.runtime import loading
from coordinator.runtime.archiving import Application
from coordinator.runtime.aside import Aside
from coordinator.runtime.clock import Clock
from coordinator.runtime.engine import Engine
from coordinator.runtime.errors import Draining, UnknownApplication
from coordinator.runtime.journal import CommitIds, Journal, Mark
from coordinator.runtime.loading import Loaded
from coordinator.runtime.observing import Observer
from coordinator.runtime.options import Options
from coordinator.runtime.shelf import Shelf
from coordinator.runtime.snapshot import Snapshots
from state_backend.api import StateBackend
from state_backend.values import Revision

_LOOKS_PER_IDLE = 4


class Engines:
    """All engines of one replica."""

    def __init__(
        self,
        backend: StateBackend,
        options: Options,
        clock: Clock,
        aside: Aside[Any],
        archive: Archive | None,
        archive_aside: Aside[Any],
        readable: Callable[[], int],
        observer: Observer,
    ) -> None:
        self._backend = backend
        self._options = options
        self._clock = clock
        self._aside = aside
        self._archive = archive
        self._archive_aside = archive_aside
        self._readable = readable
        self._observer = observer
        self._ids = CommitIds(options.replica)
        self._alive: dict[ApplicationId, Engine] = {}
        self._loading: dict[ApplicationId, asyncio.Task[Engine]] = {}
        self._forgetting: asyncio.Task[None] | None = None
        self._stopped = False

    def start(self, on_forgotten: Callable[[ApplicationId], None]) -> None:
        """Begins to forget what is idle."""
        self._stopped = False
        self._forgetting = asyncio.create_task(self._forget_idle(on_forgotten), name="forget idle applications")

    async def stop(self, drain: bool) -> None:
        """Closes all engines; whoever still looks for one is told that there will be none."""
        self._stopped = True
        for task in (self._forgetting, *self._loading.values()):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(engine.close(drain) for engine in self._alive.values()))
        self._alive.clear()

    def journal(self, application: ApplicationId) -> Journal:
        """The application's log, whether there is one or not."""
        shelf = self.shelf(application) if self._archive is not None else None
        replica, observer = self._options.replica, self._observer
        return Journal(self._backend, application, replica, self._ids, self._clock, shelf, observer)

    def shelf(self, application: ApplicationId) -> Shelf:
        """Its part of the archive; only where there is one."""
        assert self._archive is not None
        return Shelf(self._archive, application, self._archive_aside)

    def opened(self, application: ApplicationId) -> Application:
        """What is needed to archive it; only where there is an archive."""
        snapshots = Snapshots(self._backend, application, self._aside)
        return Application(self.journal(application), self.shelf(application), snapshots)

    def find(self, application: ApplicationId) -> Engine | None:
        """The engine, where it is alive here."""
        engine = self._alive.get(application)
        return engine if engine is not None and engine.broken is None else None

    def __iter__(self) -> Iterator[Engine]:
        return iter(list(self._alive.values()))

    async def get(self, application: ApplicationId) -> Engine:
        """The engine of a registered application. Raises `UnknownApplication`, and what loading may raise."""
        engine = self.find(application)
        if engine is None:
            end = await self.journal(application).mark()
            if end[0].revision:
                return await self.get_or_new(application, end)
        elif await _is_registered(engine):
            return engine
        raise UnknownApplication(application)  # and nothing is kept of it: anybody can ask for anything

    async def get_or_new(self, application: ApplicationId, end: tuple[Mark, Revision] | None = None) -> Engine:
        """The engine of an application that may be registered in a moment. ``end``: of its log, where it is known."""
        engine = self.find(application)
        if engine is not None:
            return engine
        task = self._loading.get(application)
        if task is None and self._stopped:
            raise Draining(self._options.replica)
        if task is None:
            task = asyncio.create_task(self._load(application, end), name=f"load {application}")
            self._loading[application] = task
            task.add_done_callback(lambda _: self._loading.pop(application, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():  # by `stop`; else it is the asker who gave up
                raise Draining(self._options.replica) from None
            raise

    async def forget(self, engine: Engine) -> None:
        """Closes this very engine; the application is loaded anew when somebody asks."""
        if self._alive.get(engine.application) is engine:
            del self._alive[engine.application]
        await engine.close(drain=True)

    async def forget_unregistered(self, engine: Engine) -> None:
        """Keeps nothing of what nobody has registered; somebody else's registration may be under way."""
        if not engine.mark.revision and engine.idle:
            await self.forget(engine)

    async def _load(self, application: ApplicationId, end: tuple[Mark, Revision] | None) -> Engine:
        journal = self.journal(application)
        snapshots = Snapshots(self._backend, application, self._aside)
        loaded: Loaded = await loading.load(journal, snapshots, end)
        engine = Engine(journal, snapshots, loaded, self._options, self._clock, self._readable, self._observer)
        self._alive[application] = engine
        return engine

    async def _forget_idle(self, on_forgotten: Callable[[ApplicationId], None]) -> None:
        while True:
            await self._clock.sleep(self._options.idle_s / _LOOKS_PER_IDLE)
            before_s = self._clock.monotonic_s() - self._options.idle_s
            for engine in self:
                if engine.idle and engine.used_s <= before_s:
                    if self._alive.get(engine.application) is engine:
                        on_forgotten(engine.application)
                    await self.forget(engine)


async def _is_registered(engine: Engine) -> bool:
    """An engine may be older than its application's registration, here or on another replica."""
    if not engine.mark.revision:
        await engine.catch_up()
    return bool(engine.mark.revision)
