"""What events about the life of a generation mean.

Responsible for the moves along the table, for the directives that go with them, and for tombstones. Refuses to judge
(``evolve``). Invariant: a life changes only as the table says; what the table does not allow leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator.core import disks
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, DirectiveId, Sequence, ShuffleId, Span, StageAttempt, add_span
from coordinator.core.lifecycle import Life, Turn, after
from coordinator.core.making import altering, maker, replace
from coordinator.core.state import DENIED, Attempt, Directive, Generation, Meta, Shuffle, State, edit, given_to
from coordinator.core.values import Deletion, DirectiveKind, Hold, Lineage, Loss

#: What every generation is before anything is known of it.
_BLANK = Generation(ShuffleId(0), AppShuffle(0))

# What nearly every job alters, named by what has become of the record.
_counted = altering(Meta, "next_shuffle_id")
_numbered = altering(Meta, "next_directive")
_freed = altering(Meta, "bytes_freed")
_succeeded = altering(Shuffle, "current", "fate", "cause", "loss", "bytes", "was_whole")
_buried = altering(Shuffle, "fate", "cause", "loss", "bytes", "was_whole")
_begun = altering(Generation, "shuffle_id", "app_shuffle", "started_ms", "used_ms", "job", "writers", "written_by")
_read = altering(Generation, "readers", "used_ms")
_directed = altering(Generation, "directive")
_whole = altering(Generation, "life", "complete", "bytes", "whole_bytes", "completed", "used_ms")
_let_go = altering(Generation, "life", "why", "expired_ms", "hold", "due_ms", "retries")
_fencing = altering(Generation, "life", "directive", "hold")
_fenced_off = altering(Generation, "life", "directive", "bytes", "locator", "readers", "writers", "retrying")
_writing = altering(Attempt, "writing")
_reading = altering(Attempt, "reading")
_moved = altering(Generation, "life")
_guessed = altering(Shuffle, "guess")
_asked = maker(Directive)


def _turn(
    state: State, shuffle_id: ShuffleId, turn: Turn, alter: Callable[..., Generation] = replace, **fields: Any
) -> Generation | None:
    """Moves the generation along the table, with other fields of it; None where there is no such record.

    ``alter``: as `replace`, for exactly these fields.
    """
    generation = state.generations.get(shuffle_id)
    if generation is None:
        return None
    moved = alter(generation, life=after(generation.life, turn), **fields)
    state.generations[shuffle_id] = moved
    return moved


def _bury(
    state: State, generation: Generation, life: Life, cause: Deletion | None = None, loss: Loss | None = None
) -> None:
    """Takes the record away; the app shuffle remembers how its current generation ended."""
    state.generations.pop(generation.shuffle_id, None)
    shuffle = state.shuffles.get(generation.app_shuffle)
    if shuffle is not None and shuffle.current == generation.shuffle_id:
        whole = generation.completed > 0
        gone = _buried(shuffle, fate=life, cause=cause, loss=loss, bytes=generation.bytes, was_whole=whole)
        state.shuffles[generation.app_shuffle] = gone
    if life is Life.LOST:
        lost = add_span(state.meta.lost, Span(generation.shuffle_id, generation.shuffle_id))
        state.meta = replace(state.meta, lost=lost)
    if generation.directive is not None and life is Life.LOST:
        state.directives.pop(generation.directive, None)


def _count_shuffle_id(state: State, given: ShuffleId) -> None:
    state.meta = _counted(state.meta, next_shuffle_id=ShuffleId(max(state.meta.next_shuffle_id, given + 1)))


def _begin(state: State, app_shuffle: AppShuffle, shuffle_id: ShuffleId) -> None:
    """The app shuffle has another generation from here on; nobody asks again for one whose recovery was denied."""
    shuffle = state.shuffles.get(app_shuffle) or Shuffle(Lineage(app_shuffle))
    if shuffle.current is not None and state.recovered.get(shuffle.current) == DENIED:
        state.recovered.pop(shuffle.current, None)
    state.shuffles[app_shuffle] = _succeeded(
        shuffle, current=shuffle_id, fate=None, cause=None, loss=None, bytes=0, was_whole=False
    )


def _generation_started(state: State, at: e.Recorded, event: e.GenerationStarted) -> None:
    _count_shuffle_id(state, event.shuffle_id)
    _begin(state, event.app_shuffle, event.shuffle_id)
    job = state.jobs.get(event.job) if event.job is not None else None
    writers = frozenset((event.writer,))
    begun = _begun(
        _BLANK,
        shuffle_id=event.shuffle_id,
        app_shuffle=event.app_shuffle,
        started_ms=at.time_ms,
        used_ms=at.time_ms,
        job=event.job,
        writers=writers,
        written_by=writers,
    )
    state.generations[event.shuffle_id] = given_to(begun, job) if job is not None else begun
    _note_writer(state, begun, event.writer)


def _note_writer(state: State, generation: Generation, writer: StageAttempt) -> None:
    attempt = state.attempts.get(writer) or Attempt(writer, writes=generation.app_shuffle)
    state.attempts[writer] = _writing(attempt, writing=generation.shuffle_id)


def _generation_adopted(state: State, at: e.Recorded, event: e.GenerationAdopted) -> None:
    _count_shuffle_id(state, event.shuffle_id)
    _begin(state, event.app_shuffle, event.shuffle_id)
    whole = event.available >= event.total
    state.generations[event.shuffle_id] = replace(
        _BLANK,
        shuffle_id=event.shuffle_id,
        app_shuffle=event.app_shuffle,
        life=Life.READABLE if whole else Life.PARTIAL,
        complete=whole,
        started_ms=at.time_ms,
        used_ms=at.time_ms,
        completed=at.sequence if whole else Sequence(0),
        rested=at.sequence,
    )


def _writer_joined(state: State, at: e.Recorded, event: e.WriterJoined) -> None:
    generation = state.generations.get(event.shuffle_id)
    if generation is None:
        return
    writers = generation.writers | {event.writer}
    written_by = (generation.written_by | {event.writer}).difference(event.forgets)
    state.generations[event.shuffle_id] = replace(generation, writers=writers, written_by=written_by)
    _note_writer(state, generation, event.writer)


def _generation_completed(state: State, at: e.Recorded, event: e.GenerationCompleted) -> None:
    """A recovery that had named it as mixing does not answer for it any more: its next loss is another one."""
    state.recovered.pop(event.shuffle_id, None)
    known = state.generations.get(event.shuffle_id)
    _turn(
        state,
        event.shuffle_id,
        Turn.COMPLETE,
        _whole,
        complete=True,
        bytes=_whole_bytes(known, event) if known else 0,
        whole_bytes=0,
        completed=at.sequence,
        used_ms=at.time_ms,
    )


def _whole_bytes(known: Generation, event: e.GenerationCompleted) -> int:
    """What it holds once complete. A completion without bytes tells of a repair unseen: all that was lost is back."""
    return known.bytes + event.bytes if event.bytes else max(known.bytes, known.whole_bytes)


def _reader_registered(state: State, at: e.Recorded, event: e.ReaderRegistered) -> None:
    generation = state.generations.get(event.shuffle_id)
    if generation is None:
        return
    readers = generation.readers | {event.reader}
    state.generations[event.shuffle_id] = _read(generation, readers=readers, used_ms=at.time_ms)
    attempt = state.attempts.get(event.reader) or Attempt(event.reader)
    if event.shuffle_id not in attempt.reading:
        attempt = _reading(attempt, reading=(*attempt.reading, event.shuffle_id))
    state.attempts[event.reader] = attempt


def _outputs_lost(state: State, at: e.Recorded, event: e.OutputsLost) -> None:
    known = state.generations.get(event.shuffle_id)
    if known is None:
        return
    _turn(
        state,
        event.shuffle_id,
        Turn.LOSE_SOME,
        complete=False,
        rested=known.rested if known.life is Life.EXPIRED else at.sequence,  # what nobody needs is no more needed now
        missed_by=known.readers | known.retrying,
        bytes=_left_bytes(known, event),
        whole_bytes=known.whole_bytes or known.bytes,
    )


def _left_bytes(known: Generation, event: e.OutputsLost) -> int:
    """What is left of it, in proportion. Where no output is said to be left, how many are is not known: as before."""
    return known.bytes * event.available // event.total if 0 < event.available < event.total else known.bytes


def _generation_lost(state: State, at: e.Recorded, event: e.GenerationLost) -> None:
    generation = _turn(state, event.shuffle_id, Turn.LOSE_ALL, _moved)
    if generation is not None:
        _bury(state, generation, Life.LOST, loss=event.cause)


def _expired(state: State, at: e.Recorded, event: e.GenerationExpired) -> None:
    _turn(
        state,
        event.shuffle_id,
        Turn.EXPIRE,
        _let_go,
        why=event.why,
        expired_ms=at.time_ms,
        hold=event.hold,
        due_ms=event.due_ms,
        retries=0,
    )


def _hold_changed(state: State, at: e.Recorded, event: e.HoldChanged) -> None:
    edit(state.generations, event.shuffle_id, hold=event.hold, due_ms=event.due_ms)


def _taken_back(state: State, at: e.Recorded, event: e.ExpiryTakenBack) -> None:
    generation = state.generations.get(event.shuffle_id)
    turn = Turn.RESCUE if generation is None or generation.complete else Turn.RESCUE_PART
    _turn(state, event.shuffle_id, turn, why=None, expired_ms=0, hold=Hold.NONE, due_ms=0)


def _direct(state: State, at: e.Recorded, directive: DirectiveId, kind: DirectiveKind, *named: Any) -> None:
    """The driver is asked to do something from now on. ``named``: shuffle id, app shuffle and locator."""
    state.directives[directive] = _asked(directive, kind, *named, 0, 0, at.time_ms)
    following = DirectiveId(max(state.meta.next_directive, directive + 1))
    state.meta = _numbered(state.meta, next_directive=following)


def _fence_requested(state: State, at: e.Recorded, event: e.FenceRequested) -> None:
    generation = _turn(state, event.shuffle_id, Turn.BEGIN_FENCE, _fencing, directive=event.directive, hold=Hold.NONE)
    if generation is not None:
        named = event.shuffle_id, generation.app_shuffle, generation.locator
        _direct(state, at, event.directive, DirectiveKind.FENCE, *named)
        _note_guess(state, generation.app_shuffle, event)


def _note_guess(state: State, app_shuffle: AppShuffle, event: e.FenceRequested) -> None:
    """Remembers whether its last fence followed from a guess; a later fence of it, with a proof, takes that back."""
    shuffle = state.shuffles.get(app_shuffle)
    if shuffle is not None and (event.guessed or shuffle.guess == event.shuffle_id):
        state.shuffles[app_shuffle] = _guessed(shuffle, guess=event.shuffle_id if event.guessed else None)


def _fence_refused(state: State, at: e.Recorded, event: e.FenceRefused) -> None:
    state.directives.pop(event.directive, None)
    generation = state.generations.get(event.shuffle_id)
    if generation is None:
        return
    if event.keep:
        _turn(state, event.shuffle_id, Turn.KEEP, directive=None, why=None, expired_ms=0, due_ms=0, retries=0)
    else:
        _turn(
            state,
            event.shuffle_id,
            Turn.KEEP_EXPIRED,
            directive=None,
            hold=Hold.BACKOFF,
            due_ms=event.due_ms,
            retries=generation.retries + 1,
        )
    _await_no_more(state, event.shuffle_id)


def _await_no_more(state: State, shuffle_id: ShuffleId) -> None:
    """Its fence was refused: no recovery waits for it any more. If it goes one day, that is a loss of its own."""
    for recovery in list(state.recoveries.values()):
        if shuffle_id in recovery.awaited:
            awaited = tuple(waited for waited in recovery.awaited if waited != shuffle_id)
            state.recoveries[recovery.recovery] = replace(recovery, awaited=awaited)


def _fenced(state: State, at: e.Recorded, event: e.GenerationFenced) -> None:
    state.directives.pop(event.directive, None)
    known = state.generations.get(event.shuffle_id)
    held = event.bytes or (known.bytes if known else 0)
    _turn(
        state,
        event.shuffle_id,
        Turn.FENCE,
        _fenced_off,
        directive=None,
        bytes=held,
        locator=event.locator,
        readers=frozenset(),  # who still waits is told to recover
        writers=frozenset(),
        retrying=frozenset(),
    )


def _delete_requested(state: State, at: e.Recorded, event: e.DeleteRequested) -> None:
    generation = state.generations.get(event.shuffle_id)
    if generation is not None:
        state.generations[event.shuffle_id] = _directed(generation, directive=event.directive)
        named = event.shuffle_id, generation.app_shuffle, event.locator
        _direct(state, at, event.directive, DirectiveKind.DELETE, *named)


def _directive_failed(state: State, at: e.Recorded, event: e.DirectiveFailed) -> None:
    directive = state.directives.get(event.directive)
    if directive is not None:
        again = replace(directive, due_ms=event.due_ms, failures=directive.failures + 1)
        state.directives[event.directive] = again


def _invalidate_requested(state: State, at: e.Recorded, event: e.InvalidateRequested) -> None:
    named = event.shuffle_id, event.app_shuffle, event.locator
    _direct(state, at, event.directive, DirectiveKind.INVALIDATE, *named)


def _data_invalidated(state: State, at: e.Recorded, event: e.DataInvalidated) -> None:
    state.directives.pop(event.directive, None)
    state.meta = _freed(state.meta, bytes_freed=state.meta.bytes_freed + event.bytes)


def _deleted(state: State, at: e.Recorded, event: e.GenerationDeleted) -> None:
    turn = Turn.DELETE if event.cause is Deletion.POLICY else Turn.CLOSE
    generation = _turn(state, event.shuffle_id, turn, _moved)
    if generation is None:
        return
    if generation.directive is not None:
        state.directives.pop(generation.directive, None)
    freed = event.bytes if event.cause is Deletion.POLICY else generation.bytes
    state.meta = disks.freed(_freed(state.meta, bytes_freed=state.meta.bytes_freed + event.bytes), freed)
    _bury(state, generation, Life.DELETED, event.cause)


APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.GenerationStarted: _generation_started,
    e.GenerationAdopted: _generation_adopted,
    e.WriterJoined: _writer_joined,
    e.GenerationCompleted: _generation_completed,
    e.ReaderRegistered: _reader_registered,
    e.OutputsLost: _outputs_lost,
    e.GenerationLost: _generation_lost,
    e.GenerationExpired: _expired,
    e.HoldChanged: _hold_changed,
    e.ExpiryTakenBack: _taken_back,
    e.FenceRequested: _fence_requested,
    e.FenceRefused: _fence_refused,
    e.GenerationFenced: _fenced,
    e.DeleteRequested: _delete_requested,
    e.DirectiveFailed: _directive_failed,
    e.InvalidateRequested: _invalidate_requested,
    e.DataInvalidated: _data_invalidated,
    e.GenerationDeleted: _deleted,
}
