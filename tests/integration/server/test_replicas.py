"""The server over real replicas and a real store: what was answered survives the replica that answered it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2_grpc
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.core.commands import GetShuffleId
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lineages import kind_of
from coordinator.core.rejections import Accepted, Ready
from coordinator.core.values import Lesson, Lineage
from coordinator.runtime.clock import Clock
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.server.options import ServerOptions
from coordinator.server.server import Server
from coordinator.wire.codec import record_from_message
from state_backend.open import open_backend
from tests.unit.server import facts
from tests.unit.server.driver import Driver, hello
from tests.unit.server.fakes import APP, MINT, PROOF, TOKEN

READY = Ready(ShuffleId(1))


@asynccontextmanager
async def replica(
    store: Path, name: str, mint: str = MINT, ahead_s: float = 0, lessons: tuple[Lesson, ...] = ()
) -> AsyncIterator[Any]:
    """A stub of a server over a replica of its own on the store. ``ahead_s``: its clock; ``lessons``: of `nightly`."""
    backend = await open_backend(f"sqlite:///{store}")
    try:
        options = ServerOptions(
            bind="127.0.0.1:0", replica=name, drain_s=0.2, mint=lambda: mint, lessons={"nightly": lessons}
        )
        clock = Clock(lambda: time.time() + ahead_s)
        async with (
            Replica(backend, Options(replica=name, heartbeat_s=0), clock) as coordinator,
            Server(coordinator, options) as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            yield service_pb2_grpc.ShuffleLifecycleStub(channel)
    finally:
        await backend.close()


@asynccontextmanager
async def session(stub: Any, **told: Any) -> AsyncIterator[tuple[Driver, pb.Welcome]]:
    driver = Driver(stub.Session())
    try:
        await driver.send(hello(**told))
        yield driver, (await driver.read()).welcome
    finally:
        driver.call.cancel()


async def events(stub: Any) -> list[Any]:
    caller = pb.Caller(application=APP, token=TOKEN)
    reply = await stub.ListEvents(pb.ListEventsRequest(caller=caller))
    return [record_from_message(record) for record in reply.records]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def test_a_driver_goes_on_at_another_replica(store: Path) -> None:
    async with replica(store, "a") as first, replica(store, "b") as second:
        async with session(first) as (driver, _):
            await driver.send(facts.batch(facts.story()))
            await driver.answers(3)
        before = await events(first)
        async with session(second, register=False) as (driver, welcome):
            assert (welcome.replica, welcome.answered) == ("b", 3)
            await driver.send(facts.batch([*facts.story(), *facts.asks([4])]))
            answers = await driver.answers(4)
        assert answers == [(1, Accepted()), (2, Accepted()), (3, Accepted()), (4, READY)]
        after = await events(first)
        assert after[: len(before)] == before
        assert [type(recorded.event).__name__ for recorded in after[len(before) :]] == [
            "ReaderRegistered",
            "RequestsAnswered",
        ]


async def test_a_driver_goes_on_after_a_restart(store: Path) -> None:
    async with replica(store, "a") as stub, session(stub) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
    async with replica(store, "b") as stub, session(stub, register=False) as (driver, welcome):
        assert welcome.answered == 3
        await driver.send(facts.batch(facts.asks([4])))
        assert await driver.answers(1) == [(4, READY)]


async def test_a_session_elsewhere_ends_the_one_here(store: Path) -> None:
    async with (
        replica(store, "a") as first,
        replica(store, "b") as second,
        session(first) as (old, _),
        session(second, register=False),
    ):
        await old.send(pb.SessionRequest(heartbeat=pb.Heartbeat()))
        assert "newer session" in (await old.read()).go_away.why
        assert await old.read() is grpc.aio.EOF


async def test_a_stopping_replica_keeps_what_it_answered(store: Path) -> None:
    async with replica(store, "a") as stub, session(stub) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        answered = await driver.answers(3)
    async with replica(store, "b") as stub:
        kept = {type(recorded.event).__name__ for recorded in await events(stub)}
        assert len(answered) == 3
        assert {"JobStarted", "StageSubmitted", "StageCompleted", "GenerationCompleted"} <= kept


async def test_two_replicas_list_and_follow_the_same(store: Path) -> None:
    async with replica(store, "a") as first, replica(store, "b") as second, session(first) as (driver, _):
        caller = pb.Caller(application=APP, token=TOKEN)
        following = second.TailEvents(pb.TailEventsRequest(caller=caller))
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        told = await events(first)
        followed = [record_from_message(await asyncio.wait_for(following.read(), 10)) for _ in told]
        assert followed == told
        shown = await second.ListShuffles(pb.ListShufflesRequest(caller=caller))
        assert [one.shuffle_id for one in shown.shuffles] == [1]
        listed = await second.ListApplications(pb.ListApplicationsRequest())
        assert [one.application for one in listed.applications] == [APP]
        following.cancel()


READ = pb.ReportStageCompleted(stage={"stage": 5}, output_bytes=1)
KIND = kind_of({AppShuffle(0): Lineage(AppShuffle(0), call_site="map at job.py:3")}.get, AppShuffle(0))


def acting(rule: common_pb2.Rule, grace_ms: int = 0) -> dict[str, Any]:
    policy = {"rule": rule, "observe": False, "grace_ms": grace_ms}
    return {"application": APP, "driver": {"name": "nightly"}, "policy": policy}


def read_once(first: int) -> list[pb.NumberedRequest]:
    """App shuffle 0 is written, and its reader runs to its end."""
    reads = pb.ReportStageSubmitted(stage={"stage": 5}, reads=[0], tasks=1)
    return [
        *facts.story(first),
        pb.NumberedRequest(number=first + 3, report_stage_submitted=reads),
        pb.NumberedRequest(number=first + 4, report_stage_completed=READ),
        pb.NumberedRequest(number=first + 5, report_job_ended={"job": 1}),
    ]


async def directive(driver: Driver) -> Any:
    """The next one, whatever is answered before it."""
    while True:
        reply = await driver.read()
        if reply.WhichOneof("message") == "directives":
            (told,) = reply.directives.directives
            return told


async def kinds(stub: Any) -> list[str]:
    return [type(recorded.event).__name__ for recorded in await events(stub)]


async def test_an_outcome_counts_once_however_many_replicas_it_is_told(store: Path) -> None:
    told = acting(common_pb2.RULE_EAGER)
    async with replica(store, "a") as first, replica(store, "b") as second:
        async with session(first, register=told) as (driver, _):
            await driver.send(facts.batch(read_once(1)))
            fence = await directive(driver)
        async with session(second, register=False) as (driver, _):
            again = await directive(driver)
            assert (again.directive, again.kind) == (fence.directive, common_pb2.DIRECTIVE_KIND_FENCE)
            outcomes = [
                pb.ReportOutcome(directive=fence.directive, fenced={"bytes": 7}),
                pb.ReportOutcome(directive=fence.directive, fenced={"bytes": 7}),
                pb.ReportOutcome(directive=fence.directive, busy={"who": ["5.0"]}),
                pb.ReportOutcome(directive=99, freed={"bytes": 7}),
            ]
            numbered = (pb.NumberedRequest(number=7 + n, report_outcome=one) for n, one in enumerate(outcomes))
            await driver.send(facts.batch(list(numbered)))
            deletion = await directive(driver)
        assert deletion.kind == common_pb2.DIRECTIVE_KIND_DELETE
        followed = await kinds(first)
        assert [followed.count(kind) for kind in ("GenerationFenced", "FenceRefused", "GenerationDeleted")] == [1, 0, 0]


async def test_who_comes_from_a_replica_that_is_an_hour_ahead_waits_for_its_grace_alone(store: Path) -> None:
    told = acting(common_pb2.RULE_EAGER, grace_ms=500)
    async with replica(store, "ahead", ahead_s=3_600) as first, replica(store, "b") as second:
        async with session(first, register=told) as (driver, _):
            await driver.send(facts.batch(read_once(1)))
            await driver.answers(6)
        async with session(second, register=False) as (driver, _):
            assert (await directive(driver)).kind == common_pb2.DIRECTIVE_KIND_FENCE  # and not in an hour
        times = [recorded.time_ms for recorded in await events(second)]
        assert times == sorted(times)
        assert times[0] > 1_000 * (time.time() + 1_800)


async def test_an_application_keeps_the_lessons_that_it_came_with_when_the_file_is_another_one(store: Path) -> None:
    told = acting(common_pb2.RULE_HISTORY)
    async with replica(store, "a", lessons=(Lesson(KIND, 1),)) as stub, session(stub, register=told):
        pass
    async with (
        replica(store, "b", lessons=(Lesson(KIND, 2),)) as stub,
        session(stub, register=told) as (driver, _),  # who comes again says again who it is
    ):
        await driver.send(facts.batch(read_once(1)))
        assert (await directive(driver)).kind == common_pb2.DIRECTIVE_KIND_FENCE


async def test_ten_thousand_questions_of_one_stage_are_answered_and_counted(store: Path) -> None:
    async with replica(store, "a") as stub, session(stub) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        for first in range(4, 10_004, 250):
            await driver.send(facts.batch(facts.asks(range(first, first + 250)), confirmed=first - 1))
            answers = await driver.answers(250)
            assert {answer for _, answer in answers} == {READY}
        kept = [recorded.event for recorded in await events(stub)]
        assert sum(getattr(event, "repeats", 0) for event in kept) == 9_999
        assert GetShuffleId.__name__ not in {type(event).__name__ for event in kept}


async def test_two_replicas_that_are_asked_to_register_at_once_tell_one_token(store: Path) -> None:
    async with replica(store, "a", "one mint") as first, replica(store, "b", "another mint") as second:
        registering = pb.RegisterApplicationCall(command={"application": APP, "driver": {}}, proof=PROOF)
        told = await asyncio.gather(*(stub.RegisterApplication(registering) for stub in (first, second, first, second)))
        assert len({reply.token for reply in told}) == 1
        caller = pb.Caller(application=APP, token=told[0].token)
        for stub in (first, second):
            assert (await stub.GetApplication(pb.GetApplicationRequest(caller=caller))).application == APP
        assert len(await events_as(first, caller)) == 1


async def events_as(stub: Any, caller: pb.Caller) -> list[Any]:
    return list((await stub.ListEvents(pb.ListEventsRequest(caller=caller))).records)
