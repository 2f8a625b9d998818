"""More stories of what was missed: gaps, resyncs, losses in losses."""

from __future__ import annotations

from typing import Any

from coordinator.core import commands as c
from coordinator.core.ids import (
    JobId,
    ShuffleId,
    StageId,
    spans_of,
)
from coordinator.core.values import (
    Capabilities,
    Level,
    Lineage,
)
from tests.scenarios.further import FENCE, INVALIDATE, READ, REMOTE, found, job_of
from tests.scenarios.story import EAGER, Story, attempt_of, shuffle

# ---- gaps and resyncs ------------------------------------------------------------------------------------------------


def test_16_a_second_gap_before_the_resync_of_the_first() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A.")
    story.do(c.ReportGap(1, "bus"))
    story.job("-s2>A, s3:A!")
    story.do(c.ReportGap(2, "outbox"))
    story.run("s3")
    assert story.end(1) == ["job 1 ended"]
    assert story.do(c.Resync((), (), (), found(A=10))) == ["resync, until jobs [] have ended", f"A1 {READ}", "fence A1"]


def test_16_jobs_that_began_after_the_gap_and_before_the_resync_are_waited_for() -> None:
    story = Story(EAGER)
    story.do(c.ReportGap(1, "bus"))
    story.job("s0>A, s1:A!")
    story.run("s0", "s1")
    story.do(c.Resync((job_of(0, 1, "A", (0, 1)),), (), (), found(A=10)))
    assert story.lives() == "A1 readable"
    assert story.end(0) == ["job 0 ended", f"A1 {READ}", "fence A1"]


def test_16_a_job_that_starts_after_the_resync_is_not_waited_for() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.do(c.ReportGap(1, "bus"))
    story.do(c.Resync((job_of(0, 1, "A", (0, 1)),), (), (), found(A=10)))
    story.job("s2>B, s3:B!")
    story.run("s2", "s3", "s1")
    story.end(0)
    assert story.lives() == "A1 fencing, B1 fencing"


def test_16_a_reader_whose_end_was_missed() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.do(c.ReportGap(1, "bus"))
    assert story.do(c.Resync((), (), (), found(A=10)))[:2] == ["job 0 failed", "resync, until jobs [] have ended"]
    assert story.lives() == "A1 readable"  # nobody was seen to read it and write: kept
    assert not story.state.attempts


def test_16_in_a_gap_a_fence_that_was_asked_before_still_ends() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.do(c.ReportGap(1, "bus"))
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]


def test_16_a_fence_refused_in_a_gap_is_kept() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.do(c.ReportGap(1, "bus"))
    lines = story.outcome(FENCE, c.Busy(("x",)))
    assert lines == ["A1 fence refused: busy, again at 1050", "A1 rescued: facts were missed (facts were missed)"]
    assert story.do(c.Resync((), (), (), found(A=10)))[-2:] == [f"A1 {READ}", "fence A1"]


def test_16_a_resync_that_names_a_running_stage_nobody_knew() -> None:
    story = Story(EAGER)
    story.do(c.ReportGap(1, "bus"))
    running = c.ReportStageSubmitted(attempt_of("s0"), (), shuffle("A"), 10)
    job = c.ReportJobStarted(
        JobId(0), StageId(1), (shuffle("A"),), None, spans_of((0, 1)), (Lineage(shuffle("A"), maps=10),)
    )
    assert story.do(c.Resync((job,), (running,), (), found(A=3))) == [
        "job 0",
        "A1 found, 3 of 10",
        "s0.0 submitted",
        "A1 continued by s0.0",
        "resync, until jobs [0] have ended",
    ]
    assert story.do(c.ReportStageCompleted(attempt_of("s0"), shuffle_bytes_written=9)) == [
        "s0.0 completed",
        "A1 complete",
    ]


def attached_late(service: Capabilities) -> Story:
    """s0 is being written when the coordinator is first told of anything: three of its ten outputs are there."""
    story = Story(EAGER, service)
    story.do(c.ReportGap(0, "attach"))
    story.do(c.ReportOutputs(found(A=3)))
    running = c.ReportStageSubmitted(attempt_of("s0"), (), shuffle("A"), 10)
    job = c.ReportJobStarted(
        JobId(0), StageId(1), (shuffle("A"),), None, spans_of((0, 1)), (Lineage(shuffle("A"), maps=10),)
    )
    story.do(c.Resync((job,), (running,), (), found(A=3)))
    return story


def test_16_what_is_being_written_when_the_driver_attaches_is_no_loss_where_a_loss_could_not_be_repaired() -> None:
    story = attached_late(REMOTE)
    assert story.lives() == "A1 writing"
    assert story.recoveries == 0
    assert story.do(c.ReportStageCompleted(attempt_of("s0"), shuffle_bytes_written=9)) == [
        "s0.0 completed",
        "A1 complete",
    ]


def test_16_what_was_torn_in_a_gap_and_cannot_be_repaired_is_lost_once() -> None:
    """Its outputs are told twice, before the resync and in it: what is left of A1 is no generation of its own."""
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.do(c.ReportGap(1, "bus"))
    assert story.do(c.ReportOutputs(found(A=9))) == ["A1 lost: outputs gone"]
    assert story.do(c.Resync((job_of(0, 1, "A", (0, 1)),), (), (), found(A=9))) == ["resync, until jobs [0] have ended"]
    assert story.read("A", "s1") == "recover A1: recovery 1 of A"
    story.run("s0.1")
    assert story.lives() == "A2 readable"


def test_16_told_twice_a_resync_changes_nothing_the_second_time() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    truth = c.Resync(
        (job_of(0, 2, "B", (0, 1, 2)),),
        (c.ReportStageSubmitted(attempt_of("s1"), (shuffle("A"),), shuffle("B"), 10),),
        (),
        found(A=10, B=0),
    )
    story.do(truth)
    before = story.state.generations[1], story.state.generations[2], dict(story.state.attempts)
    assert story.do(truth) == ["resync, until jobs [0] have ended"]
    assert before == (story.state.generations[1], story.state.generations[2], dict(story.state.attempts))


def test_an_executor_lost_without_a_shuffle_service_in_three_shuffles_at_once() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1>B, s2>C, s3:A,B,C!")
    story.run("s0", "s1", "s2")
    story.submit("s3")
    story.do(c.ReportExecutorLost("7"))
    assert story.lose(A=9, B=10, C=0) == ["A1 partial, 9 of 10", "C1 lost: outputs gone"]
    story.fail("s3")
    assert story.submit("s2.1") == ["s2.1 submitted", "recovery 1 of C1", "C2 begun by s2.1 for recovery 1"]
    assert story.submit("s0.1", tasks=1) == ["s0.1 submitted", "A1 continued by s0.1"]
    story.complete("s0.1")
    assert story.complete("s2.1")[-1] == "recovery 1 closed"
    assert story.run("s3.1")[-6:] == [f"A1 {READ}", "fence A1", f"B1 {READ}", "fence B1", f"C2 {READ}", "fence C2"]
    assert story.state.meta.premature == 0


def test_an_executor_lost_with_an_external_service_loses_nothing() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.do(c.ReportExecutorLost("7"))
    assert story.lose(A=10) == []
    assert story.run("s1")[-2:] == [f"A1 {READ}", "fence A1"]


# ---- losses in losses ------------------------------------------------------------------------------------------------


def recovering() -> Story:
    """A1, B1 were deleted early; C1 is lost; recovery 1 of A1 B1 goes on."""
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.run("s0", "s1", "s2")
    story.delete_all()
    story.submit("s3")
    story.lose(C=0)
    story.fail("s3")
    assert story.submit("s0.1")[1:] == [
        "A1 missed by s0.1",
        "recovery 1 of A1 C1 B1",
        "A2 begun by s0.1 for recovery 1",
    ]
    return story


def test_a_loss_of_what_a_recovery_has_just_written() -> None:
    story = recovering()
    story.complete("s0.1")
    assert story.lose(A=0) == ["A2 lost: outputs gone"]
    assert story.submit("s0.2") == ["s0.2 submitted", "recovery 2 of A2", "A3 begun by s0.2 for recovery 2"]
    assert story.complete("s0.2") == ["s0.2 completed", "A3 complete", "recovery 2 closed"]
    story.run("s1.1")
    assert "recovery 1 closed" in story.run("s2.1")
    story.run("s3.1")
    story.end()
    assert story.recoveries == 2


def test_a_partial_loss_in_the_middle_of_a_recovery() -> None:
    story = recovering()
    story.complete("s0.1")
    story.submit("s1.1")
    assert story.lose(A=6) == ["A2 partial, 6 of 10"]
    story.fail("s1.1")
    assert story.submit("s0.2", tasks=4) == ["s0.2 submitted", "A2 continued by s0.2"]
    assert story.complete("s0.2") == ["s0.2 completed", "A2 complete"]
    assert story.submit("s1.2") == ["s1.2 submitted", "A2 read by s1.2", "B2 continued by s1.2"]
    story.complete("s1.2")
    assert "recovery 1 closed" in story.run("s2.1")
    assert story.recoveries == 1


def test_the_writer_of_a_recovery_fails_before_its_end_and_the_same_generation_goes_on() -> None:
    story = recovering()
    story.fail("s0.1")
    assert story.submit("s0.2", tasks=4) == ["s0.2 submitted", "A2 continued by s0.2"]
    story.complete("s0.2")
    assert story.recoveries == 1


def test_an_indeterminate_writer_in_a_recovery_fails() -> None:
    story = Story(levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.job("s2>A, s3:A!")
    story.submit("s2")
    story.fail("s2")
    assert story.submit("s2.1") == ["s2.1 submitted", "A2 lost: invalidated", "invalidate A2", "A3 begun by s2.1"]
    assert story.complete("s2.1") == ["s2.1 completed", "A3 complete", "recovery 1 closed"]


def test_a_recovery_whose_job_is_cancelled_closes_and_the_next_job_joins_it() -> None:
    story = recovering()
    lines = story.end(0, False)
    assert lines == ["job 0 failed", "recovery 1 closed", "A2 expired: given up half-written, held: missed before"]
    story.job("s10>A, s11:A>B, s12:B>C, s13:C!")
    assert story.submit("s10") == ["s10.0 submitted", "A2 continued by s10.0"]
    story.complete("s10")
    assert story.submit("s11")[-1] == "B2 begun by s11.0 for recovery 1"
    story.complete("s11")
    story.run("s12", "s13")
    story.end(1)
    assert story.recoveries == 1


def test_two_threads_miss_different_ends_of_one_lineage() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.run("s0", "s1", "s2", "s3")
    story.end()
    story.delete_all()
    story.job("s10>A, s11:A>B, s12:B!")
    story.job("s10>A, s11:A>B, s20:B>C, s21:C!")
    assert story.read("C", "s21") == "recover C1: recovery 1 of ABC"
    assert story.read("B", "s12") == "recover B1: recovery 1 of ABC"
    story.run("s10", "s11")
    assert story.read("B", "s12") == "ready B2"
    story.run("s20")
    assert not [r for r in story.state.recoveries.values() if r.open]
    assert story.recoveries == 1


def test_report_missing_in_every_state_with_every_id() -> None:
    states: dict[str, Any] = {
        "none": lambda s: s.job("s0>A, s1:A!"),
        "writing": lambda s: (s.job("s0>A, s1:A!"), s.submit("s0")),
        "readable": lambda s: (s.job("s0>A, s1:A!"), s.run("s0"), s.submit("s1")),
        "partial": lambda s: (s.job("s0>A, s1:A!"), s.run("s0"), s.submit("s1"), s.lose(A=3)),
        "fencing": lambda s: s.whole("s0>A, s1:A!"),
        "fenced": lambda s: (s.whole("s0>A, s1:A!"), s.fenced()),
        "deleted": lambda s: (s.whole("s0>A, s1:A!"), s.delete_all()),
    }
    expected = {
        ("none", 0): "not found",
        ("none", 1): "not found",
        ("none", 9): "not found",
        ("writing", 0): "not ready: being written; nobody can have missed it",
        ("writing", 9): "not found",
        ("readable", 0): "not ready: some of its outputs are gone; its map stage will run again",
        ("readable", 9): "not found",
        ("partial", 0): "not ready: some of its outputs are gone; its map stage will run again",
        ("partial", 9): "not found",
        ("fencing", 0): "not ready: being fenced; its outcome decides",
        ("fencing", 9): "not found",
        ("fenced", 0): "recover A1: recovery 1 of A",
        ("fenced", 9): "not found",
        ("deleted", 0): "recover A1: recovery 1 of A",
        ("deleted", 9): "not found",
    }
    for name, tell in states.items():
        for number in (0, 1, 9):
            story = Story(EAGER)
            tell(story)
            story.do(
                c.ReportMissing(
                    shuffle("A"), ShuffleId(number), attempt_of("s1") if name in ("readable", "partial") else None
                )
            )
            wanted = expected.get((name, number)) or expected[name, 0]
            assert story.answered(story.last) == wanted, (name, number)
            story.do(c.ReportMissing(shuffle("Z"), ShuffleId(number), None))
            assert story.answered(story.last) == "not found"


def test_a_remote_generation_lost_in_part_is_begun_anew_with_what_was_half_written() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    assert story.lose(A=9) == ["A1 lost: outputs gone"]
    assert story.read("A", "s1") == "recover A1: recovery 1 of AB"
    story.fail("s1")
    story.run("s0.1", "s1.1")
    assert story.lives() == "A2 fencing, B2 readable"
    for number in story.outstanding(INVALIDATE):
        story.outcome(INVALIDATE, c.Freed(3), number)
    story.run("s2")
    story.end()
    story.delete_all()
    assert story.lives() == ""


def test_an_invalidation_waits_for_whoever_still_reads() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.job("-s0>A, s2:A!")
    story.submit("s1")
    story.submit("s2")
    story.miss("A1", "s1")
    for again in (1_200, 1_400, 1_800):
        assert story.outcome(INVALIDATE, c.Busy(("2.0",))) == [f"A1 failed: busy: 2.0, again at {again}"]
    assert story.complete("s2") == ["s2.0 completed"]
    assert story.outcome(INVALIDATE, c.Freed(5)) == ["A1 invalidated, 5 bytes"]
