"""What a client may send, and how fast: refused beyond, with fact, value, limit and next step, and counted."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.config import keys
from coordinator.core.events import ApplicationRegistered
from coordinator.core.ids import Sequence
from coordinator.runtime.limits import Limits
from coordinator.server.pace import Pace
from coordinator.wire.bounds import Bounds
from coordinator.wire.errors import Malformed
from tests.unit.server import facts
from tests.unit.server.driver import Driver, hello, session
from tests.unit.server.fakes import APP, PROOF, TOKEN, register, running
from tests.unit.server.refused import refusal

Code = grpc.StatusCode
BOUNDS = Bounds(text_bytes=1_000, payload_bytes=2_000, items=300)
LINEAGE: list[Any] = [{**facts.LINEAGE, "app_shuffle": shuffle} for shuffle in range(301)]


def test_every_limit_is_a_key_with_its_meaning() -> None:
    known = {key.name.removeprefix("limits."): key for key in keys() if key.name.startswith("limits.")}
    assert list(known) == [row.name for row in fields(Limits)]
    assert [int(key.default) for key in known.values()] == [row.default for row in fields(Limits)]
    assert all(key.description for key in known.values())


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (pb.SetPin(why="x" * 1_001), "SetPin.why has 1001 bytes; expected at most 1000"),
        (pb.SetPin(why="ä" * 501), "SetPin.why has 1002 bytes; expected at most 1000"),
        (pb.Caller(token="x" * 1_001), "Caller.token has 1001 bytes"),
        (pb.ReportJobStarted(job=1, reads=range(301)), "ReportJobStarted.reads has 301 items; expected at most 300"),
        (pb.ReportJobStarted(job=1, lineage=LINEAGE), "ReportJobStarted.lineage has 301 items"),
        (pb.ReportOutcome(fenced={"locator": {"payload": b"x" * 2_001}}), "Locator.payload has 2001 bytes"),
        (pb.ReportOutcome(busy={"who": ["a", "x" * 1_001]}), "Busy.who has 1001 bytes"),
        (pb.Resync(jobs=[{"job": 1, "call_site": "x" * 1_001}]), "ReportJobStarted.call_site has 1001 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_field_that_is_too_large_is_named(message: Any, words: str) -> None:
    with pytest.raises(Malformed) as told:
        BOUNDS.check(message)
    assert words in str(told.value)
    assert "make it shorter" in str(told.value)


@pytest.mark.parametrize(
    ("name", "words", "advice"),
    [
        ("x" * 129, "has 129 characters; expected at most 128", "make it shorter"),
        ("a\nb", "has characters that cannot be printed", "choose another name"),
        ("\U0001f600" * 100, "has 1200 bytes as a key; expected at most 240", "make it shorter"),
    ],
    ids=["long", "unprintable", "long as a key"],
)
async def test_what_cannot_be_a_name_is_refused_wherever_it_stands(name: str, words: str, advice: str) -> None:
    async with running() as run:
        await register(run)
        command: Any = {"application": name, "driver": {}}
        client: Any = [pb.NumberedRequest(register_client={"client": name})]
        asked = pb.GetApplicationRequest(caller={"application": name})
        calls = {
            "Caller.application": run.stub.GetApplication(asked),
            "RegisterApplication.application": run.stub.RegisterApplication(
                pb.RegisterApplicationCall(command=command, proof=PROOF)
            ),
            "RegisterClient.client": run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=client)),
            "Caller.client": run.stub.Submit(pb.SubmitCall(caller=run.caller(name), requests=facts.story())),
        }
        for place, call in calls.items():
            _, said = await refusal(call, Code.INVALID_ARGUMENT)
            assert f"{place} {words}" in said
            assert advice in said
        driver = Driver(run.stub.Session())
        await driver.send(hello(client=name))
        _, said = await refusal(driver.refused(), Code.INVALID_ARGUMENT)
        assert f"Hello.client {words}" in said
        assert list(run.coordinator.states) == [APP]


async def test_a_client_without_a_name_is_not_registered() -> None:
    async with running() as run:
        await register(run)
        nameless: Any = [pb.NumberedRequest(register_client={"client": ""})]
        call = run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=nameless))
        assert "RegisterClient.client is empty" in (await refusal(call, Code.INVALID_ARGUMENT))[1]


def test_a_driver_may_name_all_its_shuffles_at_once() -> None:
    largest = 2**21
    outputs: list[Any] = [
        {"app_shuffle": largest - n, "available": 999, "total": 999} for n in range(Limits().shuffles)
    ]
    said = pb.SessionRequest(batch={"requests": [{"resync": {"outputs": outputs}}]})
    Bounds(items=Limits().items).check(said)
    assert said.ByteSize() < Limits().message_bytes


def test_the_items_of_all_lists_are_counted_together() -> None:
    jobs: list[Any] = [{"job": job, "reads": range(1_000, 1_100)} for job in range(4)]
    call = pb.SubmitCall(requests=[{"resync": {"jobs": jobs}}])
    with pytest.raises(Malformed, match=r"ReportJobStarted.reads has 305 items in its lists; expected at most 300"):
        BOUNDS.check(call)
    del call.requests[0].resync.jobs[2:]
    BOUNDS.check(call)


@pytest.mark.parametrize("known", [False, True], ids=["no token", "too fast"])
async def test_nothing_is_looked_into_for_who_is_not_let_in(known: bool) -> None:
    async with running(requests_per_s=5, batch_max=10, bounds=BOUNDS) as run:
        await register(run)
        asked: list[Any] = [pb.NumberedRequest(set_pin={"why": "x" * 1_001})] * 10
        call = pb.SubmitCall(caller=run.caller(token=TOKEN if known else "another"), requests=asked)
        if known:
            await refusal(run.stub.Submit(call), Code.INVALID_ARGUMENT)
            await refusal(run.stub.Submit(call), Code.RESOURCE_EXHAUSTED)
        else:
            await refusal(run.stub.Submit(call), Code.PERMISSION_DENIED)
            pin: Any = {"why": "x" * 1_001}
            single = pb.SetPinCall(caller=call.caller, command=pin)
            await refusal(run.stub.SetPin(single), Code.PERMISSION_DENIED)


def test_what_is_within_bounds_passes() -> None:
    BOUNDS.check(pb.Resync(jobs=[{"job": 1, "call_site": "x" * 1_000, "reads": range(299)}]))
    BOUNDS.check(pb.Caller(application="x" * 128, token="x" * 999))


async def test_a_call_with_too_large_a_field_is_refused_and_counted() -> None:
    async with running(bounds=BOUNDS) as run:
        await register(run)
        pin = pb.SetPinCall(caller=run.caller(), command={"app_shuffle": 0, "why": "x" * 1_001})
        reason, words = await refusal(run.stub.SetPin(pin), Code.INVALID_ARGUMENT)
        assert reason == "INVALID"
        assert "SetPin.why has 1001 bytes; expected at most 1000" in words
        assert run.coordinator.audited == [("malformed", "SetPin.why has 1001 bytes")]
        assert run.coordinator.submitted == []


@pytest.mark.parametrize("late", [False, True])
async def test_a_session_with_too_large_a_field_ends(late: bool) -> None:
    async with running(bounds=BOUNDS) as run:
        if late:
            async with session(run) as (driver, _):
                pin = pb.NumberedRequest(number=1, set_pin={"app_shuffle": 0, "why": "x" * 1_001})
                await driver.send(facts.batch([pin]))
                await refusal(driver.refused(), Code.INVALID_ARGUMENT)
        else:
            driver = Driver(run.stub.Session())
            await driver.send(hello(agent="x" * 1_001))
            await refusal(driver.refused(), Code.INVALID_ARGUMENT)
        assert [kind for kind, _ in run.coordinator.audited] == ["malformed"]


async def test_bytes_that_are_no_message_are_refused_in_words() -> None:
    async with running() as run:
        call: Any = run.channel.unary_unary("/shuffle_lifecycle.v1.ShuffleLifecycle/SetPin")
        _, words = await refusal(call(b"\xff\xff\xff"), Code.INVALID_ARGUMENT)
        assert "3 bytes are no SetPinCall" in words
        line: Any = run.channel.stream_stream("/shuffle_lifecycle.v1.ShuffleLifecycle/Session")()
        await line.write(b"\xff\xff\xff")
        _, words = await refusal(line.read(), Code.INVALID_ARGUMENT)
        assert "are no SessionRequest" in words
        assert [kind for kind, _ in run.coordinator.audited] == ["malformed"] * 2


async def test_more_calls_than_may_be_under_way_are_refused_and_room_is_made_again() -> None:
    async with running(calls_max=2) as run:
        async with session(run), session(run, hello(client="another")):
            reason, words = await refusal(
                run.stub.ListApplications(pb.ListApplicationsRequest()), Code.RESOURCE_EXHAUSTED
            )
            assert reason == "EXHAUSTED"
            assert "3 calls and sessions are under way; expected at most 2 (limits.calls)" in words
            assert [kind for kind, _ in run.coordinator.audited] == ["limit"]
        while True:
            try:
                await run.stub.ListApplications(pb.ListApplicationsRequest())
                return
            except grpc.aio.AioRpcError:  # the server has not heard yet that they are gone
                await asyncio.sleep(0.001)


async def test_one_application_is_followed_by_so_many_and_room_is_made_again() -> None:
    async with running(tails_max=1) as run:
        await register(run)
        asked = pb.TailEventsRequest(caller=run.caller())
        first = run.stub.TailEvents(asked)
        await first.read()
        _, words = await refusal(run.stub.TailEvents(asked).read(), Code.RESOURCE_EXHAUSTED)
        assert f"1 calls follow application {APP} already; expected at most 1 (limits.tails)" in words
        first.cancel()
        while True:
            try:
                assert (await run.stub.TailEvents(asked).read()).sequence == 1
                return
            except grpc.aio.AioRpcError:  # the server has not heard yet that it is gone
                await asyncio.sleep(0.001)


async def test_who_follows_and_reads_nothing_is_hung_up_on() -> None:
    async with running(write_within_s=0.05) as run:
        await register(run)
        (first, *_) = run.coordinator.logs[APP]
        assert isinstance(first.event, ApplicationRegistered)
        long = replace(first, event=replace(first.event, token_hash="x" * 1_000_000))
        run.coordinator.logs[APP].extend(replace(long, sequence=Sequence(n)) for n in range(2, 40))
        following = run.stub.TailEvents(pb.TailEventsRequest(caller=run.caller()))
        while not run.coordinator.audited:  # noqa: ASYNC110 - the fake has nothing that could be waited for
            await asyncio.sleep(0.001)
        assert run.coordinator.audited == [("exhausted", "nothing was read for 0.05 s")]
        following.cancel()


async def test_who_asks_too_fast_for_long_is_refused_and_told_when_to_come_again() -> None:
    async with running(requests_per_s=3) as run:
        await register(run)
        asked = [pb.NumberedRequest(report_job_started={"job": job, "final_stage": job}) for job in range(6)]
        call = pb.SubmitCall(caller=run.caller(), requests=asked)
        await run.stub.Submit(call)
        reason, words = await refusal(run.stub.Submit(call), Code.RESOURCE_EXHAUSTED)
        assert reason == "EXHAUSTED"
        assert "more than 3 requests of the application have come a second for a while" in words
        assert "limits.requests_per_s" in words
        assert len(run.coordinator.submitted) == 1


async def test_a_batch_larger_than_what_may_come_at_once_is_not_refused_for_ever() -> None:
    async with running(requests_per_s=10) as run:
        await register(run)
        asked = [pb.NumberedRequest(report_job_started={"job": job, "final_stage": job}) for job in range(30)]
        call = pb.SubmitCall(caller=run.caller(), requests=asked)
        assert len((await run.stub.Submit(call)).answers) == 30
        _, words = await refusal(run.stub.Submit(call), Code.RESOURCE_EXHAUSTED)
        assert "come again in" in words
        assert len(run.coordinator.submitted) == 1


async def test_a_session_that_is_too_fast_is_read_more_slowly() -> None:
    async with running(requests_per_s=10, heartbeat_ms=50) as run, session(run) as (driver, _):
        begun_s = asyncio.get_running_loop().time()
        for first in range(1, 33, 8):
            asked = [
                pb.NumberedRequest(number=job, report_job_started={"job": job, "final_stage": job})
                for job in range(first, first + 8)
            ]
            await driver.send(facts.batch(asked))
        assert len(await driver.answers(32)) == 32
        await driver.send(facts.batch(facts.asks([33])))
        await driver.answers(1)
        assert asyncio.get_running_loop().time() - begun_s >= 1.1  # 32 came at once, 20 may
        assert run.coordinator.sessions[0].beats >= 5 + 5, "five messages, and nobody took it for silent meanwhile"
        assert run.coordinator.audited == []


async def test_new_applications_come_at_a_pace_and_known_ones_at_any_time() -> None:
    async with running(registrations_per_s=1) as run:
        for number in range(2):
            await register(run, f"{APP}-{number}")
        command: Any = {"application": f"{APP}-2", "driver": {}}
        refused = pb.RegisterApplicationCall(command=command, proof=PROOF)
        _, words = await refusal(run.stub.RegisterApplication(refused), Code.RESOURCE_EXHAUSTED)
        assert "limits.registrations_per_s" in words
        assert f"{APP}-2" not in run.coordinator.states
        command["application"] = f"{APP}-0"
        known = pb.RegisterApplicationCall(command=command, proof=PROOF)
        assert (await run.stub.RegisterApplication(known)).token


async def test_a_pace_keeps_nothing_of_who_has_been_quiet() -> None:
    pace = Pace(1_000_000)
    for who in range(5_000):
        assert pace.wait_s(who, 1) == 0
    await asyncio.sleep(0.01)
    pace.wait_s("one more", 1)
    assert len(pace._debts) < 2_000


def test_limits_are_what_the_server_listens_with() -> None:
    from coordinator.cli.serving import options_of, server_options
    from coordinator.config import load

    loaded = load({"limits.text_bytes": 7, "limits.calls": 8, "limits.shuffles": 9}, {})
    server, options = server_options(loaded.config), options_of(loaded.config)
    assert (server.bounds.text_bytes, server.calls_max) == (7, 8)
    assert options.limits == replace(Limits(), text_bytes=7, calls=8, shuffles=9)
