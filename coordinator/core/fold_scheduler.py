"""What events about the scheduler mean.

Responsible for jobs, SQL executions and lineages, and for what Spark itself lets go. Refuses to judge (``evolve``), and
to know how a stage attempt runs (`fold_stages`). Invariant: an attempt goes when no live job lists its stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from coordinator.core import events as e
from coordinator.core import fold_recovery
from coordinator.core.fold_stages import forget_attempt, is_listed
from coordinator.core.ids import AppShuffle, JobId, Span, StageAttempt, StageId, add_span
from coordinator.core.lifecycle import GOING
from coordinator.core.making import altering, maker, replace
from coordinator.core.state import Execution, Gap, Job, Meta, Shuffle, State, edit, given_to
from coordinator.core.values import Lineage

#: What an app shuffle is before anything is known of it.
_UNHEARD = Shuffle(Lineage(AppShuffle(0)))

# What nearly every job alters, named by what has become of the record.
_numbered = altering(Meta, "next_stage")
_over = altering(Meta, "jobs_ended", "stages_ended")
_told = altering(Shuffle, "lineage", "told")
_job = maker(Job)
_heard = altering(Job, "done")


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
    """The job learns from other live jobs which attempts of the stages that they share have ended well.

    A task of such an attempt that still asks is then known to be late even when those other jobs are over.
    """
    done = frozenset(one for other in state.jobs.values() for one in other.done if job.lists(one.stage))
    if done:
        state.jobs[job.job] = _heard(job, done=_last_of_each(done))


def _last_of_each(attempts: Iterable[StageAttempt]) -> frozenset[StageAttempt]:
    """Of each stage the last attempt: whoever is late for an earlier one is late for that one too."""
    return frozenset({one.stage: one for one in sorted(attempts)}.values())


def _take_early_writers(state: State, job: Job) -> None:
    """Makes the job that of the generations which its stages began to write before the job was told."""
    for attempt in list(state.attempts.values()):
        generation = state.generations.get(attempt.writing) if attempt.writing is not None else None
        if generation is not None and generation.job is None and job.lists(attempt.stage.stage):
            state.generations[generation.shuffle_id] = given_to(generation, job)


def _forget_never_listed(state: State, at: e.Recorded) -> None:
    """Forgets attempts known from their tasks alone whose stage no job lists: none will, as stage ids only grow."""
    for attempt in list(state.attempts.values()):
        stage = attempt.stage.stage
        if not attempt.submitted and stage < state.meta.next_stage and not is_listed(state, stage):
            forget_attempt(state, at, attempt)


def _job_ended(state: State, at: e.Recorded, event: e.JobEnded) -> None:
    ended = state.jobs.pop(event.job, None)
    if ended is not None:
        _forget_attempts_of(state, at, ended)
    jobs_ended = add_span(state.meta.jobs_ended, Span(event.job, event.job))
    stages_ended = reduce(add_span, _stages_of(ended) if ended is not None else (), state.meta.stages_ended)
    state.meta = _over(state.meta, jobs_ended=jobs_ended, stages_ended=stages_ended)
    _shrink_gap(state, event.job)


def _forget_attempts_of(state: State, at: e.Recorded, ended: Job) -> None:
    for attempt in list(state.attempts.values()):
        stage = attempt.stage.stage
        if ended.lists(stage) and not is_listed(state, stage):
            forget_attempt(state, at, attempt)


def _stages_of(job: Job) -> tuple[Span, ...]:
    return (*job.stages, Span(job.final_stage, job.final_stage))


def _shrink_gap(state: State, job: JobId) -> None:
    gap = state.meta.gap
    if gap is None or job not in gap.until:
        return
    until = gap.until - {job}
    state.meta = replace(state.meta, gap=Gap(until, gap.resynced) if until or not gap.resynced else None)


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
        fold_recovery.forget_app_shuffle(state, event.app_shuffle)
    if known is not None and event.by_inputs:
        _forget_map_reader(state, event.app_shuffle, known.lineage.reads)


def _forget_map_reader(state: State, written: AppShuffle, inputs: Iterable[AppShuffle]) -> None:
    """Removes it from the map readers of its inputs, where an input that a loop reads would gather one a round.

    Nothing is lost with that when Spark has cleaned it: then it counts as let go in any case.
    """
    for generation in map(state.current, inputs):
        if generation is not None and written in generation.map_readers:
            left = generation.map_readers - {written}
            state.generations[generation.shuffle_id] = replace(generation, map_readers=left)


def _cached_blocks_lost(state: State, at: e.Recorded, event: e.CachedBlocksLost) -> None:
    """Notes for each app shuffle that is gone, or about to go, that cached blocks which stood in for it were lost.

    One that is there and stays needs no note: Spark reads it where a block is missing.
    """
    for app_shuffle in event.app_shuffles:
        generation = state.current(app_shuffle)
        if generation is None or generation.life in GOING:
            edit(state.shuffles, app_shuffle, uncached=state.shuffles.get(app_shuffle, _UNHEARD).current)


APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.LineageLearned: _lineage_learned,
    e.JobStarted: _job_started,
    e.JobEnded: _job_ended,
    e.ExecutionStarted: _execution_started,
    e.ExecutionEnded: _execution_ended,
    e.ExecutorLost: _nothing,
    e.CachedBlocksLost: _cached_blocks_lost,
    e.ShuffleCleaned: _shuffle_cleaned,
}
