"""Every class of the core has its message, and says the same in it."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from shuffle_lifecycle.v1 import common_pb2, events_pb2, service_pb2

from coordinator.core import values
from coordinator.core.commands import Command, GetShuffleId, RegisterApplication, ReportOutcome
from coordinator.core.events import Event, GenerationLost
from coordinator.core.ids import AppShuffle, StageAttempt, StageId
from coordinator.core.rejections import Answer
from coordinator.wire import shapes
from coordinator.wire.errors import Malformed, ShapeMismatch
from tests.unit.wire.strategies import values_of

EVENTS = typing.get_args(Event)


@pytest.mark.parametrize(
    "kind", [*EVENTS, *typing.get_args(Command), *typing.get_args(Answer)], ids=lambda k: k.__name__
)
def test_has_a_message_with_the_same_fields(kind: type) -> None:
    assert shapes.shape_of(kind).plain is kind


def test_record_names_every_event_and_no_other() -> None:
    told = {field.name for field in events_pb2.Record.DESCRIPTOR.oneofs_by_name["event"].fields}
    assert told == {shapes.snake(kind.__name__) for kind in EVENTS}


def test_request_names_every_command_and_no_other() -> None:
    told = {field.name for field in service_pb2.NumberedRequest.DESCRIPTOR.oneofs_by_name["command"].fields}
    assert told == set(shapes.members(Command))


@given(values_of(Event | Command | Answer))
def test_what_is_written_reads_back_equal(value: Any) -> None:
    shape = shapes.shape_of(type(value))
    content = shape.write(value).SerializeToString()
    assert shape.read(shape.message.FromString(content)) == value


def test_an_absent_field_has_the_dataclass_default() -> None:
    message = service_pb2.RegisterApplication(application="a", driver={})
    read = shapes.shape_of(RegisterApplication).read(message)
    assert read.policy == values.Policy()
    assert read.settings == values.Settings()
    assert read.driver.service == "native"


def test_a_missing_part_is_named() -> None:
    with pytest.raises(Malformed, match=r"GetShuffleId\.stage is missing; expected a value"):
        shapes.shape_of(GetShuffleId).read(service_pb2.GetShuffleId(app_shuffle=3))


def test_a_missing_choice_is_named() -> None:
    with pytest.raises(Malformed, match=r"outcome is missing; expected one of fenced, busy"):
        shapes.shape_of(ReportOutcome).read(service_pb2.ReportOutcome(directive=1))


@pytest.mark.parametrize("number", [0, 99])
def test_an_unknown_or_missing_value_is_named(number: int) -> None:
    with pytest.raises(Malformed, match=r"GenerationLost\.cause is "):
        shapes.shape_of(GenerationLost).read(events_pb2.GenerationLost.FromString(bytes([0x08, 7, 0x10, number])))


def test_an_attempt_of_stage_zero_is_not_an_absent_one() -> None:
    wished = GetShuffleId(AppShuffle(0), StageAttempt(StageId(0), 0))
    shape = shapes.shape_of(GetShuffleId)
    assert shape.read(shape.message.FromString(shape.write(wished).SerializeToString())) == wished


@dataclass(frozen=True)
class Span:
    first: int
    last: int
    middle: int


@dataclass(frozen=True)
class Outputs:
    app_shuffle: int
    available: int = 7
    total: int = 0


class Loss(Enum):
    OUTPUTS = "outputs gone"


@dataclass(frozen=True)
class Nameless:
    nothing: int


@pytest.mark.parametrize(
    ("kind", "fact"),
    [
        (Span, r"Span and its message differ in \['middle'\]"),
        (Outputs, "available has the default 7; expected its field to be `optional`"),
        (Nameless, "the protocol has no message Nameless"),
    ],
)
def test_a_class_that_was_changed_alone_is_refused(kind: type, fact: str) -> None:
    with pytest.raises(ShapeMismatch, match=fact):
        shapes.shape_of(kind)


def test_an_enum_that_was_changed_alone_is_refused() -> None:
    with pytest.raises(ShapeMismatch, match="enum Loss and its message differ in"):
        shapes.enum_numbers(Loss, common_pb2.DESCRIPTOR.enum_types_by_name["Loss"])
