"""Listening, health, reflection, and going away."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from coordinator.runtime.errors import Draining
from coordinator.server.interfaces import BindRefused, CannotListen
from coordinator.server.options import ServerOptions
from coordinator.server.server import SERVICE, Server
from tests.unit.server import facts
from tests.unit.server.driver import session
from tests.unit.server.fakes import FakeCoordinator, Running, running
from tests.unit.server.refused import refusal

Serving = health_pb2.HealthCheckResponse


async def says_that_it_serves(run: Running) -> bool:
    told = await health_pb2_grpc.HealthStub(run.channel).Check(health_pb2.HealthCheckRequest())
    return bool(told.status == Serving.SERVING)


async def test_says_that_it_serves_and_that_it_does_not() -> None:
    async with running() as run:
        stub = health_pb2_grpc.HealthStub(run.channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE))
        assert (await watch.read()).status == Serving.SERVING
        assert (await stub.Check(health_pb2.HealthCheckRequest())).status == Serving.SERVING
        stopping = asyncio.ensure_future(run.server.stop())
        assert (await watch.read()).status == Serving.NOT_SERVING
        await stopping


async def test_who_watches_does_not_hold_it_up_when_it_stops() -> None:
    async with running(drain_s=3_600) as run:
        watch = health_pb2_grpc.HealthStub(run.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == Serving.SERVING
        await asyncio.wait_for(run.server.stop(), 30)
        assert (await watch.read()).status == Serving.NOT_SERVING
        assert await watch.code() == grpc.StatusCode.OK


async def test_it_listens_no_more_also_where_its_replica_does_not_stop_in_order() -> None:
    class Broken(FakeCoordinator):
        async def stop(self, drain: bool = True) -> None:
            raise ZeroDivisionError

    server = Server(Broken(), ServerOptions(bind="127.0.0.1:0"))
    await server.start()
    with pytest.raises(ZeroDivisionError):
        await server.stop()
    await asyncio.wait_for(server.wait(), 10)


async def test_a_server_describes_its_services() -> None:
    async with running() as run:
        stub = reflection_pb2_grpc.ServerReflectionStub(run.channel)
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        (reply,) = [reply async for reply in stub.ServerReflectionInfo(asked)]
        names = {service.name for service in reply.list_services_response.service}
        assert {SERVICE, "grpc.health.v1.Health"} <= names


@pytest.mark.parametrize("name", ["another", "x" * 4_000_000], ids=["unknown", "huge"])
async def test_keeps_no_name_that_it_does_not_serve(name: str) -> None:
    async with running() as run:
        stub = health_pb2_grpc.HealthStub(run.channel)
        asked = health_pb2.HealthCheckRequest(service=name)
        code = grpc.StatusCode.NOT_FOUND if len(name) < 100 else grpc.StatusCode.INVALID_ARGUMENT
        for call in (stub.Check(asked), stub.Watch(asked).read()):
            _, words = await refusal(call, code)
            assert len(words) < 500


@pytest.mark.parametrize("reflects", [False, True], ids=["health", "reflection"])
async def test_streams_beside_the_service_are_counted_with_its_calls(reflects: bool) -> None:
    async with running(calls_max=1) as run:
        health = health_pb2_grpc.HealthStub(run.channel)
        if reflects:
            line = reflection_pb2_grpc.ServerReflectionStub(run.channel).ServerReflectionInfo()
            await line.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        else:
            line = health.Watch(health_pb2.HealthCheckRequest(service=SERVICE))
        await line.read()
        _, words = await refusal(health.Check(health_pb2.HealthCheckRequest()), grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert "limits.calls" in words
        line.cancel()


async def test_what_reflection_is_asked_is_bounded() -> None:
    async with running() as run:
        line = reflection_pb2_grpc.ServerReflectionStub(run.channel).ServerReflectionInfo()
        await line.write(reflection_pb2.ServerReflectionRequest(file_containing_symbol="x" * 100_000))
        _, words = await refusal(line.read(), grpc.StatusCode.INVALID_ARGUMENT)
        assert "100000 bytes" in words


async def test_describes_nothing_where_it_shall_not() -> None:
    async with running(reflection=False) as run:
        stub = reflection_pb2_grpc.ServerReflectionStub(run.channel)
        with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
            await stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")])).read()


async def test_sends_drivers_away_before_it_stops() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        stopping = asyncio.ensure_future(run.server.stop())
        farewell = (await driver.read()).go_away
        assert farewell.why == "the replica is stopping"
        assert list(farewell.elsewhere) == ["elsewhere:1"]
        assert await driver.read() is grpc.aio.EOF
        await asyncio.wait_for(stopping, 10)


async def test_answers_that_are_under_way_go_before_the_farewell() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        run.coordinator.go_on.clear()
        await driver.send(facts.batch(facts.asks([4])))
        await until(lambda: run.coordinator.submitted[-1] == [4])
        stopping = asyncio.ensure_future(run.server.stop())
        run.coordinator.go_on.set()
        assert [number for number, _ in await driver.answers(1)] == [4]
        assert (await driver.read()).WhichOneof("message") == "go_away"
        await asyncio.wait_for(stopping, 10)


async def test_who_asks_a_replica_that_is_stopping_is_told_where_to_go_and_not_that_it_failed() -> None:
    async with running() as run, session(run) as (driver, _):
        run.coordinator.failure = Draining("replica-1")
        await driver.send(facts.batch(facts.story()))
        await until(lambda: run.coordinator.submitted[-1] == [1, 2, 3])
        stopping = asyncio.ensure_future(run.server.stop())
        assert list((await driver.read()).go_away.elsewhere) == ["elsewhere:1"]
        assert await driver.read() is grpc.aio.EOF
        await asyncio.wait_for(stopping, 10)


async def test_a_farewell_waits_only_a_moment_for_answers() -> None:
    async with running(farewell_s=0.05) as run, session(run) as (driver, _):
        run.coordinator.go_on.clear()
        await driver.send(facts.batch(facts.story()))
        await until(lambda: run.coordinator.submitted[-1] == [1, 2, 3])
        stopping = asyncio.ensure_future(run.server.stop())
        assert (await driver.read()).WhichOneof("message") == "go_away"
        await asyncio.wait_for(stopping, 10)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - the fake has nothing that could be waited for
        await asyncio.sleep(0.001)


async def test_listens_for_this_machine_alone() -> None:
    server = Server(FakeCoordinator(), ServerOptions(bind="0.0.0.0:0"))
    with pytest.raises(BindRefused):
        await server.start()
    await server.stop()


async def test_listens_for_others_where_somebody_says_so() -> None:
    async with Server(FakeCoordinator(), ServerOptions(bind="0.0.0.0:0", bind_beyond_loopback=True)) as server:
        assert server.port > 0


async def test_a_socket_on_which_somebody_listens_is_not_taken_from_them(tmp_path: Path) -> None:
    bind = f"unix:{tmp_path}/c.sock"
    async with running(bind=bind) as run:
        second = Server(FakeCoordinator(), ServerOptions(bind=bind))
        with pytest.raises(CannotListen, match="another process listens there"):
            await second.start()
        await second.stop()
        assert await says_that_it_serves(run)


async def test_a_socket_that_a_process_has_left_behind_is_free(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{tmp_path}/c.sock")
    async with running(bind=f"unix:{tmp_path}/c.sock") as run:
        assert await says_that_it_serves(run)


async def test_a_port_in_use_is_named() -> None:
    async with running() as run:
        second = Server(FakeCoordinator(), ServerOptions(bind=run.server.address))
        with pytest.raises(CannotListen, match=f"cannot listen on {run.server.address}") as caught:
            await second.start()
        assert "choose another port" in str(caught.value)
        await second.stop()
