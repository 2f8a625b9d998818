"""How long one answer of etcd is waited for. Its invariant: what is slow, or silent for long, is given more time."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from state_backend.address import EtcdAddress, parse_address
from state_backend.etcd.backend import EtcdBackend
from state_backend.etcd.cluster import Deadlines
from state_backend.etcd.patience import Patience
from state_backend.etcd.stubs import rpc_pb2, rpc_pb2_grpc
from state_backend.values import Keyspace


def patience() -> Patience:
    return Patience(0.5, 5.0)


def test_where_answers_are_fast_little_is_waited_for() -> None:
    waiting = patience()
    waiting.answered(0.01)
    assert waiting.seconds(0.0) == 0.5


def test_an_election_is_waited_out_in_short_steps() -> None:
    waiting = patience()
    waiting.given_up(10.0)
    assert [waiting.seconds(10.0 + later) for later in (0.5, 1.0, 1.5, 2.0)] == [0.5] * 4


def test_a_silence_that_lasts_is_given_ever_more_time() -> None:
    waiting = patience()
    waiting.given_up(10.0)
    waiting.given_up(14.0)
    assert [waiting.seconds(10.0 + later) for later in (4.0, 8.0, 20.0, 100.0)] == [1.0, 2.0, 5.0, 5.0]
    waiting.answered(0.1)
    assert waiting.seconds(110.0) == 0.8


def test_slow_answers_are_waited_for_and_remembered() -> None:
    """Else every answer would be given up a moment before it comes."""
    waiting = patience()
    waiting.answered(0.4)
    assert waiting.seconds(0.0) == 3.2
    waiting.answered(0.01)
    assert waiting.seconds(0.0) > 2.5
    for _ in range(100):
        waiting.answered(0.01)
    assert waiting.seconds(0.0) == 0.5


def test_what_had_no_answer_in_time_is_given_twice_as_long() -> None:
    waiting = patience()
    assert [waiting.seconds(0.0, tries) for tries in range(5)] == [0.5, 1.0, 2.0, 4.0, 5.0]


class LargePages(rpc_pb2_grpc.KVServicer):
    """Single keys are answered at once, pages when a moment has passed."""

    def __init__(self) -> None:
        self.pages = 0

    async def Range(self, request: Any, context: Any) -> rpc_pb2.RangeResponse:  # noqa: N802
        if request.limit:
            self.pages += 1
            await asyncio.sleep(0.3)
        return rpc_pb2.RangeResponse(header=rpc_pb2.ResponseHeader(revision=5))


async def test_a_large_page_arrives_while_small_answers_come() -> None:
    member, server = LargePages(), grpc.aio.server()
    rpc_pb2_grpc.add_KVServicer_to_server(member, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    deadlines = Deadlines(give_up_seconds=5.0, impatient_seconds=0.1)
    address = parse_address(f"etcd://127.0.0.1:{port}")
    assert isinstance(address, EtcdAddress)
    backend = EtcdBackend(address, deadlines)

    async def ask_often() -> None:
        while True:
            await backend.get(Keyspace.HEADS, "a")
            await asyncio.sleep(0.01)

    asking = asyncio.create_task(ask_often())
    try:
        assert (await backend.scan(Keyspace.EVENTS, "a/")).revision == 5
        assert member.pages <= 4
    finally:
        asking.cancel()
        await backend.close()
        await server.stop(0)


def test_the_shortest_is_never_longer_than_the_longest() -> None:
    assert Patience(0.5, 0.2).seconds(0.0) == 0.2
