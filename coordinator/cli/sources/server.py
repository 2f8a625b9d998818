"""A server as a source: one coordinator, or the first of several that answers.

Responsible for asking, page by page, and for going to the next address when one does not answer. Refuses to know what
the answers mean. Invariant: a command is carried out once at most: only one that surely nobody has is told elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status  # type: ignore[import-untyped]
from shuffle_lifecycle.v1 import service_pb2 as pb
from shuffle_lifecycle.v1 import service_pb2_grpc

from coordinator.cli.dialing import NEVER_CONNECTED, credentials_of, open_channel, unreached_since
from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.sources.api import IN_ARCHIVE, Source
from coordinator.config import Config
from coordinator.core.commands import Command, Request
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.rejections import Answer
from coordinator.runtime.errors import SetBack
from coordinator.wire.codec import record_from_message
from coordinator.wire.messages import answer_of, request_to_message

_PAGE = 500
_COMMAND = "Submit"
_DNS = "dns:///"
#: Between two coordinators that end what is followed: one that drains still answers questions.
_PAUSE_S = 0.2


def open_server(config: Config) -> ServerSource:
    """The coordinators at these addresses; nothing is asked yet."""
    addresses = [address.strip() for address in config.server.split(",") if address.strip()]
    for address in addresses or [config.server]:
        _check_address(address)
    return ServerSource(addresses, config.token.get_secret_value(), config.timeout_s, lambda: credentials_of(config))


def _check_address(address: str) -> None:
    host, _, port = address.removeprefix(_DNS).rpartition(":")  # as drivers may name several behind one name
    is_place = host and "/" not in host and port.isdecimal() and 0 < int(port) < 65_536
    if not address.startswith("unix:") and not is_place:
        raise failure(
            Exit.USAGE,
            f"the server's address is {address!r}",
            "host:port, with a port from 1 to 65535 and no scheme",
            "Several have commas between them.",
        )


class ServerSource(Source):
    """Coordinators that are all equal."""

    elsewhere = IN_ARCHIVE

    def __init__(
        self,
        addresses: list[str],
        token: str,
        timeout_s: float,
        credentials: Callable[[], grpc.ChannelCredentials | None] = lambda: None,
    ) -> None:
        """``credentials``: as the files say now; raises `Failure` where they cannot be used."""
        super().__init__()
        self.where = f"server {', '.join(addresses)}"
        self._addresses = addresses
        self._token = token
        self._timeout_s = timeout_s
        self._files = credentials
        self._credentials = credentials()
        self._channel: grpc.aio.Channel | None = None  #: To the first address.

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def applications(self) -> list[pb.Application]:
        found: list[pb.Application] = []
        page_token = ""
        while True:
            asked = pb.ListApplicationsRequest(token=self._token, page_size=_PAGE, page_token=page_token)
            reply = await self._ask("ListApplications", asked)
            found.extend(reply.applications)
            page_token = reply.next_page_token
            if not page_token:
                return sorted(found, key=lambda application: application.registered_ms)

    async def application(self, application: ApplicationId) -> pb.Application:
        asked = pb.GetApplicationRequest(caller=self._caller(application))
        reply: pb.Application = await self._ask("GetApplication", asked)
        return reply

    async def shuffles(self, application: ApplicationId) -> list[pb.Shuffle]:
        found: list[pb.Shuffle] = []
        page_token = ""
        while True:
            caller = self._caller(application)
            asked = pb.ListShufflesRequest(caller=caller, page_size=_PAGE, page_token=page_token)
            reply = await self._ask("ListShuffles", asked)
            found.extend(reply.shuffles)
            page_token = reply.next_page_token
            if not page_token:
                return found

    async def graph(self, application: ApplicationId) -> pb.Graph:
        reply: pb.Graph = await self._ask("GetGraph", pb.GetGraphRequest(caller=self._caller(application)))
        return reply

    async def batches(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        while True:
            asked = pb.ListEventsRequest(caller=self._caller(application), after=after)
            reply = await self._ask("ListEvents", asked)
            read = [record_from_message(message, self.where) for message in reply.records]
            if records := [recorded for recorded in read if recorded is not None]:
                yield records
            after = reply.next_after
            if not after:
                return

    async def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        """Goes on behind the last event at the next coordinator where one goes away; ends where none is left.

        Also where one has hung up since we read nothing for long: whoever reads what we say (a pager) may wait.
        """
        last: Recorded | None = None
        while True:
            await self.application(application)
            begun = last
            try:
                async with aclosing(self._tail(application, after, last)) as heard:
                    async for recorded in heard:
                        last = recorded
                        yield recorded
            except grpc.aio.AioRpcError as error:
                was_slow = error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and last is not begun
                if _is_set_back(error) or (error.code() is not grpc.StatusCode.UNAVAILABLE and not was_slow):
                    raise
            else:
                return
            await self._turn()
            await asyncio.sleep(_PAUSE_S)

    async def _tail(
        self, application: ApplicationId, after: int, last: Recorded | None
    ) -> AsyncGenerator[Recorded, None]:
        """Behind the last event, if there was one. It is read once more: a store may have been set back meanwhile."""
        begin = after if last is None else last.sequence - 1
        call = self._stub().TailEvents(pb.TailEventsRequest(caller=self._caller(application), after=begin))
        async for message in call:
            recorded = record_from_message(message, self.where)
            if last is not None:
                if recorded != last:
                    raise SetBack(application, last.sequence)
                last = None
            elif recorded is not None:
                yield recorded

    async def command(self, application: ApplicationId, command: Command) -> Answer:
        request = request_to_message(Request(ClientId(""), 0, command))
        reply = await self._ask("Submit", pb.SubmitCall(caller=self._caller(application), requests=[request]))
        return answer_of(reply.answers[0])

    async def replicas(self) -> list[pb.Replica]:
        reply = await self._ask("ListReplicas", pb.ListReplicasRequest(token=self._token))
        return list(reply.replicas)

    # ---- within ----

    def _caller(self, application: ApplicationId) -> pb.Caller:
        return pb.Caller(application=application, token=self._token)

    async def _ask(self, method: str, asked: Any) -> Any:
        """The first answer. An address that cannot be reached, or serve now, goes to the end of the line."""
        unreached: list[str] = []
        refusals: list[grpc.aio.AioRpcError] = []
        while len(unreached) + len(refusals) < len(self._addresses):
            try:
                return await getattr(self._stub(), method)(asked, timeout=self._timeout_s)
            except grpc.aio.AioRpcError as error:
                if not _may_ask_elsewhere(error, method):
                    raise
                if _has_answered(error) or _is_silent(error):
                    refusals.append(error)
                else:
                    unreached.append(f"{self._addresses[0]} ({unreached_since(error, self._credentials)})")
                await self._turn()
        raise refusals[0] if refusals else self._away(unreached)

    async def _turn(self) -> None:
        self._addresses.append(self._addresses.pop(0))
        await self.close()

    def _stub(self) -> Any:
        if self._channel is None:
            with suppress(Failure):  # they are just being replaced: with what they were
                self._credentials = self._files()
            self._channel = open_channel(self._addresses[0], self._credentials)
        return service_pb2_grpc.ShuffleLifecycleStub(self._channel)

    def _away(self, unreached: list[str]) -> Exception:
        return failure(
            Exit.UNAVAILABLE,
            f"no coordinator answers at {', '.join(unreached)}",
            "one that serves",
            "Check the address, start one there with `shufflectl serve`, or read its store with --store.",
        )


def _may_ask_elsewhere(error: grpc.aio.AioRpcError, method: str) -> bool:
    """A coordinator that says UNAVAILABLE has done nothing; of a connection that broke nobody knows what it carried.

    One that says nothing hangs, perhaps; a command may lie in its hands.
    """
    if _is_silent(error):
        return method != _COMMAND
    if error.code() is not grpc.StatusCode.UNAVAILABLE:
        return False
    return method != _COMMAND or _has_answered(error) or NEVER_CONNECTED in (error.details() or "")


def _is_silent(error: grpc.aio.AioRpcError) -> bool:
    """Whether our own time has run out; a coordinator whose store has been silent says so."""
    return error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and not _has_answered(error)


def _is_set_back(error: grpc.aio.AioRpcError) -> bool:
    """Whether what follows may be of another log than what was read: it is the same at the next coordinator."""
    status, info = rpc_status.from_call(error), error_details_pb2.ErrorInfo()
    return status is not None and any(d.Unpack(info) and info.reason == SetBack.__name__ for d in status.details)


def _has_answered(error: grpc.aio.AioRpcError) -> bool:
    """Whether a coordinator has said so, and not the way to it: our statuses have details."""
    return rpc_status.from_call(error) is not None
