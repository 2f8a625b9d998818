"""What is spent slowly never waits, what is spent fast waits for its turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from listener_bridge.allowance import AHEAD, Allowance


def test_a_few_follow_one_another_and_then_one_a_pause() -> None:
    allowance, waits = Allowance(pause_s=0.5, now_s=100.0), []
    for _ in range(AHEAD + 4):
        waits.append(allowance.wait_s(100.0))
        allowance.spend(100.0)
    assert waits == [0.0] * (AHEAD + 1) + [0.5, 1.0, 1.5]


def test_more_may_follow_one_another_where_more_is_saved_up() -> None:
    allowance, waits = Allowance(pause_s=0.5, now_s=100.0, ahead=10), []
    for _ in range(13):
        waits.append(allowance.wait_s(100.0))
        allowance.spend(100.0)
    assert waits == [0.0] * 11 + [0.5, 1.0]


def test_quiet_times_are_saved_up_so_far_and_no_further() -> None:
    allowance = Allowance(pause_s=0.5, now_s=0.0)
    for _ in range(20):
        allowance.spend(1_000.0)
    assert allowance.wait_s(1_000.0) == (20 - AHEAD - 1) * 0.5 + 0.5


@given(st.lists(st.floats(0.0, 3.0), max_size=60))
def test_over_any_stretch_no_more_than_was_promised(gaps_s: list[float]) -> None:
    allowance, now_s, spent = Allowance(pause_s=0.25, now_s=0.0), 0.0, []
    for gap_s in gaps_s:
        now_s = max(now_s + gap_s, now_s + allowance.wait_s(now_s))
        allowance.spend(now_s)
        spent.append(now_s)
    for first, since_s in enumerate(spent):
        for last, until_s in enumerate(spent[first:], first):
            assert last - first + 1 <= (until_s - since_s) / 0.25 + AHEAD + 1 + 1e-6
