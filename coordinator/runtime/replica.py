"""One replica, put together.

Responsible for the promises of `api.Coordinator` over one store: who is asked what, and in which words it fails.
Refuses to decide anything itself. Invariant: every error that leaves here is a `CoordinatorError`, unless a rule of the
core has failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from coordinator import logs
from coordinator.archive.api import Archive, ArchiveAway
from coordinator.archive.files import Ended
from coordinator.core.commands import RegisterApplication, Request
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.rejections import Answer
from coordinator.core.state import Meta, State
from coordinator.core.sweep import is_closed
from coordinator.core.values import Ending
from coordinator.runtime import peers, places, signs, tail
from coordinator.runtime.api import Coordinator, GoAway, Peer, Session
from coordinator.runtime.archiving import Archiver
from coordinator.runtime.aside import Aside, at_once
from coordinator.runtime.audit import Audit
from coordinator.runtime.census import Census
from coordinator.runtime.clock import Clock
from coordinator.runtime.engine import Engine
from coordinator.runtime.engines import Engines
from coordinator.runtime.errors import (
    ALL,
    ApplicationOver,
    CoordinatorError,
    Draining,
    InDoubt,
    Unavailable,
    UnknownApplication,
    unread,
)
from coordinator.runtime.following import Follower
from coordinator.runtime.housekeeping import Chore, Housekeeper
from coordinator.runtime.listing import records
from coordinator.runtime.observing import Observer, Standing
from coordinator.runtime.options import Options
from coordinator.runtime.pulse import Pulse
from coordinator.runtime.reaping import Reaper
from coordinator.runtime.registration import Registration
from coordinator.runtime.retention import Retention
from coordinator.runtime.sessions import OpenSession, Sessions
from coordinator.wire.records import ApplicationRecord, SessionRecord
from state_backend.api import StateBackend, Watch
from state_backend.errors import OutcomeUnknown, StateBackendError
from state_backend.values import Compare, Keyspace
from state_backend.waiting import within

T = TypeVar("T")

#: Whether the archive knows an application is asked for so long: who registers waits for it.
_ARCHIVE_S = 3.0
#: Registrations that are read at once.
_LIST_PAGE = 100
#: A stopping replica waits no longer to learn where it can send its drivers.
_FAREWELL_S = 1.0

log = logs.logger(__name__)


class Replica(Coordinator):
    """One coordinator over a store, which stays the caller's to close."""

    def __init__(
        self,
        backend: StateBackend,
        options: Options,
        clock: Clock | None = None,
        aside: Aside[Any] = at_once,
        archive: Archive | None = None,
        archive_aside: Aside[Any] | None = None,
        observer: Observer | None = None,
    ) -> None:
        """``aside``: how snapshots are encoded, as `threads.or_here`. ``archive``: where logs go.

        ``archive_aside``: how the archive is asked, which may hang (`threads.Threads`); none: as ``aside``.
        """
        self._backend = backend
        self._options = options
        self._clock = clock or Clock()
        self._observer = observer or Observer()
        self._registration = Registration(backend, options, self._clock, self._observer)
        readable, asked = self._registration.readable, archive_aside or aside
        self._engines = Engines(backend, options, self._clock, aside, archive, asked, readable, self._observer)
        self._follower = Follower(backend, self._engines.find, lambda: self._engines, self._clock)
        self._sessions = Sessions()
        self._pulses: dict[ApplicationId, Pulse] = {}
        self._followed: WeakSet[Watch] = WeakSet()  #: Of those who follow a log; most are over.
        self._house = Housekeeper(backend, self._chores(archive is not None), options, self._clock)
        self._audit = Audit(backend, options, self._clock)
        self._census = Census(backend, options.limits.applications, self._clock)
        self._running = False
        self._leaving = False  #: It takes no new session; those that are open are served until they are sent away.
        self._stopping: asyncio.Task[None] | None = None

    # ---- living -----------------------------------------------------------------------------------------------------

    def reached_at(self, address: str) -> None:
        """Where drivers reach it, unless the options name another address. Before `start`."""
        self._registration.address = self._options.address or address

    async def start(self) -> None:
        if self._stopping is not None:
            await self.stop()  # to its end, where it is under way
        self._running, self._leaving, self._stopping = True, False, None
        self._registration.start()
        self._engines.start(self._forget)
        if self._options.reap:
            self._house.start()

    def standing(self) -> Standing:
        """What is so now."""
        engines = list(self._engines)
        held = {engine.application: engine.state for engine in engines if engine.sessions}
        return Standing(sum(engine.sessions for engine in engines), len(engines), held)

    async def stop(self, drain: bool = True) -> None:
        """Goes on to its end also where who waits for it gives up; whoever stops it again waits for the same."""
        if self._stopping is None and self._running:
            self._leaving = True
            self._stopping = asyncio.create_task(self._stop(drain), name="stop")
        if self._stopping is not None:
            await asyncio.shield(self._stopping)

    async def _stop(self, drain: bool) -> None:
        await self._registration.refresh(_FAREWELL_S)
        self._sessions.send_all_away(self._farewell())
        self._running = False
        await asyncio.gather(*(watch.close() for watch in self._followed))
        await self._house.stop()  # gives its lock back, which takes a while where the store is away
        await self._engines.stop(drain)
        await asyncio.gather(*(pulse.close() for pulse in self._pulses.values()))
        await self._follower.stop()
        await self._registration.stop()
        await self._audit.close()

    def _chores(self, archive: bool) -> list[Chore]:
        """What this replica does for all of them while it holds the lock."""
        chores: list[Chore] = [Reaper(self._backend, self._end, self._options, self._clock)]
        if archive:
            chores.append(Archiver(self._backend, self._engines.opened, self._options))
        if archive and self._options.retention_s:
            chores.append(Retention(self._backend, self._engines.opened, self._options, self._clock))
        return chores

    def _farewell(self) -> GoAway:
        return GoAway("the replica is stopping", self._registration.elsewhere)

    def _check_staying(self) -> None:
        if self._leaving:
            raise Draining(self._options.replica)

    def _check_running(self) -> None:
        if not self._running:
            raise Draining(self._options.replica)

    def _forget(self, application: ApplicationId) -> None:
        self._pulses.pop(application, None)

    # ---- asking for something to happen -----------------------------------------------------------------------------

    async def register(self, request: Request) -> Answer:
        if not isinstance(request.command, RegisterApplication):
            raise TypeError(f"{request.command!r} is no registration; expected RegisterApplication")
        self._check_running()
        application = request.command.application
        engine = await self._within(application, self._engines.get_or_new(application))
        if engine.mark.revision and not request.number:
            return engine.register_again(request.command)
        try:
            with engine.kept():
                if not engine.mark.revision:
                    await self._check_new(application)
                    await self._within(application, self._census.let_in(application))
                (answer,) = await engine.submit((request,), self._options.answer_within_s)
                return answer
        finally:
            await self._engines.forget_unregistered(engine)

    async def _check_new(self, application: ApplicationId) -> None:
        """Its log has not left the store: a driver that was away for so long attaches again, under a new id."""
        try:
            ended = await self._ended(application)
        except CoordinatorError as error:
            log.warning("archive not asked", application=application, error=str(error))
            return
        if ended is not None:
            raise ApplicationOver(application, "its log is in the archive")

    async def _ended(self, application: ApplicationId) -> Ended | None:
        """The last record, where it has left the store. Raises `ArchiveUnread`, also where no answer comes in time."""
        journal = self._engines.journal(application)
        try:
            return await within(_ARCHIVE_S, journal.ended())
        except asyncio.TimeoutError as error:
            where = journal.shelf.where if journal.shelf is not None else ""
            raise unread(application, ArchiveAway(where, f"no answer within {_ARCHIVE_S:g} s")) from error

    async def submit(
        self, application: ApplicationId, requests: Sequence[Request], within_s: float | None = None
    ) -> list[Answer]:
        engine = await self._engine(application)
        self._pulse(application).touch()
        return await engine.submit(requests, self._options.answer_within_s if within_s is None else within_s)

    async def open_session(self, application: ApplicationId, client: ClientId) -> Session:
        self._check_staying()
        engine = await self._engine(application)
        with engine.kept():
            return await self._open_session(engine, client)

    async def _open_session(self, engine: Engine, client: ClientId) -> Session:
        application = engine.application
        await self._within(application, engine.catch_up())
        if engine.state.meta.ending is not None:
            raise ApplicationOver(application, engine.state.meta.ending.value)
        pulse = self._pulse(application)
        await self._within(application, pulse.claim(client), InDoubt(application, self._options.answer_within_s))
        session = OpenSession(engine, pulse, client)
        self._sessions.replace(session)
        if self._leaving:
            session.send_away(self._farewell())
        else:
            self._follower.start()
        pulse.on_replaced = lambda: self._sessions.send_away(application, GoAway("a newer session is open elsewhere"))
        pulse.on_unwritten = lambda: self._send_on(application)
        return session

    def _send_on(self, application: ApplicationId) -> None:
        """Another replica may reach the store where we do not, and would take a driver that is quiet for dead."""
        if self._registration.elsewhere:
            farewell = GoAway("the store cannot be reached from here", self._registration.elsewhere)
            self._sessions.send_away(application, farewell)

    async def audit(self, peer: str, kind: str, detail: str) -> None:
        self._audit.note(peer, kind, detail)

    async def _end(self, application: ApplicationId, ending: Ending, compares: Sequence[Compare]) -> bool:
        return await (await self._engine(application)).end(ending, compares)

    # ---- asking what is ---------------------------------------------------------------------------------------------

    async def view(self, application: ApplicationId) -> State:
        engine = await self._engine(application)
        return await self._within(application, engine.view())

    async def registration(self, application: ApplicationId) -> Meta:
        try:
            return (await self._engine(application)).state.meta
        except UnknownApplication:
            ended = await self._ended(application)
            if ended is None:
                raise
            return _meta_of(ended.record)

    async def events(
        self, application: ApplicationId, after: int = 0, limit: int = 1_000, bytes_max: int | None = None
    ) -> list[Recorded]:
        self._check_running()
        journal = self._engines.journal(application)
        return await self._within(application, tail.events(journal, after, limit, bytes_max))

    async def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        self._check_running()
        with _store_errors(application):
            journal = self._engines.journal(application)
            told = partial(self._is_told, application)
            async for recorded in tail.follow(self._backend, journal, after, told, self._note_follower):
                yield recorded

    def _note_follower(self, watch: Watch) -> None:
        self._check_running()
        self._followed.add(watch)

    async def _is_told(self, application: ApplicationId, after: int) -> bool:
        """Whether the application is over and this is its last event."""
        try:
            engine = await self._engine(application)
            await self._within(application, engine.catch_up())
        except UnknownApplication:  # it has left the store
            return True
        return is_closed(engine.state) and after + 1 >= engine.state.meta.next_sequence

    async def applications(
        self, after: str = "", limit: int = 100, running_only: bool = False
    ) -> list[ApplicationRecord]:
        self._check_running()
        return await self._within(ALL, self._listed(after, limit, running_only))

    async def _listed(self, after: str, limit: int, running_only: bool) -> list[ApplicationRecord]:
        """Read page by page: a registration may be large, and of those that run there may be few."""
        found: list[ApplicationRecord] = []
        last_key = places.of_application(ApplicationId(after)) if after else None
        page = min(limit, _LIST_PAGE)
        async with aclosing(
            records(self._backend, Keyspace.APPLICATIONS, ApplicationRecord, last_key, page)
        ) as registered:
            async for record in registered:
                if record.ending is None or not running_only:
                    found.append(record)
                if len(found) >= limit:
                    break
        return found

    async def signs(self, applications: Sequence[ApplicationId]) -> Mapping[ApplicationId, SessionRecord]:
        self._check_running()
        return await self._within(ALL, signs.last(self._backend, applications))

    async def replicas(self) -> list[Peer]:
        known = await self._within(ALL, self._registration.replicas())
        return [peers.peer(record) for record in known]

    async def roll_call(self) -> list[Peer]:
        self._check_running()
        return await self._within(ALL, peers.roll_call(self._backend))

    # ---- within -----------------------------------------------------------------------------------------------------

    async def _engine(self, application: ApplicationId) -> Engine:
        self._check_running()
        engine = self._engines.find(application)
        if engine is not None and engine.mark.revision:
            return engine
        return await self._within(application, self._engines.get(application))

    def _pulse(self, application: ApplicationId) -> Pulse:
        pulse = self._pulses.get(application)
        if pulse is None:
            pulse = Pulse(self._backend, application, self._options, self._clock, self._observer)
            self._pulses[application] = pulse
        return pulse

    async def _within(self, application: ApplicationId, asked: Awaitable[T], late: CoordinatorError | None = None) -> T:
        """Not longer than an asker waits for an answer. ``late``: what is raised then, of what writes."""
        try:
            with _store_errors(application):
                return await within(self._options.answer_within_s, asked)
        except asyncio.TimeoutError as error:
            raise late or Unavailable(application, "it did not answer in time") from error


def _meta_of(record: ApplicationRecord) -> Meta:
    """What was fixed at registration, of an application that has left the store."""
    return Meta(
        record.application,
        record.driver,
        record.capabilities,
        record.policy,
        record.settings,
        record.token_hash,
        record.registered_ms,
        time_ms=record.ended_ms,
        ending=record.ending,
        suspended=record.suspended,
    )


@contextmanager
def _store_errors(application: ApplicationId) -> Iterator[None]:
    """What the store says, in our words."""
    try:
        yield
    except OutcomeUnknown as error:
        raise InDoubt(application, cause=error.cause) from error
    except StateBackendError as error:
        raise Unavailable(application, error) from error
