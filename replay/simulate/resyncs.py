"""The whole truth after a gap: from its events back to the `Resync` that told it.

A resync is the one command whose events are many facts at once: what ended during the gap, what began, and what outputs
are there. It also names all that the coordinator knew already, and of that no event is left.

Responsible for telling which events are those of a resync, and for the jobs, stages, executions and outputs that it
named. Refuses to know other commands. Invariant: whatever it must have named, and no event tells of, is named again so
that the core finds nothing new in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from coordinator.core import commands as c
from coordinator.core import cuts
from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, ExecutionId, ShuffleId, within
from coordinator.core.state import State, copy
from coordinator.core.values import Loss, Outputs

#: Of these, every other command gives at most one.
_FACTS = (e.JobEnded, e.ExecutionEnded, e.StageCompleted, e.ExecutionStarted, e.JobStarted, e.StageSubmitted)


def is_one(state: State, events: list[e.Event]) -> bool:
    """Whether these events of one command are those of a resync; ``state``: the one before them."""
    missed = state.meta.gap is not None and not state.meta.gap.resynced  # then parts of it come before it
    adopts = any(isinstance(event, e.GenerationAdopted) for event in events)
    if not missed and (adopts or isinstance(events[0], e.GenerationCompleted)):
        return True
    if isinstance(events[0], e.GapRecorded) and not events[0].resynced:
        return False
    if any(isinstance(event, e.GapRecorded) for event in events):
        return True
    return sum(isinstance(event, (*_FACTS, e.ShuffleCleaned)) for event in events) > 1


def command_of(
    state: State, events: list[e.Event], app_shuffle: Callable[[ShuffleId, list[e.Event]], AppShuffle]
) -> c.Resync:
    """The resync of these events. ``state``: the one before them; ``app_shuffle``: whose generation a shuffle id is."""
    return c.Resync(
        tuple(_jobs(state, events)),
        tuple(_stages(state, events)),
        tuple(_executions(state, events)),
        tuple(_outputs(state, events, lambda given: app_shuffle(given, events))),
    )


def job_of(started: e.JobStarted, events: Iterable[e.Event]) -> c.ReportJobStarted:
    """The report of a job that started, with the lineage that these events tell."""
    return c.ReportJobStarted(
        started.job,
        started.final_stage,
        started.reads,
        started.writes,
        started.stages,
        tuple(event.lineage for event in events if isinstance(event, e.LineageLearned)),
        started.execution,
        started.group,
        started.policy,
        started.call_site,
    )


def submission_of(submitted: e.StageSubmitted) -> c.ReportStageSubmitted:
    """The report of a stage that was submitted."""
    return c.ReportStageSubmitted(
        submitted.stage,
        submitted.reads,
        submitted.writes,
        submitted.tasks,
        submitted.name,
        submitted.cached,
        submitted.behind,
    )


def outputs_of(event: e.Event, app_shuffle: Callable[[ShuffleId], AppShuffle]) -> Outputs | None:
    """The outputs whose report the event follows from; None where it does not follow from such a report."""
    if isinstance(event, e.GenerationAdopted):
        return Outputs(event.app_shuffle, event.available, event.total)
    if isinstance(event, e.OutputsLost):
        return Outputs(app_shuffle(event.shuffle_id), event.available, event.total)
    if isinstance(event, e.GenerationLost) and event.cause is Loss.OUTPUTS:
        return Outputs(app_shuffle(event.shuffle_id), 0, 1)
    if isinstance(event, e.GenerationCompleted):
        return Outputs(app_shuffle(event.shuffle_id), 1, 1)
    return None


def _jobs(state: State, events: list[e.Event]) -> Iterator[c.ReportJobStarted]:
    """Jobs that go on, then those that are new. Lineage belongs to the job whose start stands before it."""
    ended = {event.job for event in events if isinstance(event, e.JobEnded)}
    told: dict[int, list[e.Event]] = {}
    last = max((job for job in state.jobs if job not in ended), default=None)
    started: dict[int, e.JobStarted] = {}
    for event in events:
        if isinstance(event, e.JobStarted):
            last, started[event.job] = event.job, event
        elif isinstance(event, e.LineageLearned) and last is not None:
            told.setdefault(last, []).append(event)
    for job in state.jobs.values():
        if job.job not in ended:
            lineage = tuple(t.lineage for t in told.get(job.job, ()) if isinstance(t, e.LineageLearned))
            yield c.ReportJobStarted(job.job, job.final_stage, lineage=lineage)
    for number, event in started.items():
        yield job_of(event, told.get(number, ()))


def _stages(state: State, events: list[e.Event]) -> Iterator[c.ReportStageSubmitted]:
    over = {event.stage for event in events if isinstance(event, e.StageCompleted)}
    for attempt in _without_ended(state, events).attempts.values():
        if attempt.running and attempt.submitted and attempt.stage not in over:
            yield c.ReportStageSubmitted(attempt.stage, attempt.reads, attempt.writes, name=attempt.name)
    for event in events:
        if isinstance(event, e.StageSubmitted):
            yield submission_of(event)


def _without_ended(state: State, events: list[e.Event]) -> State:
    """The state without the jobs that have ended, and so without their stages, as the core compares what was told."""
    left = copy(state)
    for event in events:
        if isinstance(event, e.JobEnded):
            apply(left, e.Recorded(left.meta.next_sequence, left.meta.time_ms, left.meta.next_sequence, event))
    return left


def _executions(state: State, events: list[e.Event]) -> Iterator[c.ReportExecutionStarted]:
    ended = {event.execution for event in events if isinstance(event, e.ExecutionEnded)}
    started = [event for event in events if isinstance(event, e.ExecutionStarted)]
    for execution in sorted(_may_run(state) - ended):
        known = state.executions.get(execution)
        if known is not None:
            yield c.ReportExecutionStarted(execution, known.name, known.writes_output)
    for event in started:
        yield c.ReportExecutionStarted(event.execution, event.name, event.writes_output)


def _may_run(state: State) -> set[ExecutionId]:
    named = {execution for g in state.generations.values() for execution in (g.execution, g.last_read_execution)}
    return {n for n in named if n is not None and not within(state.meta.executions_ended, n)} | set(state.executions)


def _outputs(state: State, events: list[e.Event], app_shuffle: Callable[[ShuffleId], AppShuffle]) -> Iterator[Outputs]:
    """Outputs that were not as the coordinator knew them, in their order; then all others, told as it knows them."""
    cleaned = {event.app_shuffle for event in events if isinstance(event, e.ShuffleCleaned)}
    told: set[AppShuffle] = set()
    for event in events:
        found = outputs_of(event, app_shuffle)
        if found is not None and found.app_shuffle not in told | cleaned:
            told.add(found.app_shuffle)
            yield found
    for one in sorted(set(state.shuffles) - told - cleaned):
        generation = state.current(one)
        if cuts.is_gone(generation):
            yield Outputs(one, 0, 1)
        elif generation is not None:
            yield Outputs(one, 1, 1 if generation.complete else 2)
