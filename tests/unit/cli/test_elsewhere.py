"""Which question, and which command, is asked at the next coordinator when one gives no answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb
from shuffle_lifecycle.v1 import service_pb2_grpc

from coordinator.cli.exits import Exit, Failure, failure_of
from coordinator.cli.sources.server import ServerSource
from coordinator.core.commands import ResumeDeletion
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Accepted
from coordinator.runtime.errors import Draining, Unavailable
from coordinator.server.statuses import abort
from tests.unit.cli.calling import Shufflectl

CHAIN = ApplicationId("chain")


class Coordinator(service_pb2_grpc.ShuffleLifecycleServicer):
    """Answers, or ends each call as it is told."""

    def __init__(self, end: Callable[[grpc.aio.ServicerContext[Any, Any]], Any] | None = None) -> None:
        self.asked: list[str] = []
        self.address = ""
        self._end = end

    async def GetApplication(self, asked: Any, context: Any) -> pb.Application:  # noqa: N802 - as gRPC calls it
        await self._told("GetApplication", context)
        return pb.Application(application=asked.caller.application)

    async def Submit(self, asked: Any, context: Any) -> pb.SubmitReply:  # noqa: N802
        await self._told("Submit", context)
        return pb.SubmitReply(answers=[pb.NumberedAnswer(accepted=pb.Accepted())])

    async def _told(self, method: str, context: Any) -> None:
        self.asked.append(method)
        if self._end is not None:
            await self._end(context)


@asynccontextmanager
async def speaking(answer: bytes) -> AsyncIterator[str]:
    """The address of something that is no coordinator: it says this to whoever connects, and hangs up."""

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(20)
        writer.write(answer)
        await writer.drain()
        if not answer:
            writer.transport.abort()
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def served(*coordinators: Coordinator, timeout_s: float = 5.0) -> AsyncIterator[ServerSource]:
    async with AsyncExitStack() as stack:
        for coordinator in coordinators:
            server = grpc.aio.server()
            service_pb2_grpc.add_ShuffleLifecycleServicer_to_server(coordinator, server)
            coordinator.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
            await server.start()
            stack.push_async_callback(server.stop, None)
        source = ServerSource([one.address for one in coordinators], "", timeout_s)
        stack.push_async_callback(source.close)
        yield source


async def store_away(context: Any) -> None:
    await abort(context, Unavailable(CHAIN, OSError("the store was away")))


async def draining(context: Any) -> None:
    await abort(context, Draining("r1"))


async def broken_line(context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")


async def silence(context: Any) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("end", [store_away, draining, broken_line])
async def test_a_question_is_asked_elsewhere(end: Any) -> None:
    first, second = Coordinator(end), Coordinator()
    async with served(first, second) as source:
        assert (await source.application(CHAIN)).application == CHAIN
    assert (first.asked, second.asked) == (["GetApplication"], ["GetApplication"])


@pytest.mark.parametrize("end", [store_away, draining])
async def test_a_command_that_was_refused_is_said_elsewhere(end: Any) -> None:
    first, second = Coordinator(end), Coordinator()
    async with served(first, second) as source:
        assert await source.command(CHAIN, ResumeDeletion()) == Accepted()
    assert (first.asked, second.asked) == (["Submit"], ["Submit"])


async def test_a_command_of_which_nobody_knows_is_not_said_twice() -> None:
    first, second = Coordinator(broken_line), Coordinator()
    async with served(first, second) as source:
        with pytest.raises(grpc.aio.AioRpcError, match="Socket closed"):
            await source.command(CHAIN, ResumeDeletion())
    assert (first.asked, second.asked) == (["Submit"], [])


async def test_a_question_goes_on_where_a_coordinator_hangs_and_a_command_does_not() -> None:
    first, second = Coordinator(silence), Coordinator()
    async with served(first, second, timeout_s=0.5) as source:
        with pytest.raises(grpc.aio.AioRpcError) as late:
            await source.command(CHAIN, ResumeDeletion())
        assert (await source.application(CHAIN)).application == CHAIN
    assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert (first.asked, second.asked) == (["Submit", "GetApplication"], ["GetApplication"])


async def test_what_a_coordinator_says_is_told_and_not_that_none_answers() -> None:
    async with served(Coordinator(broken_line), Coordinator(store_away)) as source:
        with pytest.raises(grpc.aio.AioRpcError, match="the store was away"):
            await source.application(CHAIN)


async def test_a_command_goes_on_where_nobody_was_reached() -> None:
    second = Coordinator()
    async with served(second):
        source = ServerSource(["127.0.0.1:1", second.address], "", 5.0)
        assert await source.command(CHAIN, ResumeDeletion()) == Accepted()
        await source.close()
        alone = ServerSource(["127.0.0.1:1"], "", 5.0)
        with pytest.raises(Failure) as told:
            await alone.command(CHAIN, ResumeDeletion())
        await alone.close()
    assert told.value.exit_code == Exit.UNAVAILABLE
    assert "no coordinator answers at 127.0.0.1:1" in str(told.value)


@pytest.mark.parametrize(
    ("status", "details", "told"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", "no answer within `--timeout-s`"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "the store was away", "the store was away"),
        (grpc.StatusCode.PERMISSION_DENIED, "it is missing.", "it is missing. Here: `--token`"),
    ],
)
def test_what_a_call_ended_with_is_told_in_words(status: grpc.StatusCode, details: str, told: str) -> None:
    failure = failure_of(grpc.aio.AioRpcError(status, grpc.aio.Metadata(), grpc.aio.Metadata(), details))
    assert failure is not None
    assert str(failure).startswith(told)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "what listens there does not speak gRPC"),
        (b"220 mail.example ESMTP\r\n", "what listens there does not speak gRPC"),
        (b"", "hung up, as one does that asks for TLS: --tls-ca"),
    ],
)
async def test_what_is_no_coordinator_is_told_as_such(answer: bytes, told: str) -> None:
    async with speaking(answer) as address:
        source = ServerSource([address], "", 5.0)
        with pytest.raises(Failure) as failed:
            await source.application(CHAIN)
        await source.close()
    assert (failed.value.exit_code, told in str(failed.value)) == (Exit.UNAVAILABLE, True), str(failed.value)


def test_a_name_that_drivers_take_is_taken(shufflectl: Shufflectl) -> None:
    """As one that stands for all replicas, in Kubernetes."""
    called = shufflectl("apps", "--server", "dns:///localhost:1")
    assert (called.code, "no coordinator answers at dns:///localhost:1" in called.err) == (4, True), called


@pytest.mark.parametrize("address", ["http://127.0.0.1:7457", "127.0.0.1:99999", "localhost", "here:"])
def test_an_address_that_is_none(shufflectl: Shufflectl, address: str) -> None:
    called = shufflectl("apps", "--server", address)
    assert (called.code, "expected host:port, with a port from 1 to 65535 and no scheme" in called.err) == (2, True)
