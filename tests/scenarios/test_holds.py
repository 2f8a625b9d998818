"""Scenarios 14, 17 and 18: what is expired, or would be, and is kept all the same.

Responsible for policies of jobs and groups, pins, `observe`, grace, the budget of premature deletions and what is
indeterminate. Refuses to know why a shuffle expires. Invariant: an expiry that becomes no fence says what holds it.
"""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import JobId, StageId
from coordinator.core.values import Capabilities, DirectiveKind, Hold, Level, Outputs, Policy, RootKind, Rule, Settings
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, PRESSURE, REACHABLE, Story, delayed, shuffle

OBSERVE_EAGER = Policy(Rule.EAGER, observe=True)


def test_14_observe_decides_and_fences_nothing() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!")
    assert story.look("") == ["look", "look ended", "A1 expired: in no live cut, held: observe"]
    assert story.tick(10_000) == []


def test_14_a_pin_holds() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.do(c.SetPin(shuffle("A"), "mine")) == ["A pinned"]
    assert story.look("") == ["look", "look ended", "A1 expired: in no live cut, held: pin"]
    assert story.do(c.RemovePin(shuffle("A"))) == ["A unpinned", "fence A1"]


def test_14_a_group_is_switched_off() -> None:
    story = Story()
    story.do(c.SetPolicy(OBSERVE, group="reports"))
    story.whole("s0>A, s1:A!", group="reports")
    story.whole("s2>B, s3:B!")
    assert story.look("") == [
        "look",
        "look ended",
        "A1 expired: in no live cut, held: observe",
        "B1 expired: in no live cut",
        "fence B1",
    ]


def test_14_a_job_brings_its_own_policy() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!", policy=EAGER)
    assert story.lives() == "A1 fencing"


def test_14_of_two_live_jobs_that_which_lists_the_writer() -> None:
    story = Story(OBSERVE)
    story.job("s0>A, s1:A!", policy=OBSERVE_EAGER)
    story.job("s2>B, s3:B!", policy=EAGER)
    story.run("s2", "s3", "s0", "s1")
    assert story.lives() == "B1 fencing, A1 expired"


def test_14_what_a_job_s_own_policy_lets_go_is_held_no_less_for_what_lies_behind_it() -> None:
    """The program holds B: not for B's policy, but what B is made from is needed once B is being fenced."""
    story = Story()
    story.whole("s0>C, s1:C!")
    story.whole("s2>A, s3:A.")
    story.look("A B C", RootKind.PLAN)
    story.whole("-s2>A, s4:A>B, s5:B!", policy=EAGER)
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    story.whole("s6>A, s7:A.")
    assert story.lives() == "C1 readable, B1 readable, A2 readable"
    assert story.look("B") == [
        "look",
        "root B needs",
        "root A gone",
        "root C gone",
        "look ended",
        "C1 expired: in no live cut",
        "fence C1",
        "B1 expired: read by a stage that wrote",
        "fence B1",
    ]
    story.delete_all()
    assert story.lives() == "A2 readable"
    assert story.look("")[-2:] == ["A2 expired: in no live cut", "fence A2"]


def test_14_nor_is_what_was_let_go_before_and_waits() -> None:
    """Both graces are over at the same moment, and that of C, by which the roots were walked, too."""
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>C, s1:C!")
    story.whole("s2>A, s3:A.")
    story.look("A B C", RootKind.PLAN)
    story.whole("-s2>A, s4:A>B, s5:B!", policy=delayed(EAGER, 1_000))
    story.lose(A=0)
    story.whole("s6>A, s7:A.")
    story.look("B")
    assert story.lives() == "C1 expired, B1 expired, A2 expired"
    assert story.tick(1_000) == ["fence C1", "fence B1", "A2 rescued: a root reaches it (held by b)"]


def test_14_its_policy_counts_for_what_was_begun_before_the_job_was_told() -> None:
    story = Story(EAGER)
    story.write("A", "s0")
    assert story.whole("s0>A, s1:A!", policy=OBSERVE_EAGER)[-2:] == [
        "A1 expired: read by a stage that wrote, held: observe",
        "job 0 ended",
    ]
    story.write("B", "s2")
    story.do(c.SetPolicy(OBSERVE_EAGER, group="reports"))
    assert story.whole("s2>B, s3:B!", group="reports", execution=4)[-2:] == [
        "B1 expired: read by a stage that wrote, held: observe",
        "job 1 ended",
    ]
    assert story.state.generations[2].execution == 4


def test_14_but_not_that_of_a_job_that_does_not_list_its_writer() -> None:
    story = Story(EAGER)
    story.write("A", "s4")
    story.job("s0>B, s1:B!", policy=OBSERVE_EAGER)
    assert [(one.job, one.policy) for one in story.state.generations.values()] == [(None, None)]
    story.job("s4>A, s5:A!")
    assert [(one.job, one.policy) for one in story.state.generations.values()] == [(JobId(1), None)]


def test_14_and_for_what_a_resync_finds_that_it_lists() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!", policy=OBSERVE_EAGER)
    story.do(c.ReportGap(3, "outbox"))
    found = tuple(Outputs(shuffle(letter), 10, 10) for letter in "AZ")
    assert story.do(c.ReportOutputs(found)) == ["A1 found, 10 of 10", "Z1 found, 10 of 10"]
    running = c.ReportJobStarted(JobId(0), StageId(2), (shuffle("B"),))
    story.do(c.Resync((running,), (), (), found))
    assert [generation.policy for generation in story.state.generations.values()] == [OBSERVE_EAGER, None]
    story.run("s1", "s2")
    assert story.end() == [
        "job 0 ended",
        "A1 expired: read by a stage that wrote, held: observe",
        "B1 expired: read by a stage that wrote, held: observe",
    ]


def test_14_observed_then_switched_on() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.do(c.SetPolicy(REACHABLE)) == ["policy reachable", "fence A1"]


def test_14_what_a_guess_let_go_waits_for_a_look_when_the_policy_becomes_reachable() -> None:
    story = Story(Policy(Rule.EAGER, observe=True))
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 expired"
    assert story.do(c.SetPolicy(REACHABLE)) == [
        "policy reachable",
        "A1 rescued: its policy does not let it go (reachable)",
    ]
    assert story.look("A")[-1] == "look ended"
    assert story.lives() == "A1 readable"
    story.look("")
    assert story.lives() == "A1 fencing"


def test_14_switched_to_observe_the_hold_changes_step_by_step() -> None:
    story = Story(delayed(EAGER, 60_000))
    for number in range(0, 60, 2):
        letter = chr(ord("A") + number // 2)
        if letter > "Z":
            break
        story.whole(f"s{number}>{letter}, s{number + 1}:{letter}!")
    lines = story.do(c.SetPolicy(OBSERVE_EAGER))
    assert len(lines) == 26
    assert lines[-1] == "more to sweep"
    assert story.tick() == ["Y1 held: observe", "Z1 held: observe", "swept"]


def test_14_a_service_that_cannot_delete_is_observed() -> None:
    story = Story(EAGER, Capabilities(deletes=False, why_not="push-based"))
    assert story.whole("s0>A, s1:A!")[-2:] == [
        "A1 expired: read by a stage that wrote, held: service cannot delete",
        "job 0 ended",
    ]


def test_17_grace_starts_again_with_use() -> None:
    story = Story(delayed(EAGER, 100))
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 expired"
    story.at(1_005)
    story.job("s2>A, s3:A!")
    story.submit("s3")
    story.at(1_006)
    assert story.complete("s3") == ["s3.0 completed", "A1 expired: read by a stage that wrote, held: grace until 1106"]
    assert story.tick(99) == []
    assert story.tick(1) == ["fence A1"]


def test_17_grace_begins_where_it_expires_however_long_it_lay_unused() -> None:
    story = Story(delayed(REACHABLE, 100))
    story.whole("s0>A, s1:A!")
    story.at(5_000)
    assert story.look("")[-1] == "A1 expired: in no live cut, held: grace until 5100"
    assert story.tick(99) == []
    assert story.tick(1) == ["fence A1"]


def test_18_the_budget_of_premature_deletions() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=1))
    story.whole("s0>A, s1:A!")
    story.whole("s2>B, s3:B!")
    story.whole("s4>D, s5:D!")
    story.delete_all()
    story.job("s6>A, s7:A!")
    assert story.submit("s6")[1] == "A1 missed by s6.0"
    story.complete("s6")
    assert story.run("s7")[-1] == "A2 expired: read by a stage that wrote, held: missed before"
    story.end(3)
    story.job("s8>B, s9:B!")
    assert story.submit("s8")[1:3] == ["B1 missed by s8.0", "suspended: premature deletions passed the budget"]
    story.complete("s8")
    story.run("s9")
    story.end(4)
    assert story.whole("s10>C, s11:C!")[-2:] == [
        "C1 expired: read by a stage that wrote, held: suspended",
        "job 5 ended",
    ]
    assert story.do(c.ResumeDeletion("me")) == [
        "resumed",
        "A2 held: missed before",
        "B2 held: missed before",
        "fence C1",
    ]
    assert story.state.meta.premature == 0


def test_18_spark_s_cleaner_forgets_what_was_missed() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.whole("s2>A, s3:A!")
    assert story.lives() == "A2 expired"
    assert story.state.shuffles[0].missed == 1
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert not story.state.shuffles
    assert not story.state.recovered
    assert not story.state.recoveries


def missed_once(policy: Policy) -> Story:
    """A1 was deleted under the policy and A2 written for who missed it."""
    story = Story(policy)
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.whole("s2>A, s3:A!")
    assert story.state.shuffles[0].missed == 1
    return story


def test_18_what_a_guess_has_missed_does_not_hold_what_a_proof_lets_go() -> None:
    story = missed_once(EAGER)
    assert story.lives() == "A2 expired"
    assert story.do(c.SetPolicy(REACHABLE))[-1] == "A2 rescued: its policy does not let it go (reachable)"
    assert story.look("A")[-1] == "look ended"
    assert story.look("")[-2:] == ["A2 expired: in no live cut", "fence A2"]


def test_18_what_a_guess_has_missed_holds_guesses_of_every_kind() -> None:
    for policy in (EAGER, PRESSURE):
        story = missed_once(EAGER)
        story.do(c.SetPolicy(policy))
        story.disk(95, 5)
        story.look("")
        story.tick(10_000)
        assert (story.lives(), story.state.generations[2].hold) == ("A2 expired", Hold.MISSED), policy


def test_18_what_a_proof_has_missed_holds_every_policy() -> None:
    story = missed_once(REACHABLE)
    assert story.look("")[-1] == "A2 expired: in no live cut, held: missed before"
    assert story.do(c.SetPolicy(EAGER)) == ["policy eager"]
    assert story.lives() == "A2 expired"


def test_18_a_fence_that_was_refused_as_a_guess_and_done_as_a_proof_was_a_proof() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.outcome(DirectiveKind.FENCE, c.Cannot("not now"))
    story.do(c.SetPolicy(REACHABLE))
    story.look("")
    story.delete_all()
    story.whole("s2>A, s3:A!")
    assert story.look("")[-1] == "A2 expired: in no live cut, held: missed before"


def test_18_indeterminate_is_not_guessed_about() -> None:
    story = Story(EAGER, levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 readable"
    story = Story(EAGER, settings=Settings(delete_indeterminate=True), levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 fencing"
    story = Story(levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.lives() == "A1 fencing"


def test_18_what_is_indeterminate_is_kept_under_strict_unless_the_user_says_so() -> None:
    """Its loss would fail a job that has delivered a part of its result: no look is worth that."""
    for allowed, life in ((False, "readable"), (True, "fencing")):
        settings = Settings(strict=True, delete_indeterminate=allowed)
        story = Story(settings=settings, levels={"A": Level.INDETERMINATE})
        story.whole("s0>A, s1:A!")
        story.look("")
        assert story.lives() == f"A1 {life}"


@pytest.mark.parametrize("policy", [EAGER, FRONTIER])
def test_18_what_is_indeterminate_and_was_never_whole_goes_as_anything_given_up_half_written(policy: Policy) -> None:
    """No result has read it, and its map stage begins anew in any case."""
    story = Story(policy, levels={"A": Level.INDETERMINATE})
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.end(succeeded=False) == ["job 0 failed", "A1 expired: given up half-written", "fence A1"]


def test_18_so_it_does_under_strict_once_a_look_has_missed_it() -> None:
    story = Story(settings=Settings(strict=True), levels={"A": Level.INDETERMINATE})
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.end(succeeded=False) == ["job 0 failed"]
    assert story.look("")[-2:] == ["A1 expired: given up half-written", "fence A1"]


def test_18_what_is_left_of_one_that_was_whole_is_not_guessed_about_either() -> None:
    story = Story(EAGER, levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    story.lose(A=3)
    assert story.lives() == "A1 partial"
