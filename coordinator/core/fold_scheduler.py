"""What events about the scheduler mean.

Responsible for jobs, stage attempts and SQL executions, and for who reads and writes what because of them. Refuses to
judge (``evolve``). Invariant: who has ended well reads and writes nothing; an attempt goes when no live job lists its
stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import (
    AppShuffle,
    ExecutionId,
    JobId,
    ShuffleId,
    Span,
    StageAttempt,
    StageId,
    add_span,
)
from coordinator.core.lifecycle import GOING
from coordinator.core.making import altering, maker, replace
from coordinator.core.state import (
    Attempt,
    Execution,
    Gap,
    Generation,
    Job,
    Meta,
    Recovery,
    Shuffle,
    State,
    edit,
    given_to,
    given_to_nobody,
)
from coordinator.core.values import Lineage

#: What an app shuffle and an attempt are before anything is known of them.
_UNHEARD, _UNSUBMITTED = Shuffle(Lineage(AppShuffle(0))), Attempt(StageAttempt(StageId(0), 0))

# What nearly every job alters, named by what has become of the record.
_numbered = altering(Meta, "next_stage")
_over = altering(Meta, "jobs_ended", "stages_ended")
_told = altering(Shuffle, "lineage", "told")
_submitted = altering(Attempt, "stage", "running", "submitted", "reads", "writes", "name")
_job = maker(Job)
_done = altering(Job, "finished", "done")
_heard = altering(Job, "done")
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


def _lineage_learned(state: State, at: e.Recorded, event: e.LineageLearned) -> None:
    key = event.lineage.app_shuffle
    state.shuffles[key] = _told(state.shuffles.get(key) or _UNHEARD, lineage=event.lineage, told=True)
    _forget_map_reader(state, key, event.cut_off)


def _job_started(state: State, at: e.Recorded, event: e.JobStarted) -> None:
    job = state.jobs[event.job] = _job(
        event.job,
        event.final_stage,
        event.reads,
        event.writes,
        event.stages,
        event.execution,
        event.group,
        event.policy,
        event.call_site,
        False,
        frozenset(),
    )
    _hear_of_done(state, job)
    _take_early_writers(state, job)
    last = max([event.final_stage, *(span.last for span in event.stages)])
    state.meta = _numbered(state.meta, next_stage=StageId(max(state.meta.next_stage, last + 1)))
    _forget_never_listed(state, at)


def _hear_of_done(state: State, job: Job) -> None:
    """The job takes over what other live jobs know of the stages that it shares: which attempts ended well.

    So a task that asks late is known to be late when those other jobs are over.
    """
    done = frozenset(one for other in state.jobs.values() for one in other.done if job.lists(one.stage))
    if done:
        state.jobs[job.job] = _heard(job, done=_last_of_each(done))


def _last_of_each(attempts: Iterable[StageAttempt]) -> frozenset[StageAttempt]:
    """Of each stage the last attempt: whoever is late for an earlier one is late for that one too."""
    return frozenset({one.stage: one for one in sorted(attempts)}.values())


def _take_early_writers(state: State, job: Job) -> None:
    """Generations that its stages began before it was told are this job's."""
    for attempt in list(state.attempts.values()):
        generation = state.generations.get(attempt.writing) if attempt.writing is not None else None
        if generation is not None and generation.job is None and job.lists(attempt.stage.stage):
            state.generations[generation.shuffle_id] = given_to(generation, job)


def _forget_never_listed(state: State, at: e.Recorded) -> None:
    """Attempts whose tasks asked early, for stages that no job has listed by now: none will, as stage ids only grow."""
    for stage, attempt in list(state.attempts.items()):
        if not attempt.submitted and stage.stage < state.meta.next_stage and not _listed(state, stage.stage):
            _forget_attempt(state, at, attempt)


def _job_ended(state: State, at: e.Recorded, event: e.JobEnded) -> None:
    ended = state.jobs.pop(event.job, None)
    for stage, attempt in list(state.attempts.items()):
        if ended is not None and ended.lists(stage.stage) and not _listed(state, stage.stage):
            _forget_attempt(state, at, attempt)
    jobs_ended = add_span(state.meta.jobs_ended, Span(event.job, event.job))
    stages_ended = reduce(add_span, _stages_of(ended) if ended is not None else (), state.meta.stages_ended)
    state.meta = _over(state.meta, jobs_ended=jobs_ended, stages_ended=stages_ended)
    _shrink_gap(state, event.job)


def _stages_of(job: Job) -> tuple[Span, ...]:
    return (*job.stages, Span(job.final_stage, job.final_stage))


def _listed(state: State, stage: StageId) -> bool:
    return any(job.lists(stage) for job in state.jobs.values())


def _forget_attempt(state: State, at: e.Recorded, attempt: Attempt) -> None:
    for shuffle_id in attempt.reading:
        _drop_reader(state, shuffle_id, attempt.stage)
    if attempt.writing is not None:
        _drop_writer(state, at, attempt.writing, attempt.stage)
    state.attempts.pop(attempt.stage, None)


def _shrink_gap(state: State, job: JobId) -> None:
    gap = state.meta.gap
    if gap is None or job not in gap.until:
        return
    until = gap.until - {job}
    state.meta = replace(state.meta, gap=Gap(until, gap.resynced) if until or not gap.resynced else None)


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


def _was_no_writer(state: State, at: e.Recorded, shuffle_id: ShuffleId, stage: StageAttempt) -> None:
    """Undoes that the attempt had joined the generation by asking for it."""
    _drop_writer(state, at, shuffle_id, stage)
    edit(state.attempts, stage, writing=None)
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        left = replace(generation, written_by=generation.written_by - {stage})
        state.generations[shuffle_id] = _given_back(state, left, stage)


def _given_back(state: State, generation: Generation, stage: StageAttempt) -> Generation:
    """The generation as one of the job of its other writers, where its job was that of the attempt that gave it up.

    Where nobody else writes it, it is of no job until one is told.
    """
    others = {writer.stage for writer in generation.written_by}
    own = state.jobs.get(generation.job) if generation.job is not None else None
    is_claimed = own is not None and own.lists(stage.stage) and not any(map(own.lists, others))
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
    """As long as a live job lists its stage, its readings are held for the retry. What it wrote counts as written."""
    if attempt.writing is not None:
        _drop_writer(state, at, attempt.writing, attempt.stage)
        _add_bytes(state, attempt.writing, written_bytes)
    if not _listed(state, attempt.stage.stage):
        _forget_attempt(state, at, attempt)
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
    """It has read what it had registered for, and writes no more; failed attempts of its stage hold nothing more."""
    sharing = [job for job in state.jobs.values() if job.lists(attempt.stage.stage)]
    execution = _execution_of(sharing)
    for shuffle_id in attempt.reading:
        if shuffle_id in event.unread:
            _drop_reader(state, shuffle_id, attempt.stage)
        else:
            _finish_reader(state, at, shuffle_id, attempt, event, execution)
    same = [a for a in state.attempts.values() if a.stage.stage == attempt.stage.stage and not a.running]
    for earlier in same:
        _forget_attempt(state, at, earlier)
    if attempt.writing is not None:
        _drop_writer(state, at, attempt.writing, attempt.stage)
    _note_cost(state, attempt, event.task_ms)
    state.attempts.pop(attempt.stage, None)
    if event.recovered:
        _count_recoveries_anew(state, event.recovered)
    for job in sharing:
        finished = job.finished or job.final_stage == attempt.stage.stage
        state.jobs[job.job] = _done(job, finished=finished, done=job.done | {attempt.stage})


def _count_recoveries_anew(state: State, proved: Iterable[AppShuffle]) -> None:
    """Somebody has read what was recovered: the bounds, the application's too, are as far away as at the beginning."""
    state.meta = replace(state.meta, recoveries=0)
    for app_shuffle in proved:
        edit(state.shuffles, app_shuffle, recoveries=0)
    _forget_proved(state)


def _forget_proved(state: State) -> None:
    """Forgets recoveries that are over, of which all was written and read again and nobody may still ask."""
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


def _note_cost(state: State, attempt: Attempt, task_ms: int) -> None:
    shuffle = state.shuffles.get(attempt.writes) if attempt.writes is not None else None
    if shuffle is not None and task_ms > shuffle.task_ms:
        state.shuffles[shuffle.lineage.app_shuffle] = _measured(shuffle, task_ms=task_ms)


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
    again = attempt.writes in generation.map_readers  # to repair what it wrote: no other reader
    state.generations[shuffle_id] = _read(
        generation,
        readers=generation.readers - {attempt.stage},
        retrying=_others(generation.retrying, attempt.stage.stage),
        map_readers=generation.map_readers | ({attempt.writes} if attempt.writes is not None else frozenset()),
        last_read_by_map=attempt.writes is not None,
        last_read_execution=execution,
        reader_wrote=generation.reader_wrote or attempt.writes is not None or wrote,
        reads=generation.reads + (not again),
        used_ms=at.time_ms,
    )


def _others(attempts: frozenset[StageAttempt], stage: StageId) -> frozenset[StageAttempt]:
    """The attempts that are not of this stage."""
    return frozenset(one for one in attempts if one.stage != stage) if attempts else attempts


def _execution_of(sharing: Sequence[Job]) -> ExecutionId | None:
    """Of the first live job that lists a stage: Spark runs a shared stage for the job with the smallest id."""
    return min(sharing, key=attrgetter("job")).execution if sharing else None


def _drop_reader(state: State, shuffle_id: ShuffleId, stage: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None:
        state.generations[shuffle_id] = replace(
            generation, readers=generation.readers - {stage}, retrying=generation.retrying - {stage}
        )


def _drop_writer(state: State, at: e.Recorded, shuffle_id: ShuffleId, stage: StageAttempt) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None and stage in generation.writers:
        here = at.sequence
        state.generations[shuffle_id] = _written(generation, writers=generation.writers - {stage}, rested=here)


def _add_bytes(state: State, shuffle_id: ShuffleId, written_bytes: int) -> None:
    generation = state.generations.get(shuffle_id)
    if generation is not None and written_bytes:
        state.generations[shuffle_id] = replace(generation, bytes=generation.bytes + written_bytes)


def _execution_started(state: State, at: e.Recorded, event: e.ExecutionStarted) -> None:
    state.executions[event.execution] = Execution(event.execution, event.name, event.writes_output)


def _execution_ended(state: State, at: e.Recorded, event: e.ExecutionEnded) -> None:
    state.executions.pop(event.execution, None)
    ended = add_span(state.meta.executions_ended, Span(event.execution, event.execution))
    state.meta = replace(state.meta, executions_ended=ended)


def _nothing(state: State, at: e.Recorded, event: e.Event) -> None:
    """A fact that is kept for people; nothing follows from it."""


def _shuffle_cleaned(state: State, at: e.Recorded, event: e.ShuffleCleaned) -> None:
    """The app shuffle goes, with all that recoveries know of it: nobody can ask for it again."""
    known = state.shuffles.pop(event.app_shuffle, None)
    if known is not None and known.current is not None:
        state.recovered.pop(known.current, None)
    if known is not None:
        _forget_recoveries(state, event.app_shuffle)
    if known is not None and event.by_inputs:
        _forget_map_reader(state, event.app_shuffle, known.lineage.reads)


def _forget_map_reader(state: State, written: AppShuffle, inputs: Iterable[AppShuffle]) -> None:
    """Its inputs forget that they were read to write it: what a loop reads in each round would remember all rounds.

    Of an app shuffle that is cleaned nothing is lost with that: it counts as let go in any case.
    """
    for generation in map(state.current, inputs):
        if generation is not None and written in generation.map_readers:
            left = generation.map_readers - {written}
            state.generations[generation.shuffle_id] = replace(generation, map_readers=left)


def _forget_recoveries(state: State, app_shuffle: AppShuffle) -> None:
    """Recoveries no longer name the app shuffle; one that names nothing more goes."""
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
    """It goes, and no longer answers for what it would have mixed."""
    for shuffle_id in recovery.mixing:
        if state.recovered.get(shuffle_id) == recovery.recovery:
            state.recovered.pop(shuffle_id, None)
    del state.recoveries[recovery.recovery]


def _cached_blocks_lost(state: State, at: e.Recorded, event: e.CachedBlocksLost) -> None:
    """Notes of each app shuffle that is gone, or about to go, that cached blocks read in its place were lost.

    One that is there and stays needs no note: it is read where a block is missing.
    """
    for app_shuffle in event.app_shuffles:
        generation = state.current(app_shuffle)
        if generation is None or generation.life in GOING:
            edit(state.shuffles, app_shuffle, uncached=state.shuffles.get(app_shuffle, _UNHEARD).current)


APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.LineageLearned: _lineage_learned,
    e.JobStarted: _job_started,
    e.JobEnded: _job_ended,
    e.StageSubmitted: _stage_submitted,
    e.StageCompleted: _stage_completed,
    e.ExecutionStarted: _execution_started,
    e.ExecutionEnded: _execution_ended,
    e.ExecutorLost: _nothing,
    e.CachedBlocksLost: _cached_blocks_lost,
    e.ShuffleCleaned: _shuffle_cleaned,
}
