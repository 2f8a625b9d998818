"""Requests and answers: read whole, or refused whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import service_pb2

from coordinator.core.commands import Command, GetShuffleId, Request
from coordinator.core.ids import AppShuffle, ClientId, ShuffleId, StageAttempt, StageId
from coordinator.core.rejections import Accepted, Answer, NotReady, Ready
from coordinator.wire import messages
from coordinator.wire.errors import Malformed
from tests.unit.wire.strategies import values_of

DRIVER = ClientId("driver")


def ask(stage: int) -> GetShuffleId:
    return GetShuffleId(AppShuffle(3), StageAttempt(StageId(stage), 0))


def batch_of(commands: list[Command], first: int = 1) -> service_pb2.Batch:
    requests = [Request(DRIVER, number, command) for number, command in enumerate(commands, first)]
    return service_pb2.Batch(requests=map(messages.request_to_message, requests), confirmed=4)


@given(st.lists(values_of(Command), max_size=6), st.integers(1, 2**60))
def test_a_batch_reads_back_equal(commands: list[Command], first: int) -> None:
    sent = service_pb2.Batch.FromString(batch_of(commands, first).SerializeToString())
    expected = [Request(DRIVER, number, command, 4) for number, command in enumerate(commands, first)]
    assert messages.requests_of(sent, DRIVER) == expected


@given(values_of(Command))
def test_a_command_alone_reads_back_equal(command: Command) -> None:
    message = messages.request_to_message(Request(DRIVER, 1, command))
    name = message.WhichOneof("command")
    assert name is not None
    assert messages.command_of(getattr(message, name)) == command


def test_equal_commands_of_a_batch_are_one_object() -> None:
    first, other, second = messages.requests_of(batch_of([ask(4), ask(5), ask(4)]), DRIVER)
    assert first.command is second.command
    assert other.command == ask(5)


def test_a_request_without_a_command_is_named() -> None:
    batch = batch_of([ask(4), ask(5)], first=7)
    batch.requests[1].ClearField("get_shuffle_id")
    with pytest.raises(Malformed, match="request 8 holds no command that is known here"):
        messages.requests_of(batch, DRIVER)


def test_a_request_that_lacks_a_part_is_named() -> None:
    batch = batch_of([ask(4)], first=7)
    batch.requests[0].get_shuffle_id.ClearField("stage")
    with pytest.raises(Malformed, match=r"request 7: GetShuffleId\.stage is missing"):
        messages.requests_of(batch, DRIVER)


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(Malformed, match="Heartbeat is no command"):
        messages.command_of(service_pb2.Heartbeat())


@given(st.lists(st.tuples(st.integers(1, 40), values_of(Answer)), max_size=12))
def test_answers_read_back_equal_in_their_order(answers: list[tuple[int, Answer]]) -> None:
    content = messages.answers_to_message(answers).SerializeToString()
    assert list(messages.answers_of(service_pb2.Answers.FromString(content))) == answers


def test_equal_answers_to_consecutive_numbers_are_told_once() -> None:
    ready, waiting = Ready(ShuffleId(7)), NotReady(ShuffleId(8), "it is being written", 200)
    answers: list[tuple[int, Answer]] = [
        (1, ready),
        (2, Ready(ShuffleId(7))),
        (3, waiting),
        (5, waiting),
        (6, Accepted()),
    ]
    told = messages.answers_to_message(answers).answers
    assert [(one.number, one.last) for one in told] == [(1, 2), (3, 0), (5, 0), (6, 0)]
    assert list(messages.answers_of(service_pb2.Answers(answers=told))) == answers


def test_an_answer_that_says_nothing_is_refused() -> None:
    with pytest.raises(Malformed, match="NumberedAnswer holds no answer"):
        messages.answer_of(service_pb2.NumberedAnswer(number=1))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"get_shuffle_id": {"app_shuffle": 2**31, "stage": {}}}, "GetShuffleId.app_shuffle is 2147483648"),
        ({"report_job_started": {"reads": [1, 2**32 - 1]}}, "ReportJobStarted.reads is 4294967295"),
        ({"resync": {"outputs": [{}, {"app_shuffle": 2**31}]}}, "Outputs.app_shuffle is 2147483648"),
        ({"resync": {"jobs": [{"lineage": [{"app_shuffle": 2**31}]}]}}, "Lineage.app_shuffle is 2147483648"),
        (
            {"report_stage_completed": {"stage": {}, "shuffle_bytes_written": 2**64 - 1}},
            "ReportStageCompleted.shuffle_bytes_written is 18446744073709551615; expected at most 9007199254740991",
        ),
        ({"set_policy": {"policy": {"grace_ms": 2**64 - 1}}}, "Policy.grace_ms is 18446744073709551615"),
    ],
    ids=["app shuffle", "list", "flat list", "nested", "bytes", "duration"],
)
def test_a_number_that_nothing_could_hold_is_refused(command: Any, words: str) -> None:
    batch = service_pb2.Batch(requests=[{"number": 1, **command}])
    with pytest.raises(Malformed) as told:
        messages.requests_of(batch, DRIVER)
    assert words in str(told.value)
    name = batch.requests[0].WhichOneof("command")
    assert name is not None
    with pytest.raises(Malformed):
        messages.command_of(getattr(batch.requests[0], name))


def test_the_largest_numbers_are_taken() -> None:
    asked: Any = {"app_shuffle": 2**31 - 1, "stage": {"stage": 2**31 - 1}}
    done: Any = {"stage": {}, "shuffle_bytes_written": 2**53 - 1}
    batch = service_pb2.Batch(requests=[{"get_shuffle_id": asked}, {"report_stage_completed": done}])
    assert len(messages.requests_of(batch, DRIVER)) == 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lessons": [{}] * 1_001}, "RegisterApplication.settings.lessons has 1001 items; expected at most 1000"),
        ({"lessons": [{"lineage": "x" * 100}] * 900}, "expected at most 65536"),
    ],
    ids=["many", "large"],
)
def test_a_registration_is_small(settings: Any, words: str) -> None:
    with pytest.raises(Malformed) as told:
        messages.command_of(service_pb2.RegisterApplication(application="a", settings=settings))
    assert words in str(told.value)
