"""More stories: bounds at their ends, clocks that stand still or jump, and pins that meet what goes its own way."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, ClientId
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Accepted, AlreadyConfirmed, Answer, NotReady, Rejection
from coordinator.core.values import DirectiveKind, Hold, Outputs, Settings
from tests.scenarios.further import FENCE, REMOTE
from tests.scenarios.story import EAGER, OBSERVE, REACHABLE, Story, attempt_of, delayed, shuffle

HOUR_MS = 3_600_000


# ---- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [Settings(recoveries_per_shuffle=0), Settings(recoveries=0)])
def test_39_where_nothing_is_to_be_recovered_the_map_stage_writes_all_the_same(settings: Settings) -> None:
    story = Story(EAGER, settings=settings)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert story.submit("s2") == [
        "s2.0 submitted",
        "A1 missed by s2.0",
        "A1 denied to s2.0: 0 of 0",
        "suspended: recovery keeps failing",
        "A2 begun by s2.0",
    ]
    assert story.read("A", "s3") == "not ready: being written"
    story.complete("s2")
    assert story.run("s3")[-1] == "A2 expired: read by a stage that wrote, held: suspended"


def test_39_a_bound_of_nothing_is_as_far_away_after_deletion_went_on() -> None:
    story = Story(EAGER, settings=Settings(recoveries=0))
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert story.read("A", "s3") == "exhausted"
    assert story.do(c.ResumeDeletion("me")) == ["resumed"]
    assert story.read("A", "s3") == "exhausted"
    assert story.teller.tell(story.log) == ["A1 denied to s3.0: 0 of 0", "suspended: recovery keeps failing"]


def test_18_a_budget_of_one_is_passed_by_the_second() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=1))
    story.whole("s0>A, s1:A!")
    story.whole("s2>B, s3:B!")
    story.delete_all()
    story.job("s4>A, s5>B, s6:A,B!")
    assert "suspended: premature deletions passed the budget" not in story.submit("s4")
    assert "suspended: premature deletions passed the budget" in story.submit("s5")


def test_39_what_waits_and_what_is_being_fenced_is_held_by_a_suspension_and_what_is_fenced_goes() -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=0))
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.whole("s2>B, s3:B!")
    story.whole("s4>C, s5:C!")
    story.outcome(FENCE, c.Fenced(100), story.outstanding(FENCE)[1])
    story.do(c.SetPolicy(delayed(EAGER, 1_000)))
    story.whole("s6>D, s7:D!")
    story.job("s8>A, s9:A!")
    assert story.submit("s8")[3:] == ["suspended: recovery keeps failing", "A2 begun by s8.0", "D1 held: suspended"]
    assert story.lives() == "B1 fencing, C1 fenced, D1 expired, A2 writing"
    assert story.outcome(FENCE, c.Busy(("s10",))) == ["B1 fence refused: busy, again at 1050", "B1 held: suspended"]
    assert story.freed() == ["C1 deleted: policy, 100 bytes"]
    assert story.tick(5_000) == []
    assert story.do(c.ResumeDeletion("me")) == ["resumed", "fence B1", "fence D1"]


def test_35_4096_answers_that_one_client_has_not_confirmed_hold_back_no_other() -> None:
    story = Story(EAGER)
    ours, others = ClientId("ours"), ClientId("others")
    for client in (ours, others):
        numbered(story, c.Request(client, 1, c.RegisterClient(client)))
    story.job("s0>A, s1:A!")
    question = c.GetShuffleId(shuffle("A"), attempt_of("s1"))
    answers = numbered(story, *(c.Request(ours, number, question) for number in range(2, 4_200)))
    assert [type(one) for one in answers] == [NotReady] * 4_095 + [Rejection] * 103
    assert isinstance(numbered(story, c.Request(others, 2, question))[0], NotReady)
    assert isinstance(numbered(story, c.Request(ours, 4_097, question))[0], Rejection)
    assert isinstance(numbered(story, c.Request(ours, 4_097, question, confirmed=1))[0], NotReady)


def test_35_what_was_never_answered_below_the_mark_is_never_carried_out() -> None:
    story = Story(EAGER)
    client = ClientId("ours")
    numbered(story, c.Request(client, 1, c.RegisterClient(client)))
    numbered(story, c.Request(client, 5, c.SetPolicy(OBSERVE)))
    late = c.Request(client, 4, c.SetPolicy(REACHABLE))
    answers = numbered(story, c.Request(client, 6, c.Tick(), confirmed=5), late)
    assert answers == [Accepted(), AlreadyConfirmed(4, 5)]
    assert story.state.meta.policy == OBSERVE


def numbered(story: Story, *requests: c.Request) -> list[Answer]:
    """The answers to requests of one commit."""
    return story.witness.answer(list(requests), story.now_ms)[0]


# ---- clocks ----------------------------------------------------------------------------------------------------------


def test_17_while_event_time_stands_still_no_grace_ends_and_any_later_fact_ends_it() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert [story.tick() for _ in range(3)] == [[], [], []]
    story.at(2_000)
    assert story.do(c.ReportExecutorLost("1")) == ["executor 1 lost", "fence A1"]


def test_17_a_clock_that_steps_back_by_an_hour_neither_ends_a_grace_nor_begins_it_anew() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.at(HOUR_MS + 1_000)
    assert story.whole("s0>A, s1:A!")[-2:-1] == [
        f"A1 expired: read by a stage that wrote, held: grace until {HOUR_MS + 2_000}"
    ]
    story.at(1_000)
    assert story.tick() == []
    assert story.do(c.ReportExecutorLost("1")) == ["executor 1 lost"]
    assert story.log[0].time_ms == HOUR_MS + 1_000
    story.at(HOUR_MS + 2_000)
    assert story.tick() == ["fence A1"]


def test_17_where_the_clock_jumps_beyond_a_grace_who_comes_with_the_jump_still_finds_it() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    story.at(HOUR_MS)
    assert story.job("s2>A, s3:A!") == ["job 1", "A1 rescued: a live job reaches it (job 1)"]
    assert story.run("s3")[-1] == f"A1 expired: read by a stage that wrote, held: grace until {HOUR_MS + 1_000}"


def test_17_what_a_look_finds_again_within_its_grace_has_the_whole_of_it_anew() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A.")
    assert story.look("")[-1] == "A1 expired: in no live cut, held: grace until 2000"
    story.at(1_900)
    assert story.look("A")[-1] == "A1 rescued: a root reaches it (held by a)"
    assert story.look("")[-1] == "A1 expired: in no live cut, held: grace until 2900"


# ---- pins ------------------------------------------------------------------------------------------------------------


def test_14_a_pin_on_what_is_partial_holds_it_when_nobody_needs_it_any_more() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=4)
    assert story.do(c.SetPin(shuffle("A"), "mine")) == ["A pinned"]
    story.end(succeeded=False)
    assert story.look("")[-1] == "A1 expired: given up half-written, held: pin"
    assert story.do(c.RemovePin(shuffle("A"))) == ["A unpinned", "fence A1"]


def test_15_a_pin_goes_with_the_shuffle_that_spark_cleans() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.do(c.SetPin(shuffle("A"), "mine"))
    story.run("s0", "s1")
    story.end()
    assert story.life("A1") == "expired"
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
    assert story.do(c.SetPin(shuffle("A"), "mine")) == []
    assert story.answered(story.last) == "not found"
    story.whole("s2>A, s3:A!")
    assert story.life("A2") == "fencing"


def test_14_a_pin_that_comes_between_two_steps_of_a_sweep_holds_what_the_next_step_would_have_fenced() -> None:
    story = Story(OBSERVE)
    there = tuple(Outputs(AppShuffle(number), 10, 10) for number in range(60))
    story.do(c.ReportGap(0, "attach"))
    for first in range(0, 60, 20):
        story.do(c.ReportOutputs(there[first : first + 20]))
    story.do(c.Resync(outputs=there))
    story.look("")
    while story.state.meta.sweeping:
        story.tick()
    story.do(c.SetPolicy(REACHABLE))
    assert story.state.meta.sweeping
    last = max(number for number in range(60) if story.state.current(AppShuffle(number)).life is Life.EXPIRED)
    story.do(c.SetPin(AppShuffle(last), "mine"))
    while story.state.meta.sweeping:
        story.tick()
    assert len(story.outstanding(DirectiveKind.FENCE)) == 59
    assert story.state.current(AppShuffle(last)).hold is Hold.PIN


def test_29_an_executor_takes_what_is_pinned_where_nothing_can_be_completed_and_the_next_one_is_pinned_too() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.do(c.SetPin(shuffle("A"), "mine"))
    story.run("s0")
    assert story.lose(A=5) == ["A1 lost: outputs gone"]
    assert story.run("s0.1")[1:3] == ["recovery 1 of A1", "A2 begun by s0.1 for recovery 1"]
    assert story.run("s1")[-1] == "A2 expired: read by a stage that wrote, held: pin"
