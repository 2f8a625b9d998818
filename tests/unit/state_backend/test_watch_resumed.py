"""A watch on etcd whose stream begins anew. Its invariant: a member that lags is no store that was set back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from state_backend.address import EtcdAddress, parse_address
from state_backend.errors import SetBack
from state_backend.etcd.backend import EtcdBackend
from state_backend.etcd.cluster import Deadlines
from state_backend.etcd.stubs import kv_pb2, rpc_pb2, rpc_pb2_grpc
from state_backend.values import Keyspace, Revision


class Store(rpc_pb2_grpc.WatchServicer, rpc_pb2_grpc.KVServicer):
    """Each stream begins at the next of these revisions, tells what it is asked from, and breaks; the last stays."""

    def __init__(self, begun: list[int], present: int) -> None:
        self.begun, self.present = begun, present
        self.asked = 0  #: How often somebody read how far the store is.

    async def Range(self, request: Any, context: Any) -> rpc_pb2.RangeResponse:  # noqa: N802
        self.asked += 1
        return rpc_pb2.RangeResponse(header=rpc_pb2.ResponseHeader(revision=self.present))

    async def Watch(self, requests: Any, context: Any) -> AsyncIterator[rpc_pb2.WatchResponse]:  # noqa: N802
        request = await anext(aiter(requests))
        header = rpc_pb2.ResponseHeader(revision=self.begun.pop(0))
        yield rpc_pb2.WatchResponse(header=header, created=True)
        revision = request.create_request.start_revision
        entry = kv_pb2.KeyValue(key=b"live/a", value=b"1", create_revision=1, mod_revision=revision, version=1)
        told = rpc_pb2.ResponseHeader(revision=max(revision, header.revision))
        yield rpc_pb2.WatchResponse(header=told, events=[kv_pb2.Event(kv=entry)])
        if self.begun:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the member goes")
        await asyncio.Event().wait()


@asynccontextmanager
async def serving(store: Store) -> AsyncIterator[EtcdBackend]:
    server = grpc.aio.server()
    rpc_pb2_grpc.add_KVServicer_to_server(store, server)
    rpc_pb2_grpc.add_WatchServicer_to_server(store, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    address = parse_address(f"etcd://127.0.0.1:{port}")
    assert isinstance(address, EtcdAddress)
    backend = EtcdBackend(address, Deadlines())
    try:
        yield backend
    finally:
        await backend.close()
        await server.stop(0)


@pytest.mark.parametrize(("begun", "asked"), [([10, 11, 12], 0), ([10, 12, 15], 0), ([10, 7, 11], 1), ([10, 7, 8], 2)])
async def test_a_member_that_lags_is_asked_once_a_stream_how_far_the_store_is(begun: list[int], asked: int) -> None:
    store = Store(begun, present=20)
    async with serving(store) as backend, backend.watch(Keyspace.LIVE, "", Revision(10)) as watch:
        assert [(await asyncio.wait_for(anext(watch), 10)).revision for _ in range(3)] == [10, 11, 12]
    assert store.asked == asked


async def test_a_store_that_has_not_come_as_far_again_was_set_back() -> None:
    async with (
        serving(Store([10, 7], present=7)) as backend,
        backend.watch(Keyspace.LIVE, "", Revision(10)) as watch,
    ):
        await asyncio.wait_for(anext(watch), 10)
        with pytest.raises(SetBack, match="was at revision 10 and is at 7 now"):
            await asyncio.wait_for(anext(watch), 10)
