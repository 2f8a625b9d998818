"""``evolve(state, event) -> state``: what each event means.

Responsible for applying events, one function an event. Refuses to judge: it never refuses an event, decides nothing and
emits nothing; an event about something unknown leaves the state as it was. Invariant: the state after a log is the same
whether the log is folded at once, event by event, or from a snapshot on.

``apply`` writes into the state that it is given; ``fold`` owns its state; ``evolve`` is copy and apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Sequence, ShuffleId, Span, StageAttempt, add_span
from coordinator.core.lifecycle import Life, Turn, after
from coordinator.core.state import (
    DENIED,
    Attempt,
    Client,
    Directive,
    Execution,
    Gap,
    Generation,
    Job,
    Recovery,
    Root,
    Shuffle,
    State,
    copy,
    edit,
)
from coordinator.core.values import Deletion, DirectiveKind, Hold, Lineage


def evolve(state: State, recorded: e.Recorded) -> State:
    """The state that follows; ``state`` stays as it is."""
    following = copy(state)
    apply(following, recorded)
    return following


def fold(state: State, log: Iterable[e.Recorded]) -> State:
    """Applies a log in place and gives the same state back."""
    for recorded in log:
        apply(state, recorded)
    return state


def apply(state: State, recorded: e.Recorded) -> None:
    """Applies one event in place."""
    state.meta = replace(
        state.meta, next_sequence=Sequence(recorded.sequence + 1), time_ms=max(state.meta.time_ms, recorded.time_ms)
    )
    _APPLY[type(recorded.event)](state, recorded, recorded.event)


# --- the application and those who speak for it ---------------------------------------------------------------------


def _registered(state: State, at: e.Recorded, event: e.ApplicationRegistered) -> None:
    state.meta = replace(
        state.meta,
        application=event.application,
        driver=event.driver,
        capabilities=event.capabilities,
        policy=event.policy,
        settings=event.settings,
        token_hash=event.token_hash,
        registered_ms=at.time_ms,
    )


def _ended(state: State, at: e.Recorded, event: e.ApplicationEnded) -> None:
    state.meta = replace(state.meta, ending=event.ending)
    for table in (state.jobs, state.attempts, state.executions, state.directives, state.roots):
        table.clear()
    for shuffle_id, generation in list(state.generations.items()):
        idle = replace(generation, readers=frozenset(), writers=frozenset(), retrying=frozenset(), directive=None)
        state.generations[shuffle_id] = idle


def _client_registered(state: State, at: e.Recorded, event: e.ClientRegistered) -> None:
    state.clients[event.client] = Client(event.client, seen_ms=at.time_ms)


def _client_dropped(state: State, at: e.Recorded, event: e.ClientDropped) -> None:
    state.clients.pop(event.client, None)


def _requests_answered(state: State, at: e.Recorded, event: e.RequestsAnswered) -> None:
    client = state.clients.get(event.client) or Client(event.client)
    answered = client.answered
    for span in event.answered:
        answered = add_span(answered, span)
    confirmed = max(client.confirmed, event.confirmed)
    above = tuple(Span(max(s.first, confirmed + 1), s.last) for s in answered if s.last > confirmed)
    state.clients[event.client] = Client(event.client, confirmed, above, at.time_ms)


def _policy_changed(state: State, at: e.Recorded, event: e.PolicyChanged) -> None:
    if event.group:
        state.groups[event.group] = event.policy
    else:
        state.meta = replace(state.meta, policy=event.policy)


def _pin_set(state: State, at: e.Recorded, event: e.PinSet) -> None:
    edit(state.shuffles, event.app_shuffle, pin=event.why)


def _pin_removed(state: State, at: e.Recorded, event: e.PinRemoved) -> None:
    edit(state.shuffles, event.app_shuffle, pin=None)


def _suspended(state: State, at: e.Recorded, event: e.DeletionSuspended) -> None:
    state.meta = replace(state.meta, suspended=event.why)


def _resumed(state: State, at: e.Recorded, event: e.DeletionResumed) -> None:
    state.meta = replace(state.meta, suspended=None, premature=0)


def _gap_recorded(state: State, at: e.Recorded, event: e.GapRecorded) -> None:
    live = frozenset(event.until)
    state.meta = replace(state.meta, gap=Gap(live, event.resynced) if live or not event.resynced else None)


def _sweep_changed(state: State, at: e.Recorded, event: e.SweepChanged) -> None:
    state.meta = replace(state.meta, sweeping=event.pending)


# --- what the scheduler did -----------------------------------------------------------------------------------------


def _lineage_learned(state: State, at: e.Recorded, event: e.LineageLearned) -> None:
    key = event.lineage.app_shuffle
    known = state.shuffles.get(key)
    state.shuffles[key] = replace(known or Shuffle(event.lineage), lineage=event.lineage, told=True)


def _job_started(state: State, at: e.Recorded, event: e.JobStarted) -> None:
    state.jobs[event.job] = Job(
        event.job,
        event.final_stage,
        event.reads,
        event.writes,
        event.stages,
        event.execution,
        event.group,
        event.policy,
        event.call_site,
    )


def _job_ended(state: State, at: e.Recorded, event: e.JobEnded) -> None:
    state.jobs.pop(event.job, None)
    for stage, attempt in list(state.attempts.items()):
        if not any(job.lists(stage.stage) for job in state.jobs.values()):
            _forget_attempt(state, attempt)
    _shrink_gap(state, event.job)


def _forget_attempt(state: State, attempt: Attempt) -> None:
    for shuffle_id in attempt.reading:
        _drop_reader(state, shuffle_id, attempt.stage)
    if attempt.writing is not None:
        _drop_writer(state, attempt.writing, attempt.stage)
    state.attempts.pop(attempt.stage, None)


def _shrink_gap(state: State, job: JobId) -> None:
    gap = state.meta.gap
    if gap is None or job not in gap.until:
        return
    until = gap.until - {job}
    state.meta = replace(state.meta, gap=Gap(until, gap.resynced) if until or not gap.resynced else None)


def _stage_submitted(state: State, at: e.Recorded, event: e.StageSubmitted) -> None:
    known = state.attempts.get(event.stage) or Attempt(event.stage)
    state.attempts[event.stage] = replace(
        known, running=True, submitted=True, reads=event.reads, writes=event.writes, name=event.name
    )


def _stage_completed(state: State, at: e.Recorded, event: e.StageCompleted) -> None:
    attempt = state.attempts.get(event.stage)
    if attempt is None:
        return
    if event.failure:
        _fail_attempt(state, attempt)
    else:
        _finish_attempt(state, at, attempt, event)


def _fail_attempt(state: State, attempt: Attempt) -> None:
    """Its retry will read again, as long as a live job lists the stage."""
    if attempt.writing is not None:
        _drop_writer(state, attempt.writing, attempt.stage)
    if not any(job.lists(attempt.stage.stage) for job in state.jobs.values()):
        _forget_attempt(state, attempt)
        return
    for shuffle_id in attempt.reading:
        generation = state.generations.get(shuffle_id)
        if generation and attempt.stage in generation.readers:
            state.generations[shuffle_id] = replace(
                generation,
                readers=generation.readers - {attempt.stage},
                retrying=generation.retrying | {attempt.stage},
            )
    state.attempts[attempt.stage] = replace(attempt, running=False)


def _finish_attempt(state: State, at: e.Recorded, attempt: Attempt, event: e.StageCompleted) -> None:
    """It read all that it registered for; earlier failed attempts of its stage need nothing more."""
    for shuffle_id in attempt.reading:
        _finish_reader(state, at, shuffle_id, attempt, event)
    for earlier in [a for a in state.attempts.values() if a.stage.stage == attempt.stage.stage and not a.running]:
        _forget_attempt(state, earlier)
    if attempt.writing is not None:
        _drop_writer(state, attempt.writing, attempt.stage)
    state.attempts.pop(attempt.stage, None)
    for job in [job for job in state.jobs.values() if job.final_stage == attempt.stage.stage]:
        state.jobs[job.job] = replace(job, finished=True)


def _finish_reader(
    state: State, at: e.Recorded, shuffle_id: ShuffleId, attempt: Attempt, event: e.StageCompleted
) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is None:
        return
    stage = attempt.stage.stage
    execution = _execution_of(state, attempt)
    running = state.executions.get(execution) if execution is not None else None
    wrote = event.output_bytes > 0 or event.output_records > 0 or bool(running and running.writes_output)
    state.generations[shuffle_id] = replace(
        generation,
        readers=generation.readers - {attempt.stage},
        retrying=frozenset(failed for failed in generation.retrying if failed.stage != stage),
        map_readers=generation.map_readers | ({attempt.writes} if attempt.writes is not None else set()),
        last_read_by_map=attempt.writes is not None,
        last_read_execution=execution,
        reader_wrote=generation.reader_wrote or attempt.writes is not None or wrote,
        used_ms=at.time_ms,
    )


def _execution_of(state: State, attempt: Attempt) -> Any:
    return next((job.execution for job in state.jobs.values() if job.lists(attempt.stage.stage)), None)


def _drop_reader(state: State, shuffle_id: ShuffleId, stage: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        state.generations[shuffle_id] = replace(
            generation, readers=generation.readers - {stage}, retrying=generation.retrying - {stage}
        )


def _drop_writer(state: State, shuffle_id: ShuffleId, stage: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None and stage in generation.writers:
        here = Sequence(state.meta.next_sequence - 1)
        state.generations[shuffle_id] = replace(generation, writers=generation.writers - {stage}, rested=here)


def _execution_started(state: State, at: e.Recorded, event: e.ExecutionStarted) -> None:
    state.executions[event.execution] = Execution(event.execution, event.name, event.writes_output)


def _execution_ended(state: State, at: e.Recorded, event: e.ExecutionEnded) -> None:
    state.executions.pop(event.execution, None)


def _nothing(state: State, at: e.Recorded, event: e.Event) -> None:
    """A fact that is kept for people; nothing follows from it."""


def _shuffle_cleaned(state: State, at: e.Recorded, event: e.ShuffleCleaned) -> None:
    state.shuffles.pop(event.app_shuffle, None)


# --- what the program can still reach ---------------------------------------------------------------------------------


def _look_began(state: State, at: e.Recorded, event: e.LookBegan) -> None:
    state.meta = replace(state.meta, look=event.look, look_sequence=at.sequence)


def _cut_reported(state: State, at: e.Recorded, event: e.CutReported) -> None:
    known = state.roots.get(event.root)
    needs = ((known.needs if known else frozenset()) | frozenset(event.added)) - frozenset(event.removed)
    state.roots[event.root] = Root(event.root, event.kind, needs, event.why)


def _root_gone(state: State, at: e.Recorded, event: e.RootGone) -> None:
    state.roots.pop(event.root, None)


def _look_ended(state: State, at: e.Recorded, event: e.LookEnded) -> None:
    if state.meta.look == event.look:
        state.meta = replace(state.meta, seen_sequence=state.meta.look_sequence)


# --- the life of a generation -----------------------------------------------------------------------------------------


def _turn(state: State, shuffle_id: ShuffleId, turn: Turn, **fields: Any) -> Generation | None:
    generation = state.generations.get(shuffle_id)
    if generation is None:
        return None
    moved = replace(generation, life=after(generation.life, turn), **fields)
    state.generations[shuffle_id] = moved
    return moved


def _bury(state: State, generation: Generation, life: Life, cause: Deletion | None) -> None:
    """Takes the record away; the app shuffle remembers how its current generation ended."""
    state.generations.pop(generation.shuffle_id, None)
    shuffle = state.shuffles.get(generation.app_shuffle)
    if shuffle is not None and shuffle.current == generation.shuffle_id:
        state.shuffles[generation.app_shuffle] = replace(shuffle, fate=life, cause=cause)
    if life is Life.LOST:
        lost = add_span(state.meta.lost, Span(generation.shuffle_id, generation.shuffle_id))
        state.meta = replace(state.meta, lost=lost)
    if generation.directive is not None and life is Life.LOST:
        state.directives.pop(generation.directive, None)


def _generation_started(state: State, at: e.Recorded, event: e.GenerationStarted) -> None:
    job = state.jobs.get(event.job) if event.job is not None else None
    state.meta = replace(state.meta, next_shuffle_id=ShuffleId(event.shuffle_id + 1))
    shuffle = state.shuffles.get(event.app_shuffle) or Shuffle(Lineage(event.app_shuffle))
    state.shuffles[event.app_shuffle] = replace(shuffle, current=event.shuffle_id, fate=None, cause=None)
    state.generations[event.shuffle_id] = Generation(
        event.shuffle_id,
        event.app_shuffle,
        started_ms=at.time_ms,
        used_ms=at.time_ms,
        job=event.job,
        execution=job.execution if job else None,
        group=job.group if job else "",
        policy=job.policy if job else None,
    )
    _join_writer(state, event.shuffle_id, event.writer)


def _join_writer(state: State, shuffle_id: ShuffleId, writer: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is None:
        return
    state.generations[shuffle_id] = replace(
        generation, writers=generation.writers | {writer}, written_by=generation.written_by | {writer}
    )
    attempt = state.attempts.get(writer) or Attempt(writer, writes=generation.app_shuffle)
    state.attempts[writer] = replace(attempt, writing=shuffle_id)


def _generation_adopted(state: State, at: e.Recorded, event: e.GenerationAdopted) -> None:
    state.meta = replace(state.meta, next_shuffle_id=ShuffleId(event.shuffle_id + 1))
    shuffle = state.shuffles.get(event.app_shuffle) or Shuffle(Lineage(event.app_shuffle))
    state.shuffles[event.app_shuffle] = replace(shuffle, current=event.shuffle_id, fate=None, cause=None)
    whole = event.available >= event.total
    state.generations[event.shuffle_id] = Generation(
        event.shuffle_id,
        event.app_shuffle,
        life=Life.READABLE if whole else Life.PARTIAL,
        complete=whole,
        started_ms=at.time_ms,
        used_ms=at.time_ms,
        completed=at.sequence if whole else Sequence(0),
        rested=at.sequence,
    )


def _writer_joined(state: State, at: e.Recorded, event: e.WriterJoined) -> None:
    _join_writer(state, event.shuffle_id, event.writer)


def _generation_completed(state: State, at: e.Recorded, event: e.GenerationCompleted) -> None:
    known = state.generations.get(event.shuffle_id)
    written = event.bytes + (known.bytes if known else 0)
    _turn(
        state,
        event.shuffle_id,
        Turn.COMPLETE,
        complete=True,
        bytes=written,
        completed=at.sequence,
        used_ms=at.time_ms,
    )


def _reader_registered(state: State, at: e.Recorded, event: e.ReaderRegistered) -> None:
    generation = state.generations.get(event.shuffle_id)
    if generation is None:
        return
    readers = generation.readers | {event.reader}
    state.generations[event.shuffle_id] = replace(generation, readers=readers, used_ms=at.time_ms)
    attempt = state.attempts.get(event.reader) or Attempt(event.reader)
    if event.shuffle_id not in attempt.reading:
        attempt = replace(attempt, reading=(*attempt.reading, event.shuffle_id))
    state.attempts[event.reader] = attempt


def _outputs_lost(state: State, at: e.Recorded, event: e.OutputsLost) -> None:
    _turn(state, event.shuffle_id, Turn.LOSE_SOME, complete=False, rested=at.sequence)


def _generation_lost(state: State, at: e.Recorded, event: e.GenerationLost) -> None:
    generation = _turn(state, event.shuffle_id, Turn.LOSE_ALL)
    if generation is not None:
        _bury(state, generation, Life.LOST, None)


def _expired(state: State, at: e.Recorded, event: e.GenerationExpired) -> None:
    _turn(
        state,
        event.shuffle_id,
        Turn.EXPIRE,
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


def _direct(state: State, at: e.Recorded, directive: Directive) -> None:
    state.directives[directive.directive] = replace(directive, requested_ms=at.time_ms)
    following = max(state.meta.next_directive, directive.directive + 1)
    state.meta = replace(state.meta, next_directive=type(directive.directive)(following))


def _fence_requested(state: State, at: e.Recorded, event: e.FenceRequested) -> None:
    generation = _turn(state, event.shuffle_id, Turn.BEGIN_FENCE, directive=event.directive, hold=Hold.NONE)
    if generation is not None:
        shuffle = generation.app_shuffle
        _direct(state, at, Directive(event.directive, DirectiveKind.FENCE, event.shuffle_id, shuffle))


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


def _fenced(state: State, at: e.Recorded, event: e.GenerationFenced) -> None:
    state.directives.pop(event.directive, None)
    known = state.generations.get(event.shuffle_id)
    held = event.bytes or (known.bytes if known else 0)
    _turn(
        state,
        event.shuffle_id,
        Turn.FENCE,
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
        state.generations[event.shuffle_id] = replace(generation, directive=event.directive)
        _direct(
            state,
            at,
            Directive(event.directive, DirectiveKind.DELETE, event.shuffle_id, generation.app_shuffle, event.locator),
        )


def _directive_failed(state: State, at: e.Recorded, event: e.DirectiveFailed) -> None:
    directive = state.directives.get(event.directive)
    if directive is not None:
        again = replace(directive, due_ms=event.due_ms, failures=directive.failures + 1)
        state.directives[event.directive] = again


def _invalidate_requested(state: State, at: e.Recorded, event: e.InvalidateRequested) -> None:
    _direct(state, at, Directive(event.directive, DirectiveKind.INVALIDATE, event.shuffle_id, event.app_shuffle))


def _data_invalidated(state: State, at: e.Recorded, event: e.DataInvalidated) -> None:
    state.directives.pop(event.directive, None)
    state.meta = replace(state.meta, bytes_freed=state.meta.bytes_freed + event.bytes)


def _deleted(state: State, at: e.Recorded, event: e.GenerationDeleted) -> None:
    turn = Turn.DELETE if event.cause is Deletion.POLICY else Turn.CLOSE
    generation = _turn(state, event.shuffle_id, turn)
    if generation is None:
        return
    if generation.directive is not None:
        state.directives.pop(generation.directive, None)
    state.meta = replace(state.meta, bytes_freed=state.meta.bytes_freed + event.bytes)
    _bury(state, generation, Life.DELETED, event.cause)


# --- being missed -----------------------------------------------------------------------------------------------------


def _premature(state: State, at: e.Recorded, event: e.PrematureDeletion) -> None:
    state.meta = replace(state.meta, premature=state.meta.premature + 1)
    shuffle = _shuffle_of(state, event.shuffle_id)
    if shuffle is not None:
        edit(state.shuffles, shuffle, missed=event.shuffle_id)


def _shuffle_of(state: State, shuffle_id: ShuffleId) -> AppShuffle | None:
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        return generation.app_shuffle
    return next((a for a, shuffle in state.shuffles.items() if shuffle.current == shuffle_id), None)


def _recovery_opened(state: State, at: e.Recorded, event: e.RecoveryOpened) -> None:
    named = [(gone, _shuffle_of(state, gone)) for gone in event.gone]
    gone = tuple((gone, shuffle) for gone, shuffle in named if shuffle is not None)
    state.recoveries[event.recovery] = Recovery(event.recovery, event.missing, gone, event.awaited, event.lineage_known)
    for shuffle_id, shuffle in gone:
        state.recovered[shuffle_id] = event.recovery
        edit(state.shuffles, shuffle, recoveries=state.shuffles[shuffle].recoveries + 1)
    following = type(event.recovery)(max(state.meta.next_recovery, event.recovery + 1))
    state.meta = replace(state.meta, next_recovery=following, recoveries=state.meta.recoveries + 1)


def _recovery_widened(state: State, at: e.Recorded, event: e.RecoveryWidened) -> None:
    recovery = state.recoveries.get(event.recovery)
    shuffle = _shuffle_of(state, event.gone)
    if recovery is None or shuffle is None:
        return
    awaited = tuple(waited for waited in recovery.awaited if waited != event.gone)
    state.recoveries[event.recovery] = replace(recovery, gone=(*recovery.gone, (event.gone, shuffle)), awaited=awaited)
    state.recovered[event.gone] = event.recovery
    edit(state.shuffles, shuffle, recoveries=state.shuffles[shuffle].recoveries + 1)


def _recovery_joined(state: State, at: e.Recorded, event: e.RecoveryJoined) -> None:
    recovery = state.recoveries.get(event.recovery)
    if recovery is not None:
        state.recoveries[event.recovery] = replace(recovery, joined=recovery.joined + 1)


def _recovery_denied(state: State, at: e.Recorded, event: e.RecoveryDenied) -> None:
    state.recovered[event.missing] = DENIED


def _recovery_closed(state: State, at: e.Recorded, event: e.RecoveryClosed) -> None:
    edit(state.recoveries, event.recovery, open=False, awaited=())


_APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.ApplicationRegistered: _registered,
    e.ApplicationEnded: _ended,
    e.ClientRegistered: _client_registered,
    e.ClientDropped: _client_dropped,
    e.RequestsAnswered: _requests_answered,
    e.PolicyChanged: _policy_changed,
    e.PinSet: _pin_set,
    e.PinRemoved: _pin_removed,
    e.DeletionSuspended: _suspended,
    e.DeletionResumed: _resumed,
    e.GapRecorded: _gap_recorded,
    e.SweepChanged: _sweep_changed,
    e.LineageLearned: _lineage_learned,
    e.JobStarted: _job_started,
    e.JobEnded: _job_ended,
    e.StageSubmitted: _stage_submitted,
    e.StageCompleted: _stage_completed,
    e.ExecutionStarted: _execution_started,
    e.ExecutionEnded: _execution_ended,
    e.ExecutorLost: _nothing,
    e.ShuffleCleaned: _shuffle_cleaned,
    e.LookBegan: _look_began,
    e.CutReported: _cut_reported,
    e.RootGone: _root_gone,
    e.LookEnded: _look_ended,
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
    e.PrematureDeletion: _premature,
    e.RecoveryOpened: _recovery_opened,
    e.RecoveryWidened: _recovery_widened,
    e.RecoveryJoined: _recovery_joined,
    e.RecoveryClosed: _recovery_closed,
    e.RecoveryDenied: _recovery_denied,
}
