"""More stories of tracking and deciding: many readers, threads, cuts, policies, pins and budgets."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.evolve import fold
from coordinator.core.ids import (
    ExecutionId,
    LookId,
)
from coordinator.core.state import empty
from coordinator.core.values import (
    Policy,
    RootKind,
    Rule,
    Settings,
)
from tests.scenarios.further import CUT, DELETE, FENCE, INVALIDATE, READ, REMOTE
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, PRESSURE, REACHABLE, Story, delayed, shuffle

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
    assert story.end(1) == ["job 1 ended"]
    assert story.life("A1") == "fencing"


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
        "A1 rescued: its policy does not let it go (frontier)",
    ]
    assert story.outcome(FENCE, c.Busy(("x",)), second)[1:] == ["B1 rescued: its policy does not let it go (frontier)"]
    assert story.freed() == ["C1 deleted: policy, 100 bytes"]
    assert story.lives() == "A1 readable, B1 readable"
    assert story.do(c.SetPolicy(EAGER)) == ["policy eager", f"A1 {READ}", "fence A1", f"B1 {READ}", "fence B1"]


def test_a_grace_that_is_lengthened_and_shortened_while_it_runs() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.do(c.SetPolicy(delayed(EAGER, 5_000))) == [
        "policy delayed(eager, 5 s)",
        "A1 held: grace until 6000",
    ]
    assert story.tick(1_000) == []
    assert story.do(c.SetPolicy(delayed(EAGER, 1_500))) == [
        "policy delayed(eager, 1.5 s)",
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
    assert story.outcome(FENCE, c.Busy(("x",)))[-1] == "B1 held: suspended"
    assert story.life("B1") == "expired"
    assert story.tick(100_000) == []
    assert story.do(c.ResumeDeletion("me"))[:2] == ["resumed", "fence B1"]


def test_missed_once_kept_until_spark_cleans_whatever_policy() -> None:
    story = Story(REACHABLE)
    story.whole("s0>A, s1:A!")
    story.look("")
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


def test_a_cannot_is_asked_ever_more_rarely_and_in_the_end_carried_out() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    for pause_s in (30, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600):
        due_ms = story.now_ms + 1_000 * pause_s
        refused = story.outcome(FENCE, c.Cannot("it is not Celeborn's"))
        assert refused == [f"A1 fence refused: cannot, again at {due_ms}"]
        assert story.tick(1_000 * pause_s - 1) == []
        assert story.tick(1) == ["fence A1"]
    assert story.delete_all()[-1] == "A1 deleted: policy, 100 bytes"


def test_a_cannot_after_a_busy_while_is_asked_again_no_later_than_that_while() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    for pause_ms in (50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000):
        story.outcome(FENCE, c.Busy(("stage 7.0 reads it",)))
        assert story.tick(pause_ms) == ["fence A1"]
    waited_ms = 81_150
    refused = story.outcome(FENCE, c.Cannot("the scheduler was busy; ask again"))
    assert refused == [f"A1 fence refused: cannot, again at {story.now_ms + waited_ms}"]


def test_a_deletion_that_keeps_failing_is_asked_ever_more_rarely_too() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    pauses_ms = []
    for _ in range(16):
        story.outcome(DELETE, c.Failed("it is not Celeborn's"))
        pauses_ms.append(story.state.directives[story.outstanding(DELETE)[0]].due_ms - story.now_ms)
    assert pauses_ms == [200 << failures for failures in range(15)] + [3_600_000]


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
    assert story.recoveries == 0


def test_history_observes_and_pins_too() -> None:
    story = Story(Policy(Rule.HISTORY, observe=True))
    story.whole("s0>A, s1:A>B, s2:B!")
    assert story.lives() == "A1 expired, B1 readable"
    assert "A1 held: pin" in story.do(c.SetPin(shuffle("A"), "x"))
    assert story.do(c.SetPolicy(Policy(Rule.HISTORY, observe=False))) == ["policy history"]
    assert story.do(c.SetPolicy(Policy(Rule.HISTORY, observe=True))) == ["policy observe"]
    assert "A1 held: observe" in story.do(c.RemovePin(shuffle("A")))


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
