"""Replicas of one store as processes: they list each other, a dead one is noticed, a stopping one sends drivers on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]
from shuffle_lifecycle.v1 import service_pb2 as pb
from shuffle_lifecycle.v1 import service_pb2_grpc

from coordinator.core.events import RequestsAnswered
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.runtime.clock import Clock
from coordinator.runtime.journal import CommitIds, Journal
from coordinator.runtime.tail import events
from coordinator.server.server import SERVICE
from coordinator.wire.messages import answers_of
from state_backend.open import open_backend
from state_backend.values import Keyspace, Removed, Revision
from tests.integration.cli.processes import PATIENCE_S, Serving, serving, shufflectl
from tests.support.etcd import running_etcd
from tests.unit.server import facts
from tests.unit.server.driver import Driver, hello
from tests.unit.server.fakes import APP, DRIVER

pytestmark = pytest.mark.etcd

LEASE_S = 2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    with running_etcd(tmp_path / "etcd") as cluster:
        yield f"etcd://{cluster.endpoints[0]}/shuffles"


@pytest.fixture
def replicas(tmp_path: Path, store: str) -> Iterator[list[Serving]]:
    """Three of them, each with a short lease."""
    config = tmp_path / "replica.toml"
    config.write_text(f"[serve]\nlease_s = {LEASE_S}\n")
    with ExitStack() as opened:
        yield [opened.enter_context(serving(tmp_path, store, "--config", config)) for _ in range(3)]


@asynccontextmanager
async def session(address: str, **told: Any) -> AsyncIterator[tuple[Driver, pb.Welcome, grpc.aio.Channel]]:
    async with grpc.aio.insecure_channel(address) as channel:
        driver = Driver(service_pb2_grpc.ShuffleLifecycleStub(channel).Session())
        await driver.send(hello(**told))
        yield driver, (await driver.read()).welcome, channel
        driver.call.cancel()


def listed(tmp_path: Path, *source: object) -> dict[str | None, dict[str, Any]]:
    """The replicas by their address; one that is gone has none."""
    called = shufflectl(tmp_path, "replicas", *source, "-o", "json")
    assert called.code == 0, called
    return {row["address"]: row for row in called.data}


async def gone(store: str) -> None:
    """Until a registration has left the store."""
    async with await open_backend(store) as backend, backend.watch(Keyspace.REPLICAS, "", Revision(1)) as watch:
        async for commit in watch:
            if any(isinstance(change, Removed) for change in commit.changes):
                return


async def test_a_replica_that_dies_is_gone_when_its_lease_has_ended(
    replicas: list[Serving], store: str, tmp_path: Path
) -> None:
    first, dying, third = replicas
    async with session(dying.address) as (driver, welcome, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        assert set(welcome.elsewhere) == {first.address, third.address}
        seen = await asyncio.to_thread(listed, tmp_path, "--server", first.address)
        beside = await asyncio.to_thread(listed, tmp_path, "--store", store)
        assert seen == beside
        assert {address: row["sessions"] for address, row in seen.items()} == {
            first.address: 0,
            dying.address: 1,
            third.address: 0,
        }
        assert {(row["state"], row["reads_version"], row["lease_ms"]) for row in seen.values()} == {
            ("serving", 1, LEASE_S * 1000)
        }
        assert len({row["lease"] for row in seen.values()}) == 3
        dying.process.kill()
        await asyncio.wait_for(gone(store), PATIENCE_S)
    after = await asyncio.to_thread(listed, tmp_path, "--server", third.address)
    name = seen[dying.address]["replica"]
    assert (after[None]["replica"], after[None]["state"], after[None]["sessions"]) == (name, "gone", 1)
    assert set(after) == {first.address, third.address, None}
    async with session(third.address) as (_, welcome, _):
        assert (welcome.answered, list(welcome.elsewhere)) == (3, [first.address])
        at_last = await asyncio.to_thread(listed, tmp_path, "--server", f"{dying.address},{first.address}")
        assert {address: row["sessions"] for address, row in at_last.items()} == {first.address: 0, third.address: 1}


async def test_a_replica_that_is_told_to_stop_sends_its_drivers_on(
    replicas: list[Serving], store: str, tmp_path: Path
) -> None:
    """Health first, then the last answers, then where to go; nothing that was asked is lost, or done twice."""
    stopping, *others = replicas
    heard: list[str] = []
    async with session(stopping.address) as (driver, _, channel):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        asked = health_pb2.HealthCheckRequest(service=SERVICE)
        watch = health_pb2_grpc.HealthStub(channel).Watch(asked)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        listening = asyncio.create_task(_hear_health(watch, heard))
        for first in range(4, 2_004, 250):
            await driver.send(facts.batch(facts.asks(range(first, first + 250))))
        stopping.process.send_signal(signal.SIGTERM)
        answers, farewell = await _hear_session(driver, heard)
        await asyncio.wait_for(listening, PATIENCE_S)
        assert await driver.read() is grpc.aio.EOF
    assert heard == ["NOT_SERVING", "GoAway"]
    assert set(farewell.elsewhere) == {other.address for other in others}
    out, err = await asyncio.to_thread(stopping.process.communicate, timeout=PATIENCE_S)
    assert (stopping.process.returncode, "Traceback" in err) == (0, False), (out, err)
    assert [number for number, _ in answers] == list(range(4, 4 + len(answers)))
    assert await _answered(store) >= 3 + len(answers), "an answer was told before it was durable"
    assert set(await asyncio.to_thread(listed, tmp_path, "--store", store)) == {other.address for other in others} | {
        None
    }, "its lease was given back"
    await _go_on(others[0].address, answers[-1][0] if answers else 3, 2_004)


async def _go_on(address: str, confirmed: int, until: int) -> None:
    """The rest is asked again, and all of it is answered."""
    async with session(address, confirmed=confirmed) as (driver, welcome, _):
        assert welcome.answered >= confirmed
        for first in range(confirmed + 1, until, 250):
            numbers = range(first, min(first + 250, until))
            await driver.send(facts.batch(facts.asks(numbers), confirmed=confirmed))
            assert [number for number, _ in await driver.answers(len(numbers))] == list(numbers)


async def _hear_health(watch: Any, heard: list[str]) -> None:
    status = (await asyncio.wait_for(watch.read(), PATIENCE_S)).status
    heard.append(health_pb2.HealthCheckResponse.ServingStatus.Name(status))


async def _hear_session(driver: Driver, heard: list[str]) -> tuple[list[Any], Any]:
    """The answers until the farewell, and the farewell."""
    answers: list[Any] = []
    while True:
        reply = await driver.read()
        if reply.WhichOneof("message") == "go_away":
            heard.append("GoAway")
            return answers, reply.go_away
        answers.extend(answers_of(reply.answers))


async def _answered(store: str) -> int:
    """The highest number of the driver's whose request is in the log."""
    async with await open_backend(store) as backend:
        journal = Journal(backend, ApplicationId(APP), "test", CommitIds("test"), Clock())
        log = [recorded.event for recorded in await events(journal, 0, 100_000)]
    told = [event for event in log if isinstance(event, RequestsAnswered) and event.client == ClientId(DRIVER)]
    return max(span.last for event in told for span in event.answered)
