"""More stories: who has read what, and whose questions and reports count."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.events import Recorded, StageCompleted
from coordinator.core.evolve import evolve
from coordinator.core.ids import ClientId, ShuffleId
from coordinator.core.values import Policy
from tests.scenarios.further import REMOTE
from tests.scenarios.story import EAGER, FRONTIER, REACHABLE, Story, attempt_of, shuffle


@pytest.mark.parametrize("policy", [EAGER, FRONTIER], ids=lambda policy: policy.rule.value)
@pytest.mark.parametrize("is_early", [True, False], ids=["before its stage is told", "after"])
def test_a_stage_has_not_read_what_a_task_of_it_asked_for_by_mistake(policy: Policy, is_early: bool) -> None:
    story = Story(policy)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.end(0, succeeded=False)
    if is_early:
        assert story.read("A", "s2") == "ready A1"
    story.job("s2>B, s3:B!")
    story.submit("s2")
    assert story.read("A", "s2") == "ready A1"
    before = story.state.meta.next_sequence
    older = evolve(story.state, Recorded(before, story.now_ms, before, StageCompleted(attempt_of("s2"))))
    assert (older.generations[ShuffleId(1)].reads, older.generations[ShuffleId(1)].reader_wrote) == (1, True)
    assert story.complete("s2") == ["s2.0 completed", "B1 complete"]
    read = story.state.generations[ShuffleId(1)]
    assert (read.readers, read.reads, read.reader_wrote, read.last_read_by_map) == (frozenset(), 0, False, None)


def test_a_stage_of_unknown_reads_has_read_what_it_asked_for() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.read("A", "s1") == "ready A1"
    assert story.complete("s1")[0] == "s1.0 completed"
    assert story.state.generations[ShuffleId(1)].reads == 1


def test_what_was_recovered_is_not_proved_by_who_does_not_read_it() -> None:
    story = Story(REACHABLE, REMOTE)
    story.whole("s0>A, s1:A!")
    story.lose(A=0)
    story.job("s2>A, s3:A!")
    story.run("s2")
    story.job("s4>B, s5:B!")
    story.submit("s4")
    assert story.read("A", "s4") == "ready A2"
    assert story.complete("s4") == ["s4.0 completed", "B1 complete"]
    assert story.run("s3")[-1].endswith("s3.0 completed, recovered A")


@pytest.mark.parametrize("is_asked", [True, False], ids=["somebody asks as its next attempt", "nobody does"])
def test_who_asks_as_the_next_attempt_mutes_no_running_one(is_asked: bool) -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    if is_asked:
        assert story.read("A", "s1.1") == "ready A1"
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"


def test_a_report_that_is_sent_again_is_told_that_it_is_being_written() -> None:
    story, task = Story(EAGER), ClientId("task")
    story.job("s0>A, s1:A!")
    story.submit("s0")
    report = c.Request(task, 2, c.ReportMissing(shuffle("A"), ShuffleId(1), attempt_of("s1")))
    story.witness.answer([c.Request(task, 1, c.RegisterClient(task)), report], story.now_ms)
    (again,), _ = story.witness.answer([report], story.now_ms)
    assert story.answered(again) == "not ready: being written"


def test_an_attempt_that_has_failed_is_muted_by_who_asks_as_the_next_one() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    assert story.read("A", "s1.1") == "ready A1"
    assert story.miss("A1", "s1") == "ready A1"
    assert story.recoveries == 0


def test_an_attempt_is_muted_by_the_submission_of_the_next_one() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.submit("s1.1")
    assert story.miss("A1", "s1") == "ready A1"
    assert story.do(c.Tick()) == []
