"""More stories: recoveries that are over, and what is still asked of them."""

from __future__ import annotations

from tests.scenarios.further import REMOTE
from tests.scenarios.story import EAGER, REACHABLE, Story


def test_a_shuffle_that_is_lost_and_read_again_and_again_leaves_no_recovery_behind() -> None:
    story = Story(REACHABLE, REMOTE)
    story.whole("s0>A, s1:A.")
    for lost in range(1, 11):
        story.lose(A=0)
        story.whole(f"s{2 * lost}>A, s{2 * lost + 1}:A.", job=lost)
    assert story.recoveries == 10
    assert (story.state.recoveries, story.state.recovered) == ({}, {})


def test_what_still_runs_upon_a_lost_generation_is_answered_by_its_recovery() -> None:
    story = Story(REACHABLE, REMOTE)
    story.whole("s0>A, s1:A.")
    story.job("-s2>A, s3:A.", job=1)
    story.submit("s3")
    story.lose(A=0)
    story.whole("s4>A, s5:A.", job=2)
    assert story.miss("A1", "s3") == "recover A1: recovery 1 of A"
    story.fail("s3")
    story.run("s3.1")
    story.end(1)
    assert story.miss("A1", None) == "recover A1: recovery 1 of A"
    story.lose(A=0)
    story.whole("s6>A, s7:A.", job=3)
    assert story.state.recoveries == {}
    assert story.miss("A1", None) == "not ready: a later generation exists; ask for its id"


def test_a_recovery_stays_while_it_may_be_asked_for_what_was_not_written_again() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:B!")
    story.delete_all()
    story.job("s3>A, s4:A>B, s5:B!")
    story.submit("s3")
    story.complete("s3")
    story.end(1, succeeded=False)
    story.whole("s6:A!")
    assert [recovery.open for recovery in story.state.recoveries.values()] == [False]
    story.job("-s7>A, s8:A>B, s9:B!")
    assert story.read("B", "s9") == "recover B1: recovery 1 of AB"
