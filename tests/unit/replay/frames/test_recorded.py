"""Events come back from an export as they were; what is not one of this release's is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import StageAttempt, StageId
from coordinator.core.values import Policy, Rule
from coordinator.wire.errors import Corrupt, UnknownKind
from replay.frames.batches import batches
from replay.frames.recorded import recorded_in
from replay.frames.salvage import Problem
from replay.plain import plain, valued
from tests.unit.replay.frames.test_columns import golden


def one_batch(*found: Recorded | Problem) -> pa.RecordBatch:
    (batch,) = batches("app", found)
    return batch


def changed(**columns: object) -> pa.RecordBatch:
    """The first event of a log, with other content."""
    batch = one_batch(golden()[0])
    arrays = [
        pa.array([columns[field.name]], field.type) if field.name in columns else batch.column(field.name)
        for field in batch.schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def test_every_kind_of_event_comes_back_equal() -> None:
    log = golden()
    assert list(recorded_in(one_batch(*log), "x.arrow")) == log


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"event": "{"}, "event 1 (ApplicationRegistered) cannot be understood: Expecting property name"),
        ({"event": "{}"}, "missing 5 required positional arguments: 'application'"),
        ({"event": '{"application": 5}'}, "5 is no str"),
        ({"sequence": None}, "event None (ApplicationRegistered) cannot be understood"),
        ({"problem": "a hole"}, "x.arrow: a hole; expected events"),
    ],
    ids=str,
)
def test_what_was_changed_is_named(change: dict[str, Any], told: str) -> None:
    with pytest.raises(Corrupt, match=r"x\.arrow") as raised:
        list(recorded_in(changed(**change), "x.arrow"))
    assert told in str(raised.value)


def test_an_event_of_another_release_is_named() -> None:
    with pytest.raises(UnknownKind, match="event 1 is called 'Eaten', which is unknown here"):
        list(recorded_in(changed(kind="Eaten"), "x.arrow"))


def test_a_field_of_another_release_is_named() -> None:
    said = {**plain(golden()[0].event), "weather": "fair"}
    with pytest.raises(Corrupt, match="ApplicationRegistered has no 'weather'"):
        list(recorded_in(changed(event=json.dumps(said)), "x.arrow"))


def test_a_field_that_an_earlier_release_did_not_know_has_its_default() -> None:
    registered = golden()[0].event
    assert isinstance(registered, e.ApplicationRegistered)
    said = plain(registered)
    del said["token_hash"]
    assert valued(e.ApplicationRegistered, said) == replace(registered, token_hash="")


@pytest.mark.parametrize(
    "value",
    [
        StageAttempt(StageId(3), 1),
        Policy(Rule.FRONTIER, observe=False),
        Policy(Rule.EAGER, observe=True),
    ],
    ids=str,
)
def test_values_come_back(value: object) -> None:
    assert valued(type(value), json.loads(json.dumps(plain(value)))) == value


@pytest.mark.parametrize(("kind", "data"), [(int, True), (bool, 1), (str, 1), (Rule, "x"), (tuple[int, ...], "ab")])
def test_what_is_of_another_type_is_refused(kind: Any, data: object) -> None:
    with pytest.raises(ValueError, match=r"is no|is not a valid"):
        valued(kind, data)
