"""Scenarios 26, 28 and 29: what was lost, who reports it, and the next loss.

Responsible for reports that race with what they are about. Refuses to know what else a recovery names. Invariant: a
report of an old generation harms no later one, and a generation is lost once.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import ClientId, ShuffleId
from coordinator.core.values import Capabilities
from tests.scenarios.story import EAGER, OBSERVE, Story, delayed, shuffle

CANNOT_COMPLETE = Capabilities(completes_after_loss=False)


def test_26_the_dedup_race() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["A1 lost: reported", "invalidate A1", "recovery 1 of A1"]
    assert story.fail("s1") == ["s1.0 failed"]
    assert story.submit("s0.1") == ["s0.1 submitted", "A2 begun by s0.1 for recovery 1"]
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["recovery 1 joined for A1 by s1.0"]
    assert story.miss("A", "s1") == "recover A1: recovery 1 of A"
    assert story.complete("s0.1") == ["s0.1 completed", "A2 complete", "recovery 1 closed"]
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    assert story.lives() == "A2 readable"
    assert story.recoveries == 1


def test_26_the_same_where_the_service_completes() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.miss("A1", "s1") == "not ready: some of its outputs are gone; its map stage will run again"
    story.fail("s1")
    story.submit("s0.1", tasks=1)
    assert story.miss("A1", "s1") == "not ready: some of its outputs are gone; its map stage will run again"
    story.complete("s0.1")
    assert story.miss("A1", "s1") == "ready A1"
    assert story.log == []
    story.submit("s1.1")
    assert story.miss("A1", "s1.1") == "not ready: some of its outputs are gone; its map stage will run again"
    assert story.lives() == "A1 partial"


def test_26_a_reader_that_had_failed_before_reports_the_loss_that_was_made_good() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    story.lose(A=4)
    story.submit("s0.1", tasks=6)
    story.complete("s0.1")
    assert story.miss("A1", "s1") == "ready A1"
    assert story.log == []


def test_26_a_report_that_comes_when_its_stage_is_done_loses_nothing() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    story.fail("s1")
    story.run("s0.1", "s1.1")
    assert story.miss("A", "s1") == "ready A2"
    assert story.log == []
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of AB"
    assert story.log == []


def test_26_a_report_of_an_older_attempt_loses_nothing() -> None:
    for capabilities, lost in ((CANNOT_COMPLETE, "A2"), (Capabilities(), "A1")):
        story = Story(capabilities=capabilities)
        story.job("s0>A, s1>D, s2:A,D!")
        story.run("s0", "s1")
        story.submit("s2")
        story.miss("A1", "s2")
        story.fail("s2")
        story.submit("s0.1", tasks=1)
        story.complete("s0.1")
        story.submit("s2.1")
        assert story.miss("D1", "s2") == "ready D1"
        assert story.log == []
        assert story.lives() == (f"D1 readable, {lost} readable" if lost == "A2" else "A1 readable, D1 readable")


def test_26_nor_does_a_report_that_is_sent_again() -> None:
    for capabilities, now in ((CANNOT_COMPLETE, "A2"), (Capabilities(), "A1")):
        story = Story(capabilities=capabilities)
        story.job("s0>A, s1:A!")
        story.run("s0")
        story.submit("s1")
        client = ClientId("bridge")
        report = c.Request(client, 2, c.ReportMissing(shuffle("A"), ShuffleId(0)))
        story.witness.answer([c.Request(client, 1, c.RegisterClient(client)), report], 2_000)
        story.fail("s1")
        story.submit("s0.1", tasks=3)
        story.complete("s0.1")
        story.submit("s1.1")
        (again,), log = story.witness.answer([report], 3_000)
        assert (story.answered(again), log) == (f"ready {now}", [])


def test_28_the_next_generation_missing_is_another_recovery() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    story.fail("s1")
    story.run("s0.1")
    story.submit("s1.1")
    assert story.miss("A2", "s1.1") == "recover A2: recovery 2 of A"
    assert story.recoveries == 2


def test_28_who_was_given_both_and_names_neither_misses_the_later_one() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    story.run("s0.1")
    assert story.read("A", "s1") == "ready A2"
    assert story.miss("A", "s1") == "recover A2: recovery 2 of A"


def test_29_reported_missing_and_cannot_be_completed() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    assert story.teller.tell(story.log) == [
        "A1 lost: reported",
        "invalidate A1",
        "recovery 1 of A1 B1",
        "B1 lost: invalidated",
        "invalidate B1",
    ]
    story.fail("s1")
    story.run("s0.1")
    assert story.submit("s1.1") == ["s1.1 submitted", "A2 read by s1.1", "B2 begun by s1.1 for recovery 1"]


def test_29_under_observe_nothing_is_freed() -> None:
    story = Story(OBSERVE, CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    assert story.teller.tell(story.log) == ["A1 lost: reported", "recovery 1 of A1"]


def test_29_lost_altogether() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    assert story.read("A", "s1") == "recover A1: recovery 1 of A"
    story.fail("s1")
    assert story.submit("s0.1") == ["s0.1 submitted", "A2 begun by s0.1 for recovery 1"]


def test_29_a_lost_executor_is_recorded_and_says_nothing_of_its_outputs() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportExecutorLost("1", "it left")) == ["executor 1 lost"]
    assert story.lives() == "A1 readable"


def test_29_all_of_it_is_written_again_though_nobody_told_of_the_loss() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    assert story.submit("s0.1", tasks=10) == [
        "s0.1 submitted",
        "A1 lost: outputs gone",
        "recovery 1 of A1",
        "A2 begun by s0.1 for recovery 1",
    ]


def completed_too_late() -> Story:
    """Recovery 1 of A1 would have mixed B1, which was completed and is whole again."""
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(B=6)
    story.fail("s2")
    story.run("s0.1")
    story.submit("s1.1", tasks=4)
    assert "recovery 1 closed" in story.complete("s1.1")
    story.submit("s2.1")
    return story


def test_28_what_is_whole_again_and_lost_later_is_another_recovery() -> None:
    story = completed_too_late()
    assert story.lose(B=0) == ["B1 lost: outputs gone", "A2 rescued: a live job reaches it (job 0)"]
    assert story.read("B", "s2.1") == "recover B1: recovery 2 of B"
    assert story.teller.tell(story.log) == ["recovery 2 of B1"]


def test_28_also_when_the_first_recovery_is_forgotten() -> None:
    story = completed_too_late()
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert (story.state.recoveries, story.state.recovered) == ({}, {})
    story.lose(B=0)
    assert story.read("B", "s2.1") == "recover B1: recovery 2 of B"


def test_28_and_when_what_it_would_mix_was_never_whole_again() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(B=6)
    story.fail("s2")
    story.submit("s0.1")
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert (story.state.recoveries, story.state.recovered) == ({}, {})
    assert story.lose(B=0) == ["B1 lost: outputs gone"]
    assert story.read("B", "s2.1") == "recover B1: recovery 2 of B"


def test_what_waits_for_its_fence_and_is_wholly_lost_in_two_losses_is_lost() -> None:
    """Nothing is left to be deleted, so nobody can miss what was: no budget is used up."""
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 expired"
    assert story.lose(A=4) == ["A1 partial, 4 of 10"]
    assert story.lives() == "A1 expired"
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    assert story.tick(2_000) == []
    story.job("s2>A, s3:A!")
    assert story.submit("s2") == ["s2.0 submitted", "recovery 1 of A1", "A2 begun by s2.0 for recovery 1"]
