"""More stories: recoveries that are over, and what is still asked of them."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import ClientId
from tests.scenarios.further import REMOTE
from tests.scenarios.story import EAGER, REACHABLE, Story, attempt_of, shuffle


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


def test_and_while_something_that_it_named_was_written_again_and_not_read() -> None:
    story = Story(REACHABLE, REMOTE)
    story.job("s0>A, s1>B, s2:A,B!")
    story.run("s0", "s1")
    story.submit("s2")
    story.lose(A=0, B=0)
    assert story.miss("A1", "s2") == "recover A1: recovery 1 of AB"
    story.fail("s2")
    assert story.run("s0.1", "s1.1")[-1] == "recovery 1 closed"
    story.end(succeeded=False)
    story.whole("-s3>A, s4:A!")
    assert story.miss("B1", None) == "recover B1: recovery 1 of AB"
    story.whole("-s5>B, s6:B!")
    assert story.miss("B1", None) == "not ready: a later generation exists; ask for its id"


def closed_over(again: str) -> Story:
    """Recovery 1, of B, is over, and nobody has written B again; A has gone since. C, made from A too, is there."""
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:A>C, s3:B,C!")
    for name in "AC":
        story.do(c.SetPin(shuffle(name), "mine"))
    story.run("s0", "s1", "s2", "s3")
    story.end(0)
    story.delete_all()
    assert story.read("B", "s6") == "recover B1: recovery 1 of B"
    story.job("s4>A, s5:A>B, s6:B!")
    assert story.end(1, succeeded=False)[:2] == ["job 1 failed", "recovery 1 closed"]
    story.do(c.RemovePin(shuffle("A")))
    story.delete_all()
    assert story.lives() == "C1 expired"
    story.job(again)
    return story


def test_who_joins_a_recovery_that_is_over_is_told_all_that_is_gone_by_now() -> None:
    story = closed_over("s7>A, s8:A>B, s9:B!")
    assert story.read("B", "s9") == "recover B1: recovery 1 of AB"
    assert story.teller.tell(story.log) == ["recovery 1 joined for B1 by s9.0", "recovery 1 also of A1"]
    assert [story.state.shuffles[shuffle(name)].recoveries for name in "AB"] == [1, 1]
    assert story.read("B", "s9") == "recover B1: recovery 1 of AB"
    story.submit("s7")
    assert story.recoveries == 1
    story.complete("s7")
    story.run("s8")
    assert story.run("s9")[:2] == ["s9.0 submitted", "B2 read by s9.0"]


def test_so_is_who_sends_again_what_it_had_asked_before_that_was_gone() -> None:
    story = closed_over("s20>Z, s21:Z!")
    me = ClientId("me")
    story.do(c.RegisterClient(me))
    question = c.Request(me, 1, c.GetShuffleId(shuffle("B"), attempt_of("s9")))
    (early,), _ = story.witness.answer([question], 2_000)
    assert story.answered(early) == "recover B1: recovery 1 of B"
    story.job("s7>A, s8:A>B, s9:B!")
    (again,), log = story.witness.answer([question], 2_000)
    assert story.answered(again) == "recover B1: recovery 1 of AB"
    assert story.teller.tell(log) == ["recovery 1 joined for B1 by s9.0", "recovery 1 also of A1"]


def test_a_recovery_that_is_over_takes_in_nothing_where_some_output_would_mix() -> None:
    story = closed_over("s7>A, s8:A>B, s9:A>C, s10:B,C!")
    story.lose(C=6)
    assert story.read("B", "s10") == "recover B1: recovery 1 of B"
    assert "recovery 2 of A1, would mix C1" in story.submit("s7")


def test_who_reports_what_was_written_again_since_takes_in_nothing() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.submit("s2")
    assert story.miss("B1", "s2").startswith("recover B1: recovery 1 of ")
    story.run("s1.1")
    story.lose(A=0)
    assert story.miss("B1", "s2").startswith("recover B1: recovery 1 of ")
    assert story.teller.tell(story.log) == ["recovery 1 joined for B1 by s2.0"]


def test_nor_does_it_where_what_was_written_again_is_gone_too() -> None:
    story = Story(REACHABLE, REMOTE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.submit("s2")
    assert story.miss("B1", "s2") == "recover B1: recovery 1 of B"
    assert "recovery 1 closed" in story.run("s1.1")
    story.lose(B=0)
    assert story.miss("B1", "s2") == "recover B1: recovery 1 of B"
    assert story.teller.tell(story.log) == ["recovery 1 joined for B1 by s2.0"]


def test_a_recovery_that_is_under_way_takes_in_nothing_that_goes_later() -> None:
    story = Story(REACHABLE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.job("s3>A, s4:A>B, s5:B!")
    story.run("s0", "s1")
    story.lose(B=0)
    assert story.read("B", "s2") == "recover B1: recovery 1 of B"
    story.lose(A=0)
    assert story.read("B", "s5") == "recover B1: recovery 1 of B"
    assert story.teller.tell(story.log) == ["recovery 1 joined for B1 by s5.0"]
    assert story.submit("s0.1") == ["s0.1 submitted", "recovery 2 of A1", "A2 begun by s0.1 for recovery 2"]
