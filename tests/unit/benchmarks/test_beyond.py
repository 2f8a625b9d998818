"""What is held after its last read is laid to who kept it, in order, until it is gone."""

from __future__ import annotations

import pytest

from benchmarks.beyond import Cause, beyond, needed_byte_seconds
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, LookId
from coordinator.core.values import Policy, RootKind, Rule
from coordinator.demo.ideal import needed_until
from tests.unit.replay.logs import Told

REACHABLE = Policy(Rule.REACHABLE, observe=False)
STEP_S = 0.01  # between two commands of a told log
FIRST_MB, SECOND_MB = 120, 60


def kept_by(kind: RootKind) -> Told:
    """App shuffle 0 is read once; a root holds it until the second look, and its files go when that was answered."""
    told = Told(policy=REACHABLE)
    told.whole_chain()
    root = c.ReportedRoot("o1", kind, (AppShuffle(0),), "`a` in chain.py:3")
    told.say(c.BeginLook(LookId(1)), c.ReportCut(LookId(1), roots=(root,)))
    told.say(c.BeginLook(LookId(2)), c.ReportCut(LookId(2), gone=("o1",)))
    told.carried_out()
    return told


def mb_seconds(told: Told) -> dict[Cause, float]:
    """Those that are not nothing."""
    return {cause: round(held / 1e6, 3) for cause, held in beyond(told.log, until(told)).items() if held}


def until(told: Told) -> dict[int, float]:
    """Of a driver whose facts are recorded at once."""
    ended = {x.event.stage: (0.0, float(x.time_ms)) for x in told.log if isinstance(x.event, e.StageCompleted)}
    return needed_until(told.log, ended)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (RootKind.HANDLE, Cause.PROGRAM),
        (RootKind.OBJECT, Cause.PROGRAM),
        (RootKind.PERSISTED, Cause.PERSISTED),
        (RootKind.STREAM, Cause.PERSISTED),
        (RootKind.PLAN, Cause.PLAN),
        (RootKind.ALGORITHM, Cause.ALGORITHM),
    ],
)
def test_each_time_is_laid_to_who_kept_it_then(kind: RootKind, cause: Cause) -> None:
    told = kept_by(kind)
    assert mb_seconds(told) == {
        Cause.UNKNOWN: FIRST_MB * 2 * STEP_S,  # until the first look was told
        cause: FIRST_MB * 2 * STEP_S,  # until the second one was
        Cause.GOING: FIRST_MB * 2 * STEP_S,  # fence and files
        Cause.JOB: SECOND_MB * 6 * STEP_S,  # the other one: nobody has read it, and its job runs
    }


def test_what_is_needed_is_not_held_beyond() -> None:
    told = Told(policy=REACHABLE)
    told.whole_chain()
    assert mb_seconds(told) == {}
    assert needed_byte_seconds(told.log, until(told)) == pytest.approx(FIRST_MB * 1e6 * 2 * STEP_S)
