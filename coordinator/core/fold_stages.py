"""What events about stages mean.

Responsible for stage attempts, and for who reads and writes which generation because of them. Refuses to judge
(``evolve``), and to know what else a job is (`fold_scheduler`). Invariant: an attempt that has ended well reads and
writes nothing; one that has failed reads on, for its retry, as long as a live job lists its stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from coordinator.core import events as e
from coordinator.core import fold_recovery
from coordinator.core.ids import ExecutionId, ShuffleId, StageAttempt, StageId
from coordinator.core.making import altering, replace
from coordinator.core.state import Attempt, Generation, Job, Shuffle, State, edit, given_to, given_to_nobody

#: What an attempt is before anything is known of it.
_UNSUBMITTED = Attempt(StageAttempt(StageId(0), 0))

# What nearly every job alters, named by what has become of the record.
_submitted = altering(Attempt, "stage", "running", "submitted", "reads", "writes", "name")
_done = altering(Job, "finished", "done")
_written = altering(Generation, "writers", "rested")
_measured = altering(Shuffle, "task_ms")
_read = altering(
    Generation,
    "readers",
    "retrying",
    "map_readers",
    "last_read_by_map",
    "last_read_execution",
    "reader_wrote",
    "reads",
    "used_ms",
)


def _stage_submitted(state: State, at: e.Recorded, event: e.StageSubmitted) -> None:
    if event.gives_up is not None:
        _was_no_writer(state, at, event.gives_up, event.stage)
    state.attempts[event.stage] = _submitted(
        state.attempts.get(event.stage) or _UNSUBMITTED,
        stage=event.stage,
        running=True,
        submitted=True,
        reads=event.reads,
        writes=event.writes,
        name=event.name,
    )


def _was_no_writer(state: State, at: e.Recorded, shuffle_id: ShuffleId, attempt: StageAttempt) -> None:
    """Undoes that the attempt had become a writer of the generation by asking to write it."""
    _drop_writer(state, at, shuffle_id, attempt)
    edit(state.attempts, attempt, writing=None)
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        left = replace(generation, written_by=generation.written_by - {attempt})
        state.generations[shuffle_id] = _given_back(state, left, attempt)


def _given_back(state: State, generation: Generation, attempt: StageAttempt) -> Generation:
    """The generation, moved to the job of its other writers where its job was that of the attempt which gave it up.

    Where there are no other writers it belongs to no job until one is told.
    """
    others = {writer.stage for writer in generation.written_by}
    own = state.jobs.get(generation.job) if generation.job is not None else None
    is_claimed = own is not None and own.lists(attempt.stage) and not any(map(own.lists, others))
    if generation.job is not None and not is_claimed:
        return generation
    writing = [job for _, job in sorted(state.jobs.items()) if any(map(job.lists, others))]
    return given_to(generation, writing[0]) if writing else given_to_nobody(generation)


def _stage_completed(state: State, at: e.Recorded, event: e.StageCompleted) -> None:
    attempt = state.attempts.get(event.stage)
    if attempt is None:
        return
    if event.failure:
        _fail_attempt(state, at, attempt, event.shuffle_bytes_written)
    else:
        _finish_attempt(state, at, attempt, event)


def _fail_attempt(state: State, at: e.Recorded, attempt: Attempt, written_bytes: int) -> None:
    """Keeps what it read for the retry as long as a live job lists its stage. What it wrote counts as written."""
    if attempt.writing is not None:
        _drop_writer(state, at, attempt.writing, attempt.stage)
        _add_bytes(state, attempt.writing, written_bytes)
    if not is_listed(state, attempt.stage.stage):
        forget_attempt(state, at, attempt)
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
    """It has read what it was registered for and writes no more; failed attempts of its stage are forgotten."""
    sharing = [job for job in state.jobs.values() if job.lists(attempt.stage.stage)]
    execution = _execution_of(sharing)
    for shuffle_id in attempt.reading:
        if shuffle_id in event.unread:
            _drop_reader(state, shuffle_id, attempt.stage)
        else:
            _finish_reader(state, at, shuffle_id, attempt, event, execution)
    failed = [a for a in state.attempts.values() if a.stage.stage == attempt.stage.stage and not a.running]
    for earlier in failed:
        forget_attempt(state, at, earlier)
    if attempt.writing is not None:
        _drop_writer(state, at, attempt.writing, attempt.stage)
    _note_cost(state, attempt, event.task_ms)
    state.attempts.pop(attempt.stage, None)
    if event.recovered:
        fold_recovery.count_anew(state, event.recovered)
    for job in sharing:
        finished = job.finished or job.final_stage == attempt.stage.stage
        state.jobs[job.job] = _done(job, finished=finished, done=job.done | {attempt.stage})


def _finish_reader(
    state: State,
    at: e.Recorded,
    shuffle_id: ShuffleId,
    attempt: Attempt,
    event: e.StageCompleted,
    execution: ExecutionId | None,
) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is None:
        return
    running = state.executions.get(execution) if execution is not None else None
    wrote = event.output_bytes > 0 or event.output_records > 0 or bool(running and running.writes_output)
    is_repair = attempt.writes in generation.map_readers  # its map stage had read it before: not one reader more
    state.generations[shuffle_id] = _read(
        generation,
        readers=generation.readers - {attempt.stage},
        retrying=_others(generation.retrying, attempt.stage.stage),
        map_readers=generation.map_readers | ({attempt.writes} if attempt.writes is not None else frozenset()),
        last_read_by_map=attempt.writes is not None,
        last_read_execution=execution,
        reader_wrote=generation.reader_wrote or attempt.writes is not None or wrote,
        reads=generation.reads + (not is_repair),
        used_ms=at.time_ms,
    )


def _others(attempts: frozenset[StageAttempt], stage: StageId) -> frozenset[StageAttempt]:
    """The attempts that are not of this stage."""
    return frozenset(one for one in attempts if one.stage != stage) if attempts else attempts


def _execution_of(sharing: Sequence[Job]) -> ExecutionId | None:
    """The SQL execution for which a stage runs: Spark runs a stage that jobs share for the one with the smallest id."""
    return min(sharing, key=attrgetter("job")).execution if sharing else None


def _drop_reader(state: State, shuffle_id: ShuffleId, attempt: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        state.generations[shuffle_id] = replace(
            generation, readers=generation.readers - {attempt}, retrying=generation.retrying - {attempt}
        )


def _drop_writer(state: State, at: e.Recorded, shuffle_id: ShuffleId, attempt: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None and attempt in generation.writers:
        writers = generation.writers - {attempt}
        state.generations[shuffle_id] = _written(generation, writers=writers, rested=at.sequence)


def _add_bytes(state: State, shuffle_id: ShuffleId, written_bytes: int) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None and written_bytes:
        state.generations[shuffle_id] = replace(generation, bytes=generation.bytes + written_bytes)


def _note_cost(state: State, attempt: Attempt, task_ms: int) -> None:
    shuffle = state.shuffles.get(attempt.writes) if attempt.writes is not None else None
    if shuffle is not None and task_ms > shuffle.task_ms:
        state.shuffles[shuffle.lineage.app_shuffle] = _measured(shuffle, task_ms=task_ms)


def is_listed(state: State, stage: StageId) -> bool:
    """Whether a live job has announced the stage."""
    return any(job.lists(stage) for job in state.jobs.values())


def forget_attempt(state: State, at: e.Recorded, attempt: Attempt) -> None:
    """Removes the attempt: it reads and writes nothing any more."""
    for shuffle_id in attempt.reading:
        _drop_reader(state, shuffle_id, attempt.stage)
    if attempt.writing is not None:
        _drop_writer(state, at, attempt.writing, attempt.stage)
    state.attempts.pop(attempt.stage, None)


APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.StageSubmitted: _stage_submitted,
    e.StageCompleted: _stage_completed,
}
