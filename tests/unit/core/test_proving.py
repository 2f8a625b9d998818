"""A proof finds the first event that breaks what must hold, and finds nothing where all is well."""

from __future__ import annotations

from dataclasses import replace

from coordinator.core import events as e
from coordinator.core.digest import digest
from coordinator.core.evolve import fold
from coordinator.core.ids import DirectiveId, Sequence, ShuffleId
from coordinator.core.proving import Proof
from coordinator.core.state import empty
from coordinator.core.values import Expiry
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
    assert list(map(str, proved(spoilt).broken)) == [
        "event 15 (FenceRequested) breaks '7 directives': generations 1 is readable and names directive 1",
        "event 15 (FenceRequested) breaks 'table': event 15 FenceRequested fences what is not expired",
    ]


def test_a_fence_under_a_reader_is_found() -> None:
    told = Told()
    told.whole_chain()
    read = next(one for one in told.log if isinstance(one.event, e.ReaderRegistered))
    shuffle_id = read.event.shuffle_id  # type: ignore[union-attr]
    begun = Sequence(read.sequence + 1)
    spoilt: list[e.Event] = [
        e.GenerationExpired(shuffle_id, Expiry.UNREACHABLE),
        e.FenceRequested(DirectiveId(1), shuffle_id),
    ]
    step = [replace(read, sequence=Sequence(begun + n), because=begun, event=event) for n, event in enumerate(spoilt)]
    broken = proved([*told.log[: read.sequence], *step]).broken
    assert {(one.kind, one.violation.rule) for one in broken} >= {("FenceRequested", "2 readers")}
    assert any("fences 1, which is in use" in str(one) for one in broken)


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
