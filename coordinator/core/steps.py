"""What must hold of a step: one event, and the events of one command.

Responsible for what a state alone cannot show: that moves follow the table, that ids only grow, that nothing is fenced
which something reaches. Refuses to repair. Invariant: a log whose every event passes ``check_step`` never breaks a rule
that is about how things come about.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from coordinator.core import cuts, policies, pressure
from coordinator.core import events as e
from coordinator.core.desk import MOVES
from coordinator.core.ids import ShuffleId
from coordinator.core.invariants import Violation
from coordinator.core.lifecycle import TRANSITIONS, Life
from coordinator.core.state import Generation, State, is_answered
from coordinator.core.values import Deletion, Rule

#: Which lives follow which, whatever the turn.
FOLLOWS = frozenset((life, after) for (life, _), after in TRANSITIONS.items())

#: The events by which a sweep moves a generation. A fence that follows its expiry at once is one move with it.
_MOVES = (e.GenerationExpired, e.HoldChanged, e.ExpiryTakenBack, e.FenceRequested, e.GenerationDeleted)


def check_step(before: State, recorded: e.Recorded, after: State) -> tuple[Violation, ...]:
    """Everything that is wrong with one event, given the states before and after it."""
    about = _about(recorded)
    found = itertools.chain(_ids(before, after), _lives(before, recorded, after))
    return check_event(before, recorded) + tuple(Violation(rule, about, fact) for rule, fact in found)


def check_event(before: State, recorded: e.Recorded) -> tuple[Violation, ...]:
    """What is wrong with one event, as far as the state before shows it; costs little, so that `verify` can ask."""
    return check_order(before.meta.next_sequence, before.meta.time_ms, recorded) + check_alone(before, recorded)


def check_order(expected: int, time_ms: int, recorded: e.Recorded) -> tuple[Violation, ...]:
    """What is wrong with an event's place, where ``expected`` comes next and the one before it was at ``time_ms``."""
    if recorded.sequence == expected and recorded.time_ms >= time_ms and recorded.because <= recorded.sequence:
        return ()  # nearly always
    return tuple(Violation(rule, _about(recorded), fact) for rule, fact in _order(expected, time_ms, recorded))


def check_alone(before: State, recorded: e.Recorded) -> tuple[Violation, ...]:
    """What is wrong with one event wherever it stands; the counters of ``before`` may lag behind."""
    rule_of = _CHECKS.get(type(recorded.event))
    if rule_of is None:
        return ()
    return tuple(Violation(rule, _about(recorded), fact) for rule, fact in rule_of(before, recorded))


def _about(recorded: e.Recorded) -> str:
    return f"event {recorded.sequence} {type(recorded.event).__name__}"


def check_command(log: Sequence[e.Recorded]) -> tuple[Violation, ...]:
    """What is wrong with the events of one command taken together."""
    moved = Counter(r.event.shuffle_id for r in log if isinstance(r.event, _MOVES))
    if len(moved) > 2 * MOVES:  # its own fact may move as many again (``Desk.take_move``)
        return (Violation("10 bounded", f"event {log[0].sequence}", f"moves {len(moved)} generations, {MOVES} a step"),)
    return ()


Found = Iterator[tuple[str, str]]


def _order(expected: int, time_ms: int, recorded: e.Recorded) -> Found:
    if recorded.sequence != expected:
        yield "5 no fork", f"comes where {expected} was expected"
    if recorded.time_ms < time_ms:
        yield "5 no fork", f"is {time_ms - recorded.time_ms} ms earlier than the event before"
    if recorded.because > recorded.sequence:
        yield "11 explained", f"follows from {recorded.because}, which is later"


def _ids(before: State, after: State) -> Found:
    for name in ("next_shuffle_id", "next_directive", "next_recovery", "next_sequence"):
        if getattr(after.meta, name) < getattr(before.meta, name):
            yield "4 ids", f"takes {name} back"


def _lives(before: State, recorded: e.Recorded, after: State) -> Found:
    """Every life goes along the table; a record begins as writing, or as what was found, and goes only as gone."""
    for shuffle_id, was in before.generations.items():
        now = after.generations.get(shuffle_id)
        if now is None and not isinstance(recorded.event, (e.GenerationDeleted, e.GenerationLost)):
            yield "table", f"takes generation {shuffle_id} away, which was {was.life.value}"
        elif now is not None and now.life is not was.life and (was.life, now.life) not in FOLLOWS:
            yield "table", f"leads generation {shuffle_id} from {was.life.value} to {now.life.value}"


# --- single events ----------------------------------------------------------------------------------------------------


def _begun(before: State, recorded: e.Recorded) -> Found:
    if recorded.event.shuffle_id != before.meta.next_shuffle_id:  # type: ignore[union-attr]
        yield "4 ids", f"does not give out the next id, {before.meta.next_shuffle_id}"


def _fence_requested(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    generation = before.generations.get(event.shuffle_id)
    if event.directive != before.meta.next_directive:
        yield "4 ids", f"does not give out the next directive, {before.meta.next_directive}"
    if generation is None or generation.life is not Life.EXPIRED:
        yield "table", "fences what is not expired"
        return
    if generation.in_use:
        yield "2 readers", f"fences {event.shuffle_id}, which is in use"
    if generation.app_shuffle in cuts.of_jobs(before):
        yield "2 readers", f"fences {event.shuffle_id}, which a live job reaches"
    yield from _keeping(before, generation)


def _keeping(before: State, generation: Generation) -> Found:
    """What keeps it: a root that its rule counts, that no look has seen it, room on the disks, or a switch (14, 15)."""
    policy = policies.policy_of(before, generation)
    if generation.app_shuffle in cuts.of_roots(before, policies.counted(before, generation)):
        yield "14 roots", f"fences {generation.shuffle_id}, which a root reaches"
    if policy.rule is Rule.REACHABLE and not policies.is_seen(before, generation):
        yield "14 roots", f"fences {generation.shuffle_id}, at which no look has looked"
    if policy.rule is Rule.PRESSURE and pressure.fullest(before) is None:
        yield "15 pressure", f"fences {generation.shuffle_id} while no disk is above its low watermark"
    if policy.observe or before.meta.gap is not None or before.meta.suspended is not None:
        yield "14 roots", f"fences {generation.shuffle_id} while nothing may be deleted"


def _fenced(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    generation = before.generations.get(event.shuffle_id)
    if generation is None or generation.life is not Life.FENCING:
        yield "table", f"says that {event.shuffle_id} is fenced, whose fence was not asked for"


def _asked_of_the_driver(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    if event.directive != before.meta.next_directive:
        yield "4 ids", f"does not give out the next directive, {before.meta.next_directive}"


def _deleted(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    generation = before.generations.get(event.shuffle_id)
    if event.cause is Deletion.POLICY and (generation is None or generation.life is not Life.FENCED):
        yield "2 readers", f"deletes {event.shuffle_id}, which is not fenced"
    if event.cause is not Deletion.POLICY and event.bytes:
        yield "11 explained", "counts bytes that we have not freed"


def _recovery_opened(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    again = sorted(gone for gone in event.gone if is_answered(before, gone))
    if again:
        yield "3 one recovery", f"names {again}, for which another one answers"
    if event.missing not in event.gone:
        yield "3 one recovery", f"does not name {event.missing}, which was missed"
    if event.recovery != before.meta.next_recovery:
        yield "4 ids", f"does not give out the next recovery, {before.meta.next_recovery}"
    yield from _named(before, event.gone)
    yield from _beyond_bounds(before, event.gone)


def _named(before: State, gone: tuple[ShuffleId, ...]) -> Found:
    """What was half written goes with the step; what is whole and can be read is no loss."""
    there = (before.generations.get(shuffle_id) for shuffle_id in gone)
    for generation in there:
        if generation is not None and generation.complete and generation.life is not Life.FENCED:
            yield "3 one recovery", f"names {generation.shuffle_id}, which is {generation.life.value}"


def _beyond_bounds(before: State, gone: tuple[ShuffleId, ...]) -> Found:
    settings = before.meta.settings
    if before.meta.recoveries >= settings.recoveries:
        yield "8 bounded", f"is one more than {settings.recoveries}"
    for app_shuffle, shuffle in before.shuffles.items():
        if shuffle.current in gone and shuffle.recoveries >= settings.recoveries_per_shuffle:
            yield "8 bounded", f"is one more of app shuffle {app_shuffle} than {settings.recoveries_per_shuffle}"


def _widened(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    if is_answered(before, event.gone):
        yield "3 one recovery", f"names {event.gone}, for which another one answers"
    yield from _named(before, (event.gone,))


def _premature(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    if any(shuffle.missed == event.shuffle_id for shuffle in before.shuffles.values()):
        yield "11 explained", f"counts {event.shuffle_id} a second time"


def _registered(before: State, recorded: e.Recorded) -> Found:
    event: Any = recorded.event
    generation = before.generations.get(event.shuffle_id)
    if generation is None or generation.life in (Life.FENCED, Life.EXPIRED):
        yield "1 no wrong result", f"gives {event.reader} a generation that is gone or let go"


_CHECKS: dict[type, Callable[[State, e.Recorded], Found]] = {
    e.GenerationStarted: _begun,
    e.GenerationAdopted: _begun,
    e.FenceRequested: _fence_requested,
    e.GenerationFenced: _fenced,
    e.DeleteRequested: _asked_of_the_driver,
    e.InvalidateRequested: _asked_of_the_driver,
    e.GenerationDeleted: _deleted,
    e.RecoveryOpened: _recovery_opened,
    e.RecoveryWidened: _widened,
    e.PrematureDeletion: _premature,
    e.ReaderRegistered: _registered,
}
