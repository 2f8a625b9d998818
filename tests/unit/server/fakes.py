"""A replica without store and clock, and a server over it.

Responsible for answering as the core decides, at once and in memory, and for failing and waiting where a test says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from shuffle_lifecycle.v1 import service_pb2, service_pb2_grpc

from coordinator.core.commands import RegisterApplication, Request
from coordinator.core.desk import Desk
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, ShuffleId
from coordinator.core.numbering import answer_all, close_commit
from coordinator.core.rejections import Answer
from coordinator.core.state import Meta, State, copy, empty, settle
from coordinator.runtime.api import ApplicationRecord, Coordinator, GoAway, Message, Peer, Session, UnknownApplication
from coordinator.runtime.errors import InDoubt
from coordinator.server import tokens
from coordinator.server.options import ServerOptions
from coordinator.server.server import Server
from coordinator.wire.records import SessionRecord

APP = ApplicationId("4f1c2a7e-app")
DRIVER = ClientId("driver")
MINT = "the mint of a test"
PROOF = "a proof that is long enough to be taken"
TOKEN = tokens.mint(APP, "", PROOF, MINT).token


class FakeSession(Session):
    """A session whose messages a test gives."""

    def __init__(self, application: ApplicationId, client: ClientId, answered: int) -> None:
        self.application = application
        self.client = client
        self._answered = answered
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self.beats = 0
        self.closed = asyncio.Event()

    @property
    def answered(self) -> int:
        return self._answered

    @property
    def outstanding(self) -> int:
        return self._messages.qsize()

    def newest(self, app_shuffle: AppShuffle) -> ShuffleId:
        return ShuffleId(app_shuffle + 10)

    def tell(self, message: Message) -> None:
        self._messages.put_nowait(message)

    async def heartbeat(self) -> None:
        self.beats += 1

    async def close(self) -> None:
        self.closed.set()

    async def __anext__(self) -> Message:
        if self.closed.is_set():
            raise StopAsyncIteration
        message = await self._messages.get()
        if isinstance(message, GoAway):
            await self.close()
        return message


@dataclass
class FakeCoordinator(Coordinator):
    """Decides with the real core; fails with ``failure``; waits while ``held``."""

    states: dict[ApplicationId, State] = field(default_factory=dict)
    logs: dict[ApplicationId, list[Recorded]] = field(default_factory=dict)
    sessions: list[FakeSession] = field(default_factory=list)
    waiting: list[Message] = field(default_factory=list)  #: For the next session.
    audited: list[tuple[str, str]] = field(default_factory=list)
    submitted: list[list[int]] = field(default_factory=list)
    limits_s: list[float | None] = field(default_factory=list)
    failure: Exception | None = None
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    peers: list[Peer] = field(default_factory=list)
    heard: dict[ApplicationId, SessionRecord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.go_on.set()

    async def start(self) -> None: ...

    async def stop(self, drain: bool = True) -> None:
        for session in self.sessions:
            session.tell(GoAway("the replica is stopping", ("elsewhere:1",)))

    async def register(self, request: Request) -> Answer:
        assert isinstance(request.command, RegisterApplication)
        application = request.command.application
        self.states.setdefault(application, empty())
        self.logs.setdefault(application, [])
        return self._carry_out(application, [request])[0]

    async def submit(
        self, application: ApplicationId, requests: Sequence[Request], within_s: float | None = None
    ) -> list[Answer]:
        self.submitted.append([request.number for request in requests])
        self.limits_s.append(within_s)
        await self._go_on(application, within_s)
        if self.failure is not None:
            raise self.failure
        self._state(application)
        return self._carry_out(application, requests)

    async def _go_on(self, application: ApplicationId, within_s: float | None) -> None:
        """Waits as a replica does whose store is away: no longer than it may."""
        try:
            await asyncio.wait_for(self.go_on.wait(), within_s)
        except asyncio.TimeoutError as error:
            raise InDoubt(application, within_s or 0) from error

    def _carry_out(self, application: ApplicationId, requests: Sequence[Request]) -> list[Answer]:
        state = self.states[application]
        desk = Desk.over(state, 1_700_000_000_000)
        answers = answer_all(desk, requests)
        close_commit(desk)
        settle(desk.state, state)
        self.logs[application].extend(desk.log)
        return answers

    def _state(self, application: ApplicationId) -> State:
        if application not in self.states:
            raise UnknownApplication(application)
        return self.states[application]

    async def open_session(self, application: ApplicationId, client: ClientId) -> Session:
        known = self._state(application).clients.get(client)
        answered = max((span.last for span in known.answered), default=known.confirmed) if known else 0
        session = FakeSession(application, client, answered)
        for message in self.waiting:
            session.tell(message)
        self.sessions.append(session)
        return session

    async def audit(self, peer: str, kind: str, detail: str) -> None:
        self.audited.append((kind, detail))

    async def view(self, application: ApplicationId) -> State:
        return copy(self._state(application))

    async def registration(self, application: ApplicationId) -> Meta:
        return self._state(application).meta

    async def events(
        self, application: ApplicationId, after: int = 0, limit: int = 1_000, bytes_max: int | None = None
    ) -> list[Recorded]:
        self._state(application)
        return [recorded for recorded in self.logs[application] if recorded.sequence > after][:limit]

    async def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        for recorded in await self.events(application, after):
            yield recorded
        await asyncio.Event().wait()

    async def applications(
        self, after: str = "", limit: int = 100, running_only: bool = False
    ) -> list[ApplicationRecord]:
        found = [(key, state.meta) for key, state in sorted(self.states.items()) if key > after]
        return [
            ApplicationRecord(key, meta.driver, meta.capabilities, meta.policy, meta.settings, ending=meta.ending)
            for key, meta in found
            if meta.ending is None or not running_only
        ][:limit]

    async def signs(self, applications: Sequence[ApplicationId]) -> Mapping[ApplicationId, SessionRecord]:
        return {one: self.heard[one] for one in applications if one in self.heard}

    async def replicas(self) -> list[Peer]:
        return self.peers

    async def roll_call(self) -> list[Peer]:
        return self.peers


@dataclass
class Running:
    """A server that listens, and a way to it."""

    coordinator: FakeCoordinator
    server: Server
    channel: grpc.aio.Channel
    stub: Any

    def caller(self, client: str = "", number: int = 0, token: str = TOKEN) -> service_pb2.Caller:
        return service_pb2.Caller(application=APP, token=token, client=client, number=number)


@asynccontextmanager
async def running(coordinator: FakeCoordinator | None = None, **options: Any) -> AsyncIterator[Running]:
    """A server on a free port."""
    coordinator = coordinator or FakeCoordinator()
    told = {"bind": "127.0.0.1:0", "replica": "replica-1", "drain_s": 0.2, "mint": lambda: MINT, **options}
    async with (
        Server(coordinator, ServerOptions(**told)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        yield Running(coordinator, server, channel, service_pb2_grpc.ShuffleLifecycleStub(channel))


async def register(running: Running, application: str = APP, **told: Any) -> None:
    """Registers the application, with its token."""
    command = service_pb2.RegisterApplication(application=application, driver={"name": "nightly"}, **told)
    call = service_pb2.RegisterApplicationCall(caller={"application": application}, command=command, proof=PROOF)
    await running.stub.RegisterApplication(call)
