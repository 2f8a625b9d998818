"""Who writes which generation.

Responsible for which generation a map stage's attempt begins, goes on with, or gives up for a new one. Refuses to know
transport and policy. Invariant: a generation that is gone on with is completed by data that fit what is there; what
would not fit begins a new one.
"""

from __future__ import annotations

from itertools import islice

from coordinator.core import events as e
from coordinator.core import recovery
from coordinator.core.answers import BEING_FENCED, not_ready
from coordinator.core.attempts import asks_no_more, comes_late, has_failed, is_past
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, JobId, RecoveryId, ShuffleId, StageAttempt
from coordinator.core.lifecycle import KEPT, Life
from coordinator.core.losses import lose
from coordinator.core.rejections import Answer, Ready, Reason, Rejection
from coordinator.core.state import DENIED, Attempt, Generation, Recovery, State
from coordinator.core.values import Level, Loss, Rescue

#: So many of the attempts that ever wrote a generation are remembered, since a loop may repair one output again and
#: again; more where an older one may still ask.
WRITERS = 256


def ask_to_write(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt, missing_tasks: int | None) -> Answer:
    """Answers a writer, and records what it begins, goes on with, or gives up.

    ``missing_tasks``: how many map tasks Spark has submitted with this attempt; None: a task asks, which does not know.
    """
    generation = desk.state.current(app_shuffle)
    shuffle = desk.state.shuffles.get(app_shuffle)
    if missing_tasks is None and _writes_another(desk.state, app_shuffle, attempt):
        return _not_its_own(app_shuffle, attempt, _own(desk.state, desk.state.attempts[attempt]))
    if missing_tasks is None and comes_late(desk.state, generation, attempt):
        return _write_late(desk, app_shuffle, attempt)
    if shuffle is None or shuffle.current is None:
        return _start(desk, app_shuffle, attempt, None)
    if generation is None or generation.life is Life.FENCED:
        found = _recovery_for(desk, app_shuffle, attempt)
        return _start(desk, app_shuffle, attempt, found.recovery if found else None)
    if generation.life is Life.FENCING:
        return _write_while_fencing(desk, generation, attempt, missing_tasks)
    return _write_on(desk, generation, attempt, missing_tasks)


def _write_while_fencing(
    desk: Desk, generation: Generation, attempt: StageAttempt, missing_tasks: int | None
) -> Answer:
    """Joins the generation: the outcome of the fence decides whether that is completed or another one begins."""
    known = generation.written_by if missing_tasks is None else generation.writers  # a resync may have ended it
    if attempt not in known:
        _join(desk, generation, attempt)
    return not_ready(desk, generation.shuffle_id, BEING_FENCED)


def _write_on(desk: Desk, generation: Generation, attempt: StageAttempt, missing_tasks: int | None) -> Answer:
    """The generation is there: the writer goes on with it, or gives it up for a new one."""
    if _has_its_place(generation, attempt, missing_tasks):
        if missing_tasks is not None and attempt not in generation.writers and generation.life in KEPT:
            _join(desk, generation, attempt)  # it had asked before its submission was told
        return Ready(generation.shuffle_id, generation.locator)
    if begins_anew(desk.state, generation.app_shuffle) or _would_mix(desk.state, generation, missing_tasks):
        return _replace(desk, generation, attempt, Loss.INVALIDATED)
    return _continue(desk, generation, attempt, missing_tasks)


def _has_its_place(generation: Generation, attempt: StageAttempt, missing_tasks: int | None) -> bool:
    """Whether the attempt is one of the generation's writers already, so that nothing begins.

    It is not where its submission is told now, a resync had ended it before, and the generation is complete or has
    expired since: then it writes again what was complete, or takes back what was to go.
    """
    goes_on = not generation.complete and generation.life is not Life.EXPIRED
    is_writing = missing_tasks is None or attempt in generation.writers or goes_on
    return is_writing and attempt in generation.written_by


def _write_late(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt) -> Answer:
    """Answers a task that has outlived its attempt: it goes on with what that had begun, and begins nothing."""
    generation = desk.state.current(app_shuffle)
    if (
        generation is not None
        and attempt in generation.written_by
        and generation.life not in (Life.FENCING, Life.FENCED)
    ):
        return Ready(generation.shuffle_id, generation.locator)
    shuffle_id = generation.shuffle_id if generation is not None else ShuffleId(0)
    if has_failed(desk.state, attempt) and not is_past(desk.state, attempt):
        return not_ready(desk, shuffle_id, f"stage {attempt} has failed: its next attempt writes")
    what = "over" if attempt.stage < desk.state.meta.next_stage else "far off"
    return not_ready(desk, shuffle_id, f"stage {attempt} is {what}: no live job lists it, or a later attempt writes")


def _recovery_for(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt) -> Recovery | None:
    """The recovery that this writer carries out, opened where nobody has asked before; None: there is none."""
    missing = desk.state.shuffles[app_shuffle].current
    assert missing is not None
    known = desk.state.recovered.get(missing)
    if known is None:
        never_whole = recovery.was_never_whole(desk.state, app_shuffle)
        return None if never_whole else recovery.answer(desk, app_shuffle, attempt)
    recovery.count_premature(desk, app_shuffle, attempt)
    return desk.state.recoveries.get(known)


def _start(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt, found: RecoveryId | None) -> Ready:
    shuffle_id = desk.state.meta.next_shuffle_id
    desk.emit(e.GenerationStarted(shuffle_id, app_shuffle, attempt, _job_of(desk.state, attempt), found))
    return Ready(shuffle_id)


def _job_of(state: State, attempt: StageAttempt) -> JobId | None:
    return min((job.job for job in state.jobs.values() if job.lists(attempt.stage)), default=None)


def begins_anew(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether every attempt writes other data than the one before."""
    lineage = state.shuffles[app_shuffle].lineage
    return lineage.barrier or lineage.level is Level.INDETERMINATE


def _would_mix(state: State, generation: Generation, missing_tasks: int | None) -> bool:
    """Whether completing this half-written generation would mix two generations of its input, as a recovery has said.

    And Spark does write all of it again, as the determinism level that its RDD was given makes it do.
    """
    known = state.recoveries.get(state.recovered.get(generation.shuffle_id, DENIED))
    maps = state.shuffles[generation.app_shuffle].lineage.maps
    named = known is not None and generation.shuffle_id in known.mixing and not generation.complete
    return named and (missing_tasks is None or missing_tasks >= maps)


def _replace(desk: Desk, old: Generation, attempt: StageAttempt, cause: Loss) -> Ready:
    """The old generation is lost and a new one begins; its recovery is joined, or opened for what was complete."""
    lose(desk, old, cause)
    has_recovery = old.completed or old.shuffle_id in desk.state.recovered
    found = recovery.answer(desk, old.app_shuffle, attempt) if has_recovery else None
    return _start(desk, old.app_shuffle, attempt, found.recovery if found else None)


def _continue(desk: Desk, generation: Generation, attempt: StageAttempt, missing_tasks: int | None) -> Answer:
    """A further attempt of a determinate stage completes the same generation.

    It begins another one where the service cannot complete a generation, or nothing is left of what was written.
    """
    maps = desk.state.shuffles[generation.app_shuffle].lineage.maps
    none_left = bool(maps) and missing_tasks is not None and missing_tasks >= maps
    if generation.completed and (none_left or not desk.state.meta.capabilities.completes_after_loss):
        return _replace(desk, generation, attempt, Loss.OUTPUTS)
    if generation.life is Life.EXPIRED:
        desk.emit(e.ExpiryTakenBack(generation.shuffle_id, Rescue.WRITER, f"stage {attempt}"))
    if generation.complete:
        left = max(0, maps - missing_tasks) if missing_tasks is not None else 0
        desk.emit(e.OutputsLost(generation.shuffle_id, left, maps))
    _join(desk, generation, attempt)
    return Ready(generation.shuffle_id, generation.locator)


def _join(desk: Desk, generation: Generation, attempt: StageAttempt) -> None:
    """Makes the attempt one of the generation's writers; of very many, the oldest are forgotten."""
    beyond = max(0, len(generation.written_by) + 1 - WRITERS)
    over = (writer for writer in sorted(generation.written_by) if asks_no_more(desk.state, writer)) if beyond else ()
    desk.emit(e.WriterJoined(generation.shuffle_id, attempt, tuple(islice(over, beyond))))


def _writes_another(state: State, app_shuffle: AppShuffle, attempt: StageAttempt) -> bool:
    """Whether the attempt is known to write another app shuffle, or none."""
    known = state.attempts.get(attempt)
    if known is None:
        return False
    own = _own(state, known)
    return own != app_shuffle and (known.submitted or own is not None)


def _own(state: State, attempt: Attempt) -> AppShuffle | None:
    """What the attempt writes: as its submission says, or, before that is told, as its tasks have asked."""
    asked = state.generations.get(attempt.writing) if attempt.writing is not None else None
    return attempt.writes if attempt.submitted or asked is None else asked.app_shuffle


def _not_its_own(app_shuffle: AppShuffle, attempt: StageAttempt, own: AppShuffle | None) -> Rejection:
    return Rejection(
        Reason.INVALID,
        f"stage {attempt} asks to write app shuffle {app_shuffle}",
        f"app shuffle {own}, which it writes" if own is not None else "nothing: it is no map stage",
        "A stage writes one app shuffle at the most; check the id.",
        app_shuffle,
    )
