"""The checker of finished logs finds nothing in a right one, and each kind of wrong by its rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import JobId, Sequence, ShuffleId
from coordinator.core.values import Policy, Rule, Suspension
from tests.support import logs
from tests.unit.replay.logs import Told, attempt, deleted_and_missed

FAILURE = "org.apache.spark.shuffle.MetadataFetchFailedException: Missing an output location for shuffle 0 partition 1"
Log = list[e.Recorded]


@pytest.fixture
def log() -> Log:
    told = deleted_and_missed()
    told.done(4)
    told.carried_out()
    return told.log


def numbered(events: list[e.Recorded]) -> Log:
    return [replace(recorded, sequence=Sequence(place)) for place, recorded in enumerate(events, 1)]


def without(log: Log, kind: type[object]) -> Log:
    return numbered([recorded for recorded in log if not isinstance(recorded.event, kind)])


def doubled(log: Log, kind: type[object]) -> Log:
    last = next(recorded for recorded in reversed(log) if isinstance(recorded.event, kind))
    return numbered([*log, last])


def falling_ids(log: Log) -> Log:
    first = next(recorded for recorded in log if isinstance(recorded.event, e.GenerationStarted))
    assert isinstance(first.event, e.GenerationStarted)
    return numbered([*log, replace(first, event=replace(first.event, shuffle_id=ShuffleId(0)))])


def adopted(log: Log, available: int) -> Log:
    """Its first writing was never told: what is there was found by a resync, so many outputs of 4."""
    first = next(recorded for recorded in log if isinstance(recorded.event, e.GenerationStarted))
    assert isinstance(first.event, e.GenerationStarted)
    found = e.GenerationAdopted(first.event.shuffle_id, first.event.app_shuffle, available, 4)
    return [replace(recorded, event=found) if recorded is first else recorded for recorded in log]


def failed(log: Log, stage: int) -> Log:
    end = replace(log[-1], event=e.StageCompleted(attempt(stage), FAILURE))
    return numbered([*log, end])


def from_a_cache(log: Log, stage: int) -> Log:
    begun = replace(log[-1], event=e.StageSubmitted(attempt(stage), cached=True))
    return failed([*log, begun], stage)


def test_a_right_log_has_nothing_wrong_in_it(log: Log) -> None:
    assert logs.deletions(log)
    assert logs.of(log, e.RecoveryOpened)
    assert logs.wrong(log) == []


@pytest.mark.parametrize(
    ("rule", "spoil"),
    [
        ("5: the log has a gap", lambda log: log[:3] + log[4:]),
        ("4: shuffle ids do not increase", falling_ids),
        ("7: fence", lambda log: doubled(log, e.GenerationFenced)),
        ("9: fence", lambda log: without(without(log, e.GenerationFenced), e.GenerationDeleted)),
        ("9: generation", lambda log: without(log, e.GenerationDeleted)),
        ("3: generation", lambda log: doubled(log, e.RecoveryOpened)),
        ("11: ", lambda log: without(log, e.RecoveryOpened)),
        ("11: ", lambda log: without(adopted(log, 4), e.RecoveryOpened)),
        ("2: stage 9.0 met missing data", lambda log: failed(log, 9)),
        ("unexpected", lambda log: numbered([*log, replace(log[-1], event=e.DeletionSuspended(Suspension.BUDGET))])),
    ],
)
def test_what_is_wrong_is_found_by_its_rule(log: Log, rule: str, spoil: Callable[[Log], Log]) -> None:
    found = logs.wrong(spoil(log))
    assert [wrong for wrong in found if wrong.startswith(rule)], found


def test_11_what_was_given_up_half_written_is_written_without_a_recovery() -> None:
    told = Told(policy=Policy(Rule.EAGER, observe=False))
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, failure="cancelled")
    told.say(c.ReportJobEnded(JobId(0), succeeded=False))
    told.carried_out()
    told.chain_job(1)
    told.stage(3, "map at chain.py:12", writes=0)
    assert len(logs.deletions(told.log)) == 1
    assert len(logs.of(told.log, e.GenerationStarted)) == 2
    assert logs.wrong(told.log) == []


def test_11_nor_what_was_adopted_as_a_part(log: Log) -> None:
    """Whoever wrote the rest of it was never told either."""
    never_whole = without(without(adopted(log, 3), e.RecoveryOpened), e.GenerationCompleted)
    assert logs.wrong(never_whole) == []


def test_a_registered_reader_that_misses_data_is_wrong_also_where_it_reads_a_cache(log: Log) -> None:
    known = logs.app_shuffles(log)
    registered = next(event for event in logs.of(log, e.ReaderRegistered) if known[event.shuffle_id] == 0)
    reads_both = replace(log[-1], event=replace(registered, reader=attempt(9)))
    found = logs.wrong(from_a_cache(numbered([*log, reads_both]), 9))
    assert [wrong for wrong in found if wrong.startswith("2: stage 9.0 met missing data")], found


def test_11_a_cache_that_goes_under_its_reader_is_a_loss_that_is_recovered(log: Log) -> None:
    assert logs.wrong(from_a_cache(log, 9)) == []
