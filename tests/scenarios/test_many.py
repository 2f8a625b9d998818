"""One fact that concerns more than a segment holds: it is carried out in steps, and nothing is let go between two."""

from __future__ import annotations

from collections import Counter

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core import gaps
from coordinator.core.desk import MOVES
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, DirectiveId, JobId, ShuffleId, Span, StageId
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Rejection
from coordinator.core.values import Deletion, Driver, Expiry, Lineage, Outputs, Policy, Rule
from tests.property.witness import Witness
from tests.scenarios.further import found
from tests.scenarios.story import EAGER, REACHABLE, Story, attempt_of

MANY = 100
TWICE = 30  #: Of them, those that are written twice.
LAST = AppShuffle(MANY)  #: What a stage that reads all of the many writes.
READER = "s9000"


class Crowd:
    """One application in which one stage reads many shuffles."""

    def __init__(self, policy: Policy) -> None:
        self.witness = Witness()
        self.do(c.RegisterApplication(ApplicationId("app"), Driver(), policy=policy))
        many = tuple(AppShuffle(n) for n in range(MANY))
        lineage = (*(Lineage(one, maps=2) for one in many), Lineage(LAST, many, maps=2))
        self.do(c.ReportJobStarted(JobId(0), StageId(9001), (LAST,), None, (Span(0, 9001),), lineage))
        self.reader = c.ReportStageSubmitted(attempt_of(READER), many, LAST, 2)

    def do(self, command: c.Command) -> list[e.Event]:
        return [recorded.event for recorded in self.witness.do(command, 1_000)[1]]

    def write(self) -> None:
        for n in range(MANY):
            self.do(c.ReportStageSubmitted(attempt_of(f"s{n}"), (), AppShuffle(n), 2))
            self.do(c.ReportStageCompleted(attempt_of(f"s{n}")))

    def expire(self) -> None:
        """All are read by a stage that succeeds, and nobody needs them."""
        self.write()
        self.do(self.reader)
        self.do(c.ReportStageCompleted(attempt_of(READER)))
        self.rest()
        assert self.lives() == {Life.EXPIRED: MANY, Life.READABLE: 1}

    def rest(self) -> list[e.Event]:
        found: list[e.Event] = []
        while self.witness.state.meta.sweeping:
            found += self.do(c.Tick())
        return found

    def lives(self) -> Counter[Life]:
        return Counter(generation.life for generation in self.witness.state.generations.values())


def test_30_a_stage_with_a_hundred_expired_inputs_gets_them_all_back_and_is_registered_for_each() -> None:
    crowd = Crowd(Policy(Rule.EAGER, observe=True))
    crowd.expire()
    again = c.ReportStageSubmitted(attempt_of(READER + ".1"), crowd.reader.reads, LAST, 2)
    first = crowd.do(again)
    assert sum(isinstance(event, e.ExpiryTakenBack) for event in first) < MANY
    crowd.rest()
    assert crowd.lives() == {Life.READABLE: MANY, Life.WRITING: 1}
    read_by = [crowd.witness.state.generations[ShuffleId(n + 1)].readers for n in range(MANY)]
    assert read_by == [frozenset({again.stage})] * MANY


def test_30_a_recovery_rescues_a_hundred_expired_inputs_in_steps() -> None:
    crowd = Crowd(Policy(Rule.EAGER, observe=True))
    crowd.expire()
    crowd.do(c.ReportStageSubmitted(attempt_of("s9001"), (LAST,), None, 2))
    crowd.do(c.ReportOutputs((Outputs(LAST, 0, 2),)))
    crowd.do(c.ReportMissing(LAST, ShuffleId(0), attempt_of("s9001")))
    crowd.rest()
    assert crowd.lives() == {Life.READABLE: MANY}


def test_what_one_step_leaves_over_the_next_fact_of_the_same_commit_takes_up() -> None:
    crowd = Crowd(EAGER)
    crowd.write()
    crowd.do(crowd.reader)
    facts = (c.ReportStageCompleted(attempt_of(READER)), c.ReportExecutorLost("1"), c.ReportExecutorLost("2"))
    crowd.witness.answer([c.Request(ClientId("x"), 0, fact) for fact in facts], 1_000)
    assert crowd.lives()[Life.FENCING] == 3 * MOVES
    crowd.rest()
    assert crowd.lives() == {Life.FENCING: MANY, Life.READABLE: 1}


def test_a_shuffle_of_many_generations_is_cleaned_with_all_of_them() -> None:
    """It was fenced and, while facts were missed, written anew, again and again, and nothing was freed yet."""
    story = Story()
    story.whole("s0>A, s1:A!")
    for _ in range(TWICE):
        story.look("")
        story.fenced()
        story.do(c.Resync((), (), (), found(A=10)))
    assert len(story.state.generations) == TWICE + 1 > MOVES
    cleaned = story.do(c.ReportShuffleCleaned(AppShuffle(0)))
    assert cleaned.index("A cleaned") == MOVES
    assert cleaned[-1] == f"A{TWICE + 1} deleted: spark, 0 bytes"
    assert (story.lives(), story.state.directives) == ("", {})


def test_16_many_that_were_completed_unseen_are_not_given_up_by_the_resync() -> None:
    crowd = Crowd(EAGER)
    for n in range(MANY):
        crowd.do(c.ReportStageSubmitted(attempt_of(f"s{n}"), (), AppShuffle(n), 2))
    crowd.do(c.ReportGap(5, "bus"))
    told = tell_all(crowd, [Outputs(AppShuffle(n), 2, 2) for n in range(MANY)], c.Resync())
    assert crowd.lives() == {Life.READABLE: MANY}
    assert not any(isinstance(event, e.GenerationExpired) and event.why is Expiry.ABANDONED for event in told)


def test_a_coordinator_that_comes_late_adopts_all_that_is_there() -> None:
    crowd = Crowd(EAGER)
    crowd.do(c.ReportJobEnded(JobId(0)))
    crowd.do(c.ReportGap(0, "attach"))
    tell_all(crowd, [Outputs(AppShuffle(n), 2, 2) for n in range(MANY)], c.Resync())
    assert crowd.lives() == {Life.READABLE: MANY}


def test_16_a_resync_that_says_more_than_one_fact_may_change_is_refused_and_changes_nothing() -> None:
    crowd = Crowd(EAGER)
    crowd.do(c.ReportJobEnded(JobId(0)))
    crowd.do(c.ReportGap(0, "attach"))
    truth = c.Resync(outputs=tuple(Outputs(AppShuffle(n), 2, 2) for n in range(MANY)))
    answer, log = crowd.witness.do(truth, 1_000)
    assert isinstance(answer, Rejection)
    assert log == []
    assert "100 outputs, of which more than 24 differ" in str(answer)
    tell_all(crowd, list(truth.outputs), c.Resync())
    assert crowd.do(truth) == []
    assert crowd.lives() == {Life.READABLE: MANY}


def test_16_a_resync_may_say_as_much_as_one_fact_may_change_whatever_was_cleaned() -> None:
    """What is found comes first: nothing would remember it, as the sweep does what has been cleaned."""
    crowd = Crowd(Policy(Rule.FRONTIER, observe=False))
    crowd.write()
    crowd.do(c.ReportJobEnded(JobId(0)))
    crowd.do(c.ReportGap(5, "bus"))
    found = tuple(Outputs(AppShuffle(MANY + 1 + n), 2, 2) for n in range(MOVES))
    first = crowd.do(c.Resync(outputs=found))
    assert sum(isinstance(event, e.GenerationAdopted) for event in first) == MOVES
    crowd.rest()
    assert set(crowd.witness.state.shuffles) == {output.app_shuffle for output in found}


def test_16_many_stages_that_run_are_told_by_the_resync_and_after_it() -> None:
    crowd = Crowd(EAGER)
    stages = tuple(c.ReportStageSubmitted(attempt_of(f"s{n}"), (), AppShuffle(n), 2) for n in range(MANY))
    job = c.ReportJobStarted(JobId(0), StageId(9001), (LAST,), None, (Span(0, 9001),))
    crowd.do(c.ReportGap(5, "bus"))
    crowd.do(c.Resync(jobs=(job,), stages=stages))
    assert 0 < crowd.lives()[Life.WRITING] < MANY
    for stage in stages:
        crowd.do(stage)
    assert crowd.lives() == {Life.WRITING: MANY}


def test_16_many_that_spark_has_no_more_go_in_steps() -> None:
    crowd = Crowd(Policy(Rule.FRONTIER, observe=False))
    crowd.write()
    crowd.do(c.ReportJobEnded(JobId(0)))
    crowd.do(c.ReportGap(5, "bus"))
    first = crowd.do(c.Resync())
    assert sum(isinstance(event, e.ShuffleCleaned) for event in first) == MANY + 1
    assert 0 < sum(isinstance(event, e.GenerationDeleted) for event in first) < MANY
    rest = crowd.rest()
    assert {event.cause for event in rest if isinstance(event, e.GenerationDeleted)} == {Deletion.SPARK}
    assert (crowd.lives(), crowd.witness.state.shuffles) == (Counter(), {})


def test_16_many_of_two_generations_each_go_in_steps_too() -> None:
    """The first ones were fenced, and their data could not be deleted yet."""
    crowd = Crowd(EAGER)
    crowd.write()
    crowd.do(crowd.reader)
    crowd.do(c.ReportStageCompleted(attempt_of(READER)))
    crowd.rest()
    for outcome in (c.Fenced(), c.Failed("away")):
        for directive in sorted(crowd.witness.state.directives)[-TWICE:]:
            crowd.do(c.ReportOutcome(directive, outcome))
    for n in range(MANY - TWICE, MANY):
        crowd.do(c.ReportStageSubmitted(attempt_of(f"s{n}.1"), (), AppShuffle(n), 2))
        crowd.do(c.ReportStageCompleted(attempt_of(f"s{n}.1")))
    assert crowd.lives() == {Life.FENCED: TWICE, Life.FENCING: MANY - TWICE, Life.READABLE: TWICE + 1}
    crowd.do(c.ReportJobEnded(JobId(0)))
    for n in range(MANY - TWICE):
        crowd.do(c.ReportShuffleCleaned(AppShuffle(n)))
    crowd.do(c.ReportGap(5, "bus"))
    first = crowd.do(c.Resync())
    assert 0 < sum(isinstance(event, e.GenerationDeleted) for event in first) <= 2 * MOVES
    crowd.rest()
    assert (crowd.lives(), crowd.witness.state.shuffles) == (Counter(), {})


def test_16_whatever_life_they_were_in() -> None:
    crowd = Crowd(EAGER)
    crowd.write()
    crowd.do(crowd.reader)
    crowd.do(c.ReportStageCompleted(attempt_of(READER)))
    crowd.rest()
    crowd.do(c.ReportOutcome(DirectiveId(1), c.Fenced()))
    crowd.do(c.ReportJobEnded(JobId(0)))
    crowd.do(c.Resync())
    assert crowd.witness.state.meta.sweeping
    crowd.do(c.ReportOutcome(max(crowd.witness.state.directives), c.Fenced()))
    crowd.rest()
    assert (crowd.lives(), crowd.witness.state.directives) == (Counter(), {})


def test_16_of_more_that_spark_has_no_more_than_a_segment_holds_some_wait_for_the_next_resync(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gaps, "FORGOTTEN", 2)
    story = Story(EAGER)
    story.whole("s0>A, s1>B, s2>C, s3:A,B,C!")
    story.delete_all()
    story.whole("s4>D, s5:D.")
    assert story.do(c.Resync()) == ["D1 deleted: spark, 0 bytes", "D cleaned", "A cleaned", "B cleaned"]
    assert story.do(c.Resync()) == ["C cleaned"]
    assert story.do(c.Resync()) == []


def tell_all(crowd: Crowd, found: list[Outputs], resync: c.Resync) -> list[e.Event]:
    """What a bridge tells after a gap: what is there, in parts, then the whole truth."""
    told = [event for at in range(0, len(found), 20) for event in crowd.do(c.ReportOutputs(tuple(found[at : at + 20])))]
    whole = c.Resync(resync.jobs, resync.stages, resync.executions, tuple(found))
    return [*told, *crowd.do(whole), *crowd.rest()]


def test_16_a_look_that_began_before_a_gap_lets_nothing_go() -> None:
    story = Story(REACHABLE)
    story.whole("s0>A, s1:A!")
    story.begin_look()
    story.do(c.ReportGap(3, "bus"))
    story.do(c.Resync(outputs=(Outputs(AppShuffle(0), 10, 10),)))
    assert story.report("B") == ["root B needs +B", "look ended"]
    assert story.lives() == "A1 readable"
    story.look()
    assert story.lives() == "A1 fencing"


def test_16_a_look_that_ended_before_a_gap_is_taken_anew() -> None:
    story = Story(REACHABLE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.look()
    story.do(c.ReportGap(3, "bus"))
    story.do(c.Resync(outputs=(Outputs(AppShuffle(0), 10, 10),)))
    assert story.lives() == "A1 readable"
    story.look()
    assert story.lives() == "A1 fencing"
