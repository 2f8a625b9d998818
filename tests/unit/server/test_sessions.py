"""Sessions: ordered, bounded, resumable, and closed with words when a driver breaks a rule."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.core.commands import Request
from coordinator.core.desk import Desk
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, DirectiveId, ShuffleId
from coordinator.core.numbering import refuse
from coordinator.core.rejections import Accepted, AlreadyConfirmed, Answer, Ready, Reason, Rejection
from coordinator.core.state import Directive
from coordinator.core.values import DirectiveKind, Locator
from coordinator.runtime.api import GoAway, Notice, Peer, Session
from coordinator.runtime.errors import ApplicationOver, Unavailable
from tests.unit.server import facts
from tests.unit.server.driver import Driver, hello, session
from tests.unit.server.fakes import APP, DRIVER, FakeCoordinator, Running, running
from tests.unit.server.refused import refusal

Code = grpc.StatusCode
READY = Ready(ShuffleId(1))
FENCE = Directive(DirectiveId(1), DirectiveKind.FENCE, ShuffleId(1), AppShuffle(0), Locator("native", b"0"))


async def ends_in(driver: Driver, code: Code) -> tuple[str, str]:
    return await refusal(driver.refused(), code)


# --- the way it goes --------------------------------------------------------------------------------------------------


async def test_the_first_hello_registers_and_is_welcomed() -> None:
    async with running() as run:
        run.coordinator.peers = [Peer("replica-1", "here:1", 1), Peer("replica-2", "there:1", 1), Peer("r3", "", 1)]
        async with session(run) as (_, welcome):
            assert welcome.replica == "replica-1"
            assert (welcome.answered, welcome.outstanding) == (0, 0)
            assert welcome.limits == pb.Limits(
                max_batch=1_024,
                max_unconfirmed=4_096,
                max_message_bytes=4 * 1024 * 1024,
                heartbeat_ms=5_000,
                lineage_ahead=True,
            )
            assert list(welcome.elsewhere) == ["there:1"]
        assert DRIVER in run.coordinator.states[APP].clients


async def test_where_else_to_go_is_read_while_the_session_is_opened() -> None:
    class Waiting(FakeCoordinator):
        async def replicas(self) -> list[Peer]:
            self.go_on.set()
            return self.peers

        async def open_session(self, application: ApplicationId, client: ClientId) -> Session:
            await asyncio.wait_for(self.go_on.wait(), 10)
            return await super().open_session(application, client)

    coordinator = Waiting(peers=[Peer("replica-2", "there:1", 1)])
    async with running(coordinator) as run:
        async with session(run):
            coordinator.go_on.clear()
        async with session(run, hello(register=False)) as (_, welcome):
            assert list(welcome.elsewhere) == ["there:1"]


async def test_requests_are_answered_in_their_order() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        assert await driver.answers(3) == [(1, Accepted()), (2, Accepted()), (3, Accepted())]
        await driver.send(facts.batch(facts.asks(range(4, 260)), confirmed=3))
        assert await driver.answers(256) == [(number, READY) for number in range(4, 260)]


async def test_refusals_are_answers_and_end_nothing() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(facts.batch([pb.NumberedRequest(number=1, get_shuffle_id=facts.ask(9)), *facts.story(2)]))
        answers = await driver.answers(4)
        assert isinstance(answers[0][1], Rejection)
        assert [answer for _, answer in answers[1:]] == [Accepted()] * 3


async def test_what_arrives_during_a_commit_shares_the_next_one() -> None:
    async with running() as run, session(run) as (driver, _):
        run.coordinator.go_on.clear()
        run.coordinator.submitted.clear()
        await driver.send(facts.batch(facts.story()))
        await until(lambda: run.coordinator.submitted == [[1, 2, 3]])
        for number in (4, 5, 6):
            await driver.send(facts.batch(facts.asks([number])))
        await until(lambda: run.coordinator.sessions[0].beats == 4)
        run.coordinator.go_on.set()
        await driver.answers(6)
        assert run.coordinator.submitted == [[1, 2, 3], [4, 5, 6]]


async def test_directives_notices_and_the_farewell_reach_the_driver() -> None:
    async with running(FakeCoordinator(waiting=[FENCE])) as run, session(run) as (driver, welcome):
        assert welcome.outstanding == 1
        (directive,) = (await driver.read()).directives.directives
        assert (directive.directive, directive.kind, directive.shuffle_id, directive.locator.payload) == (1, 1, 1, b"0")
        assert directive.newest_shuffle_id == 10
        (open_session,) = run.coordinator.sessions
        open_session.tell(Notice("deletion is suspended"))
        assert (await driver.read()).notice.text == "deletion is suspended"
        open_session.tell(GoAway("upgrade", ("there:1",)))
        assert (await driver.read()).go_away == pb.GoAway(why="upgrade", elsewhere=["there:1"])
        assert await driver.read() is grpc.aio.EOF
        assert await driver.call.code() is Code.OK


async def test_heartbeats_and_requests_are_signs_of_life() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(pb.SessionRequest(heartbeat=pb.Heartbeat()))
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        assert run.coordinator.sessions[0].beats == 2


async def test_a_driver_that_hangs_up_gets_its_answers_first() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.call.done_writing()
        assert len(await driver.answers(3)) == 3
        assert await driver.read() is grpc.aio.EOF
        assert await driver.call.code() is Code.OK
        assert run.coordinator.sessions[0].closed.is_set()


async def test_a_driver_that_vanishes_leaves_nothing_behind() -> None:
    async with running() as run:
        async with session(run):
            pass
        await asyncio.wait_for(run.coordinator.sessions[0].closed.wait(), 10)


# --- coming back ------------------------------------------------------------------------------------------------------


async def come_back(run: Running, confirmed: int = 0) -> Any:
    return session(run, hello(register=False, confirmed=confirmed))


async def test_a_driver_that_comes_back_goes_on_after_its_last_answer() -> None:
    async with running() as run:
        async with session(run) as (driver, _):
            await driver.send(facts.batch(facts.story()))
            await driver.answers(3)
        async with await come_back(run) as (driver, welcome):
            assert welcome.answered == 3
            await driver.send(facts.batch(facts.asks([4])))
            assert await driver.answers(1) == [(4, READY)]


async def test_what_was_sent_before_is_answered_again_and_done_once() -> None:
    async with running() as run:
        async with session(run) as (driver, _):
            await driver.send(facts.batch(facts.story()))
            await driver.answers(3)
        events = [type(recorded.event) for recorded in run.coordinator.logs[APP]]
        async with await come_back(run) as (driver, _):
            await driver.send(facts.batch([*facts.story(), *facts.asks([4])]))
            assert await driver.answers(4) == [(1, Accepted()), (2, Accepted()), (3, Accepted()), (4, READY)]
        again = [type(recorded.event) for recorded in run.coordinator.logs[APP]]
        assert [kind.__name__ for kind in again[len(events) :]] == ["ReaderRegistered", "RequestsAnswered"]


async def test_what_was_confirmed_is_never_done_again() -> None:
    async with running() as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        await driver.send(facts.batch(facts.asks([4]), confirmed=3))
        await driver.answers(1)
        await driver.send(facts.batch(facts.story()[:1]))
        assert await driver.answers(1) == [(1, AlreadyConfirmed(1, 3))]


async def test_a_client_that_was_forgotten_is_told_to_register() -> None:
    async with running() as run:
        async with session(run):
            pass
        del run.coordinator.states[APP].clients[DRIVER]
        async with await come_back(run) as (driver, welcome):
            assert welcome.answered == 0
            await driver.send(facts.batch(facts.asks([7])))
            ((_, answer),) = await driver.answers(1)
            assert isinstance(answer, Rejection)
            assert "RegisterClient" in answer.next_step


async def test_a_client_that_was_forgotten_is_not_registered_behind_its_back() -> None:
    async with running() as run:
        async with session(run):
            pass
        del run.coordinator.states[APP].clients[DRIVER]
        async with session(run, hello(confirmed=9)) as (_, welcome):
            assert welcome.answered < 9
            assert DRIVER not in run.coordinator.states[APP].clients


async def test_a_driver_goes_on_behind_numbers_that_were_refused_at_a_limit() -> None:
    """It has their answers, and has confirmed them; the log knows of no such number."""

    class Full(FakeCoordinator):
        is_full = True

        def _carry_out(self, application: ApplicationId, requests: Sequence[Request]) -> list[Answer]:
            if not (self.is_full and requests[0].number):
                return super()._carry_out(application, requests)
            desk = Desk.over(self.states[application], 1_700_000_000_000)
            return [refuse(desk, request, Rejection(Reason.EXHAUSTED, "", "", "")) for request in requests]

    coordinator = Full()
    async with running(coordinator) as run:
        async with session(run) as (driver, _):
            await driver.send(facts.batch(facts.story()))
            assert [type(answer) for _, answer in await driver.answers(3)] == [Rejection] * 3
        coordinator.is_full = False
        async with await come_back(run, confirmed=3) as (driver, welcome):
            assert welcome.answered == 0
            await driver.send(facts.batch(facts.story(4), confirmed=3))
            assert await driver.answers(3) == [(4, Accepted()), (5, Accepted()), (6, Accepted())]
        coordinator.is_full = True
        async with await come_back(run, confirmed=6) as (driver, welcome):
            assert welcome.answered == 6
            await driver.send(facts.batch(facts.story(7), confirmed=6))
            await driver.answers(3)
        coordinator.is_full = False
        async with await come_back(run, confirmed=9) as (driver, welcome):
            assert welcome.answered == 6
            await driver.send(facts.batch(facts.asks([10]), confirmed=9))
            assert await driver.answers(1) == [(10, READY)]


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (pb.SessionRequest(), "the first message of a session is empty; expected Hello"),
        (pb.SessionRequest(heartbeat=pb.Heartbeat()), "the first message of a session is heartbeat; expected Hello"),
        (hello(client=""), "Hello.client is empty"),
        (hello(register={"application": "other", "driver": {}}), "Hello registers application 'other'"),
        (hello(register={"application": APP}), "RegisterApplication.driver is missing"),
        (hello(register=False, application=""), "no application is named"),
    ],
)
async def test_a_bad_beginning_is_said(first: pb.SessionRequest, words: str) -> None:
    async with running() as run:
        driver = Driver(run.stub.Session())
        await driver.send(first)
        _, said = await ends_in(driver, Code.INVALID_ARGUMENT)
        assert words in said
        assert run.coordinator.sessions == []


async def test_a_stream_that_says_nothing_is_closed() -> None:
    async with running(hello_within_s=0.05) as run:
        _, said = await ends_in(Driver(run.stub.Session()), Code.INVALID_ARGUMENT)
        assert "no Hello came within 0.05 s" in said


async def test_a_stream_that_ends_at_once_is_told_why() -> None:
    async with running() as run:
        driver = Driver(run.stub.Session())
        await driver.call.done_writing()
        _, said = await ends_in(driver, Code.INVALID_ARGUMENT)
        assert "the first message of a session is missing" in said


async def test_a_wrong_token_opens_no_session() -> None:
    async with running() as run:
        async with session(run):
            pass
        driver = Driver(run.stub.Session())
        await driver.send(hello(token="wrong", proof="of somebody else, and long enough to be one"))
        await ends_in(driver, Code.PERMISSION_DENIED)
        assert run.coordinator.audited == [("wrong token", APP)]


async def test_an_unknown_application_opens_no_session() -> None:
    async with running() as run:
        driver = Driver(run.stub.Session())
        await driver.send(hello(register=False))
        await ends_in(driver, Code.NOT_FOUND)


NO_STAGE = pb.NumberedRequest(number=1, get_shuffle_id=pb.GetShuffleId(app_shuffle=3))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (facts.batch(facts.asks([1, 3])), "request 3 follows request 1; expected a number from 1 to 2"),
        (facts.batch(facts.asks([0])), "request 0 follows request 0"),
        (facts.batch([pb.NumberedRequest(number=1)]), "request 1 holds no command that is known here"),
        (facts.batch([NO_STAGE]), "request 1: GetShuffleId.stage is missing"),
        (facts.batch(facts.asks([1]), confirmed=2), "answer 2 is confirmed; expected at most 1"),
        (facts.batch(facts.asks(range(1, 10))), "the batch holds 9 requests; expected at most 8"),
        (pb.SessionRequest(), "a session's message is empty; expected Batch or Heartbeat"),
        (hello(), "a session's message is hello; expected Batch or Heartbeat"),
    ],
)
async def test_a_broken_rule_ends_its_own_stream_and_nothing_is_lost(message: pb.SessionRequest, words: str) -> None:
    async with running(batch_max=8) as run, session(run, hello(application=APP)) as (driver, _):
        async with session(run, other()) as (bystander, _):
            length = len(run.coordinator.logs[APP])
            await driver.send(message)
            _, said = await ends_in(driver, Code.INVALID_ARGUMENT)
            assert words in said
            assert len(run.coordinator.logs[APP]) == length
            await bystander.send(facts.batch(facts.story()))
            assert len(await bystander.answers(3)) == 3
        async with await come_back(run) as (driver, welcome):
            await driver.send(facts.batch(facts.asks([welcome.answered + 1])))
            assert len(await driver.answers(1)) == 1


def other() -> pb.SessionRequest:
    return hello(application="another", client="another driver", register={"application": "another", "driver": {}})


async def test_bytes_that_are_no_message_end_their_own_stream() -> None:
    async with running() as run, session(run) as (driver, _):
        raw: Any = run.channel.stream_stream("/shuffle_lifecycle.v1.ShuffleLifecycle/Session")
        garbage = Driver(raw())
        await garbage.call.write(b"\xff\xff\xff\xff")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await garbage.refused()
        assert caught.value.code() in (Code.INTERNAL, Code.INVALID_ARGUMENT)
        await driver.send(facts.batch(facts.story()))
        assert len(await driver.answers(3)) == 3


async def test_more_than_may_be_unconfirmed_ends_the_stream() -> None:
    async with running(unconfirmed_max=4) as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        await driver.send(facts.batch(facts.asks([4, 5])))
        _, said = await ends_in(driver, Code.RESOURCE_EXHAUSTED)
        assert "5 requests were sent and not confirmed; expected at most 4" in said


async def test_what_an_earlier_session_took_more_of_can_be_sent_again_a_part_at_a_time() -> None:
    """Its answers may be lost, and a server that was told to take fewer refused every part of it for ever."""
    coordinator = FakeCoordinator()
    async with running(coordinator) as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story() + facts.asks(range(4, 9))))
        await driver.answers(8)
    async with running(coordinator, unconfirmed_max=4) as fewer, session(fewer) as (driver, welcome):
        assert welcome.answered == 8
        await driver.send(facts.batch(facts.story() + facts.asks([4])))
        assert len(await driver.answers(4)) == 4
        await driver.send(facts.batch(facts.asks(range(5, 9)), confirmed=4))
        assert len(await driver.answers(4)) == 4


async def test_confirming_makes_room() -> None:
    async with running(unconfirmed_max=4) as run, session(run) as (driver, _):
        await driver.send(facts.batch(facts.story()))
        await driver.answers(3)
        await driver.send(facts.batch(facts.asks([4, 5, 6, 7]), confirmed=3))
        assert len(await driver.answers(4)) == 4


async def test_what_is_held_is_bounded_however_often_a_driver_repeats_itself() -> None:
    async with running(unconfirmed_max=4) as run, session(run) as (driver, _):
        run.coordinator.go_on.clear()
        run.coordinator.submitted.clear()
        for _ in range(50):
            await driver.send(facts.batch(facts.story()))
        await until(lambda: len(run.coordinator.submitted) == 1 and run.coordinator.sessions[0].beats >= 3)
        run.coordinator.go_on.set()
        await driver.answers(150)
        assert max(len(group) for group in run.coordinator.submitted) <= 4


async def test_a_driver_that_does_not_read_is_closed() -> None:
    async with running(write_within_s=0.1) as run, session(run) as (_, _welcome):
        (open_session,) = run.coordinator.sessions
        for _ in range(200):
            open_session.tell(Notice("x" * 100_000))
        await asyncio.wait_for(open_session.closed.wait(), 10)


# --- when the replica cannot ------------------------------------------------------------------------------------------


async def test_an_error_of_the_replica_ends_the_stream_with_its_status() -> None:
    async with running() as run, session(run) as (driver, _):
        run.coordinator.failure = Unavailable(APP, "no leader")
        await driver.send(facts.batch(facts.story()))
        reason, said = await ends_in(driver, Code.UNAVAILABLE)
        assert reason == "Unavailable"
        assert "no leader" in said
        assert run.coordinator.sessions[0].closed.is_set()


async def test_an_ended_application_opens_no_session() -> None:
    class Over(FakeCoordinator):
        async def open_session(self, application: Any, client: Any) -> Any:
            raise ApplicationOver(application, "ended")

    async with running(Over()) as run:
        driver = Driver(run.stub.Session())
        await driver.send(hello())
        reason, _ = await ends_in(driver, Code.FAILED_PRECONDITION)
        assert reason == "ApplicationOver"


async def until(condition: Any) -> None:
    """Gives way to others until the condition holds."""

    async def waiting() -> None:
        while not condition():  # noqa: ASYNC110 - what is waited for happens in this loop, and tells nobody
            await asyncio.sleep(0)

    await asyncio.wait_for(waiting(), 10)
