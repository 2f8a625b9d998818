"""Scenario 16: what was missed, and the resync that says what is there.

Responsible for gaps and resyncs. Refuses to know how facts get lost. Invariant: after a gap nothing is let go before
the jobs of then have ended.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import ExecutionId, JobId, StageId
from coordinator.core.values import Outputs
from tests.scenarios.story import EAGER, FRONTIER, Story, delayed, shuffle


def test_16_a_gap_stops_expiry_until_the_jobs_of_then_have_ended() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.do(c.ReportGap(12, "listener queue")) == ["gap, until jobs [0] have ended"]
    running = c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),))
    assert story.do(c.Resync((running,), (), (), (Outputs(shuffle("A"), 10, 10),))) == [
        "resync, until jobs [0] have ended"
    ]
    story.run("s1")
    assert story.lives() == "A1 readable"
    assert story.end() == ["job 0 ended", "A1 expired: read by a stage that wrote", "fence A1"]


def test_16_what_was_expired_and_not_fenced_is_kept_in_a_gap() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportGap(0, "outbox")) == [
        "gap, until jobs [] have ended",
        "A1 rescued: facts were missed (facts were missed)",
    ]
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("A"), 10, 10),))) == [
        "resync, until jobs [] have ended",
        "A1 expired: read by a stage that wrote, held: grace until 2000",
    ]


def test_a_resync_adopts_and_ends() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("A"), 10, 10), Outputs(shuffle("B"), 4, 10)))) == [
        "job 0 failed",
        "B1 found, 4 of 10",
    ]
    assert (story.state.generations[2].started_ms, story.state.generations[2].used_ms) == (1_000, 1_000)
    assert story.look("")[-4:] == [
        "A1 expired: in no live cut",
        "fence A1",
        "B1 expired: given up half-written",
        "fence B1",
    ]


def test_what_a_resync_has_found_whole_is_missed_like_any_other() -> None:
    story = Story()
    story.do(c.Resync((), (), (), (Outputs(shuffle("A"), 10, 10),)))
    assert story.look("")[-1] == "fence A1"
    story.delete_all()
    story.job("s0>A, s1:A!")
    assert story.submit("s0")[1:3] == ["A1 missed by s0.0", "recovery 1 of A1"]


def test_a_part_that_a_resync_finds_and_nobody_lists_goes_at_once_under_a_guessing_policy() -> None:
    story = Story(EAGER)
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("B"), 4, 10),))) == [
        "B1 found, 4 of 10",
        "B1 expired: given up half-written",
        "fence B1",
    ]


def test_a_resync_finds_losses_and_what_was_written_anew() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.job("s2>B, s3:B!")
    story.run("s2")
    story.job("s4>C, s5:C!")
    story.submit("s4")
    told = tuple(Outputs(shuffle(letter), left, 10) for letter, left in (("A", 10), ("B", 0), ("C", 10)))
    jobs = (
        c.ReportJobStarted(JobId(1), StageId(3), (shuffle("B"),)),
        c.ReportJobStarted(JobId(2), StageId(5), (shuffle("C"),)),
    )
    assert story.do(c.Resync(jobs, (), (), told)) == [
        "s4.0 failed",
        "A2 found, 10 of 10",
        "B1 lost: outputs gone",
        "C1 complete",
        "resync, until jobs [1, 2] have ended",
    ]


def test_16_a_recovery_is_over_when_what_it_was_for_turns_out_to_be_there() -> None:
    """Who had missed it has failed; that it may be tried again wants nothing which is not needed any more."""
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    story.lose(A=0)
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    story.do(c.ReportGap(1, "outbox"))
    assert story.do(c.ReportOutputs((Outputs(shuffle("B"), 10, 10),))) == ["B1 complete", "recovery 1 closed"]


def test_a_resync_cleans_what_spark_has_no_more() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("B"), 10, 10),))) == [
        "A1 deleted: spark, 0 bytes",
        "A cleaned",
    ]
    assert list(story.state.shuffles) == [shuffle("B")]


def test_an_execution_whose_start_was_missed_runs_on_and_is_told_once_more_what_it_is() -> None:
    story = Story(FRONTIER)
    story.do(c.ReportGap(1, "bus"))
    story.whole("s0>A", execution=7)
    named = c.ReportExecutionStarted(ExecutionId(7))
    truth = c.Resync((), (), (named,), (Outputs(shuffle("A"), 10, 10),))
    assert story.do(truth) == ["execution 7", "resync, until jobs [] have ended"]
    assert story.do(c.ReportExecutionStarted(ExecutionId(7), "save", True)) == ["execution 7"]
    assert story.do(named) == []
    assert story.lives() == "A1 readable"
    assert story.do(c.ReportExecutionEnded(ExecutionId(7)))[1:] == ["A1 expired: its SQL execution ended", "fence A1"]
    assert story.do(named) == []
