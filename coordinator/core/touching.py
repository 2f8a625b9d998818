"""Which app shuffles an event may concern.

Responsible for naming, before and after each event, every app shuffle whose expiry may now be judged otherwise. Refuses
to judge it (``sweep`` does). Invariant: it names too many, never too few: evaluating only these decides what evaluating
everything would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from coordinator.core import cuts, policies
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import Attempt, State
from coordinator.core.values import Expiry

Touched = Iterable[AppShuffle]

#: These may concern everything: policies, switches, and what all disks together hold.
WIDE: frozenset[type] = frozenset(
    {
        e.ApplicationEnded,
        e.PolicyChanged,
        e.DeletionSuspended,
        e.DeletionResumed,
        e.GapRecorded,
        e.DiskReported,
    }
)


def touched(state: State, event: e.Event) -> Touched:
    """What the event concerns, as ``state`` has it; events that are not named here concern nothing, or are wide."""
    rule = _TOUCHED.get(type(event))
    return rule(state, event) if rule is not None else ()


def _around(state: State, app_shuffles: Iterable[AppShuffle]) -> Touched:
    """They themselves, and what a walk meets behind them: it stops there, or no longer does."""
    these = tuple(app_shuffles)
    return (*these, *cuts.reached(state, {read for one in these for read in _read_by(state, one)}))


def _read_by(state: State, app_shuffle: AppShuffle) -> Touched:
    """What its map stage reads, by its lineage; until that is told, what its map stage has read."""
    shuffle = state.shuffles.get(app_shuffle)
    is_untold = shuffle is not None and not shuffle.told
    return cuts.inputs_read(state, app_shuffle) if is_untold else cuts.reads_of(state, app_shuffle)


def _of_generation(state: State, event: Any) -> Touched:
    generation = state.generations.get(event.shuffle_id)
    return _around(state, (generation.app_shuffle,)) if generation is not None else ()


def _of_generation_alone(state: State, event: Any) -> Touched:
    """Where a walk stops is what it was, so nobody further behind is met, or no longer met, because of it."""
    generation = state.generations.get(event.shuffle_id)
    return _and_read(state, (generation.app_shuffle,)) if generation is not None else ()


def _of_deleted(state: State, event: e.GenerationDeleted) -> Touched:
    generation = state.generations.get(event.shuffle_id)
    was_gone = generation is not None and generation.life is Life.FENCED
    return (*(_of_generation_alone if was_gone else _of_generation)(state, event), *_let_go_by_a_full_disk(state))


def _let_go_by_a_full_disk(state: State) -> Touched:
    """What was freed may have been enough."""
    if not state.meta.disks:
        return ()
    return [generation.app_shuffle for generation in state.generations.values() if generation.why is Expiry.PRESSED]


def _and_read(state: State, app_shuffles: Iterable[AppShuffle]) -> Touched:
    """They themselves, and what their map stages read: whether that is behind something on disk depends on them."""
    these = tuple(app_shuffles)
    return (*these, *(read for one in these for read in _read_by(state, one)))


def _of_app_shuffle(state: State, event: Any) -> Touched:
    return (*_around(state, (event.app_shuffle,)), *_inputs_of_unknown(state, event.app_shuffle))


def _inputs_of_unknown(state: State, app_shuffle: AppShuffle) -> Touched:
    """Unknown, it counts as let go for whatever a map stage has made it from, whatever its lineage comes to say."""
    return () if app_shuffle in state.shuffles else cuts.inputs_read(state, app_shuffle)


def _of_cleaned(state: State, event: e.ShuffleCleaned) -> Touched:
    """No live job lists what lies behind it, nor is it part of a kind any more."""
    if state.meta.settings.lessons:
        return tuple(state.shuffles)
    return (*_of_app_shuffle(state, event), *_unfinished(state))


def _unfinished(state: State) -> set[AppShuffle]:
    """What is kept while a live job lists it, however far behind."""
    return {generation.app_shuffle for generation in state.generations.values() if not generation.complete}


def _of_lineage(state: State, event: e.LineageLearned) -> Touched:
    """Told anew it is another one: as if it had been cleaned."""
    app_shuffle = event.lineage.app_shuffle
    known = state.shuffles.get(app_shuffle)
    is_told = known is not None and known.told
    if state.meta.settings.lessons and (is_told or _is_made_from(state, app_shuffle)):
        return tuple(state.shuffles)  # whatever is made from it may be of another kind now
    more = _unfinished(state) if is_told else _inputs_of_unknown(state, app_shuffle)
    return (*_around(state, (app_shuffle,)), *more, *event.cut_off)


def _is_made_from(state: State, app_shuffle: AppShuffle) -> bool:
    return any(app_shuffle in shuffle.lineage.reads for shuffle in state.shuffles.values())


def _of_missed(state: State, event: e.PrematureDeletion) -> Touched:
    return [app_shuffle for app_shuffle, shuffle in state.shuffles.items() if shuffle.current == event.shuffle_id]


def _of_job_started(state: State, event: e.JobStarted) -> Touched:
    """Its cut; and what those used who asked early, for this job or for none."""
    job = state.jobs.get(event.job)
    early = {one for a in state.attempts.values() if not a.submitted for one in _used(state, a)}
    return early | cuts.reached(state, cuts.starts_of(job)) if job is not None else early


def _of_job_ended(state: State, event: e.JobEnded) -> Touched:
    """Its cut, what its attempts used and what nobody writes any more."""
    job = state.jobs.get(event.job)
    if job is None:
        return ()
    found = set(cuts.reached(state, cuts.starts_of(job)))
    found |= _unfinished(state)
    return found.union(*(_used(state, a) for a in state.attempts.values() if job.lists(a.stage.stage)))


def _of_submitted(state: State, event: e.StageSubmitted) -> Touched:
    """What it was taken for a writer of."""
    given_up = state.generations.get(event.gives_up) if event.gives_up is not None else None
    return _and_read(state, (given_up.app_shuffle,)) if given_up is not None else ()


def _of_stage(state: State, event: e.StageCompleted) -> Touched:
    """What attempts of this stage used; and the cut of the job that it finishes."""
    number = event.stage.stage
    found = {one for a in state.attempts.values() if a.stage.stage == number for one in _used(state, a)}
    finished = {start for job in state.jobs.values() if job.final_stage == number for start in cuts.starts_of(job)}
    return (*_and_read(state, found), *cuts.reached(state, finished))


def _used(state: State, attempt: Attempt) -> set[AppShuffle]:
    ids: tuple[ShuffleId | None, ...] = (*attempt.reading, attempt.writing)
    found = (state.generations.get(shuffle_id) for shuffle_id in ids if shuffle_id is not None)
    return {generation.app_shuffle for generation in found if generation is not None}


def _of_cut(state: State, event: e.CutReported) -> Touched:
    """What the root needs now or needed before; all of it where it has become a root of another kind."""
    known = state.roots.get(event.root)
    same = known.needs if known is not None and known.kind is not event.kind else ()
    return cuts.reached(state, {*event.added, *event.removed, *same})


def _of_root(state: State, event: e.RootGone) -> Touched:
    root = state.roots.get(event.root)
    return cuts.reached(state, root.needs) if root is not None else ()


def _of_look(state: State, _: e.LookEnded) -> Touched:
    """What no look had seen yet."""
    return policies.unseen(state)


def _of_execution(state: State, event: e.ExecutionEnded) -> Touched:
    """What it has written, or read last."""
    ended = event.execution
    return [
        one.app_shuffle
        for one in state.generations.values()
        if one.execution == ended or one.last_read_execution == ended
    ]


def _of_recovery(state: State, event: Any) -> Touched:
    recovery = state.recoveries.get(event.recovery)
    return cuts.reached(state, {named for _, named in recovery.gone}) if recovery is not None else ()


_TOUCHED: dict[type, Callable[[State, Any], Touched]] = {
    e.JobStarted: _of_job_started,
    e.JobEnded: _of_job_ended,
    e.StageSubmitted: _of_submitted,
    e.StageCompleted: _of_stage,
    e.LineageLearned: _of_lineage,
    e.PrematureDeletion: _of_missed,
    e.CutReported: _of_cut,
    e.RootGone: _of_root,
    e.LookEnded: _of_look,
    e.ExecutionEnded: _of_execution,
    e.RecoveryOpened: _of_recovery,
    e.RecoveryWidened: _of_recovery,
    e.RecoveryJoined: _of_recovery,
    e.RecoveryClosed: _of_recovery,
    **dict.fromkeys((e.PinSet, e.PinRemoved, e.GenerationStarted, e.GenerationAdopted), _of_app_shuffle),
    e.ShuffleCleaned: _of_cleaned,
    **dict.fromkeys(
        (e.GenerationCompleted, e.OutputsLost, e.GenerationLost, e.FenceRequested, e.FenceRefused), _of_generation
    ),
    **dict.fromkeys(
        (
            e.WriterJoined,
            e.ReaderRegistered,
            e.GenerationExpired,
            e.HoldChanged,
            e.ExpiryTakenBack,
            e.GenerationFenced,
        ),
        _of_generation_alone,
    ),
    e.GenerationDeleted: _of_deleted,
}
