"""Looks take at most their share of the time, and come promptly after quiet."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from listener_bridge.reach.pace import (
    BURST_S,
    DELETION_S,
    GATHER_LITTLE_S,
    GATHER_S,
    IDLE_MAX_S,
    IDLE_MIN_S,
    QUIET_S,
    SHARE,
    SHARE_LITTLE,
    Pace,
)


def wait_s(pace: Pace, now_s: float, called_s: float | None, is_much: bool) -> float:
    """While things go on happening."""
    return pace.wait_s(now_s, called_s, is_much, last_s=math.inf)


@pytest.mark.parametrize(("is_much", "share"), [(True, SHARE), (False, SHARE_LITTLE)])
@given(costs=st.lists(st.floats(0.0005, 0.4), min_size=1, max_size=200))
def test_over_any_run_looks_take_their_share_and_one_burst(is_much: bool, share: float, costs: list[float]) -> None:
    now_s, looking_s, pace = 0.0, 0.0, Pace(0.0)
    for cost_s in costs:
        now_s += wait_s(pace, now_s, called_s=-1.0, is_much=is_much)
        assert looking_s <= BURST_S + share * now_s + max(costs) + 1e-6
        now_s += cost_s
        looking_s += cost_s
        pace.took(now_s, cost_s, was_new=True)
    now_s += wait_s(pace, now_s, called_s=-1.0, is_much=is_much)
    assert looking_s <= BURST_S + share * now_s + 1e-6


def test_after_quiet_a_look_comes_at_once() -> None:
    pace = Pace(0.0)
    pace.took(1.0, 0.004, was_new=True)
    assert wait_s(pace, 1.0, called_s=-1.0, is_much=True) == 0.0


def test_what_calls_for_looks_together_is_one_look() -> None:
    pace = Pace(0.0)
    pace.took(1.0, 0.0, was_new=True)
    assert wait_s(pace, 2.0, called_s=2.0, is_much=True) == pytest.approx(GATHER_S)
    assert wait_s(pace, 2.0 + GATHER_S / 2, called_s=2.0, is_much=True) == pytest.approx(GATHER_S / 2)
    assert wait_s(pace, 3.0, called_s=2.0, is_much=True) == 0.0


def test_where_little_can_be_freed_a_look_waits_for_more() -> None:
    pace = Pace(0.0)
    pace.took(1.0, 0.0, was_new=True)
    assert wait_s(pace, 2.0, called_s=2.0, is_much=False) == pytest.approx(GATHER_LITTLE_S)


def test_looks_at_little_leave_the_savings_for_looks_at_much() -> None:
    pace, now_s = Pace(0.0), 0.0
    for _ in range(200):
        now_s += wait_s(pace, now_s, called_s=now_s, is_much=False)
        pace.took(now_s, 0.02, was_new=True)
    assert wait_s(pace, now_s, called_s=now_s - 1, is_much=False) > 1.0
    assert wait_s(pace, now_s, called_s=now_s - 1, is_much=True) == 0.0


def test_looks_that_find_nothing_new_come_ever_more_seldom() -> None:
    pace, now_s, waits = Pace(0.0), 0.0, []
    for _ in range(8):
        pace.took(now_s, 0.0, was_new=False)
        waits.append(wait_s(pace, now_s, called_s=None, is_much=False))
        now_s += waits[-1]
    assert waits == [1.0, 2.0, 4.0, IDLE_MAX_S, IDLE_MAX_S, IDLE_MAX_S, IDLE_MAX_S, IDLE_MAX_S]
    pace.happened()
    assert wait_s(pace, now_s + IDLE_MIN_S, called_s=None, is_much=False) == 0.0


def test_what_looks_at_little_let_go_is_paid_for_out_of_their_share() -> None:
    pace = Pace(0.0)
    pace.let_go(1.0, 1_000)
    owed_s = 1_000 * DELETION_S - BURST_S
    assert wait_s(pace, 1.0, called_s=0.0, is_much=False) == pytest.approx(owed_s / SHARE_LITTLE)
    assert wait_s(pace, 1.0, called_s=0.0, is_much=True) == 0.0, "looks at much owe nothing"


def test_nobody_is_kept_waiting_where_nothing_happens() -> None:
    pace = Pace(0.0)
    pace.let_go(1.0, 1_000)
    assert pace.wait_s(1.0, called_s=0.0, is_much=False, last_s=0.9) == pytest.approx(QUIET_S - 0.1)
    assert pace.wait_s(2.0, called_s=0.0, is_much=False, last_s=0.9) == 0.0


def test_a_few_small_shuffles_are_let_go_as_if_they_cost_nothing() -> None:
    pace = Pace(0.0)
    pace.let_go(1.0, int(BURST_S / DELETION_S) // 2)
    assert wait_s(pace, 1.0, called_s=0.0, is_much=False) == 0.0
