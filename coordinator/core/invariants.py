"""What must always hold of one application's state as far as the core can say it.

Responsible for finding what is wrong in a state, in the changes of a commit and in a step. Refuses to repair, and to
know who made the mistake. Invariant: ``check`` of a state equals ``check`` of the state below its draft, where that was
free of violations, and ``check_changes`` of the draft.

Each check is about one record and what it refers to. What the whole design promises and one state cannot show (the log
never forks, snapshots equal replay, a driver reads nothing deleted) is proved where it lives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter, lt
from typing import Any

from coordinator.core.ids import AppShuffle, ShuffleId, within
from coordinator.core.lifecycle import Life
from coordinator.core.state import (
    DENIED,
    Attempt,
    Client,
    Directive,
    Generation,
    Meta,
    Recovery,
    Shuffle,
    State,
)
from coordinator.core.tracked import Replaced
from coordinator.core.values import UNCONFIRMED, DirectiveKind, Hold


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One thing that does not hold. ``rule`` names the invariant, ``subject`` the record."""

    rule: str
    subject: str
    fact: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.subject} {self.fact}"


def check(state: State) -> tuple[Violation, ...]:
    """Everything that is wrong in a state."""
    found = [_check(state, name, key) for name in CHECKS for key in getattr(state, name)]
    return _sorted([*_counters(state), *itertools.chain.from_iterable(found)])


def check_changes(changed: State, below: Meta, replaced: Replaced) -> tuple[Violation, ...]:
    """What is wrong in a state that follows one that was right: looks at what has changed, and at what refers to it.

    ``replaced`` is what was in its tables before, ``below`` the application's own record then.
    """
    if changed.meta is not below and _is_another(below, changed.meta):
        return check(changed)
    around = {place for place in replaced if place[0] in CHECKS}
    for (table, key), before in replaced.items():
        neighbours = _NEIGHBOURS.get(table)
        if neighbours is not None:
            around.update(neighbours(changed, key, before, getattr(changed, table).get(key)))
    found = [*_counters(changed)]
    for table, key in around:
        found += _check(changed, table, key)
    return _sorted(found) if found else ()


#: What all records are checked against, but for counters that only count on.
_firm = attrgetter("ending", "sweeping", "lost")
_counted = attrgetter("next_shuffle_id", "next_directive", "next_recovery")


def _is_another(below: Meta, above: Meta) -> bool:
    """Whether what all records are checked against has changed other than by counting on."""
    return _firm(below) != _firm(above) or any(map(lt, _counted(above), _counted(below)))


def _sorted(found: Iterable[Violation]) -> tuple[Violation, ...]:
    return tuple(sorted(set(found)))


def _check(state: State, table: str, key: Any) -> list[Violation]:
    record = getattr(state, table).get(key)
    if record is None:
        return []
    wrong = [told for check_one in CHECKS[table] for told in check_one(state, key, record)]
    return [Violation(rule, f"{table} {key}", fact) for rule, fact in wrong] if wrong else []


# --- whose checks look at what ---------------------------------------------------------------------------------------

Near = Iterable[tuple[str, Any]]


def _near_generation(state: State, key: Any, *records: Generation | None) -> Near:
    near: list[tuple[str, Any]] = []
    near += [("recoveries", number) for number, recovery in state.recoveries.items() if key in recovery.awaited]
    for record in records:
        if record is not None:
            near.append(("shuffles", record.app_shuffle))
            near += [("attempts", stage) for stage in record.readers | record.writers | record.retrying]
            if record.directive is not None:
                near.append(("directives", record.directive))
    return near


def _near_shuffle(state: State, key: Any, was: Shuffle | None, now: Shuffle | None) -> Near:
    """Its current generation; where it has forgotten that, older ones too: a directive is outstanding of each."""
    before, after = (record.current if record is not None else None for record in (was, now))
    near: list[tuple[str, Any]] = [("generations", current) for current in (before, after) if current is not None]
    if (after or 0) < (before or 0):
        outstanding = state.directives.values()
        near += [("generations", one.shuffle_id) for one in outstanding if one.app_shuffle == key]
    return near


def _near_attempt(state: State, key: Any, *records: Attempt | None) -> Near:
    used = (each for record in records if record is not None for each in (*record.reading, record.writing))
    return [("generations", shuffle_id) for shuffle_id in used if shuffle_id is not None]


def _near_directive(state: State, key: Any, *records: Directive | None) -> Near:
    return [("generations", record.shuffle_id) for record in records if record is not None]


def _near_recovery(state: State, key: Any, *records: Recovery | None) -> Near:
    return [("recovered", gone) for record in records if record is not None for gone, _ in record.gone]


def _near_recovered(state: State, key: Any, *records: Any) -> Near:
    return [("recoveries", number) for number, recovery in state.recoveries.items() if _names(recovery, key)]


#: By table: given a record's key, and what it was and is, the records whose checks look at it.
_NEIGHBOURS: dict[str, Callable[..., Near]] = {
    "generations": _near_generation,
    "shuffles": _near_shuffle,
    "attempts": _near_attempt,
    "directives": _near_directive,
    "recoveries": _near_recovery,
    "recovered": _near_recovered,
}


def _names(recovery: Recovery, shuffle_id: ShuffleId) -> bool:
    return any(gone == shuffle_id for gone, _ in recovery.gone)


Found = Iterator[tuple[str, str]]


def _counters(state: State) -> Iterator[Violation]:
    """What is wrong with the application's own record."""
    meta = state.meta
    if meta.ending is not None and (
        state.jobs or state.attempts or state.executions or state.directives or state.roots
    ):
        yield Violation("10 bounded", "meta", "has ended and jobs, attempts, executions, directives or roots are left")
    if meta.ending is not None and state.generations and not meta.sweeping:
        yield Violation("9 deleted in the end", "meta", "has ended and its generations wait for nobody")
    if any(span.last >= meta.next_shuffle_id for span in meta.lost):
        yield Violation("4 ids", "meta", "has lost a generation that was never written")


# --- generations ------------------------------------------------------------------------------------------------------


def _id_is_given(state: State, key: ShuffleId, generation: Generation) -> Found:
    if key != generation.shuffle_id or not 1 <= key < state.meta.next_shuffle_id:
        yield "4 ids", f"was never given out; the next one is {state.meta.next_shuffle_id}"
    if within(state.meta.lost, key):
        yield "4 ids", "is alive and lost"


def _life_fits(state: State, key: ShuffleId, generation: Generation) -> Found:
    life = generation.life
    if life in (Life.DELETED, Life.LOST):
        yield "table", f"is {life.value} and its record is still there"
    if life is Life.READABLE and not generation.complete:
        yield "1 no wrong result", "is readable and not complete"
    if life in (Life.WRITING, Life.PARTIAL) and generation.complete:
        yield "table", f"is {life.value} and complete"
    if life in (Life.EXPIRED, Life.FENCING, Life.FENCED) and generation.why is None:
        yield "11 explained", f"is {life.value} and nothing says why"


def _nobody_reads(state: State, key: ShuffleId, generation: Generation) -> Found:
    """A registered reader keeps its data: not expired, and never gone further than a fence whose outcome decides."""
    if generation.life is Life.EXPIRED and generation.in_use:
        yield "2 readers", "is expired and in use"
    if generation.life is Life.FENCED and generation.in_use:
        yield "2 readers", "is fenced and in use"


def _users_exist(state: State, key: ShuffleId, generation: Generation) -> Found:
    for stage in sorted(generation.readers | generation.retrying):
        attempt = state.attempts.get(stage)
        if attempt is None or key not in attempt.reading:
            yield "9 deleted in the end", f"is read by {stage}, whose end will never be told"
    for stage in sorted(generation.writers):
        attempt = state.attempts.get(stage)
        if attempt is None or attempt.writing != key:
            yield "9 deleted in the end", f"is written by {stage}, whose end will never be told"


def _waits_for_a_time(generation: Generation) -> bool:
    return generation.life is Life.EXPIRED and generation.hold in (Hold.GRACE, Hold.BACKOFF)


#: What is outstanding of a generation that is on its way out.
_OUTSTANDING = {Life.FENCING: DirectiveKind.FENCE, Life.FENCED: DirectiveKind.DELETE}


def _moves_on(state: State, key: ShuffleId, generation: Generation) -> Found:
    """Expired: a hold says what for. Fencing and fenced: a directive is outstanding."""
    if generation.life is Life.EXPIRED and generation.hold is Hold.NONE and not state.meta.sweeping:
        yield "9 deleted in the end", "is expired, and neither held nor fenced"
    if _waits_for_a_time(generation) and not generation.due_ms:
        yield "9 deleted in the end", f"is held ({generation.hold.value}) until a time that is not told"
    expected = _OUTSTANDING.get(generation.life) if state.meta.ending is None else None
    directive = state.directives.get(generation.directive) if generation.directive is not None else None
    if expected is not None and (directive is None or directive.kind is not expected or directive.shuffle_id != key):
        yield "9 deleted in the end", f"is {generation.life.value} and no {expected.value} directive is outstanding"
    if expected is None and generation.directive is not None:
        yield "7 directives", f"is {generation.life.value} and names directive {generation.directive}"


def _is_current(state: State, key: ShuffleId, generation: Generation) -> Found:
    """Only the current generation lives; an older one may still be on its way out, once fenced.

    While a sweep is under way, those of app shuffles that Spark has let go are, too.
    """
    if state.meta.sweeping:
        return
    shuffle = state.shuffles.get(generation.app_shuffle)
    if shuffle is None or shuffle.current is None or shuffle.current < key:
        yield "4 ids", f"is of app shuffle {generation.app_shuffle}, which does not know it"
    elif shuffle.current != key and generation.life is not Life.FENCED:
        yield "13 no mixing", f"is {generation.life.value} beside the later generation {shuffle.current}"


# --- other records ----------------------------------------------------------------------------------------------------


def _fate_is_known(state: State, key: AppShuffle, shuffle: Shuffle) -> Found:
    alive = shuffle.current in state.generations if shuffle.current is not None else False
    if shuffle.current is not None and alive == (shuffle.fate is not None):
        yield "11 explained", "has a fate and lives" if alive else "is gone and nothing says how"
    if shuffle.fate is Life.DELETED and shuffle.cause is None:
        yield "11 explained", "is deleted and nothing says why"
    if shuffle.missed is not None and shuffle.missed > (shuffle.current or 0):
        yield "4 ids", f"was missed as {shuffle.missed}, which was never written"


def _attempt_is_told(state: State, key: Any, attempt: Attempt) -> Found:
    generation = state.generations.get(attempt.writing) if attempt.writing is not None else None
    told = generation is None or generation.life is Life.FENCED or key in generation.writers
    if attempt.running and not told:
        yield "2 readers", f"writes {attempt.writing}, which does not know it"
    for shuffle_id in attempt.reading:
        read = state.generations.get(shuffle_id)
        if read is not None and read.life is not Life.FENCED and key not in read.readers | read.retrying:
            yield "2 readers", f"reads {shuffle_id}, which does not know it"


def _directive_is_wanted(state: State, key: Any, directive: Directive) -> Found:
    if key >= state.meta.next_directive:
        yield "4 ids", f"was never given out; the next one is {state.meta.next_directive}"
    generation = state.generations.get(directive.shuffle_id)
    if directive.kind is DirectiveKind.INVALIDATE:
        if generation is not None:
            yield "2 readers", f"invalidates {directive.shuffle_id}, which is alive"
    elif generation is None or generation.directive != key:
        yield "7 directives", f"is about {directive.shuffle_id}, which does not wait for it"


def _recovery_is_one(state: State, key: Any, recovery: Recovery) -> Found:
    if key >= state.meta.next_recovery:
        yield "4 ids", f"was never given out; the next one is {state.meta.next_recovery}"
    for gone, _ in recovery.gone:
        if state.recovered.get(gone) != key:
            yield "3 one recovery", f"answers for {gone}, and so does {state.recovered.get(gone)}"
    for awaited in recovery.awaited:
        generation = state.generations.get(awaited)
        if recovery.open and generation is not None and generation.life not in (Life.FENCING, Life.FENCED):
            yield "9 deleted in the end", f"awaits the fence of {awaited}, which is {generation.life.value}"


def _recovered_is_gone(state: State, key: ShuffleId, number: Any) -> Found:
    if number != DENIED and number >= state.meta.next_recovery:
        yield "3 one recovery", f"is answered for by {number}, which does not exist"


def _client_is_bounded(state: State, key: Any, client: Client) -> Found:
    if client.unconfirmed > UNCONFIRMED:
        yield "10 bounded", f"has {client.unconfirmed} unconfirmed answers"
    ends = [client.confirmed, *(number for span in client.answered for number in (span.first, span.last))]
    if any(later < earlier for earlier, later in pairwise(ends)):
        yield "4 ids", "has answers out of order"


CHECKS: dict[str, tuple[Callable[[State, Any, Any], Found], ...]] = {
    "generations": (_id_is_given, _life_fits, _nobody_reads, _users_exist, _moves_on, _is_current),
    "shuffles": (_fate_is_known,),
    "attempts": (_attempt_is_told,),
    "directives": (_directive_is_wanted,),
    "recoveries": (_recovery_is_one,),
    "recovered": (_recovered_is_gone,),
    "clients": (_client_is_bounded,),
}
