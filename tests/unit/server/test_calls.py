"""Commands, one a call: answered, or refused with words."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2
from shuffle_lifecycle.v1 import service_pb2 as pb
from structlog.testing import capture_logs

from coordinator.archive.api import ArchiveAway, Missing
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Lesson
from coordinator.runtime import errors as e
from coordinator.server import statuses
from tests.unit.server import facts
from tests.unit.server.fakes import APP, TOKEN, Running, register, running
from tests.unit.server.refused import refusal

Code = grpc.StatusCode


async def told(run: Running) -> None:
    """The application is registered, and app shuffle 0 can be read."""
    await register(run)
    reply = await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=facts.story()))
    assert [answer.WhichOneof("answer") for answer in reply.answers] == ["accepted"] * 3


def ask_call(run: Running, app_shuffle: int = 0, **caller: Any) -> Any:
    call = pb.GetShuffleIdCall(caller=run.caller(**caller), command=facts.ask(app_shuffle))
    return run.stub.GetShuffleId(call)


async def test_get_shuffle_id_answers_ready() -> None:
    async with running() as run:
        await told(run)
        assert (await ask_call(run)).ready.shuffle_id == 1


async def test_get_shuffle_id_answers_not_ready_while_it_is_written() -> None:
    async with running() as run:
        await register(run)
        await run.stub.ReportJobStarted(pb.ReportJobStartedCall(caller=run.caller(), command=facts.JOB))
        await run.stub.ReportStageSubmitted(pb.ReportStageSubmittedCall(caller=run.caller(), command=facts.WRITES))
        reply = await ask_call(run)
        assert reply.not_ready.shuffle_id == 1
        assert reply.not_ready.ask_again_ms > 0


async def test_get_shuffle_id_of_what_was_never_heard_of_is_not_found() -> None:
    async with running() as run:
        await told(run)
        reason, words = await refusal(ask_call(run, app_shuffle=9), Code.NOT_FOUND)
        assert reason == "NOT_FOUND"
        assert "9" in words


async def test_a_missing_shuffle_is_answered_with_one_recovery() -> None:
    async with running() as run:
        await register(run, capabilities={"completes_after_loss": False})
        await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=facts.story()))
        missing = pb.ReportMissing(app_shuffle=0, shuffle_id=1, stage={"stage": 5})
        call = pb.ReportMissingShuffleCall(caller=run.caller(), command=missing)
        first = await run.stub.ReportMissingShuffle(call)
        again = await run.stub.ReportMissingShuffle(call)
        assert first.recover.recovery == again.recover.recovery == 1
        assert list(first.recover.recompute) == [0]


async def test_every_command_has_its_call() -> None:
    async with running() as run:
        await told(run)
        who: Any = {"caller": run.caller()}
        calls = [
            run.stub.ReportStageCompleted(pb.ReportStageCompletedCall(**who, command={"stage": {"stage": 5}})),
            run.stub.SetPolicy(pb.SetPolicyCall(**who, command={"policy": {"rule": 3, "observe": False}})),
            run.stub.SetPin(pb.SetPinCall(**who, command={"app_shuffle": 0, "why": "a person wants it"})),
            run.stub.RemovePin(pb.RemovePinCall(**who, command={"app_shuffle": 0})),
            run.stub.ResumeDeletion(pb.ResumeDeletionCall(**who, command={"by": "somebody"})),
            run.stub.ReportJobEnded(pb.ReportJobEndedCall(**who, command={"job": 1})),
            run.stub.EndApplication(pb.EndApplicationCall(**who, command={})),
        ]
        assert [(await call).WhichOneof("answer") for call in calls] == ["accepted"] * 7


async def test_a_repeated_number_is_not_carried_out_again() -> None:
    async with running() as run:
        await told(run)
        client = pb.NumberedRequest(number=1, register_client={"client": "other"})
        await run.stub.Submit(pb.SubmitCall(caller=run.caller("other"), requests=[client]))
        pin = pb.SetPinCall(caller=run.caller("other", 2), command={"app_shuffle": 0, "why": "x"})
        await run.stub.SetPin(pin)
        length = len(run.coordinator.logs[APP])
        await run.stub.SetPin(pin)
        assert len(run.coordinator.logs[APP]) == length


async def test_a_batch_has_refusals_among_its_answers() -> None:
    async with running() as run:
        await told(run)
        asked = [pb.NumberedRequest(number=0, get_shuffle_id=facts.ask(app)) for app in (0, 9)]
        reply = await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=asked))
        assert [answer.WhichOneof("answer") for answer in reply.answers] == ["ready", "rejection"]


async def test_a_deadline_reaches_the_replica() -> None:
    async with running() as run:
        await told(run)
        await run.stub.GetShuffleId(pb.GetShuffleIdCall(caller=run.caller(), command=facts.ask()), timeout=60)
        limit_s = run.coordinator.limits_s[-1]
        assert limit_s is not None
        assert 0 < limit_s < 61


async def test_a_deadline_that_passes_ends_the_call() -> None:
    async with running() as run:
        await told(run)
        run.coordinator.go_on.clear()
        call = pb.GetShuffleIdCall(caller=run.caller(), command=facts.ask())
        await refusal(run.stub.GetShuffleId(call, timeout=0.05), Code.DEADLINE_EXCEEDED)


async def test_who_waits_in_vain_is_told_why_before_the_deadline() -> None:
    async with running() as run:
        await told(run)
        run.coordinator.go_on.clear()
        call = pb.GetShuffleIdCall(caller=run.caller(), command=facts.ask())
        reason, words = await refusal(run.stub.GetShuffleId(call, timeout=2), Code.DEADLINE_EXCEEDED)
        assert reason == "InDoubt"
        assert "Send the same requests with the same numbers again" in words


# --- who may ask ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_a_wrong_token_is_refused_and_noted(token: str) -> None:
    async with running() as run:
        await told(run)
        reason, words = await refusal(ask_call(run, token=token), Code.PERMISSION_DENIED)
        assert reason == "PERMISSION_DENIED"
        assert TOKEN not in words
        assert run.coordinator.audited == [("wrong token", APP)]
        assert len(run.coordinator.submitted) == 1  # what was told before; the refused one never arrived


async def test_the_token_may_come_as_metadata() -> None:
    async with running() as run:
        await told(run)
        call = pb.GetShuffleIdCall(caller=run.caller(token=""), command=facts.ask())
        reply = await run.stub.GetShuffleId(call, metadata=(("authorization", f"Bearer {TOKEN}"),))
        assert reply.ready.shuffle_id == 1


async def test_an_unknown_application_is_named_and_noted() -> None:
    async with running() as run:
        reason, words = await refusal(ask_call(run), Code.NOT_FOUND)
        assert reason == "UnknownApplication"
        assert APP in words
        assert run.coordinator.audited == [("unknown application", APP)]


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (pb.GetShuffleIdCall(), "holds no command"),
        (
            pb.GetShuffleIdCall(caller={"application": APP, "token": TOKEN}, command={"app_shuffle": 1}),
            "GetShuffleId.stage is missing",
        ),
        (pb.GetShuffleIdCall(command=facts.ask()), "no application is named"),
        (pb.GetShuffleIdCall(caller={"application": APP, "client": "c"}, command=facts.ask()), "`number` is 0"),
    ],
)
async def test_what_makes_no_sense_is_said(call: Any, words: str) -> None:
    async with running() as run:
        await register(run)
        reason, said = await refusal(run.stub.GetShuffleId(call), Code.INVALID_ARGUMENT)
        assert reason == "INVALID"
        assert words in said
        assert run.coordinator.submitted == []


async def test_an_unregistered_client_is_told_to_register() -> None:
    async with running() as run:
        await told(run)
        _, words = await refusal(ask_call(run, client="stranger", number=1), Code.FAILED_PRECONDITION)
        assert "RegisterClient" in words


async def test_a_batch_that_is_too_large_is_refused_whole() -> None:
    async with running(batch_max=2) as run:
        await register(run)
        call = pb.SubmitCall(caller=run.caller(), requests=facts.story())
        _, words = await refusal(run.stub.Submit(call), Code.INVALID_ARGUMENT)
        assert "the batch holds 3 requests; expected at most 2" in words
        assert run.coordinator.submitted == []


async def test_an_oversized_message_is_refused_and_the_server_goes_on() -> None:
    async with running(message_bytes_max=2_000) as run:
        await told(run)
        pin: Any = {"app_shuffle": 0, "why": "x" * 3_000}
        _, words = await refusal(
            run.stub.SetPin(pb.SetPinCall(caller=run.caller(), command=pin)), Code.RESOURCE_EXHAUSTED
        )
        assert "2000" in words
        assert (await ask_call(run)).ready.shuffle_id == 1


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (e.ApplicationOver(APP, "ended"), Code.FAILED_PRECONDITION),
        (e.Unavailable(APP, "no leader"), Code.UNAVAILABLE),
        (e.SetBack(APP, 7), Code.UNAVAILABLE),
        (e.Overtaken(APP, 7), Code.UNAVAILABLE),
        (e.InDoubt(APP, 10), Code.DEADLINE_EXCEEDED),
        (e.Overloaded(APP, 9, 8), Code.RESOURCE_EXHAUSTED),
        (e.Draining("replica-1"), Code.UNAVAILABLE),
        (e.DamagedLog(APP, "torn"), Code.DATA_LOSS),
        (e.NewerLog(APP, "version 9"), Code.UNAVAILABLE),
        (e.Archived(APP, 40), Code.OUT_OF_RANGE),
        (e.unread(APP, ArchiveAway("a folder", "no rights")), Code.UNAVAILABLE),
        (e.unread(APP, Missing(APP, 7, "a folder")), Code.DATA_LOSS),
        (e.Defect(APP, KeyError("x")), Code.INTERNAL),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
async def test_each_error_of_the_replica_has_its_status(failure: e.CoordinatorError, code: Code) -> None:
    async with running() as run:
        await told(run)
        run.coordinator.failure = failure
        reason, words = await refusal(ask_call(run), code)
        assert reason == type(failure).__name__
        assert failure.fact in words
        assert failure.next_step in words


def test_no_error_of_the_replica_is_without_a_status() -> None:
    known = {one for one in vars(e).values() if isinstance(one, type) and issubclass(one, e.CoordinatorError)}
    assert known - {e.CoordinatorError} == set(statuses._CODES)


async def test_a_mistake_in_the_program_is_said_without_its_insides() -> None:
    async with running() as run:
        await told(run)
        run.coordinator.failure = ZeroDivisionError("secret insides")
        reason, words = await refusal(ask_call(run), Code.INTERNAL)
        assert reason == "Defect"
        assert "secret" not in words
        run.coordinator.failure = None
        assert (await ask_call(run)).ready.shuffle_id == 1


async def test_who_registers_is_given_what_earlier_runs_of_that_name_taught() -> None:
    lessons = (Lesson("00ff", 2),)
    async with running(lessons={"nightly": lessons, "other": ()}) as run:
        await register(run)
        assert (await run.coordinator.registration(ApplicationId(APP))).settings.lessons == lessons


@pytest.mark.parametrize(
    ("rule", "taught", "is_warned"),
    [
        (common_pb2.RULE_HISTORY, "nightly", False),
        (common_pb2.RULE_HISTORY, "weekly", True),
        (common_pb2.RULE_FRONTIER, "weekly", False),
    ],
)
async def test_who_goes_by_history_and_has_none_is_told_so(rule: common_pb2.Rule, taught: str, is_warned: bool) -> None:
    async with running(lessons={taught: (Lesson("00ff", 2),)}) as run:
        with capture_logs() as lines:
            for _ in range(2):  # who is known comes again
                await register(run, policy={"rule": rule})
    told = [(line["application"], line["names"]) for line in lines if "no lessons" in line["event"]]
    assert told == ([("nightly", ["weekly"])] if is_warned else [])
