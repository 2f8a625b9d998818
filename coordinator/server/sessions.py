"""How a session begins and ends.

Responsible for the Hello and the Welcome: who may open the line, and what both sides know when it is open. Refuses to
know what is sent on it. Invariant: nothing is carried out before the Hello was checked, and a session that ends leaves
nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from shuffle_lifecycle.v1 import service_pb2

from coordinator.core.commands import RegisterClient, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.rejections import Reason
from coordinator.runtime.api import Coordinator, CoordinatorError, Session
from coordinator.server.calls import Calls, Context
from coordinator.server.line import Line
from coordinator.server.options import ServerOptions
from coordinator.server.reading import check_read
from coordinator.server.security import Gate, Role, Shown, token_of
from coordinator.server.statuses import accept, refuse
from coordinator.wire.errors import Malformed
from coordinator.wire.messages import command_of
from state_backend.waiting import within


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of one server."""

    coordinator: Coordinator
    gate: Gate
    calls: Calls
    options: ServerOptions

    async def serve(self, context: Context) -> None:
        """One session, from its Hello to its end."""
        hello = await self._hello(context)
        secret = await self._admit(hello, context)
        elsewhere = asyncio.create_task(self._elsewhere())  # read while the session is opened
        try:
            session = await self.coordinator.open_session(ApplicationId(hello.application), ClientId(hello.client))
            async with session:
                welcome = self._welcome(session, secret, await elsewhere)
                await context.write(service_pb2.SessionReply(welcome=welcome))
                await Line(self.coordinator, self.calls, session, context, self.options, hello.confirmed).run()
        finally:
            elsewhere.cancel()

    async def _hello(self, context: Context) -> service_pb2.Hello:
        try:
            first: Any = await within(self.options.hello_within_s, context.read())
        except asyncio.TimeoutError:
            raise Malformed(
                f"no Hello came within {self.options.hello_within_s:g} s",
                "Hello as the first message",
                "Open the session again and send it at once.",
            ) from None
        if first is not grpc.aio.EOF:
            check_read(first, self.options.bounds)
        if first is grpc.aio.EOF or first.WhichOneof("message") != "hello":
            found = "missing" if first is grpc.aio.EOF else first.WhichOneof("message") or "empty"
            raise Malformed(f"the first message of a session is {found}", "Hello")
        hello: service_pb2.Hello = first.hello
        if not hello.client:
            raise Malformed("Hello.client is empty", "a name for the client, the same whenever it comes back")
        return hello

    async def _admit(self, hello: service_pb2.Hello, context: Context) -> str:
        """The token, where this Hello is to be told it; else empty."""
        shown = token_of(hello.token, context.invocation_metadata())
        if hello.HasField("register"):
            return await self._enroll(hello, Shown(shown, hello.proof, hello.registration_token))
        role = await self.gate.admit(hello.application, shown)
        if role is not Role.APPLICATION:
            raise refuse(
                Reason.PERMISSION_DENIED,
                f"a session of application {hello.application} was opened by {role.value}",
                "its own driver",
                "Ask and decide with single calls.",
                kind="wrong role",
                about=f"{hello.application} Session",
            )
        return ""

    async def _enroll(self, hello: service_pb2.Hello, shown: Shown) -> str:
        """Registers the application, and a client that is new; neither under a number: harmless when repeated."""
        if hello.register.application != hello.application:
            raise Malformed(
                f"Hello registers application {hello.register.application!r} and is of {hello.application!r}", "one id"
            )
        client = ClientId(hello.client)
        answer, secret = await self.calls.enroll(Request(client, 0, command_of(hello.register)), shown)
        accept(answer)
        if hello.confirmed == 0:
            requests = [Request(client, 0, RegisterClient(client))]
            (answer,) = await self.coordinator.submit(ApplicationId(hello.application), requests)
            accept(answer)
        return secret

    def _welcome(self, session: Session, secret: str, elsewhere: Sequence[str]) -> service_pb2.Welcome:
        return service_pb2.Welcome(
            replica=self.options.replica,
            answered=session.answered,
            outstanding=session.outstanding,
            limits=service_pb2.Limits(
                max_batch=self.options.batch_max,
                max_unconfirmed=self.options.unconfirmed_max,
                max_message_bytes=self.options.message_bytes_max,
                heartbeat_ms=self.options.heartbeat_ms,
                lineage_ahead=True,
            ),
            elsewhere=elsewhere,
            token=secret,
        )

    async def _elsewhere(self) -> list[str]:
        """Where else the driver may go; nobody where the store does not say."""
        try:
            peers = await self.coordinator.replicas()
        except CoordinatorError:
            return []
        return [peer.address for peer in peers if peer.address and peer.replica != self.options.replica]
