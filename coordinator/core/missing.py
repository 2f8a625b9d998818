"""Reports that a generation is missing.

Responsible for which generation a report means, and whether it is a loss that nobody knew: the first report opens its
recovery, all others join it. Refuses to know what a recovery names (`recovery`). Invariant: a report of an earlier
generation leaves the present one untouched.
"""

from __future__ import annotations

from coordinator.core import events as e
from coordinator.core import recovery
from coordinator.core.answers import not_ready, recover, told, told_late, truth, unknown
from coordinator.core.attempts import is_past
from coordinator.core.commands import ReportMissing
from coordinator.core.desk import Desk
from coordinator.core.ids import ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.losses import lose
from coordinator.core.readers import ask_to_read
from coordinator.core.rejections import Answer, Reason, Rejection
from coordinator.core.state import Generation, State
from coordinator.core.values import Loss

_RUNS_AGAIN = "some of its outputs are gone; its map stage will run again"


def report_missing(desk: Desk, command: ReportMissing) -> Answer:
    """A reader did not find a generation: joins its recovery, or opens it.

    A report of an attempt that is past, or that missed an earlier generation, loses nothing: it is told what is so now.
    """
    state = desk.state
    missing = _missing(state, command)
    if isinstance(missing, Rejection):
        return missing
    if command.stage is not None and (is_past(state, command.stage) or _is_of_earlier(state, command, missing)):
        return truth(desk, command.app_shuffle, missing)
    if missing != state.shuffles[command.app_shuffle].current:
        return _report_older(desk, command, missing)
    return _report_current(desk, command)


def _is_of_earlier(state: State, command: ReportMissing, missing: ShuffleId) -> bool:
    """Whether the report names no generation, and comes of a failed attempt that never read the one it would mean.

    What it missed was an earlier one, which nobody remembers; what was written since then is there.
    """
    attempt = state.attempts.get(command.stage) if command.stage is not None else None
    return attempt is not None and not attempt.running and not command.shuffle_id and missing not in attempt.reading


def tell_again(desk: Desk, command: ReportMissing) -> Answer:
    """The report was taken once: what is so now, and nothing is lost a second time."""
    missing = _missing(desk.state, command)
    return missing if isinstance(missing, Rejection) else truth(desk, command.app_shuffle, missing)


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
        return told(recovery.join(desk, known, missing, command.stage), missing)
    if command.stage is None:
        return not_ready(desk, missing, "a later generation exists; ask for its id")
    return ask_to_read(desk, command.app_shuffle, command.stage)


def _report_current(desk: Desk, command: ReportMissing) -> Answer:
    """The current generation is reported: a loss that nobody knew is recorded, and a recovery where it takes one."""
    generation = desk.state.current(command.app_shuffle)
    if generation is None or generation.life is Life.FENCED:
        return recover(desk, command.app_shuffle, command.stage)
    if generation.life is Life.WRITING:
        return not_ready(desk, generation.shuffle_id, "being written; nobody can have missed it")
    if generation.life is Life.FENCING or _is_being_made_good(generation, command.stage):
        return _answer_reported(desk, generation, command)
    if not desk.state.meta.capabilities.completes_after_loss:
        lose(desk, generation, Loss.REPORTED)
        return recover(desk, command.app_shuffle, command.stage)
    if generation.complete:
        maps = desk.state.shuffles[command.app_shuffle].lineage.maps
        desk.emit(e.OutputsLost(generation.shuffle_id, max(0, maps - 1), maps))
    return not_ready(desk, generation.shuffle_id, _RUNS_AGAIN)


def _is_being_made_good(generation: Generation, attempt: StageAttempt | None) -> bool:
    """Whether the loss is known: a writer is repairing it, or has done so since the reporter met it."""
    if not generation.complete:
        return bool(generation.writers)
    return attempt in generation.missed_by


def _answer_reported(desk: Desk, generation: Generation, command: ReportMissing) -> Answer:
    """Its fence is under way, or the report is of a loss that is known: nothing new is lost."""
    if command.stage is not None and generation.life is Life.FENCING:
        return ask_to_read(desk, command.app_shuffle, command.stage)
    if not generation.complete and generation.life is not Life.FENCING:
        return not_ready(desk, generation.shuffle_id, _RUNS_AGAIN)
    return told_late(desk, generation)
