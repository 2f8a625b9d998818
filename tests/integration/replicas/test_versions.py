"""Two releases over one etcd: the next one, which knows more, and this one.

The next release is this one with `ExecutorLost` as something that it has added.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb
from shuffle_lifecycle.v1 import service_pb2_grpc

from coordinator.core.commands import Command, EndApplication, ReportExecutorLost, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.wire.messages import request_to_message
from tests.integration.cli.processes import PATIENCE_S, environment, serving, shufflectl, tell
from tests.support.etcd import running_etcd
from tests.unit.replay.logs import APP, Told, deleted_and_missed

pytestmark = pytest.mark.etcd

OTHER = ApplicationId("6f1c2d3e-0000-4000-8000-0000000000ff")
LOST = ReportExecutorLost("7")
_NEXT_RELEASE = """
import sys, threading
from coordinator import logs
logs.through_logging()  # what is read from stdout is the address alone
from coordinator.core.events import ExecutorLost
from coordinator.wire import upcast
upcast.VERSION, upcast.UPCASTS[1] = 2, lambda record: None
from coordinator.wire import versions
versions.SINCE[ExecutorLost] = 2
from coordinator.app import start_replica
print(start_replica(sys.argv[1]).address, flush=True)
threading.Event().wait()
"""


@contextmanager
def next_release(folder: Path, store: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _NEXT_RELEASE, store], env=environment(folder), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    with running_etcd(tmp_path / "etcd") as cluster:
        yield f"etcd://{cluster.endpoints[0]}/shuffles"


@asynccontextmanager
async def stub_of(address: str) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(address) as channel:
        yield service_pb2_grpc.ShuffleLifecycleStub(channel)


async def submit(stub: Any, token: str, command: Command) -> Any:
    request = request_to_message(Request(ClientId(""), 0, command))
    call = pb.SubmitCall(caller=pb.Caller(application=APP, token=token), requests=[request])
    return (await stub.Submit(call, timeout=PATIENCE_S)).answers[0]


async def events(stub: Any, token: str) -> int:
    reply = await stub.ListEvents(pb.ListEventsRequest(caller=pb.Caller(application=APP, token=token), limit=10_000))
    return len(reply.records)


async def test_43_two_releases_serve_one_store(tmp_path: Path, store: str) -> None:
    other = Told(application=OTHER, name="other")
    other.whole_chain()
    with next_release(tmp_path, store) as newer:
        with serving(tmp_path, store) as older:
            token = await asyncio.to_thread(tell, newer, deleted_and_missed())
            await asyncio.to_thread(tell, older.address, other)
            rows = shufflectl(tmp_path, "replicas", "--server", older.address, "-o", "json").data
            assert {row["address"]: row["reads_version"] for row in rows} == {newer: 2, older.address: 1}
            async with stub_of(newer) as new, stub_of(older.address) as old:
                refusal = (await submit(new, token, LOST)).rejection
                assert ("version 2" in refusal.fact, "at most 1" in refusal.expected) == (True, True), refusal
                assert await events(old, token) == await events(new, token) > 30, "what is written can be read by both"
            older.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(older.process.communicate, timeout=PATIENCE_S)
        async with stub_of(newer) as new:
            while (await submit(new, token, LOST)).HasField("rejection"):  # noqa: ASYNC110 - the other end is a process
                await asyncio.sleep(0.02)  # until it has heard that the other is gone
        with serving(tmp_path, store) as older:
            await meets_what_it_cannot_read(tmp_path, store, older.address, token)
            async with stub_of(newer) as new:
                while not (await submit(new, token, LOST)).HasField("rejection"):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)  # until it has heard that the other is back
                assert (await submit(new, token, EndApplication())).HasField("accepted"), "all else goes on"


async def meets_what_it_cannot_read(folder: Path, store: str, address: str, token: str) -> None:
    """An error that says what to do, for that application alone."""
    async with stub_of(address) as old:
        with pytest.raises(grpc.aio.AioRpcError, match="written by a newer release") as refused:
            await events(old, token)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    beside = await asyncio.to_thread(shufflectl, folder, "events", "--store", store, APP)
    assert (beside.code, "pgrade" in beside.err) == (7, True), beside
    assert (await asyncio.to_thread(shufflectl, folder, "shuffles", "--server", address, "other")).code == 0
