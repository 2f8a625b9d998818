"""What would be said again and again is said now and then, with how much was left out."""

from __future__ import annotations

from listener_bridge.seldom import AT_ONCE, KINDS_MAX, PAUSE_S, Seldom, and_more


def test_a_few_are_said_and_then_one_a_pause_with_the_number_of_the_others() -> None:
    seldom = Seldom()
    assert [seldom.left_out("a", 5.0) for _ in range(AT_ONCE + 4)] == [0] * AT_ONCE + [None] * 4
    assert seldom.left_out("a", 5.0 + PAUSE_S) == 4
    assert seldom.left_out("a", 6.0 + 3 * PAUSE_S) == 0
    assert and_more(4) == " (4 more since the last such line)"
    assert and_more(0) == ""


def test_each_kind_counts_for_itself_and_no_more_are_kept_than_so_many() -> None:
    seldom = Seldom()
    assert [seldom.left_out(str(kind), 0.0) for kind in range(3 * KINDS_MAX)] == [0] * 3 * KINDS_MAX
    assert len(seldom._kinds) == KINDS_MAX
