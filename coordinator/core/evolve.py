"""``evolve(state, event) -> state``: what each event means.

Responsible for applying events, one function an event (``fold_*``). Refuses to judge: it never refuses an event,
decides nothing and emits nothing; an event about something unknown leaves the state as it was. Invariant: the state
after a log is the same whether the log is folded at once, event by event, or from a snapshot on.

``apply`` writes into the state that it is given; ``fold`` owns its state; ``evolve`` is copy and apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from coordinator.core import events as e
from coordinator.core import fold_application, fold_generation, fold_recovery, fold_scheduler, fold_stages
from coordinator.core.ids import Sequence
from coordinator.core.making import altering
from coordinator.core.state import Meta, State, copy


def evolve(state: State, recorded: e.Recorded) -> State:
    """The state that follows; ``state`` stays as it is."""
    following = copy(state)
    apply(following, recorded)
    return following


def fold(state: State, log: Iterable[e.Recorded]) -> State:
    """Applies a log in place and gives the same state back. No rule reads the counters, so they are set at the end."""
    last: e.Recorded | None = None
    time_ms = state.meta.time_ms
    for last in log:
        time_ms = max(time_ms, last.time_ms)
        _APPLY[type(last.event)](state, last, last.event)
    if last is not None:
        count(state, last.sequence + 1, time_ms)
    return state


def apply(state: State, recorded: e.Recorded) -> None:
    """Applies one event in place."""
    time_ms = max(state.meta.time_ms, recorded.time_ms)
    apply_alone(state, recorded)
    count(state, recorded.sequence + 1, time_ms)


def apply_alone(state: State, recorded: e.Recorded) -> None:
    """Applies one event in place but for the counters, which whoever applies several sets at their end."""
    _APPLY[type(recorded.event)](state, recorded, recorded.event)


def count(state: State, next_sequence: int, time_ms: int) -> None:
    """Sets the counters: which event comes next, and when the last one was."""
    state.meta = _counted(state.meta, next_sequence=Sequence(next_sequence), time_ms=time_ms)


_counted = altering(Meta, "next_sequence", "time_ms")

_APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    **fold_application.APPLY,
    **fold_scheduler.APPLY,
    **fold_stages.APPLY,
    **fold_generation.APPLY,
    **fold_recovery.APPLY,
}
