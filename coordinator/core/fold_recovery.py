"""What events about missed generations mean.

Responsible for premature deletions, recoveries and mixed results. Refuses to judge (``evolve``). Invariant: a gone
generation names at most one recovery, the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, RecoveryId, ShuffleId
from coordinator.core.making import replace
from coordinator.core.state import DENIED, Recovery, State, edit


def _premature(state: State, at: e.Recorded, event: e.PrematureDeletion) -> None:
    state.meta = replace(state.meta, premature=state.meta.premature + (not event.after_loss))
    shuffle = _shuffle_of(state, event.shuffle_id)
    if shuffle is not None:
        edit(state.shuffles, shuffle, missed=event.shuffle_id)


def _shuffle_of(state: State, shuffle_id: ShuffleId) -> AppShuffle | None:
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        return generation.app_shuffle
    return next((a for a, shuffle in state.shuffles.items() if shuffle.current == shuffle_id), None)


def _recovery_opened(state: State, at: e.Recorded, event: e.RecoveryOpened) -> None:
    current = {shuffle.current: app_shuffle for app_shuffle, shuffle in state.shuffles.items()}
    gone = tuple((gone, current[gone]) for gone in event.gone if gone in current)
    state.recoveries[event.recovery] = Recovery(
        event.recovery, event.missing, gone, event.awaited, event.lineage_known, mixing=event.mixing, stage=event.stage
    )
    for shuffle_id, shuffle in gone:
        state.recovered[shuffle_id] = event.recovery
        edit(state.shuffles, shuffle, recoveries=state.shuffles[shuffle].recoveries + 1)
    for shuffle_id in event.mixing:
        state.recovered.setdefault(shuffle_id, event.recovery)
    following = RecoveryId(max(state.meta.next_recovery, event.recovery + 1))
    state.meta = replace(state.meta, next_recovery=following, recoveries=state.meta.recoveries + 1)


def _recovery_widened(state: State, at: e.Recorded, event: e.RecoveryWidened) -> None:
    recovery = state.recoveries.get(event.recovery)
    shuffle = _shuffle_of(state, event.gone)
    if recovery is None or shuffle is None or shuffle not in state.shuffles:
        return
    awaited = tuple(waited for waited in recovery.awaited if waited != event.gone)
    state.recoveries[event.recovery] = replace(recovery, gone=(*recovery.gone, (event.gone, shuffle)), awaited=awaited)
    state.recovered[event.gone] = event.recovery
    edit(state.shuffles, shuffle, recoveries=state.shuffles[shuffle].recoveries + 1)


def _recovery_joined(state: State, at: e.Recorded, event: e.RecoveryJoined) -> None:
    recovery = state.recoveries.get(event.recovery)
    if recovery is None:
        return
    gone, shuffle = recovery.gone, _shuffle_of(state, event.missing)
    if event.missing in recovery.mixing and shuffle is not None and (event.missing, shuffle) not in gone:
        gone = (*gone, (event.missing, shuffle))  # it is written anew, as the recovery had said
    state.recoveries[event.recovery] = replace(recovery, gone=gone, joined=recovery.joined + 1)


def _recovery_denied(state: State, at: e.Recorded, event: e.RecoveryDenied) -> None:
    state.recovered[event.missing] = DENIED


def _recovery_closed(state: State, at: e.Recorded, event: e.RecoveryClosed) -> None:
    edit(state.recoveries, event.recovery, open=False, awaited=())


def count_anew(state: State, proved: Iterable[AppShuffle]) -> None:
    """What was recovered has been read: the bounds on recoveries, also the application's, count from 0 again."""
    state.meta = replace(state.meta, recoveries=0)
    for app_shuffle in proved:
        edit(state.shuffles, app_shuffle, recoveries=0)
    _forget_proved(state)


def _forget_proved(state: State) -> None:
    """Forgets closed recoveries of which everything was read again and for which nobody may still ask."""
    asked = {shuffle.current for shuffle in state.shuffles.values()}
    asked.update(shuffle_id for attempt in state.attempts.values() for shuffle_id in attempt.reading)
    for recovery in [recovery for recovery in state.recoveries.values() if not recovery.open]:
        ids = [gone for gone, _ in recovery.gone]
        own = {one for one in (*ids, *recovery.mixing) if state.recovered.get(one) == recovery.recovery}
        is_proved = all(state.shuffles[named].recoveries == 0 for _, named in recovery.gone if named in state.shuffles)
        if is_proved and own.isdisjoint(asked):
            for gone in own:
                del state.recovered[gone]
            del state.recoveries[recovery.recovery]


def forget_app_shuffle(state: State, app_shuffle: AppShuffle) -> None:
    """Removes the app shuffle from every recovery, and a recovery that names nothing else."""
    for recovery in list(state.recoveries.values()):
        if any(named == app_shuffle for _, named in recovery.gone):
            for gone, named in recovery.gone:
                if named == app_shuffle:
                    state.recovered.pop(gone, None)
            left = tuple((gone, named) for gone, named in recovery.gone if named != app_shuffle)
            state.recoveries[recovery.recovery] = replace(recovery, gone=left)
            if not left:
                _forget_recovery(state, recovery)


def _forget_recovery(state: State, recovery: Recovery) -> None:
    """Removes the recovery, also as the answer for what it would have mixed."""
    for shuffle_id in recovery.mixing:
        if state.recovered.get(shuffle_id) == recovery.recovery:
            state.recovered.pop(shuffle_id, None)
    del state.recoveries[recovery.recovery]


def _nothing(state: State, at: e.Recorded, event: e.Event) -> None:
    """A fact that is kept for people; nothing follows from it."""


APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.PrematureDeletion: _premature,
    e.RecoveryOpened: _recovery_opened,
    e.RecoveryWidened: _recovery_widened,
    e.RecoveryJoined: _recovery_joined,
    e.RecoveryClosed: _recovery_closed,
    e.RecoveryDenied: _recovery_denied,
    e.GenerationsMixed: _nothing,
    e.ResultsMayDiffer: _nothing,
}
