"""The one answer to a loss.

Responsible for opening a recovery, for joining it, for its bounds and for its end. Refuses to know what is needed to
write again what is gone (``planning``), who carries it out (Spark does) and how readers ask. Invariant: at most one
recovery a lost generation, whoever asks and however often.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.core import cuts, planning
from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, RecoveryId, ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.losses import lose
from coordinator.core.planning import Plan
from coordinator.core.state import DENIED, Attempt, Generation, Recovery, State
from coordinator.core.values import Deletion, Loss, Rescue, Suspension


def answer(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt | None, detail: str = "") -> Recovery | None:
    """The recovery of the app shuffle's gone generation, opened or joined. None: the bound is reached."""
    missing = desk.state.shuffles[app_shuffle].current
    assert missing is not None
    count_premature(desk, app_shuffle, attempt, detail)
    known = desk.state.recovered.get(missing)
    if known is None:
        return open_for(desk, app_shuffle, missing, attempt)
    return None if known == DENIED else join(desk, known, missing, attempt)


def join(desk: Desk, known: RecoveryId, missing: ShuffleId, attempt: StageAttempt | None) -> Recovery:
    """One more stage misses what the recovery answers for. Its own output, where it is half-written, is named too."""
    desk.emit(e.RecoveryJoined(known, missing, attempt))
    _widen_again(desk, known, missing, attempt)
    half = planning.half_written(desk.state, app_shuffle_of(desk.state, missing), attempt)
    if half is not None:
        if not _join_for(desk, half, attempt):
            desk.emit(e.RecoveryWidened(known, half.shuffle_id))
        lose(desk, half, Loss.INVALIDATED)
    return desk.state.recoveries[known]


def _widen_again(desk: Desk, known: RecoveryId, missing: ShuffleId, attempt: StageAttempt | None) -> None:
    """Has a recovery that was over name what has gone since, and is needed to write what it had named.

    Not where some output would then mix two generations, or the bound is reached: a recovery of its own answers for
    that.
    """
    state, app_shuffle = desk.state, app_shuffle_of(desk.state, missing)
    if app_shuffle is None or state.recoveries[known].open or state.shuffles[app_shuffle].current != missing:
        return
    plan = planning.needed_by(state, app_shuffle, attempt)
    settings = state.meta.settings
    mixes = not settings.declared_deterministic and planning.mixing(state, plan)
    if not mixes and plan.recoveries < settings.recoveries_per_shuffle:
        for gone in plan.gone:
            desk.emit(e.RecoveryWidened(known, gone))


def _join_for(desk: Desk, half: Generation, attempt: StageAttempt | None) -> bool:
    """Joins the recovery that names this half-written output already; answers whether there is one."""
    known = desk.state.recovered.get(half.shuffle_id, DENIED)
    if known != DENIED:
        desk.emit(e.RecoveryJoined(known, half.shuffle_id, attempt))
    return known != DENIED


def open_for(desk: Desk, app_shuffle: AppShuffle, missing: ShuffleId, attempt: StageAttempt | None) -> Recovery | None:
    """Opens the recovery of a generation that nobody has missed before. None: the bound is reached."""
    state = desk.state
    plan = planning.plan_for(state, app_shuffle, attempt)
    if _deny(desk, plan, missing, attempt):
        return None
    recovery = state.meta.next_recovery
    _open(desk, plan, missing, attempt)
    for rescued in plan.rescued:
        if desk.take_move_of(state.generations[rescued].app_shuffle):
            desk.emit(e.ExpiryTakenBack(rescued, Rescue.RECOVERY, f"recovery {recovery}"))
    if plan.half_written is not None:
        if plan.half_written.shuffle_id not in plan.gone:
            _join_for(desk, plan.half_written, attempt)
        lose(desk, plan.half_written, Loss.INVALIDATED)
    return desk.state.recoveries[recovery]


def _open(desk: Desk, plan: Plan, missing: ShuffleId, attempt: StageAttempt | None) -> None:
    meta = desk.state.meta
    mixing = () if meta.settings.declared_deterministic else planning.mixing(desk.state, plan)
    desk.emit(
        e.RecoveryOpened(
            meta.next_recovery,
            missing,
            attempt,
            tuple(plan.gone),
            tuple(plan.rescued),
            tuple(plan.awaited),
            mixing,
            plan.lineage_known,
        )
    )


def count_premature(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt | None, detail: str = "") -> None:
    """A stage that wants what we deleted was really submitted: counted once a generation.

    What was given up half-written and then deleted is missed by nobody: it would have been written in any case. And
    one lost executor may bring back all that lies behind: none of it was let go wrongly, so the budget does not pay.
    """
    shuffle = desk.state.shuffles[app_shuffle]
    generation = desk.state.current(app_shuffle)
    ours = generation is not None or (shuffle.fate is Life.DELETED and shuffle.cause is Deletion.POLICY)
    ours = ours and not was_never_whole(desk.state, app_shuffle)
    if shuffle.current is None or not ours or shuffle.missed == shuffle.current:
        return
    after_loss = cuts.is_behind_a_loss(desk.state, app_shuffle)
    desk.emit(e.PrematureDeletion(shuffle.current, attempt, detail, after_loss))
    meta = desk.state.meta
    if meta.premature > meta.settings.premature_budget and meta.suspended is None:
        desk.emit(e.DeletionSuspended(Suspension.BUDGET))


def was_never_whole(state: State, app_shuffle: AppShuffle) -> bool:
    """Its last generation was given up half-written, and fenced, deleted or lost: nobody has read it."""
    shuffle, generation = state.shuffles[app_shuffle], state.current(app_shuffle)
    if generation is not None:
        return generation.life is Life.FENCED and not generation.completed
    return shuffle.fate is not None and not shuffle.was_whole


def _deny(desk: Desk, plan: Plan, missing: ShuffleId, attempt: StageAttempt | None) -> bool:
    """Whether the bound is reached; then deletion is suspended and the job sees Spark's own failure.

    All that is gone counts: an input that is read to its end each time may be recovered again and again for the sake of
    an output that is lost again and again.
    """
    meta = desk.state.meta
    for count, limit in (
        (plan.recoveries, meta.settings.recoveries_per_shuffle),
        (meta.recoveries, meta.settings.recoveries),
    ):
        if count >= limit:
            desk.emit(e.RecoveryDenied(missing, count, limit, attempt))
            if meta.suspended is None:
                desk.emit(e.DeletionSuspended(Suspension.RECOVERIES))
            return True
    return False


def proved(state: State, attempt: Attempt) -> Iterable[AppShuffle]:
    """App shuffles that were recovered and that the attempt has now read to the end: a later loss is counted anew."""
    for shuffle_id in set(attempt.reading).difference(unread(state, attempt)):
        generation = state.generations.get(shuffle_id)
        if generation is not None and generation.complete and attempt.stage in generation.readers:
            shuffle = state.shuffles.get(generation.app_shuffle)
            if shuffle is not None and shuffle.current == shuffle_id and shuffle.recoveries:
                yield generation.app_shuffle


def unread(state: State, attempt: Attempt) -> Iterable[ShuffleId]:
    """Generations that a task of the attempt had asked for, and that it does not read, as its submission has told."""
    for shuffle_id in attempt.reading if attempt.submitted else ():
        generation = state.generations.get(shuffle_id)
        if generation is not None and generation.app_shuffle not in attempt.reads:
            yield shuffle_id


def app_shuffle_of(state: State, shuffle_id: ShuffleId) -> AppShuffle | None:
    """Whose generation it is, or was where a recovery remembers; None: nobody knows any more."""
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        return generation.app_shuffle
    known = state.recoveries.get(state.recovered.get(shuffle_id, DENIED))
    return next((named for gone, named in known.gone if gone == shuffle_id), None) if known is not None else None


def widen(desk: Desk, fenced: ShuffleId) -> None:
    """A recovery that awaited this generation's fence names it too."""
    waiting = [r for _, r in sorted(desk.state.recoveries.items()) if r.open and fenced in r.awaited]
    if waiting and fenced not in desk.state.recovered:
        desk.emit(e.RecoveryWidened(waiting[0].recovery, fenced))


def close_done(desk: Desk) -> None:
    """Closes the recoveries that have nothing left to wait for."""
    waiting = [recovery for _, recovery in sorted(desk.state.recoveries.items()) if recovery.open]
    if waiting:
        wanted = _wanted(desk.state)
        for recovery in waiting:
            if _is_done(desk.state, recovery, wanted):
                desk.emit(e.RecoveryClosed(recovery.recovery))


def _wanted(state: State) -> set[AppShuffle]:
    """The app shuffles that live jobs, or stages that run, may still read on their way down."""
    jobs = {start for job in state.jobs.values() for start in cuts.starts_of(job)}
    stages = {read for attempt in state.attempts.values() if attempt.running for read in attempt.reads}
    return cuts.reached(state, jobs | stages)


def _is_done(state: State, recovery: Recovery, wanted: set[AppShuffle]) -> bool:
    """Whether everything that it names is there again, or nobody wants it.

    It stays open for a stage whose job is not told yet, and for a fence that it awaits.
    """
    if recovery.stage is not None and state.meta.is_to_come(recovery.stage.stage):
        return False
    if any(_is_fencing(state, awaited) for awaited in recovery.awaited):
        return False
    mixing = (app_shuffle_of(state, shuffle_id) for shuffle_id in recovery.mixing if shuffle_id in state.generations)
    left = {shuffle for gone, shuffle in recovery.gone if not _is_back(state, gone, shuffle)}
    left |= {shuffle for shuffle in mixing if shuffle is not None and not _is_whole(state, shuffle)}
    return left.isdisjoint(wanted)


def _is_fencing(state: State, shuffle_id: ShuffleId) -> bool:
    generation = state.generations.get(shuffle_id)
    return generation is not None and generation.life is Life.FENCING


def _is_back(state: State, gone: ShuffleId, app_shuffle: AppShuffle) -> bool:
    """Whether a later generation was completed in its place; should that be gone too, it is a loss of its own."""
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle is None or (shuffle.current != gone and _is_whole(state, app_shuffle))


def _is_whole(state: State, app_shuffle: AppShuffle) -> bool:
    generation = state.current(app_shuffle)
    return generation is None or generation.complete
