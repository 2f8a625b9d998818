"""What the driver answers to directives.

Responsible for the outcome of each fence, deletion and invalidation, and for what follows at once. Refuses to know how
a shuffle service works. Invariant: an outcome counts once; a second one, or one of a directive that is no longer
outstanding, changes nothing.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core import recovery
from coordinator.core.desk import Desk
from coordinator.core.exhaustive import assert_never
from coordinator.core.ids import StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.losses import lose
from coordinator.core.state import Directive, Generation
from coordinator.core.values import CANNOT_LIMIT_MS, Deletion, DirectiveKind, Locator, Loss, Refusal, Rescue
from coordinator.core.writers import ask_to_write, begins_anew


def report_outcome(desk: Desk, command: c.ReportOutcome) -> None:
    """Takes up where the directive left off."""
    directive = desk.state.directives.get(command.directive)
    if directive is None:
        return
    if directive.kind is DirectiveKind.FENCE:
        _fence_answered(desk, directive, command.outcome)
    elif directive.kind is DirectiveKind.DELETE:
        _delete_answered(desk, directive, command.outcome)
    elif directive.kind is DirectiveKind.INVALIDATE:
        _invalidate_answered(desk, directive, command.outcome)
    else:
        assert_never(directive.kind)


# --- fence ------------------------------------------------------------------------------------------------------------


def _fence_answered(desk: Desk, directive: Directive, outcome: c.Outcome) -> None:
    generation = desk.state.generations.get(directive.shuffle_id)
    if generation is None or generation.life is not Life.FENCING:
        return
    if isinstance(outcome, c.Fenced):
        _fenced(desk, directive, generation, outcome)
    elif isinstance(outcome, c.Busy):
        _refused(desk, directive, generation, Refusal.BUSY, ", ".join(outcome.who))
    elif isinstance(outcome, c.Cannot):
        _refused(desk, directive, generation, Refusal.CANNOT, outcome.why)
    elif isinstance(outcome, c.Revoked):
        _refused(desk, directive, generation, Refusal.REVOKED, outcome.why)
    elif isinstance(outcome, c.Superseded):
        _superseded(desk, generation)
    elif isinstance(outcome, c.Failed):
        _refused(desk, directive, generation, Refusal.CANNOT, outcome.error)
    elif isinstance(outcome, c.Freed):
        _refused(desk, directive, generation, Refusal.CANNOT, "answered with Freed, which is no outcome of a fence")
    else:
        assert_never(outcome)


def _fenced(desk: Desk, directive: Directive, generation: Generation, outcome: c.Fenced) -> None:
    """Nobody reads it from here on; who asked meanwhile is told to recover, then the data go."""
    readers, writers = sorted(generation.readers), sorted(generation.writers)
    desk.emit(e.GenerationFenced(directive.directive, generation.shuffle_id, outcome.bytes, outcome.locator))
    recovery.widen(desk, generation.shuffle_id)
    for stage in readers:
        recovery.answer(desk, generation.app_shuffle, stage, "asked while it was being fenced")
    _begin_again(desk, generation, writers)
    _request_delete(desk, generation, outcome.locator)


def _superseded(desk: Desk, generation: Generation) -> None:
    """A later generation has its place: it is no more, and who has begun to write writes the later one."""
    writers = sorted(generation.writers)
    desk.emit(e.GenerationLost(generation.shuffle_id, Loss.OUTPUTS))
    recovery.widen(desk, generation.shuffle_id)
    _begin_again(desk, generation, writers)


def _begin_again(desk: Desk, generation: Generation, writers: list[StageAttempt]) -> None:
    for stage in writers:
        ask_to_write(desk, generation.app_shuffle, stage, missing_tasks=0)


def _request_delete(desk: Desk, generation: Generation, locator: Locator) -> None:
    desk.emit(e.DeleteRequested(desk.state.meta.next_directive, generation.shuffle_id, locator))


def _refused(desk: Desk, directive: Directive, generation: Generation, refusal: Refusal, detail: str) -> None:
    """Wanted by somebody we know: readable again. Else it stays expired, and is asked again after a pause."""
    pause_ms = _fence_pause_ms(desk, refusal, generation)
    keep = generation.in_use and generation.complete
    due_ms = 0 if keep else desk.now_ms + pause_ms
    desk.emit(e.FenceRefused(directive.directive, generation.shuffle_id, refusal, detail, keep, due_ms))
    _go_on(desk, generation)


def _fence_pause_ms(desk: Desk, refusal: Refusal, generation: Generation) -> int:
    """Doubles. Who is busy will be done soon. What cannot be done now may be possible in a moment or never.

    So it is asked again ever later, but never later than after as long again as it has been waiting.
    """
    settings = desk.state.meta.settings
    if refusal is not Refusal.CANNOT:
        return _doubled(settings.busy_retry_ms, generation.retries, settings.retry_limit_ms)
    waiting_ms = max(settings.retry_limit_ms, desk.now_ms - generation.expired_ms)
    return min(waiting_ms, _doubled(settings.retry_limit_ms, generation.retries, CANNOT_LIMIT_MS))


def _doubled(first_ms: int, times: int, limit_ms: int) -> int:
    return min(first_ms << min(times, 16), limit_ms)


def _go_on(desk: Desk, generation: Generation) -> None:
    """Who joined while it was being fenced goes on: writers complete it, or begin anew where that is their way."""
    writers = sorted(generation.writers)
    if writers and begins_anew(desk.state, generation.app_shuffle):
        lose(desk, generation, Loss.INVALIDATED)
        _begin_again(desk, generation, writers)
    elif _cannot_be_completed(desk, generation, writers):
        lose(desk, generation, Loss.OUTPUTS)
        _begin_again(desk, generation, writers)
    elif writers and generation.complete:
        maps = desk.state.shuffles[generation.app_shuffle].lineage.maps
        desk.emit(e.OutputsLost(generation.shuffle_id, 0, maps))
    elif generation.in_use and not generation.complete:
        why = Rescue.WRITER if writers else Rescue.READER
        desk.emit(e.ExpiryTakenBack(generation.shuffle_id, why, "asked while it was being fenced"))


def _cannot_be_completed(desk: Desk, generation: Generation, writers: list[StageAttempt]) -> bool:
    """Some of it went while it was being fenced, as was told, or as who joined to write it shows."""
    is_torn = generation.completed and (writers or not generation.complete)
    return bool(is_torn) and not desk.state.meta.capabilities.completes_after_loss


# --- delete and invalidate --------------------------------------------------------------------------------------------


def _delete_answered(desk: Desk, directive: Directive, outcome: c.Outcome) -> None:
    if isinstance(outcome, c.Freed):
        desk.emit(_deleted(directive, outcome.bytes, superseded=False))
    elif isinstance(outcome, c.Superseded):
        desk.emit(_deleted(directive, 0, superseded=True))
    else:
        _failed(desk, directive, _error(outcome))


def _deleted(directive: Directive, freed_bytes: int, superseded: bool) -> e.GenerationDeleted:
    return e.GenerationDeleted(
        directive.shuffle_id, Deletion.POLICY, freed_bytes, directive.directive, superseded=superseded
    )


def _invalidate_answered(desk: Desk, directive: Directive, outcome: c.Outcome) -> None:
    if isinstance(outcome, c.Freed):
        desk.emit(e.DataInvalidated(directive.directive, directive.shuffle_id, outcome.bytes))
    elif isinstance(outcome, (c.Superseded, c.Cannot)):
        desk.emit(e.DataInvalidated(directive.directive, directive.shuffle_id, 0))
    else:
        _failed(desk, directive, _error(outcome))


def _failed(desk: Desk, directive: Directive, error: str) -> None:
    pause_ms = _doubled(desk.state.meta.settings.delete_retry_ms, directive.failures, CANNOT_LIMIT_MS)
    desk.emit(e.DirectiveFailed(directive.directive, directive.shuffle_id, error, desk.now_ms + pause_ms))


def _error(outcome: c.Outcome) -> str:
    if isinstance(outcome, c.Failed):
        return outcome.error
    if isinstance(outcome, c.Busy):
        return "busy: " + ", ".join(outcome.who)
    if isinstance(outcome, (c.Cannot, c.Revoked)):
        return f"{type(outcome).__name__.lower()}: {outcome.why}"
    return f"answered with {type(outcome).__name__}, which is no outcome of this directive"
