"""Looks take at most their share of the time, and come promptly after quiet."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from listener_bridge.reach.pace import (
    BURST_S,
    DELETION_S,
    ENOUGH_S,
    GATHER_LITTLE_S,
    GATHER_S,
    IDLE_MAX_S,
    IDLE_MIN_S,
    QUIET_S,
    SHARE,
    SHARE_LITTLE,
    Pace,
    Worth,
)


def wait_s(pace: Pace, now_s: float, called_s: float | None, worth: Worth) -> float:
    """While things go on happening."""
    return pace.wait_s(now_s, called_s, worth, last_s=math.inf)


@pytest.mark.parametrize(
    ("worth", "share"), [(Worth.MUCH, SHARE), (Worth.SOME, SHARE_LITTLE), (Worth.HARDLY_ANY, SHARE_LITTLE)]
)
@given(costs=st.lists(st.floats(0.0005, 0.4), min_size=1, max_size=200))
def test_over_any_run_looks_take_their_share_and_one_burst(worth: Worth, share: float, costs: list[float]) -> None:
    now_s, looking_s, pace = 0.0, 0.0, Pace(0.0)
    for cost_s in costs:
        now_s += wait_s(pace, now_s, called_s=-1.0, worth=worth)
        assert looking_s <= BURST_S + share * now_s + max(costs) + 1e-6
        now_s += cost_s
        looking_s += cost_s
        pace.took(now_s, cost_s, was_new=True)
    now_s += wait_s(pace, now_s, called_s=-1.0, worth=worth)
    assert looking_s <= BURST_S + share * now_s + 1e-6


def test_after_quiet_a_look_comes_at_once() -> None:
    pace = Pace(0.0)
    pace.took(1.0, 0.004, was_new=True)
    assert wait_s(pace, 1.0, called_s=-1.0, worth=Worth.MUCH) == 0.0


def test_what_calls_for_looks_together_is_one_look() -> None:
    pace = Pace(0.0)
    pace.took(1.0, 0.0, was_new=True)
    assert wait_s(pace, 2.0, called_s=2.0, worth=Worth.MUCH) == pytest.approx(GATHER_S)
    assert wait_s(pace, 2.0 + GATHER_S / 2, called_s=2.0, worth=Worth.MUCH) == pytest.approx(GATHER_S / 2)
    assert wait_s(pace, 3.0, called_s=2.0, worth=Worth.MUCH) == 0.0


def test_where_hardly_anything_can_be_freed_a_look_waits_for_more() -> None:
    pace = Pace(0.0)
    pace.took(1.0, 0.0, was_new=True)
    assert wait_s(pace, 2.0, called_s=2.0, worth=Worth.HARDLY_ANY) == pytest.approx(GATHER_LITTLE_S)


def test_where_some_can_be_freed_a_look_comes_soon_while_most_of_the_savings_are_there() -> None:
    pace, now_s, waits = Pace(0.0), 0.0, []
    for _ in range(20):
        waits.append(wait_s(pace, now_s, called_s=now_s, worth=Worth.SOME))
        pace.took(now_s, 0.02, was_new=True)
    soon = math.floor((BURST_S - ENOUGH_S) / 0.02) + 1
    assert waits == pytest.approx([GATHER_S] * soon + [GATHER_LITTLE_S] * (20 - soon))


def test_looks_at_little_leave_the_savings_for_looks_at_much() -> None:
    pace, now_s = Pace(0.0), 0.0
    for _ in range(200):
        now_s += wait_s(pace, now_s, called_s=now_s, worth=Worth.HARDLY_ANY)
        pace.took(now_s, 0.02, was_new=True)
    assert wait_s(pace, now_s, called_s=now_s - 1, worth=Worth.HARDLY_ANY) > 1.0
    assert wait_s(pace, now_s, called_s=now_s - 1, worth=Worth.MUCH) == 0.0


def test_looks_that_find_nothing_new_come_ever_more_seldom() -> None:
    pace, now_s, waits = Pace(0.0), 0.0, []
    for _ in range(8):
        pace.took(now_s, 0.0, was_new=False)
        waits.append(wait_s(pace, now_s, called_s=None, worth=Worth.HARDLY_ANY))
        now_s += waits[-1]
    assert waits == [1.0, 2.0, 4.0, IDLE_MAX_S, IDLE_MAX_S, IDLE_MAX_S, IDLE_MAX_S, IDLE_MAX_S]
    pace.happened()
    assert wait_s(pace, now_s + IDLE_MIN_S, called_s=None, worth=Worth.HARDLY_ANY) == 0.0


def test_what_looks_at_little_let_go_is_paid_for_out_of_their_share() -> None:
    pace = Pace(0.0)
    pace.let_go(1.0, 1_000)
    owed_s = 1_000 * DELETION_S - BURST_S
    assert wait_s(pace, 1.0, called_s=0.0, worth=Worth.HARDLY_ANY) == pytest.approx(owed_s / SHARE_LITTLE)
    assert wait_s(pace, 1.0, called_s=0.0, worth=Worth.MUCH) == 0.0, "looks at much owe nothing"


def test_nobody_is_kept_waiting_where_nothing_happens() -> None:
    pace = Pace(0.0)
    pace.let_go(1.0, 1_000)
    assert pace.wait_s(1.0, called_s=0.0, worth=Worth.HARDLY_ANY, last_s=0.9) == pytest.approx(QUIET_S - 0.1)
    assert pace.wait_s(2.0, called_s=0.0, worth=Worth.HARDLY_ANY, last_s=0.9) == 0.0


def test_a_few_small_shuffles_are_let_go_as_if_they_cost_nothing() -> None:
    pace = Pace(0.0)
    pace.let_go(1.0, int(BURST_S / DELETION_S) // 2)
    assert wait_s(pace, 1.0, called_s=0.0, worth=Worth.HARDLY_ANY) == 0.0
