"""More stories: the whole truth, executors and switches that meet every state between an expiry and a deletion."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import ExecutionId
from coordinator.core.values import DirectiveKind, Hold, Level, Lineage, Policy, Rule, Settings
from tests.scenarios.further import DELETE, FENCE, INVALIDATE, REMOTE, found, job_of
from tests.scenarios.story import EAGER, FRONTIER, PRESSURE, REACHABLE, Story, attempt_of, delayed, shuffle

OBSERVE_EAGER = Policy(Rule.EAGER, observe=True)
ROOM = "there is room on the disks, or others go first"


def fencing(fenced: bool = False, failed: bool = False) -> Story:
    """A1 is being fenced, or is fenced, or its deletion has failed once."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    if fenced or failed:
        story.fenced()
    if failed:
        story.outcome(DELETE, c.Failed("disk"))
    return story


# ---- the whole truth, in each state of a directive -------------------------------------------------------------------


@pytest.mark.parametrize(("left", "told"), [(10, []), (4, ["A1 partial, 4 of 10"]), (0, ["A1 partial, 0 of 10"])])
def test_16_whatever_a_resync_finds_of_it_the_outcome_of_its_fence_decides(left: int, told: list[str]) -> None:
    story = fencing()
    assert story.do(c.Resync(outputs=found(A=left))) == told
    assert story.outstanding(FENCE) == [1]
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]


def test_16_what_spark_has_cleaned_while_it_was_fenced_is_told_by_the_resync_and_its_outcome_comes_to_nothing() -> None:
    story = fencing()
    assert story.do(c.Resync()) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
    assert story.outcome(FENCE, c.Fenced(100), 1) == []
    assert story.outstanding(FENCE) == story.outstanding(DELETE) == []


@pytest.mark.parametrize("failed", [False, True])
def test_16_a_resync_leaves_a_deletion_to_its_outcome(failed: bool) -> None:
    story = fencing(fenced=True, failed=failed)
    due_ms = story.state.directives[2].due_ms
    assert story.do(c.Resync(outputs=found(A=0))) == []
    assert story.state.directives[2].due_ms == due_ms
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]


def test_16_what_a_resync_finds_whole_behind_a_fence_is_the_next_generation_and_the_old_one_goes() -> None:
    story = fencing(fenced=True)
    assert story.do(c.Resync(outputs=found(A=10))) == ["A2 found, 10 of 10"]
    assert story.outcome(DELETE, c.Superseded("A2")) == ["A1 deleted: policy, 0 bytes (superseded)"]
    assert story.lives() == "A2 readable"


def test_16_an_invalidation_stands_through_a_resync() -> None:
    story = Story(EAGER, levels={"A": Level.INDETERMINATE})
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=5)
    assert "invalidate A1" in story.submit("s0.1")
    running = c.ReportStageSubmitted(attempt_of("s0.1"), (), shuffle("A"), 10)
    truth = c.Resync(jobs=(job_of(0, 1, "A", (0, 1)),), stages=(running,), outputs=found(A=0))
    assert story.do(truth) == ["resync, until jobs [0] have ended"]
    assert story.outcome(INVALIDATE, c.Freed(7)) == ["A1 invalidated, 7 bytes"]


def test_16_what_waits_for_its_grace_is_kept_in_a_gap_and_has_the_whole_of_it_after_the_resync() -> None:
    story = fencing()
    story.do(c.SetPolicy(delayed(EAGER, 1_000)))
    story.whole("s2>B, s3:B!")
    story.tick(500)
    assert story.do(c.ReportGap(3, "outbox"))[1:] == ["B1 rescued: facts were missed (facts were missed)"]
    assert story.fenced() == ["A1 fenced", "delete A1"]
    story.tick(5_000)
    assert story.do(c.Resync(outputs=found(A=0, B=10)))[1:] == [
        "B1 expired: read by a stage that wrote, held: grace until 7500"
    ]


def test_16_a_job_that_began_between_two_gaps_is_waited_for_by_the_second() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.do(c.ReportGap(1, "queue"))
    story.job("s2>B, s3:B!")
    story.run("s2", "s3")
    story.do(c.ReportGap(1, "queue"))
    jobs = (job_of(0, 1, "A", (0, 1)), job_of(1, 3, "B", (2, 3)))
    assert story.do(c.Resync(jobs=jobs, outputs=found(B=10)))[-1] == "resync, until jobs [0, 1] have ended"
    assert story.end(0) == ["job 0 ended"]
    assert story.end(1) == ["job 1 ended", "B1 expired: read by a stage that wrote", "fence B1"]


# ---- an executor -----------------------------------------------------------------------------------------------------


def test_29_an_executor_takes_a_part_of_one_in_each_state() -> None:
    story = fencing(fenced=True)
    story.whole("s2>B, s3:B!")
    story.do(c.SetPolicy(delayed(EAGER, 1_000)))
    story.whole("s4>C, s5:C!")
    story.job("s6>D, s7>E, s8:D,E!")
    story.run("s6")
    story.submit("s7")
    assert story.lives() == "A1 fenced, B1 fencing, C1 expired, D1 readable, E1 writing"
    assert story.lose(A=0, B=5, C=5, D=5, E=0) == [
        "B1 partial, 5 of 10",
        "C1 partial, 5 of 10",
        "D1 partial, 5 of 10",
    ]
    assert story.lives() == "A1 fenced, B1 fencing, C1 expired, D1 partial, E1 writing"
    assert story.tick(1_000) == ["fence C1"]
    assert story.fenced() == ["B1 fenced", "delete B1"]


def test_29_the_same_where_nothing_can_be_completed() -> None:
    story = Story(EAGER, REMOTE)
    story.whole("s2>B, s3:B!")
    story.do(c.SetPolicy(delayed(EAGER, 1_000)))
    story.whole("s4>C, s5:C!")
    story.job("s6>D, s8:D!")
    story.run("s6")
    assert story.lose(B=5, C=5, D=5) == ["B1 partial, 5 of 10", "C1 lost: outputs gone", "D1 lost: outputs gone"]
    assert story.outcome(FENCE, c.Busy(("s9",))) == [
        "B1 fence refused: busy, again at 1050",
        "B1 lost: outputs gone",
    ]


# ---- switches --------------------------------------------------------------------------------------------------------


def test_14_the_policy_goes_from_one_to_the_next_with_a_generation_in_every_state() -> None:
    """Only what is expired moves; what is fencing or fenced goes its way."""
    story = Story()
    story.whole("s20>F, s21:F.")
    story.look("")
    story.fenced()
    story.whole("s22>E, s23:E.")
    story.look("")
    story.job("s24>D, s25:D.")
    story.do(c.SetPin(shuffle("D"), "mine"))
    story.run("s24", "s25")
    story.end(2)
    story.look("")
    story.job("s30>B, s31>C, s32>A, s33:A,B,C!")
    story.run("s30", "s31")
    story.lose(C=3)
    story.submit("s32")
    others = "B1 readable, C1 partial, A1 writing"
    assert story.lives() == f"F1 fenced, E1 fencing, D1 expired, {others}"
    assert story.do(c.SetPolicy(FRONTIER))[1:] == ["D1 rescued: its policy does not let it go (frontier)"]
    slow = delayed(REACHABLE, 1_000)
    assert story.do(c.SetPolicy(slow))[1:] == ["D1 expired: in no live cut, held: pin"]
    assert story.do(c.SetPolicy(PRESSURE)) == ["policy pressure"]
    assert story.do(c.RemovePin(shuffle("D"))) == ["D unpinned", f"D1 held: {ROOM}"]
    assert story.do(c.SetPolicy(slow))[1:] == ["D1 held: grace until 2000"]
    assert story.do(c.SetPolicy(REACHABLE))[1:] == ["fence D1"]
    assert story.lives() == f"F1 fenced, E1 fencing, D1 fencing, {others}"


@pytest.mark.parametrize("outcome", [c.Fenced(100), c.Busy(("s9",))])
def test_18f_a_root_that_is_found_while_the_fence_is_out_takes_nothing_back_unless_it_is_refused(
    outcome: c.Outcome,
) -> None:
    story = fencing()
    story.do(c.SetPolicy(REACHABLE))
    assert story.look("A") == ["look", "root A needs +A", "look ended"]
    told = story.outcome(FENCE, outcome)
    if isinstance(outcome, c.Busy):
        assert told == ["A1 fence refused: busy, again at 1050", "A1 rescued: a root reaches it (held by a)"]
    else:
        assert told == ["A1 fenced", "delete A1"]
        story.job("s2>A, s3:A!")
        assert story.submit("s2")[1] == "A1 missed by s2.0"


def test_18_what_turns_out_to_be_indeterminate_within_its_grace_is_no_more_guessed_about() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportLineage((Lineage(shuffle("A"), (), Level.INDETERMINATE, False, 10),))) == [
        "A1 rescued: its policy does not let it go (eager)"
    ]


def test_14_of_a_stage_that_two_groups_share_the_first_job_s_switch_counts() -> None:
    story = Story(EAGER)
    story.do(c.SetPolicy(OBSERVE_EAGER, group="off"))
    story.job("s0>A, s1:A!", group="off")
    story.job("s0>A, s2:A!", group="on")
    story.run("s0", "s1", "s2")
    story.end(0)
    story.end(1)
    assert (story.lives(), story.state.current(shuffle("A")).hold) == ("A1 expired", Hold.OBSERVE)


def test_14_what_is_recovered_is_of_the_group_that_recovers_it() -> None:
    story = Story()
    story.do(c.SetPolicy(EAGER, group="on"))
    story.do(c.SetPolicy(OBSERVE_EAGER, group="off"))
    story.whole("s0>A, s1:A!", group="on")
    story.delete_all()
    assert story.lives() == ""
    told = story.whole("s2>A, s3:A!", group="off")
    assert told[-2] == "A2 expired: read by a stage that wrote, held: observe"


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
def test_13_what_one_execution_has_written_and_another_one_read_goes_when_both_are_over(
    first: int, second: int
) -> None:
    story = Story(FRONTIER)
    for execution in (1, 2):
        story.do(c.ReportExecutionStarted(ExecutionId(execution)))
    story.job("s0>A", execution=1)
    story.run("s0")
    story.end(0)
    story.job("s1>A, s2:A.", execution=2)
    story.run("s2")
    story.end(1)
    assert story.do(c.ReportExecutionEnded(ExecutionId(first))) == [f"execution {first} ended"]
    assert story.do(c.ReportExecutionEnded(ExecutionId(second)))[-1] == "fence A1"


# ---- kinds of stages in one lineage ----------------------------------------------------------------------------------


def of_three_kinds(settings: Settings = Settings()) -> Story:
    """A1, which is indeterminate, and B1 of a barrier stage are deleted; of C1, made of them, a part is lost."""
    story = Story(levels={"A": Level.INDETERMINATE}, barrier="B", settings=settings)
    story.whole("s0>A, s1:A>B, s2:B>C, s3:C.")
    story.look("C")
    story.delete_all()
    story.lose(C=7)
    story.job("s4>A, s5:A>B, s6:B>C, s7:C!")
    return story


def test_32_indeterminate_barrier_and_determinate_in_one_lineage_are_one_recovery() -> None:
    story = of_three_kinds()
    assert story.submit("s4")[1:] == [
        "A1 missed by s4.0",
        "recovery 1 of A1 B1, would mix C1",
        "A2 begun by s4.0 for recovery 1",
    ]
    story.complete("s4")
    story.run("s5")
    assert story.submit("s6")[2:] == [
        "C1 lost: invalidated",
        "invalidate C1",
        "recovery 1 joined for C1 by s6.0",
        "C2 begun by s6.0 for recovery 1",
    ]
    assert story.complete("s6")[1:] == ["C2 complete", "recovery 1 closed"]
    assert story.state.meta.premature == 0


def test_32_declared_deterministic_the_last_of_them_is_repaired() -> None:
    story = of_three_kinds(Settings(declared_deterministic=True))
    assert story.submit("s4")[2] == "recovery 1 of A1 B1"
    story.complete("s4")
    assert story.run("s5")[-1] == "recovery 1 closed"
    assert story.submit("s6", tasks=3)[-1] == "C1 continued by s6.0"
    assert story.complete("s6")[-1] == "C1 complete"


def test_32_a_barrier_stage_that_fails_in_its_recovery_begins_anew_in_the_same_one() -> None:
    story = Story(barrier="B")
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("")
    story.delete_all()
    story.job("s3>A, s4:A>B, s5:B!")
    story.run("s3")
    story.submit("s4")
    story.fail("s4")
    assert story.submit("s4.1")[2:] == ["B2 lost: invalidated", "invalidate B2", "B3 begun by s4.1"]
    assert story.complete("s4.1")[1:] == ["B3 complete", "recovery 1 closed"]
    assert story.outstanding(DirectiveKind.INVALIDATE) == [5]
