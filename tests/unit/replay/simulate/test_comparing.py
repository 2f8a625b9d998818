"""A checker that finds nothing must be able to find something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core import policies
from coordinator.core.events import Recorded
from coordinator.core.ids import ShuffleId
from coordinator.core.state import Generation
from coordinator.core.values import Expiry, Rule
from coordinator.wire.logfile import read_log
from replay.simulate import decisions, facts_of, first_difference, simulate
from tests.golden import golden
from tests.scenarios.story import EAGER, Story, attempt_of, shuffle
from tests.support.simulated import check_as_recorded
from tests.unit.replay.logs import deleted_and_missed

LOGS = sorted(golden.HERE.glob("*.log"))


def test_a_log_that_was_decided_has_no_difference() -> None:
    check_as_recorded(deleted_and_missed().log)


def test_a_log_whose_driver_answered_nothing_is_simulated_as_recorded_too() -> None:
    """Nor is anything else in it that Spark's own logs would not hold."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.now_ms += 60_000
    story.job("s2>B, s3:B!", job=7)
    assert list(story.state.directives)
    check_as_recorded(story.witness.log)


def test_what_a_reader_misses_while_a_later_attempt_writes_is_decided_again() -> None:
    """Its task had asked before its attempt was told. What Spark says of outputs while writers run is not taken."""
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.do(c.ReportStageSubmitted(attempt_of("s0.0"), (), shuffle("A"), 10))
    story.do(c.GetShuffleId(shuffle("A"), attempt_of("s0.1"), write=True))
    story.do(c.ReportStageCompleted(attempt_of("s0.0"), shuffle_bytes_written=100))
    story.do(c.ReportStageSubmitted(attempt_of("s1.0"), (shuffle("A"),), None, 10))
    missed = story.do(c.ReportMissing(shuffle("A"), ShuffleId(0), attempt_of("s1.0")))
    assert missed == ["A1 partial, 9 of 10"]
    check_as_recorded(story.witness.log)


@pytest.mark.parametrize("kind", sorted({type(r.event) for r in decisions(deleted_and_missed().log)}, key=str))
def test_a_decision_that_was_not_taken_is_found(kind: type) -> None:
    """Every decision of the log, one at a time, is taken out of it; the simulation takes it all the same."""
    log = deleted_and_missed().log
    place = next(n for n, recorded in enumerate(log) if isinstance(recorded.event, kind))
    left = [*log[:place], *log[place + 1 :]]
    difference = first_difference(left, simulate(facts_of(left)).log)
    assert difference is not None
    assert difference.simulated is not None
    assert type(difference.simulated.event) is kind


def test_a_decision_that_was_taken_otherwise_is_found() -> None:
    log = deleted_and_missed().log
    place, at = next((n, r) for n, r in enumerate(log) if isinstance(r.event, e.GenerationExpired))
    assert isinstance(at.event, e.GenerationExpired)
    log[place] = replace(at, event=replace(at.event, why=Expiry.READ))
    difference = first_difference(log, simulate(facts_of(log)).log)
    assert difference is not None
    assert difference.recorded == log[place]
    assert "in no live cut" not in str(difference)
    assert str(Expiry.READ) in str(difference)


def test_a_rule_that_decides_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same log, another core: what the proof is there to catch."""
    log = deleted_and_missed().log

    def never(look: policies.View, generation: Generation) -> Expiry | None:
        return None

    monkeypatch.setitem(policies._RULES, Rule.FRONTIER, never)
    difference = first_difference(log, simulate(facts_of(log)).log)
    assert difference is not None
    assert isinstance(difference.recorded and difference.recorded.event, e.GenerationExpired)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_golden_log_is_read_and_its_first_difference_named(path: Any) -> None:
    """It holds every event once and was decided by nobody: it is read to its end, and nothing decides it again."""
    log = [recorded for segment in read_log(path.read_bytes()) for recorded in segment.records]
    facts = list(facts_of(log))
    assert len(facts) == len({recorded.because for recorded in log})
    assert first_difference(log, simulate(facts).log) is not None


def test_a_log_that_ends_early_says_so() -> None:
    log: list[Recorded] = deleted_and_missed().log
    difference = first_difference(log, simulate(facts_of(log)).log[:-1])
    assert difference is not None
    assert difference.simulated is None
    assert str(difference).endswith("simulated nothing more")


def test_what_is_a_decision() -> None:
    told = {type(recorded.event).__name__ for recorded in decisions(deleted_and_missed().log)}
    assert {"GenerationExpired", "FenceRequested", "DeleteRequested", "PrematureDeletion", "RecoveryOpened"} <= told
    assert told.isdisjoint({"JobStarted", "GenerationFenced", "StageSubmitted"})
