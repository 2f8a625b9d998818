"""More stories: switches that change under way, two policies over one shuffle, budgets, disks that come and go.

Responsible for policies of jobs, groups and the application where several meet, or one becomes another one while a
shuffle waits. Refuses to know what a policy alone does (`test_holds`, `test_pressure`). Invariant: what a shuffle's own
policy says counts, at every moment, and nothing else's.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import JobId, StageId, spans_of
from coordinator.core.lineages import kind_of
from coordinator.core.values import DirectiveKind, Lesson, Lineage, Policy, Rule, Settings
from tests.scenarios.further import FENCE, found
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, PRESSURE, REACHABLE, Story, attempt_of, delayed, shuffle

OBSERVE_EAGER = Policy(Rule.EAGER, observe=True)
ROOM = "there is room on the disks, or others go first"


def test_the_policy_of_the_job_that_wrote_counts_and_not_that_of_a_job_that_reads() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A.", policy=delayed(EAGER, 1_000))
    assert story.whole("-s2>A, s3:A!", policy=OBSERVE_EAGER) == [
        "job 1",
        "s3.0 submitted",
        "A1 read by s3.0",
        "s3.0 completed",
        "A1 expired: read by a stage that wrote, held: grace until 2000",
        "job 1 ended",
    ]
    assert story.tick(1_000) == ["fence A1"]


def test_a_job_that_proves_and_one_that_guesses_in_one_lineage() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A.", policy=REACHABLE)
    story.whole("-s2>A, s3:A>B, s4:B>C, s5:C!", policy=FRONTIER)
    assert story.lives() == "A1 readable, B1 fencing, C1 readable"
    assert story.look("") == ["look", "look ended", "A1 expired: in no live cut", "fence A1"]
    story.delete_all()
    assert story.lives() == "C1 readable"


def test_a_group_is_switched_while_its_shuffle_waits_and_while_it_is_being_fenced() -> None:
    story = Story(OBSERVE)
    story.do(c.SetPolicy(delayed(EAGER, 1_000), group="g"))
    assert story.whole("s0>A, s1:A!", group="g")[-2:] == [
        "A1 expired: read by a stage that wrote, held: grace until 2000",
        "job 0 ended",
    ]
    assert story.do(c.SetPolicy(OBSERVE_EAGER, group="g")) == ["policy observe for g", "A1 held: observe"]
    assert story.do(c.SetPolicy(EAGER, group="g")) == ["policy eager for g", "fence A1"]
    assert story.do(c.SetPolicy(OBSERVE_EAGER, group="g")) == ["policy observe for g"]
    assert story.outcome(FENCE, c.Busy(("s9",))) == ["A1 fence refused: busy, again at 1050", "A1 held: observe"]
    assert story.tick(60) == []
    assert story.do(c.SetPolicy(delayed(EAGER, 1_000), group="g")) == [
        "policy delayed(eager, 1 s) for g",
        "A1 held: grace until 2000",
    ]
    assert story.tick(939) == []
    assert story.tick(1) == ["fence A1"]


def test_the_budget_is_spent_while_two_fences_are_out_and_given_anew() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=0))
    story.job("s0>A, s1>B, s2>C, s3:A,B,C!")
    story.run("s0", "s1", "s2", "s3")
    story.end()
    assert story.lives() == "A1 fencing, B1 fencing, C1 fencing"
    story.fenced()
    story.job("s4>A, s5:A!")
    assert story.submit("s4") == [
        "s4.0 submitted",
        "A1 missed by s4.0",
        "suspended: premature deletions passed the budget",
        "recovery 1 of A1",
        "A2 begun by s4.0 for recovery 1",
    ]
    assert story.outcome(FENCE, c.Busy(("s9",)))[1:] == ["B1 held: suspended"]
    assert story.fenced() == ["C1 fenced", "delete C1"]
    story.complete("s4")
    assert story.run("s5")[-1] == "A2 expired: read by a stage that wrote, held: suspended"
    assert story.end(1) == ["job 1 ended"]
    assert story.do(c.ResumeDeletion("me")) == ["resumed", "fence B1", "A2 held: missed before"]
    story.delete_all()
    assert story.lives() == "A2 expired"


def test_switched_to_observe_in_the_middle_of_a_recovery_and_back() -> None:
    """What was deleted before is answered for all the same; what is written anew is held by what holds it now."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:B.")
    story.delete_all()
    assert story.do(c.SetPolicy(OBSERVE_EAGER)) == ["policy observe"]
    story.job("s3>A, s4:A>B, s5:B!")
    story.lose(B=0)
    assert story.run("s3") == [
        "s3.0 submitted",
        "A1 missed by s3.0",
        "recovery 1 of A1 B1",
        "A2 begun by s3.0 for recovery 1",
        "s3.0 completed",
        "A2 complete",
    ]
    assert story.run("s4")[-2:] == [
        "recovery 1 closed",
        "A2 expired: read by a stage that wrote, held: observe",
    ]
    assert story.do(c.SetPolicy(EAGER)) == ["policy eager", "A2 held: missed before"]


def test_a_disk_goes_away_while_the_fence_that_it_called_for_is_out_and_another_one_comes() -> None:
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A.")
    story.whole("s2>B, s3:B.")
    assert story.look("")[2:] == [
        f"A1 expired: in no live cut, held: {ROOM}",
        f"B1 expired: in no live cut, held: {ROOM}",
    ]
    assert story.disk(880, 120, "/x") == ["disk /x: 880 used, 120 free", "fence A1", "fence B1"]
    assert story.disk(0, 0, "/x") == ["disk /x: 0 used, 0 free"]
    assert story.outcome(FENCE, c.Busy(("s9",))) == ["A1 fence refused: busy, again at 1050"]
    assert story.tick(50) == [f"A1 held: {ROOM}"]
    assert story.disk(900, 100, "/y") == ["disk /y: 900 used, 100 free", "fence A1"]
    story.delete_all()
    assert story.lives() == ""


def test_half_known_lineage_is_of_no_kind_that_was_learned_until_the_rest_is_told() -> None:
    whole = {
        shuffle("A"): Lineage(shuffle("A"), maps=10),
        shuffle("B"): Lineage(shuffle("B"), (shuffle("A"),), maps=10),
    }
    lesson = Lesson(kind_of(whole.get, shuffle("B")), reads=1)
    story = Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=(lesson,)))
    b_alone = (whole[shuffle("B")],)
    story.do(c.ReportJobStarted(JobId(0), StageId(2), (shuffle("B"),), None, spans_of((0, 1, 2)), b_alone))
    story.do(c.ReportStageSubmitted(attempt_of("s1"), (shuffle("A"),), shuffle("B"), 10))
    story.do(c.ReportStageCompleted(attempt_of("s1"), shuffle_bytes_written=100))
    story.do(c.ReportStageSubmitted(attempt_of("s2"), (shuffle("B"),), None, 10))
    assert story.do(c.ReportStageCompleted(attempt_of("s2"), output_bytes=7)) == ["s2.0 completed"]
    assert story.end() == ["job 0 ended"]
    told = c.ReportJobStarted(JobId(1), StageId(4), (shuffle("A"),), None, spans_of((3, 4)), (whole[shuffle("A")],))
    assert story.do(told) == ["job 1", "B1 expired: read as often as in earlier runs", "fence B1"]


def test_grace_begins_anew_after_a_count_which_alone_would_have_let_nothing_go() -> None:
    story = Story(delayed(EAGER, 100))
    story.whole("s0>A, s1:A!")
    assert story.life("A1") == "expired"
    story.at(1_050)
    story.job("s2>A, s3:A.")
    assert story.submit("s3") == ["s3.0 submitted", "A1 read by s3.0"]
    story.at(1_099)
    assert story.complete("s3") == [
        "s3.0 completed",
        "A1 expired: read by a stage that wrote, held: grace until 1199",
    ]
    assert story.tick(50) == []
    assert story.tick(50) == ["fence A1"]


def test_switched_on_in_a_gap_nothing_is_fenced_before_the_truth_is_told() -> None:
    story = Story(OBSERVE_EAGER)
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportGap(3, "outbox")) == ["gap, until jobs [] have ended"]
    assert story.life("A1") == "expired"
    assert story.do(c.SetPolicy(EAGER)) == ["policy eager", "A1 rescued: facts were missed (facts were missed)"]
    assert story.do(c.Resync(outputs=found(A=10))) == [
        "resync, until jobs [] have ended",
        "A1 expired: read by a stage that wrote",
        "fence A1",
    ]


def test_a_root_comes_back_for_what_is_only_observed() -> None:
    """What would have been deleted would have been missed: the log says so, and the next look says it again."""
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.look("A") == [
        "look",
        "root A needs +A",
        "look ended",
        "A1 rescued: a root reaches it (held by a)",
    ]
    assert story.look("")[-1] == "A1 expired: in no live cut, held: observe"


def test_a_job_that_acts_in_an_application_that_observes_and_its_recovered_shuffle() -> None:
    """A2 is the second job's, which brings no policy of its own."""
    story = Story(OBSERVE_EAGER)
    story.whole("s0>A, s1:A!", policy=EAGER)
    story.delete_all()
    story.job("s2>A, s3:A!")
    story.run("s2")
    assert story.run("s3")[-1] == "A2 expired: read by a stage that wrote, held: observe"


def test_a_pin_is_set_while_the_fence_is_out_and_holds_the_next_generation() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    assert story.do(c.SetPin(shuffle("A"), "mine")) == ["A pinned"]
    assert story.fenced() == ["A1 fenced", "delete A1"]
    story.freed()
    story.whole("s2>A, s3:A!")
    assert story.state.generations[story.teller.id_of("A2")].hold.value == "pin"
    assert story.outstanding(DirectiveKind.FENCE) == []
