"""A proof finds the first event that breaks what must hold, and finds nothing where all is well."""

from __future__ import annotations

from dataclasses import replace

from coordinator.core import events as e
from coordinator.core.digest import digest
from coordinator.core.evolve import fold
from coordinator.core.ids import ShuffleId
from coordinator.core.proving import Proof
from coordinator.core.state import empty
from tests.unit.replay.logs import Told, attempt, deleted_and_missed


def proved(log: list[e.Recorded]) -> Proof:
    proof = Proof()
    for recorded in log:
        assert proof.expected == recorded.sequence
        proof.take(recorded)
    proof.rest()
    return proof


def test_a_log_that_the_core_has_decided_breaks_nothing_and_folds_to_the_same_state() -> None:
    log = deleted_and_missed().log
    proof = proved(log)
    assert proof.broken == ()
    assert digest(proof.state) == digest(fold(empty(), log))


def test_the_event_is_named_after_which_it_did_not_hold_any_more() -> None:
    log = deleted_and_missed().log
    (expired,) = [i for i, one in enumerate(log) if isinstance(one.event, e.GenerationExpired)]
    spoilt = [*log]
    spoilt[expired] = replace(log[expired], event=e.WriterJoined(ShuffleId(1), attempt(9)))
    (broken,) = proved(spoilt).broken
    assert (broken.sequence, broken.kind, broken.violation.rule) == (15, "FenceRequested", "7 directives")
    assert "directives 1 is about 1, which does not wait for it" in str(broken) or broken.violation.subject


def test_what_is_broken_between_two_events_of_one_step_is_nobody_s_fault() -> None:
    """An expired generation without a fence is only so until the step's next event."""
    told = Told()
    told.whole_chain()
    ends = [one.sequence for one in told.log if isinstance(one.event, e.FenceRequested)]
    assert proved(told.log).broken == ()
    (broken,) = proved([one for one in told.log if one.sequence < ends[0]]).broken
    assert (broken.kind, broken.violation.fact) == ("GenerationExpired", "is expired, and neither held nor fenced")


def test_behind_the_first_break_the_log_is_still_folded() -> None:
    log = deleted_and_missed().log
    spoilt = [replace(one, event=e.LookBegan(0)) if isinstance(one.event, e.FenceRequested) else one for one in log]  # type: ignore[arg-type]
    proof = proved(spoilt)
    assert proof.broken[0].sequence == 14
    assert proof.expected == len(log) + 1
