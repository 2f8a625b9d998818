"""More stories of what happens in the middle of something else: resyncs, ends, switches, losses, Spark's own cleaner.

Responsible for facts that meet several things under way at once. Refuses to know how each of them goes alone.
Invariant: each of the things that are under way comes to the end that it would have come to alone.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.values import Ending, Level, Settings
from tests.scenarios.further import CUT, DELETE, FENCE, READ, REMOTE, found, job_of
from tests.scenarios.story import EAGER, OBSERVE, PRESSURE, REACHABLE, Story, attempt_of, delayed, shuffle

MISSED = "held: missed before"
ROOM = "held: there is room on the disks, or others go first"


def everything_under_way() -> Story:
    """A2 is written for a recovery, D1 is being fenced, E1 has its grace until 4,000, and a look has begun."""
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    story.tick(1_000)
    story.delete_all()
    story.whole("s2>D, s3:D!")
    story.tick(1_000)
    story.whole("s4>E, s5:E!")
    story.job("s10>A, s11:A!")
    story.submit("s10")
    story.begin_look()
    assert (story.lives(), story.recoveries) == ("D1 fencing, E1 expired, A2 writing", 1)
    return story


def test_16_a_resync_meets_a_recovery_a_fence_a_look_and_a_grace() -> None:
    story = everything_under_way()
    writer = c.ReportStageSubmitted(attempt_of("s10"), (), shuffle("A"), 10)
    jobs = (job_of(3, 11, "A", (10, 11)),)
    assert story.do(c.Resync(jobs, (writer,), outputs=found(A=3, D=10, E=10))) == [
        "resync, until jobs [3] have ended",
        "E1 rescued: facts were missed (facts were missed)",
    ]
    assert story.report() == ["look ended"]
    assert story.fenced() == ["D1 fenced", "delete D1"]
    assert story.complete("s10") == ["s10.0 completed", "A2 complete", "recovery 1 closed"]
    assert story.run("s11")[-1] == "s11.0 completed, recovered A"
    grace_ms = story.now_ms + 1_000
    ended = ["job 3 ended", f"E1 {READ}, held: grace until {grace_ms}", f"A2 {READ}, {MISSED}"]
    assert story.end(3) == ended
    assert story.tick(1_000) == ["fence E1"]


def test_a_driver_detaches_in_the_middle_of_everything() -> None:
    story = everything_under_way()
    (fence,) = story.outstanding(FENCE)
    story.do(c.ReportGap(1, "bus"))
    assert story.do(c.EndApplication(Ending.DETACHED)) == [
        "application detached",
        *(f"{name} deleted: application detached, 0 bytes" for name in ("D1", "E1", "A2")),
    ]
    assert story.read("A", "s11") == "failed precondition"
    assert story.outcome(FENCE, c.Fenced(100), fence) == []
    assert story.tick(10_000) == []


def test_18_a_budget_that_was_given_anew_is_spent_once_more() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=1))
    for n, letter in enumerate("ABCD"):
        story.whole(f"s{2 * n}>{letter}, s{2 * n + 1}:{letter}!")
    story.delete_all()
    suspended = "suspended: premature deletions passed the budget"
    for n, letter in enumerate("ABCD"):
        told = story.whole(f"s{2 * n + 10}>{letter}, s{2 * n + 11}:{letter}!")
        assert (suspended in told) is (letter in "BD")
        if letter == "B":
            assert story.do(c.ResumeDeletion()) == ["resumed", f"A2 {MISSED}", f"B2 {MISSED}"]
    assert story.lives() == "A2 expired, B2 expired, C2 expired, D2 expired"


def test_29_an_executor_is_lost_between_a_fence_and_its_deletion() -> None:
    """What it takes along is of the generation that was written since; the fenced one goes its way."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.job("s2>A, s3:A!")
    story.run("s2")
    story.do(c.ReportExecutorLost("1"))
    assert story.lose(A=5) == ["A2 partial, 5 of 10"]
    assert story.lives() == "A1 fenced, A2 partial"
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.submit("s2.1", tasks=5) == ["s2.1 submitted", "A2 continued by s2.1"]
    story.complete("s2.1")
    assert story.run("s3")[-1] == f"A2 {READ}, {MISSED}"
    assert story.recoveries == 1


def test_32_a_reader_asks_all_the_while_an_indeterminate_stage_is_written_anew() -> None:
    story = Story(levels={"A": Level.INDETERMINATE})
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=9)
    story.fail("s1")
    assert story.read("A", "s1.1") == "not ready: some of its outputs are gone and not yet back"
    story.submit("s0.1")
    assert story.read("A", "s1.1") == "not ready: being written"
    assert story.miss("A1", "s1.0") == "recover A1: recovery 1 of A"
    story.complete("s0.1")
    assert story.read("A", "s1.1") == "ready A2"
    assert story.recoveries == 1


def test_14_two_groups_and_the_application_are_switched_each_for_itself() -> None:
    story = Story(EAGER)
    story.do(c.SetPolicy(OBSERVE, "g"))
    story.do(c.SetPolicy(REACHABLE, "h"))
    story.whole("s0>A, s1:A!", group="g")
    story.whole("s2>B, s3:B!", group="h")
    assert story.whole("s4>C, s5:C!")[-2] == "fence C1"
    assert story.look()[2:] == [f"A1 {CUT}, held: observe", f"B1 {CUT}", "fence B1"]
    assert story.do(c.SetPolicy(OBSERVE)) == ["policy observe"]
    assert story.do(c.SetPolicy(EAGER, "g")) == ["policy eager for g", "fence A1"]


def test_what_nobody_reaches_has_its_grace_and_then_waits_for_a_full_disk() -> None:
    story = Story(delayed(PRESSURE, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.look()[-1] == f"A1 {CUT}, held: grace until 2000"
    assert story.disk(860, 140) == ["disk /x: 860 used, 140 free"]
    assert story.disk(100, 900) == ["disk /x: 100 used, 900 free"]
    assert story.tick(1_000) == [f"A1 {ROOM}"]
    assert story.disk(860, 140) == ["disk /x: 860 used, 140 free", "fence A1"]


def test_27_a_stage_that_misses_what_two_recoveries_answer_for_joins_both() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.whole("s2>D, s3:D!")
    story.delete_all()
    story.job("s10>A, s11:A!")
    story.job("s20>D, s21:D!")
    assert story.read("A", "s11") == "recover A1: recovery 1 of A"
    assert story.read("D", "s21") == "recover D1: recovery 2 of D"
    story.job("s30>A, s31>D, s32:A,D!")
    assert story.read("A", "s32") == "recover A1: recovery 1 of A"
    assert story.read("D", "s32") == "recover D1: recovery 2 of D"
    assert story.run("s10")[-1] == "recovery 1 closed"
    assert story.run("s20")[-1] == "recovery 2 closed"
    assert story.submit("s32") == ["s32.0 submitted", "A2 read by s32.0", "D2 read by s32.0"]
    assert story.recoveries == 2


def test_15_sparks_cleaner_takes_a_part_of_what_an_open_recovery_names() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:B!")
    story.delete_all()
    story.job("s10>A, s11:A>B, s12:B!")
    assert story.read("B", "s12") == "recover B1: recovery 1 of AB"
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A cleaned"]
    assert story.miss("A1", "s11") == "not found"
    assert story.read("B", "s12") == "recover B1: recovery 1 of B"
    assert story.submit("s11")[-1] == "B2 begun by s11.0 for recovery 1"
    assert story.complete("s11")[:3] == ["s11.0 completed", "B2 complete", "recovery 1 closed"]


def test_29_a_stage_that_ran_on_while_its_input_was_written_again_has_not_read_that() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=0)
    assert story.submit("s0.1") == ["s0.1 submitted", "recovery 1 of A1", "A2 begun by s0.1 for recovery 1"]
    story.complete("s0.1")
    assert story.complete("s1") == ["s1.0 completed"]
    assert story.end() == ["job 0 ended"]
    assert story.lives() == "A2 readable"  # nobody has read it, so `eager` waits
    assert story.whole("-s2>A, s3:A!")[-3:-1] == [f"A2 {READ}", "fence A2"]
    assert story.outcome(FENCE, c.Fenced(100)) == ["A2 fenced", "delete A2"]
    assert story.outcome(DELETE, c.Freed(100)) == ["A2 deleted: policy, 100 bytes"]
