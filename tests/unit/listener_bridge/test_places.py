"""What was done in the scheduler's thread takes its place among the facts, whichever half arrives first."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from listener_bridge.places import Placed, Places
from listener_bridge.tap.facts import EventsDropped, Fact, JobEnded, MarkerPassed

BEFORE, AFTER = JobEnded(0, 1, 0, True, None), JobEnded(2, 2, 0, True, None)
MARK = MarkerPassed(1, "fenced-1-0", "")


def test_a_result_waits_for_its_marker() -> None:
    places: Places[str] = Places()
    places.begin(1)
    assert places.settle(1, "fenced", MARK.name) == []
    assert places.awaits("fenced")
    assert places.pass_on([BEFORE, MARK, AFTER]) == [BEFORE, Placed("fenced"), AFTER]
    assert not places.awaits("fenced")


def test_the_marker_first_holds_what_follows() -> None:
    places: Places[str] = Places()
    places.begin(1)
    assert places.pass_on([BEFORE, MARK, AFTER]) == [BEFORE]
    assert places.pass_on([AFTER]) == []
    assert places.settle(1, "fenced", MARK.name) == [Placed("fenced"), AFTER, AFTER]


def test_a_refusal_lets_everything_go_on() -> None:
    places: Places[str] = Places()
    places.begin(1)
    assert places.pass_on([MARK, AFTER]) == []
    assert places.settle(1, "busy", None) == [Placed("busy"), AFTER]


def test_nobody_waits_for_markers_of_others() -> None:
    places: Places[str] = Places()
    assert places.pass_on([MARK, AFTER]) == [AFTER]


def test_what_has_passed_long_ago_is_not_waited_for() -> None:
    places: Places[str] = Places()
    places.pass_on([MARK])
    places.begin(1)
    assert places.settle(1, "the first outcome", MARK.name) == [Placed("the first outcome")]


def test_after_a_gap_nothing_waits_for_a_marker_that_may_be_lost() -> None:
    places: Places[str] = Places()
    places.settle(1, "fenced", MARK.name)
    dropped = EventsDropped(1, 3, "bus")
    assert places.pass_on([BEFORE, dropped, AFTER]) == [BEFORE, dropped, Placed("fenced", is_exact=False), AFTER]


def test_what_was_under_way_when_facts_were_dropped_waits_for_no_marker_that_may_be_lost() -> None:
    dropped = EventsDropped(1, 3, "bus")
    places: Places[str] = Places()
    places.begin(1)
    assert places.pass_on([dropped, AFTER]) == [dropped, AFTER]
    assert places.settle(1, "fenced", MARK.name) == [Placed("fenced", is_exact=False)]
    assert places.pass_on([MARK, AFTER]) == [AFTER], "a marker that comes after all is nobody's"
    places.begin(2)
    assert places.pass_on([dropped, BEFORE, MarkerPassed(5, "fenced-2-0", ""), AFTER]) == [dropped, BEFORE]
    assert places.settle(2, "fenced", "fenced-2-0") == [Placed("fenced"), AFTER], "its marker had come"


def test_giving_up_lets_everything_go_on() -> None:
    places: Places[str] = Places()
    places.begin("snapshot")
    assert places.pass_on([MARK, AFTER]) == []
    assert places.give_up("snapshot") == [AFTER]


@given(split=st.lists(st.integers(0, 5), max_size=6), settled_at=st.integers(0, 6))
def test_however_it_arrives_the_order_is_the_same(split: list[int], settled_at: int) -> None:
    places: Places[str] = Places()
    stream: list[Fact] = [BEFORE, BEFORE, MARK, AFTER, AFTER]
    places.begin(1)
    cuts = [0, *sorted(min(cut, len(stream)) for cut in split), len(stream)]
    told = []
    for number, (first, last) in enumerate(itertools.pairwise(cuts)):
        if number == settled_at:
            told += places.settle(1, "fenced", MARK.name)
        told += places.pass_on(stream[first:last])
    if settled_at >= len(cuts) - 1:
        told += places.settle(1, "fenced", MARK.name)
    assert told == [BEFORE, BEFORE, Placed("fenced"), AFTER, AFTER]


@pytest.mark.parametrize("markers", [5_000])
def test_markers_are_not_remembered_for_ever(markers: int) -> None:
    places: Places[str] = Places()
    places.pass_on(MarkerPassed(n, f"m{n}", "") for n in range(markers))
    assert places.settle(1, "old", "m0") == []
    assert places.settle(2, "new", f"m{markers - 1}") == [Placed("new")]
