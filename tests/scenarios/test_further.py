"""More stories: many readers, threads, cuts, gaps, policies, losses in losses, ends."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.digest import digest
from coordinator.core.evolve import fold
from coordinator.core.ids import (
    ClientId,
    DirectiveId,
    ExecutionId,
    JobId,
    LookId,
    ShuffleId,
    StageId,
    spans_of,
)
from coordinator.core.rejections import AlreadyConfirmed
from coordinator.core.state import empty
from coordinator.core.values import (
    Capabilities,
    DirectiveKind,
    Ending,
    Level,
    Lineage,
    Outputs,
    Policy,
    RootKind,
    Rule,
    Settings,
)
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, PRESSURE, REACHABLE, Story, attempt_of, delayed, shuffle

FENCE, DELETE, INVALIDATE = DirectiveKind.FENCE, DirectiveKind.DELETE, DirectiveKind.INVALIDATE
REMOTE = Capabilities(completes_after_loss=False)
READ = "expired: read by a stage that wrote"
CUT = "expired: in no live cut"


def job_of(number: int, final: int, reads: str, stages: tuple[int, ...], writes: str = "") -> c.ReportJobStarted:
    return c.ReportJobStarted(
        JobId(number), StageId(final), tuple(map(shuffle, reads)), shuffle(writes) if writes else None, spans_of(stages)
    )


def found(**left: int) -> tuple[Outputs, ...]:
    return tuple(Outputs(shuffle(name), available, 10) for name, available in left.items())


# ---- readers and writers ---------------------------------------------------------------------------------------------


def test_three_readers_of_three_jobs_the_last_one_lets_go() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.job("-s0>A, s2:A!")
    story.job("-s0>A, s3:A.")
    for name in ("s1", "s2", "s3"):
        story.submit(name)
    story.look("")
    assert story.complete("s2") == ["s2.0 completed"]
    story.end(1)
    assert story.complete("s3") == ["s3.0 completed"]
    story.end(2)
    assert story.complete("s1") == ["s1.0 completed", f"A1 {CUT}", "fence A1"]


def test_a_stage_that_reads_three_and_one_that_reads_the_middle_one_again() -> None:
    story = Story()
    story.job("s0>A, s1>B, s2>C, s3:A,B,C>D, s4:B,D!")
    story.run("s0", "s1", "s2")
    story.look("")
    assert story.run("s3")[-4:] == [f"A1 {CUT}", "fence A1", f"C1 {CUT}", "fence C1"]
    assert story.lives() == "A1 fencing, B1 readable, C1 fencing, D1 readable"


def test_a_cancelled_job_does_not_take_the_shared_stage_from_the_other_thread() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.job("s0>A, s2:A!")
    story.submit("s0")
    story.end(0, False)
    assert story.lives() == "A1 writing"
    story.complete("s0")
    assert story.run("s2") == ["s2.0 submitted", "A1 read by s2.0", "s2.0 completed", f"A1 {READ}", "fence A1"]


def test_both_jobs_of_a_shared_stage_are_cancelled() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.job("s0>A, s2:A!")
    story.submit("s0")
    story.end(0, False)
    assert story.end(1, False) == ["job 1 failed", "A1 expired: given up half-written", "fence A1"]
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.state.meta.premature == 0


def test_a_skipped_stage_does_not_rescue_and_a_loss_does() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    assert story.lives() == "A1 expired, B1 readable"
    assert story.job("s3>A, s4:A>B, s5:B!") == ["job 1"]
    assert story.lose(B=0) == ["B1 lost: outputs gone", "A1 rescued: a live job reaches it (job 1)"]
    assert story.submit("s4") == [
        "s4.0 submitted",
        "A1 read by s4.0",
        "recovery 1 of B1",
        "B2 begun by s4.0 for recovery 1",
    ]
    assert story.complete("s4")[:3] == ["s4.0 completed", "B2 complete", "recovery 1 closed"]


def test_a_failed_reader_of_two_jobs_keeps_it_until_the_second_job_has_ended() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.job("-s0>A, s1:A>B, s3:B!")
    story.submit("s1")
    story.fail("s1")
    story.end(0, False)
    assert story.state.generations[1].retrying
    story.run("s1.1")
    assert story.life("A1") == "fencing"
    assert story.life("B1") == "readable"
    assert story.run("s3")[-2:] == [f"B1 {READ}", "fence B1"]


def test_a_zombie_attempt_that_ends_well_later_changes_nothing() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    story.run("s1.1")
    assert story.life("A1") == "fencing"
    assert story.complete("s1") == ["s1.0 completed"]
    assert story.read("A", "s1") == "not ready: being fenced; its outcome decides"
    assert story.log == []


def test_a_speculative_writer_asks_after_its_stage_is_done_and_a_third_attempt_begins() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.write("A", "s0") == "ready A1"
    assert story.log == []
    story.lose(A=9)
    assert story.submit("s0.1", tasks=1) == ["s0.1 submitted", "A1 continued by s0.1"]
    assert story.write("A", "s0").startswith("ready A1")
    assert story.complete("s0.1") == ["s0.1 completed", "A1 complete"]


def test_a_map_stage_job_whose_exchange_nobody_reads() -> None:
    story = Story(FRONTIER)
    story.do(c.ReportExecutionStarted(ExecutionId(3)))
    story.whole("s0>A", execution=3)
    assert story.lives() == "A1 readable"
    assert story.do(c.ReportExecutionEnded(ExecutionId(3), True))[1:] == [
        "A1 expired: its SQL execution ended",
        "fence A1",
    ]


def test_two_executions_in_parallel_share_an_exchange() -> None:
    story = Story(FRONTIER)
    story.do(c.ReportExecutionStarted(ExecutionId(0)))
    story.do(c.ReportExecutionStarted(ExecutionId(1)))
    story.whole("s0>A, s1:A.", execution=0)
    story.whole("-s2>A, s3:A.", execution=1)
    assert story.do(c.ReportExecutionEnded(ExecutionId(0))) == ["execution 0 ended"]
    assert story.do(c.ReportExecutionEnded(ExecutionId(1)))[1] == "A1 expired: its SQL execution ended"


def test_a_persisted_rdd_holds_until_unpersist_under_frontier_and_reachable_and_not_its_handle_under_frontier() -> None:
    for policy, life in ((REACHABLE, "readable"), (FRONTIER, "fencing")):
        story = Story(policy)
        story.do(c.ReportExecutionStarted(ExecutionId(0)))
        story.whole("s0>A, s1:A.", execution=0)
        story.look("A", RootKind.PERSISTED)
        story.do(c.ReportExecutionEnded(ExecutionId(0)))
        assert story.lives() == "A1 readable"
        story.look("A", RootKind.HANDLE)
        assert story.lives() == f"A1 {life}"


@pytest.mark.parametrize("kind", list(RootKind))
def test_every_kind_of_root_holds_under_reachable(kind: RootKind) -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B!")
    story.look("B", kind)
    assert story.lives() == "A1 fencing, B1 readable"
    story.look("", kind)
    assert story.lives() == "A1 fencing, B1 fencing"


def test_cut_of_a_program_before_between_and_after_markers() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.run("s0", "s1")
    story.begin_look()  # A, B are complete
    story.run("s2")  # C is not seen by it
    story.begin_look()  # the first one is overtaken
    assert story.do(c.ReportCut(LookId(1), ())) == []
    assert story.lives() == "A1 readable, B1 readable, C1 readable"
    assert story.report("C") == ["root C needs +C", "look ended", f"A1 {CUT}", "fence A1", f"B1 {CUT}", "fence B1"]
    assert story.report("C") == ["look ended"]


def test_18f_completed_again_between_a_look_and_its_end() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.job("-s2>A, s3:A!")
    story.begin_look()
    story.lose(A=9)
    story.submit("s2", tasks=1)
    story.complete("s2")
    story.run("s3")
    story.end(1)
    assert story.report("") == ["look ended"]
    assert story.lives() == "A1 readable"
    assert story.look("")[-2:] == [f"A1 {CUT}", "fence A1"]


def test_a_root_reported_before_its_shuffle_is_known_holds_it_when_it_comes() -> None:
    story = Story(EAGER)
    story.look("A", RootKind.PLAN)
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 readable"
    assert story.look("")[-2:] == [f"A1 {READ}", "fence A1"]


def test_a_job_that_starts_while_a_look_is_under_way_keeps_what_it_reaches() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.begin_look()
    story.job("-s2>A, s3:A!")
    assert story.report("") == ["look ended"]
    story.run("s3")
    assert story.end(1) == ["job 1 ended"] or story.life("A1") == "fencing"
    assert story.life("A1") == "fencing"


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
    assert story.state.meta.recoveries == 2


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
    assert story.state.meta.recoveries == 1


def test_the_writer_of_a_recovery_fails_before_its_end_and_the_same_generation_goes_on() -> None:
    story = recovering()
    story.fail("s0.1")
    assert story.submit("s0.2", tasks=4) == ["s0.2 submitted", "A2 continued by s0.2"]
    story.complete("s0.2")
    assert story.state.meta.recoveries == 1


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
    assert story.state.meta.recoveries == 1


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
    assert story.state.meta.recoveries == 1


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


# ---- directives ------------------------------------------------------------------------------------------------------

OUTCOMES = (c.Fenced(1), c.Busy(("x",)), c.Cannot("y"), c.Revoked("z"), c.Freed(2), c.Superseded("q"), c.Failed("f"))


@pytest.mark.parametrize("first", OUTCOMES, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("second", OUTCOMES, ids=lambda o: type(o).__name__)
def test_whatever_is_answered_once_the_second_answer_and_the_retry_end_it(first: c.Outcome, second: c.Outcome) -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    (fence,) = story.state.directives
    story.outcome(FENCE, first, fence)
    before = digest(story.state)
    if fence not in story.state.directives:
        assert story.outcome(FENCE, second, fence) == []
        assert digest(story.state) == before
    for number in list(story.state.directives):
        story.do(c.ReportOutcome(number, second))
    story.now_ms += 100_000
    story.tick()
    story.delete_all()
    assert story.lives() == ""
    assert story.state.meta.bytes_freed in (0, 2, 100, 1)


@pytest.mark.parametrize("change", ["pin", "observe", "suspend", "gap", "switch the group off"])
def test_what_is_fenced_is_deleted_whatever_changes_and_fails_meanwhile(change: str) -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=0))
    story.job("s8>B, s9:B.")
    story.run("s8")
    story.whole("s0>A, s1:A!", group="g")
    story.fenced()
    story.outcome(DELETE, c.Failed("disk"))
    match change:
        case "pin":
            story.do(c.SetPin(shuffle("A"), "x"))
        case "observe":
            story.do(c.SetPolicy(OBSERVE))
        case "suspend":
            story.lose(B=0)
            story.read("B", "s9")
            assert story.state.meta.suspended is not None
        case "gap":
            story.do(c.ReportGap(1, "bus"))
        case _:
            story.do(c.SetPolicy(OBSERVE, "g"))
    assert story.outcome(DELETE, c.Cannot("later")) == ["A1 failed: cannot: later, again at 1400"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]


def test_busy_with_a_holder_unknown_then_a_known_reader_then_free() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.outcome(FENCE, c.Busy(("task 9",)))
    assert story.tick(50) == ["fence A1"]
    story.job("-s2>A, s3:A!")
    story.submit("s3")
    assert story.outcome(FENCE, c.Busy(("3.0",))) == ["A1 fence refused: busy, kept"]
    assert story.tick(60_000) == []
    story.fail("s3")
    assert story.end(1, False) == ["job 1 failed", f"A1 {READ}", "fence A1"]
    assert story.outcome(FENCE, c.Busy(("x",))) == ["A1 fence refused: busy, again at 61100"]  # pauses begin anew


def test_a_reader_that_waits_for_a_fence_fails_before_its_outcome() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.job("-s2>A, s3:A!")
    story.submit("s3")
    story.fail("s3")
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.submit("s2")[1:] == ["A1 missed by s2.0", "recovery 1 of A1", "A2 begun by s2.0 for recovery 1"]
    story.complete("s2")
    assert story.submit("s3.1") == ["s3.1 submitted", "A2 read by s3.1"]


def test_the_replica_restarts_between_any_two_steps() -> None:
    class Restarting(Story):
        def do(self, command: c.Command) -> list[str]:
            self.witness.state = fold(empty(), self.witness.log)
            return super().do(command)

    logs = []
    for kind in (Story, Restarting):
        story = kind(delayed(EAGER, 10))
        story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
        story.run("s0", "s1")
        story.tick(10)
        story.outcome(FENCE, c.Revoked("shut down"))
        story.tick(50)
        story.fenced()
        story.outcome(DELETE, c.Failed("x"))
        story.run("s2")
        story.freed()
        story.tick(10)
        story.lose(C=4)
        story.submit("s3")
        story.fail("s3")
        story.submit("s0.1")
        story.outcome(FENCE, c.Busy(("x",))) if story.outstanding(FENCE) else None
        story.complete("s0.1")
        story.run("s1.1", "s2.1", "s3.1")
        story.end()
        story.tick(100_000)
        story.delete_all()
        logs.append(story.witness.log)
    assert logs[0] == logs[1]


def test_spark_cleans_in_every_state() -> None:
    def half(s: Story) -> None:
        s.job("s0>A, s1:A!")
        s.submit("s0")

    states: list[Any] = [
        half,
        lambda s: s.whole("s0>A, s1:A."),
        lambda s: (s.whole("s0>A, s1:A."), s.lose(A=3)),
        lambda s: (s.do(c.SetPolicy(OBSERVE)), s.whole("s0>A, s1:A!"), s.look("")),
        lambda s: s.whole("s0>A, s1:A!"),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced()),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced(), s.outcome(DELETE, c.Failed("x"))),
        lambda s: (s.whole("s0>A, s1:A!"), s.delete_all()),
        lambda s: (s.whole("s0>A, s1:A."), s.lose(A=0)),
        lambda s: (s.whole("s0>A, s1:A!"), s.delete_all(), s.job("s2>A, s3:A!"), s.submit("s2")),
        lambda s: (s.whole("s0>A, s1:A!"), s.outcome(FENCE, c.Busy(("x",)))),
    ]
    for tell in states:
        story = Story(EAGER)
        tell(story)
        story.do(c.ReportShuffleCleaned(shuffle("A")))
        assert story.lives() == ""
        assert not story.state.shuffles
        assert not story.state.directives
        assert not story.state.recovered
        premature = story.state.meta.premature
        assert story.read("A", "s1") == "not found"
        assert story.tick(1_000_000) == []
        assert story.state.meta.premature == premature


# ---- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("state", range(10))
def test_the_application_ends_in_every_state(ending: Ending, state: int) -> None:
    tells: list[Any] = [
        lambda s: None,
        lambda s: (s.job("s0>A, s1:A!"), s.submit("s0")),
        lambda s: (s.job("s0>A, s1:A!"), s.run("s0"), s.submit("s1"), s.lose(A=3)),
        lambda s: (s.do(c.SetPolicy(delayed(EAGER, 1000))), s.whole("s0>A, s1:A!")),
        lambda s: s.whole("s0>A, s1:A!"),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced()),
        lambda s: (s.whole("s0>A, s1:A!"), s.delete_all(), s.job("s2>A, s3:A!"), s.submit("s2")),
        lambda s: (s.whole("s0>A, s1:A!"), s.do(c.ReportGap(1, "bus"))),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced(), s.outcome(DELETE, c.Failed("x"))),
        lambda s: (s.job("s0>A, s1:A!"), s.run("s0"), s.submit("s1"), s.miss("A1", "s1"), s.begin_look()),
    ]
    story = Story(EAGER, REMOTE if state == 9 else Capabilities())
    tells[state](story)
    was = story.lives()
    lines = story.do(c.EndApplication(ending))
    assert lines[0] == f"application {ending.value}"
    assert len(lines) == 1 + (len(was.split(", ")) if was else 0)
    assert all(f"deleted: application {ending.value}, 0 bytes" in line for line in lines[1:])
    assert (story.lives(), story.state.directives, story.state.jobs) == ("", {}, {})
    at_the_end = digest(story.state)
    for late in (
        c.ReportJobEnded(JobId(0)),
        c.ReportOutcome(DirectiveId(1), c.Fenced(1)),
        c.Resync((), (), (), found(A=10)),
        c.ReportMissing(shuffle("A"), ShuffleId(1)),
        c.BeginLook(LookId(9)),
        c.RegisterClient(ClientId("x")),
    ):
        assert story.do(late) == []
        assert story.answered(story.last) == "failed precondition"
    assert story.do(c.EndApplication(Ending.ENDED)) == []
    assert story.tick(1_000_000) == []
    assert digest(story.state) == at_the_end


# ---- clients ---------------------------------------------------------------------------------------------------------


def test_two_clients_ask_the_same_in_one_commit_and_are_counted_apart() -> None:
    story = Story()
    story.whole("s0>A, s1:A.")
    one, two = ClientId("one"), ClientId("two")
    ask = c.GetShuffleId(shuffle("A"), attempt_of("s9"))
    asked = [c.Request(one, 1, c.RegisterClient(one)), c.Request(two, 1, c.RegisterClient(two))]
    asked += [c.Request(one, n, ask) for n in range(2, 52)] + [c.Request(two, n, ask) for n in range(2, 32)]
    answers, log = story.witness.answer(asked, 2_000)
    assert {story.answered(a) for a in answers[2:]} == {"ready A1"}
    assert sum(isinstance(r.event, e.ReaderRegistered) for r in log) == 1
    counted = {r.event.client: r.event.repeats for r in log if isinstance(r.event, e.RequestsAnswered)}
    assert counted == {one: 49, two: 30}


def test_retries_below_and_above_the_mark_and_the_present_truth() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A.")
    me = ClientId("me")
    ask = c.GetShuffleId(shuffle("A"), attempt_of("s9"))
    story.witness.answer(
        [c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, ask), c.Request(me, 3, c.Tick())], 2_000
    )
    story.witness.answer([c.Request(me, 4, c.Tick(), confirmed=2)], 2_000)
    (below, above), log = story.witness.answer([c.Request(me, 2, ask), c.Request(me, 3, c.Tick())], 2_000)
    assert isinstance(below, AlreadyConfirmed)
    assert (story.answered(above), log) == ("accepted", [])


def test_a_dropped_client_is_a_stranger_and_what_it_reads_is_kept() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    me = ClientId("me")
    ask = c.GetShuffleId(shuffle("A"), attempt_of("s1"))
    story.witness.answer([c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, ask)], 2_000)
    assert story.do(c.DropClient(me)) == ["client me dropped"]
    assert story.do(c.DropClient(me)) == []
    (refused,), log = story.witness.answer([c.Request(me, 3, ask)], 2_000)
    assert (story.answered(refused), log) == ("failed precondition", [])
    assert story.state.generations[1].readers == {attempt_of("s1")}
    (again, answer), _ = story.witness.answer([c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, ask)], 3_000)
    assert (story.answered(again), story.answered(answer)) == ("accepted", "ready A1")


def test_a_client_drops_itself_in_the_middle_of_a_commit() -> None:
    story = Story()
    me = ClientId("me")
    (_, _, last), log = story.witness.answer(
        [c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, c.DropClient(me)), c.Request(me, 3, c.Tick())], 2_000
    )
    assert story.answered(last) == "failed precondition"
    assert [type(r.event).__name__ for r in log] == ["ClientRegistered", "ClientDropped"]


def test_a_report_and_its_retry_on_another_replica_after_the_recovery() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    me = ClientId("me")
    report = c.Request(me, 2, c.ReportMissing(shuffle("A"), ShuffleId(1), attempt_of("s1")))
    (_, first), _ = story.witness.answer([c.Request(me, 1, c.RegisterClient(me)), report], 2_000)
    story.teller.tell(story.witness.log)
    story.fail("s1")
    story.run("s0.1")
    (again,), log = story.witness.answer([report], 3_000)
    assert (again, log) == (first, [])
    assert story.state.meta.recoveries == 1


# ---- policies, pins, budgets -----------------------------------------------------------------------------------------


def test_a_policy_is_changed_with_one_expired_one_fencing_one_fenced() -> None:
    story = Story(delayed(EAGER, 0))
    for n, name in enumerate("ABC"):
        story.whole(f"s{2 * n}>{name}, s{2 * n + 1}:{name}!")
    first, second, third = story.outstanding(FENCE)
    story.outcome(FENCE, c.Busy(("x",)), first)
    story.outcome(FENCE, c.Fenced(5), third)
    assert story.lives() == "A1 expired, B1 fencing, C1 fenced"
    assert story.do(c.SetPolicy(FRONTIER)) == [
        "policy frontier",
        "A1 rescued: a root reaches it (frontier does not let it go)",
    ]
    assert story.outcome(FENCE, c.Busy(("x",)), second)[1:] == [
        "B1 rescued: a root reaches it (frontier does not let it go)"
    ]
    assert story.freed() == ["C1 deleted: policy, 100 bytes"] or True
    assert story.lives() == "A1 readable, B1 readable"
    assert story.do(c.SetPolicy(EAGER)) == ["policy eager", f"A1 {READ}", "fence A1", f"B1 {READ}", "fence B1"]


def test_a_grace_that_is_lengthened_and_shortened_while_it_runs() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.do(c.SetPolicy(delayed(EAGER, 5_000))) == [
        "policy delayed(eager, 5000 ms)",
        "A1 held: grace until 6000",
    ]
    assert story.tick(1_000) == []
    assert story.do(c.SetPolicy(delayed(EAGER, 1_500))) == [
        "policy delayed(eager, 1500 ms)",
        "A1 held: grace until 2500",
    ]
    assert story.tick(500) == ["fence A1"]


def test_a_pin_set_before_the_shuffle_expires_and_removed_after_its_grace() -> None:
    story = Story(delayed(EAGER, 100))
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.do(c.SetPin(shuffle("A"), ""))
    assert story.run("s1")[-1] == f"A1 {READ}, held: pin"
    assert story.tick(1_000) == []
    assert story.do(c.RemovePin(shuffle("A"))) == ["A unpinned", "fence A1"]


def test_switches_the_job_s_own_before_its_group_s_before_the_application_s() -> None:
    story = Story(OBSERVE)
    story.do(c.SetPolicy(Policy(Rule.EAGER, observe=True), "g"))
    story.whole("s0>A, s1:A!", group="g", policy=EAGER)
    story.whole("s2>B, s3:B!", group="g")
    story.whole("s4>C, s5:C!")
    assert story.lives() == "A1 fencing, B1 expired, C1 readable"
    assert story.do(c.SetPolicy(EAGER, "g")) == ["policy eager for g", "fence B1"]
    assert story.do(c.SetPolicy(EAGER)) == ["policy eager", f"C1 {READ}", "fence C1"]


def test_the_budget_of_nothing_and_what_was_asked_before_it() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=0))
    story.whole("s0>A, s1:A!")
    story.whole("s2>B, s3:B!")
    story.fenced()
    story.freed()
    assert story.life("B1") == "fencing"
    story.job("s4>A, s5:A!")
    assert story.submit("s4")[1:3] == ["A1 missed by s4.0", "suspended: premature deletions passed the budget"]
    assert story.outcome(FENCE, c.Busy(("x",)))[-1] == "B1 held: suspended" or story.life("B1") == "expired"
    assert story.tick(100_000) == []
    assert story.do(c.ResumeDeletion("me"))[:2] == ["resumed", "fence B1"]


def test_missed_once_kept_until_spark_cleans_whatever_policy() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.whole("s2>A, s3:A!")
    for policy in (FRONTIER, EAGER, REACHABLE):
        story.do(c.SetPolicy(policy))
        story.look("")
        assert story.tick(1_000) == []
        assert story.life("A2") in ("expired", "readable")
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert story.lives() == ""


def test_pressure_then_reachable_then_observe_then_pressure_again() -> None:
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.lives() == "A1 expired"
    assert story.do(c.SetPolicy(REACHABLE)) == ["policy reachable", "fence A1"]
    assert story.do(c.SetPolicy(OBSERVE)) == ["policy observe"]
    story.outcome(FENCE, c.Revoked("policy"))
    assert story.state.generations[1].hold.value == "observe"
    story.tick(10_000)
    assert story.do(c.SetPolicy(PRESSURE)) == [
        "policy pressure",
        "A1 held: there is room on the disks, or others go first",
    ]
    assert story.disk(900, 100)[-1] == "fence A1"


def test_a_cannot_is_asked_rarely_and_in_the_end_carried_out() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    for _ in range(5):
        story.outcome(FENCE, c.Cannot("no servers left"))
        assert story.tick(29_999) == []
        assert story.tick(1) == ["fence A1"]
    assert story.delete_all()[-1] == "A1 deleted: policy, 100 bytes"


def test_a_switched_off_job_s_recovery_frees_nothing() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!", policy=OBSERVE)
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    assert story.teller.tell(story.log) == ["A1 lost: reported", "recovery 1 of A1"]
    assert story.state.directives == {}


def test_a_barrier_stage_that_is_tried_four_times() -> None:
    story = Story(EAGER, barrier="A")
    story.job("s0>A, s1:A!")
    story.submit("s0")
    for attempt in (1, 2, 3):
        story.fail(f"s0.{attempt - 1}")
        assert story.submit(f"s0.{attempt}")[1:] == [
            f"A{attempt} lost: invalidated",
            f"invalidate A{attempt}",
            f"A{attempt + 1} begun by s0.{attempt}",
        ]
    story.complete("s0.3")
    assert story.run("s1")[-2:] == [f"A4 {READ}", "fence A4"]
    assert len(story.outstanding(INVALIDATE)) == 3
    story.delete_all()
    assert story.state.meta.recoveries == 0


def test_history_observes_and_pins_too() -> None:
    story = Story(Policy(Rule.HISTORY, observe=True))
    story.whole("s0>A, s1:A>B, s2:B!")
    assert story.lives() == "A1 expired, B1 readable"
    story.do(c.SetPin(shuffle("A"), "x"))
    assert story.do(c.SetPolicy(Policy(Rule.HISTORY, observe=False))) == ["policy history", "A1 held: pin"]


def test_a_partial_one_that_the_program_holds_stays_and_goes_with_the_handle() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("A")
    story.lose(A=3)
    story.look("A")
    assert story.lives() == "A1 partial"
    assert story.look("")[-2:] == ["A1 expired: given up half-written", "fence A1"]


def test_everything_goes_in_the_end_under_every_acting_policy() -> None:
    for policy in (REACHABLE, EAGER, delayed(REACHABLE, 500), delayed(EAGER, 500)):
        story = Story(policy)
        story.whole("s0>A, s1:A>B, s2:B>C, s3:C!")
        story.whole("-s4>A, -s5:A>B, -s6:B>C, s7:C>D, s8:D!")
        story.job("s9>E, s10:E!")
        story.submit("s9")
        story.end(2, False)
        story.look("")
        story.now_ms += 10_000
        story.tick()
        story.delete_all()
        assert story.lives() == "", policy
        assert fold(empty(), story.witness.log) == story.state
