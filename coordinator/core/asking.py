"""Who reads and who writes which generation.

Responsible for the answers to GetShuffleId and ReportMissing, and for the same registrations where the scheduler's
facts tell of them. Refuses to know transport and policy. Invariant: always an answer, and never an id of data that are
gone; and nobody is registered whose end will never be told.
"""

from __future__ import annotations

from heapq import nlargest
from itertools import islice

from coordinator.core import cuts, recovery
from coordinator.core import events as e
from coordinator.core.commands import GetShuffleId, ReportMissing
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, JobId, RecoveryId, ShuffleId, StageAttempt, within
from coordinator.core.lifecycle import Life
from coordinator.core.losses import lose
from coordinator.core.rejections import Answer, NotReady, Ready, Reason, Recover, Rejection
from coordinator.core.state import DENIED, Attempt, Generation, Recovery, State
from coordinator.core.values import Level, Loss, Rescue

_BEING_FENCED = "being fenced; its outcome decides"

#: Attempts that a generation remembers as its writers, as far as nothing follows any more from what the others ask.
WRITERS = 256


def get_shuffle_id(desk: Desk, command: GetShuffleId) -> Answer:
    """Registers the attempt as reader or writer and names its generation."""
    if command.write:
        return ask_to_write(desk, command.app_shuffle, command.stage, missing_tasks=None)
    return ask_to_read(desk, command.app_shuffle, command.stage)


# --- readers ----------------------------------------------------------------------------------------------------------


def ask_to_read(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt) -> Answer:
    """What a reader is told."""
    shuffle = desk.state.shuffles.get(app_shuffle)
    if shuffle is None:
        return unknown(desk.state, app_shuffle)
    if shuffle.current is None:
        return _not_ready(desk, ShuffleId(0), "announced and not yet written")
    generation = desk.state.generations.get(shuffle.current)
    if generation is None or generation.life is Life.FENCED:
        if _is_past(desk.state, stage):
            return _truth(desk, app_shuffle, shuffle.current)
        return _recover(desk, app_shuffle, stage)
    if not generation.complete:
        return _not_ready(desk, generation.shuffle_id, _unfinished(generation))
    if _is_over(desk.state, stage):
        return _told_late(desk, generation)
    _register(desk, generation, stage)
    if generation.life is Life.FENCING:
        return _not_ready(desk, generation.shuffle_id, _BEING_FENCED)
    return Ready(generation.shuffle_id, generation.locator)


def note_reader(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt) -> None:
    """The scheduler has submitted a reader: it counts, whatever state the generation is in."""
    generation = desk.state.current(app_shuffle)
    if generation is None or generation.life is Life.FENCED:
        ask_to_read(desk, app_shuffle, stage)
    elif generation.life is not Life.EXPIRED or desk.take_move_of(app_shuffle):
        _register(desk, generation, stage)


def _register(desk: Desk, generation: Generation, stage: StageAttempt) -> None:
    """Who reads is known from here on; what was to be let go is kept."""
    if generation.life is Life.EXPIRED:
        desk.emit(e.ExpiryTakenBack(generation.shuffle_id, Rescue.READER, f"stage {stage}"))
    if stage not in generation.readers:
        desk.emit(e.ReaderRegistered(generation.shuffle_id, stage))


def _is_over(state: State, stage: StageAttempt) -> bool:
    """A task that outlived its attempt asks. Where no live job lists the stage, none will: stage ids only grow.

    Nor is a stage waited for that lies far beyond all that were listed: it might never come, and would read for ever.
    """
    if stage in state.attempts:
        return False
    listing = [job for job in state.jobs.values() if job.lists(stage.stage)]
    if not listing:
        return not state.meta.is_to_come(stage.stage)
    return any(stage <= done for job in listing for done in job.done if done.stage == stage.stage)


def has_ended(state: State, stage: StageAttempt) -> bool:
    """Whether its submission is told late, or once more. A stage that no job was told to list may be one of a gap."""
    is_listed = any(job.lists(stage.stage) for job in state.jobs.values())
    return (is_listed or within(state.meta.stages_ended, stage.stage)) and _is_over(state, stage)


def _is_past(state: State, stage: StageAttempt) -> bool:
    """Over, or a later attempt has taken its place: what its tasks still ask begins and ends nothing.

    Who merely asks as a later attempt takes no place of one that runs.
    """
    known = state.attempts.get(stage)
    runs = known is not None and known.running
    later = (at for a, at in state.attempts.items() if a.stage == stage.stage and a > stage)
    return _is_over(state, stage) or any(at.submitted or not runs for at in later)


def _has_failed(state: State, stage: StageAttempt) -> bool:
    """It has ended badly, and no later attempt is known yet: what that reads it still holds, but it writes no more."""
    known = state.attempts.get(stage)
    return known is not None and known.submitted and not known.running


def _comes_late(state: State, generation: Generation | None, stage: StageAttempt) -> bool:
    """A writer that outlived its attempt. A later one has written what is whole: in a gap that may be all we know."""
    later = generation.written_by if generation is not None and generation.complete else frozenset()
    is_followed = any(one.stage == stage.stage and one > stage for one in later)
    return is_followed or _is_past(state, stage) or _has_failed(state, stage)


def _told_late(desk: Desk, generation: Generation) -> Answer:
    """The truth, for one whom nothing waits for."""
    if generation.life is Life.FENCING:
        return _not_ready(desk, generation.shuffle_id, _BEING_FENCED)
    return Ready(generation.shuffle_id, generation.locator)


def _unfinished(generation: Generation) -> str:
    return "being written" if generation.life is Life.WRITING else "some of its outputs are gone and not yet back"


def _not_ready(desk: Desk, shuffle_id: ShuffleId, why: str) -> NotReady:
    return NotReady(shuffle_id, why, desk.state.meta.settings.ask_again_ms)


def _recover(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt | None) -> Answer:
    missing = desk.state.shuffles[app_shuffle].current
    assert missing is not None
    found = recovery.answer(desk, app_shuffle, stage)
    return _told(found, missing) if found is not None else _given_up(desk.state, app_shuffle, missing)


def _told(found: Recovery, missing: ShuffleId) -> Recover:
    return Recover(found.recovery, missing, tuple(sorted({a for _, a in found.gone})), found.lineage_known)


def _given_up(state: State, app_shuffle: AppShuffle, missing: ShuffleId) -> Rejection:
    return Rejection(
        Reason.EXHAUSTED,
        f"generation {missing} of app shuffle {app_shuffle} is gone and its recoveries, or its output's, are used up",
        f"at most {state.meta.settings.recoveries_per_shuffle} recoveries of a shuffle until one is read to its end, "
        f"and {state.meta.settings.recoveries} of an application until one of any is",
        "Look with `shufflectl explain` at what destroys its data; deletion is suspended until `shufflectl resume`, "
        "which has recoveries counted anew.",
        app_shuffle,
    )


def unknown(state: State, app_shuffle: AppShuffle) -> Rejection:
    """Never heard of: says what was asked and what exists."""
    known = len(state.shuffles)
    newest = ", ".join(map(str, sorted(nlargest(20, state.shuffles))))
    shown = f"{newest} and {known - 20} older" if known > 20 else newest
    return Rejection(
        Reason.NOT_FOUND,
        f"app shuffle {app_shuffle} is not known in application {state.meta.application}",
        f"one of: {shown}" if known else "an app shuffle that a job has announced (none has been yet)",
        "Check the id; a shuffle that Spark's own cleaner has removed is unknown too.",
        app_shuffle,
    )


# --- writers ----------------------------------------------------------------------------------------------------------


_WRITABLE = frozenset({Life.WRITING, Life.PARTIAL, Life.READABLE})


def ask_to_write(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt, missing_tasks: int | None) -> Answer:
    """What a writer is told. ``missing_tasks``: how many the scheduler has submitted with it; None: it has not said."""
    generation = desk.state.current(app_shuffle)
    shuffle = desk.state.shuffles.get(app_shuffle)
    if missing_tasks is None and _writes_another(desk.state, app_shuffle, stage):
        return _not_its_own(app_shuffle, stage, _own(desk.state, desk.state.attempts[stage]))
    if missing_tasks is None and _comes_late(desk.state, generation, stage):
        return _write_late(desk, app_shuffle, stage)
    if shuffle is None or shuffle.current is None:
        return _start(desk, app_shuffle, stage, None)
    if generation is None or generation.life is Life.FENCED:
        found = _found(desk, app_shuffle, stage)
        return _start(desk, app_shuffle, stage, found.recovery if found else None)
    if generation.life is Life.FENCING:
        return _write_while_fencing(desk, generation, stage, missing_tasks)
    return _write_on(desk, generation, stage, missing_tasks)


def _write_while_fencing(desk: Desk, generation: Generation, stage: StageAttempt, missing_tasks: int | None) -> Answer:
    known = generation.written_by if missing_tasks is None else generation.writers  # a resync may have ended it
    if stage not in known:
        _join(desk, generation, stage)
    return _not_ready(desk, generation.shuffle_id, _BEING_FENCED)


def _write_on(desk: Desk, generation: Generation, stage: StageAttempt, missing_tasks: int | None) -> Answer:
    """Of a generation that is there: it is gone on with, or given up for a new one."""
    if _has_its_place(generation, stage, missing_tasks):
        if missing_tasks is not None and stage not in generation.writers and generation.life in _WRITABLE:
            _join(desk, generation, stage)  # it had asked before its submission was told
        return Ready(generation.shuffle_id, generation.locator)
    if begins_anew(desk.state, generation.app_shuffle) or _would_mix(desk.state, generation, missing_tasks):
        return _replace(desk, generation, stage, Loss.INVALIDATED)
    return _continue(desk, generation, stage, missing_tasks)


def _has_its_place(generation: Generation, stage: StageAttempt, missing_tasks: int | None) -> bool:
    """It has begun, or continued, this one. Who had asked early and was ended by a resync rewrites what is whole.

    And takes up what was let go since.
    """
    goes_on = not generation.complete and generation.life is not Life.EXPIRED
    asks_on = missing_tasks is None or stage in generation.writers or goes_on
    return asks_on and stage in generation.written_by


def _write_late(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt) -> Answer:
    """What a writer that outlived its attempt writes belongs to what it began; it begins nothing."""
    generation = desk.state.current(app_shuffle)
    if generation is not None and stage in generation.written_by and generation.life not in (Life.FENCING, Life.FENCED):
        return Ready(generation.shuffle_id, generation.locator)
    shuffle_id = generation.shuffle_id if generation is not None else ShuffleId(0)
    if _has_failed(desk.state, stage) and not _is_past(desk.state, stage):
        return _not_ready(desk, shuffle_id, f"stage {stage} has failed: its next attempt writes")
    what = "over" if stage.stage < desk.state.meta.next_stage else "far off"
    return _not_ready(desk, shuffle_id, f"stage {stage} is {what}: no live job lists it, or a later attempt writes")


def _found(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt) -> Recovery | None:
    """The recovery that this writer carries out; opened where nobody has asked before."""
    missing = desk.state.shuffles[app_shuffle].current
    assert missing is not None
    known = desk.state.recovered.get(missing)
    if known is None:
        never_whole = recovery.was_never_whole(desk.state, app_shuffle)
        return None if never_whole else recovery.answer(desk, app_shuffle, stage)
    recovery.count_premature(desk, app_shuffle, stage)
    return desk.state.recoveries.get(known)


def _start(desk: Desk, app_shuffle: AppShuffle, stage: StageAttempt, found: RecoveryId | None) -> Ready:
    shuffle_id = desk.state.meta.next_shuffle_id
    desk.emit(e.GenerationStarted(shuffle_id, app_shuffle, stage, _job_of(desk.state, stage), found))
    return Ready(shuffle_id)


def _job_of(state: State, stage: StageAttempt) -> JobId | None:
    return min((job.job for job in state.jobs.values() if job.lists(stage.stage)), default=None)


def begins_anew(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether every attempt writes other data than the one before."""
    lineage = state.shuffles[app_shuffle].lineage
    return lineage.barrier or lineage.level is Level.INDETERMINATE


def _would_mix(state: State, generation: Generation, missing_tasks: int | None) -> bool:
    """A recovery has named it, and Spark writes all of it again, as it was told to."""
    known = state.recoveries.get(state.recovered.get(generation.shuffle_id, DENIED))
    maps = state.shuffles[generation.app_shuffle].lineage.maps
    named = known is not None and generation.shuffle_id in known.mixing and not generation.complete
    return named and (missing_tasks is None or missing_tasks >= maps)


def _replace(desk: Desk, old: Generation, stage: StageAttempt, cause: Loss) -> Ready:
    """The old generation is lost and a new one begins; its recovery is joined, or opened for what was complete."""
    lose(desk, old, cause)
    has_recovery = old.completed or old.shuffle_id in desk.state.recovered
    found = recovery.answer(desk, old.app_shuffle, stage) if has_recovery else None
    return _start(desk, old.app_shuffle, stage, found.recovery if found else None)


def _continue(desk: Desk, generation: Generation, stage: StageAttempt, missing_tasks: int | None) -> Answer:
    """A further attempt of a determinate stage completes the generation, if it can be and something of it is left."""
    maps = desk.state.shuffles[generation.app_shuffle].lineage.maps
    none_left = bool(maps) and missing_tasks is not None and missing_tasks >= maps
    if generation.completed and (none_left or not desk.state.meta.capabilities.completes_after_loss):
        return _replace(desk, generation, stage, Loss.OUTPUTS)
    if generation.life is Life.EXPIRED:
        desk.emit(e.ExpiryTakenBack(generation.shuffle_id, Rescue.WRITER, f"stage {stage}"))
    if generation.complete:
        left = max(0, maps - missing_tasks) if missing_tasks is not None else 0
        desk.emit(e.OutputsLost(generation.shuffle_id, left, maps))
    _join(desk, generation, stage)
    return Ready(generation.shuffle_id, generation.locator)


def _join(desk: Desk, generation: Generation, stage: StageAttempt) -> None:
    """A loop repairs the same output again and again: of so many who ever wrote it, the oldest are forgotten."""
    beyond = max(0, len(generation.written_by) + 1 - WRITERS)
    over = (writer for writer in sorted(generation.written_by) if _asks_no_more(desk.state, writer)) if beyond else ()
    desk.emit(e.WriterJoined(generation.shuffle_id, stage, tuple(islice(over, beyond))))


def _asks_no_more(state: State, writer: StageAttempt) -> bool:
    """Nothing can follow from what it asks: it has ended, and no live job lists its stage."""
    return writer not in state.attempts and not any(job.lists(writer.stage) for job in state.jobs.values())


def _writes_another(state: State, app_shuffle: AppShuffle, stage: StageAttempt) -> bool:
    """Whether the stage is known to write something else, or nothing."""
    attempt = state.attempts.get(stage)
    if attempt is None:
        return False
    own = _own(state, attempt)
    return own != app_shuffle and (attempt.submitted or own is not None)


def _own(state: State, attempt: Attempt) -> AppShuffle | None:
    """What it writes: as its submission has told, else as it has asked."""
    asked = state.generations.get(attempt.writing) if attempt.writing is not None else None
    return attempt.writes if attempt.submitted or asked is None else asked.app_shuffle


def _not_its_own(app_shuffle: AppShuffle, stage: StageAttempt, own: AppShuffle | None) -> Rejection:
    return Rejection(
        Reason.INVALID,
        f"stage {stage} asks to write app shuffle {app_shuffle}",
        f"app shuffle {own}, which it writes" if own is not None else "nothing: it is no map stage",
        "A stage writes one app shuffle at the most; check the id.",
        app_shuffle,
    )


# --- losses -----------------------------------------------------------------------------------------------------------


_RUNS_AGAIN = "some of its outputs are gone; its map stage will run again"


def report_missing(desk: Desk, command: ReportMissing) -> Answer:
    """A reader did not find a generation: joins its recovery, or opens it."""
    state = desk.state
    missing = _missing(state, command)
    if isinstance(missing, Rejection):
        return missing
    if command.stage is not None and (_is_past(state, command.stage) or _is_of_earlier(state, command, missing)):
        return _truth(desk, command.app_shuffle, missing)
    if missing != state.shuffles[command.app_shuffle].current:
        return _report_older(desk, command, missing)
    return _report_current(desk, command)


def _is_of_earlier(state: State, command: ReportMissing, missing: ShuffleId) -> bool:
    """It failed over an earlier generation, which nobody remembers: what was written since it has not missed."""
    attempt = state.attempts.get(command.stage) if command.stage is not None else None
    return attempt is not None and not attempt.running and not command.shuffle_id and missing not in attempt.reading


def tell_again(desk: Desk, command: ReportMissing) -> Answer:
    """The report was taken once: what is so now, and nothing is lost a second time."""
    missing = _missing(desk.state, command)
    return missing if isinstance(missing, Rejection) else _truth(desk, command.app_shuffle, missing)


def _missing(state: State, command: ReportMissing) -> ShuffleId | Rejection:
    """The generation that is reported; refused where there was none."""
    shuffle = state.shuffles.get(command.app_shuffle)
    if shuffle is None:
        return unknown(state, command.app_shuffle)
    missing = command.shuffle_id or _registered(state, command) or shuffle.current
    if missing is None or missing > (shuffle.current or 0):
        return _never_written(state, command)
    if recovery.app_shuffle_of(state, missing) not in (None, command.app_shuffle):
        return _never_written(state, command)
    return missing


def _truth(desk: Desk, app_shuffle: AppShuffle, missing: ShuffleId) -> Answer:
    """What a reader would be told, for one whom nothing waits for: nothing follows from it."""
    state, generation = desk.state, desk.state.current(app_shuffle)
    if missing in state.recovered and cuts.is_gone(state.generations.get(missing)):
        found = state.recoveries.get(state.recovered[missing])
        return _told(found, missing) if found is not None else _given_up(state, app_shuffle, missing)
    if generation is None or generation.life is Life.FENCED:
        return _not_ready(desk, missing, "gone, and nobody who runs has missed it")
    if not generation.complete:
        return _not_ready(desk, generation.shuffle_id, _unfinished(generation))
    return _told_late(desk, generation)


def _registered(state: State, command: ReportMissing) -> ShuffleId | None:
    """The generation that the reporting attempt was given, where the report does not name one."""
    attempt = state.attempts.get(command.stage) if command.stage is not None else None
    for shuffle_id in reversed(attempt.reading if attempt is not None else ()):
        if recovery.app_shuffle_of(state, shuffle_id) == command.app_shuffle:
            return shuffle_id
    return None


def _never_written(state: State, command: ReportMissing) -> Rejection:
    current = state.shuffles[command.app_shuffle].current
    return Rejection(
        Reason.NOT_FOUND,
        f"generation {command.shuffle_id} of app shuffle {command.app_shuffle} was never written",
        f"at most {current}" if current is not None else "a generation; none has been written yet",
        "Report the shuffle id that GetShuffleId answered.",
        command.app_shuffle,
    )


def _report_older(desk: Desk, command: ReportMissing, missing: ShuffleId) -> Answer:
    """An earlier generation: its recovery answers, also long after; the current one stays untouched."""
    known = desk.state.recovered.get(missing)
    if known:
        return _told(recovery.join(desk, known, missing, command.stage), missing)
    if command.stage is None:
        return _not_ready(desk, missing, "a later generation exists; ask for its id")
    return ask_to_read(desk, command.app_shuffle, command.stage)


def _report_current(desk: Desk, command: ReportMissing) -> Answer:
    generation = desk.state.current(command.app_shuffle)
    if generation is None or generation.life is Life.FENCED:
        return _recover(desk, command.app_shuffle, command.stage)
    if generation.life is Life.WRITING:
        return _not_ready(desk, generation.shuffle_id, "being written; nobody can have missed it")
    if generation.life is Life.FENCING or _is_being_made_good(generation, command.stage):
        return _answer_reported(desk, generation, command)
    if not desk.state.meta.capabilities.completes_after_loss:
        lose(desk, generation, Loss.REPORTED)
        return _recover(desk, command.app_shuffle, command.stage)
    if generation.complete:
        maps = desk.state.shuffles[command.app_shuffle].lineage.maps
        desk.emit(e.OutputsLost(generation.shuffle_id, max(0, maps - 1), maps))
    return _not_ready(desk, generation.shuffle_id, _RUNS_AGAIN)


def _is_being_made_good(generation: Generation, stage: StageAttempt | None) -> bool:
    """The report is of a loss that is known: a writer is at it, whoever reports, or has made it good since."""
    if not generation.complete:
        return bool(generation.writers)
    return stage in generation.missed_by


def _answer_reported(desk: Desk, generation: Generation, command: ReportMissing) -> Answer:
    """Its fence is under way, or the report is of a loss that is known: nothing new is lost."""
    if command.stage is not None and generation.life is Life.FENCING:
        return ask_to_read(desk, command.app_shuffle, command.stage)
    if not generation.complete and generation.life is not Life.FENCING:
        return _not_ready(desk, generation.shuffle_id, _RUNS_AGAIN)
    return _told_late(desk, generation)
