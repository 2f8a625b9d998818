"""The scheduler's facts: what Spark did.

Responsible for turning each reported fact into its event and the registrations that it implies. Refuses to know
policies; ``sweep`` draws the conclusions. Invariant: a fact is recorded as it was told, also where it makes no sense.
"""

from __future__ import annotations

from coordinator.core import asking
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, State
from coordinator.core.values import Deletion, Lineage, Loss, Outputs

#: Generations that one resync adopts at the most; what is beyond is left to Spark.
ADOPTIONS = 24


def job_started(desk: Desk, command: c.ReportJobStarted) -> None:
    """Learns what the job lists. A job that is known already is told again after a reconnect, and changes nothing."""
    if command.job in desk.state.jobs:
        return
    desk.emit(
        e.JobStarted(
            command.job,
            command.final_stage,
            command.reads,
            command.writes,
            command.stages,
            command.execution,
            command.group,
            command.policy,
            command.call_site,
        )
    )
    for lineage in command.lineage:
        _learn(desk, lineage)


def _learn(desk: Desk, lineage: Lineage) -> None:
    known = desk.state.shuffles.get(lineage.app_shuffle)
    if known is None or not known.told or known.lineage != lineage:
        desk.emit(e.LineageLearned(lineage))


def job_ended(desk: Desk, command: c.ReportJobEnded) -> None:
    desk.emit(e.JobEnded(command.job, command.succeeded, command.failure))


def stage_submitted(desk: Desk, command: c.ReportStageSubmitted) -> None:
    """A stage was really submitted: it reads and writes from now on."""
    known = desk.state.attempts.get(command.stage)
    if known is not None and known.submitted:
        return
    desk.emit(e.StageSubmitted(command.stage, command.reads, command.writes, command.tasks, command.name))
    for app_shuffle in command.reads:
        asking.note_reader(desk, app_shuffle, command.stage)
    if command.writes is not None:
        asking.ask_to_write(desk, command.writes, command.stage, command.tasks)


def stage_completed(desk: Desk, command: c.ReportStageCompleted) -> None:
    """An attempt ended; if it ended well, what it wrote is complete."""
    attempt = desk.state.attempts.get(command.stage)
    written = attempt.writing if attempt is not None and not command.failure else None
    desk.emit(
        e.StageCompleted(
            command.stage,
            command.failure,
            command.shuffle_bytes_written,
            command.shuffle_bytes_read,
            command.output_bytes,
            command.output_records,
        )
    )
    if written is not None and written in desk.state.generations:
        desk.emit(e.GenerationCompleted(written, command.shuffle_bytes_written))


def outputs(desk: Desk, command: c.ReportOutputs) -> None:
    for output in command.outputs:
        _note_outputs(desk, output)


def _note_outputs(desk: Desk, output: Outputs) -> None:
    """Some, or all, of what we hold for intact is gone."""
    generation = desk.state.current(output.app_shuffle)
    if generation is None or output.available >= output.total or generation.life in (Life.FENCING, Life.FENCED):
        return
    if generation.writers or not (generation.complete or generation.life is Life.PARTIAL):
        return  # it is being written; completeness will be told
    if output.available == 0 or not desk.state.meta.capabilities.completes_after_loss:
        asking.lose(desk, generation, Loss.OUTPUTS)
    elif generation.complete:
        desk.emit(e.OutputsLost(generation.shuffle_id, output.available, output.total))


def executor_lost(desk: Desk, command: c.ReportExecutorLost) -> None:
    desk.emit(e.ExecutorLost(command.executor, command.reason))


def execution_started(desk: Desk, command: c.ReportExecutionStarted) -> None:
    if command.execution not in desk.state.executions:
        desk.emit(e.ExecutionStarted(command.execution, command.name, command.writes_output))


def execution_ended(desk: Desk, command: c.ReportExecutionEnded) -> None:
    desk.emit(e.ExecutionEnded(command.execution, command.failed))


def shuffle_cleaned(desk: Desk, command: c.ReportShuffleCleaned) -> None:
    """Spark's own cleaner has let it go: never premature, whatever state it was in."""
    for generation in _generations_of(desk.state, command.app_shuffle):
        desk.emit(e.GenerationDeleted(generation.shuffle_id, Deletion.SPARK))
    if command.app_shuffle in desk.state.shuffles:
        desk.emit(e.ShuffleCleaned(command.app_shuffle))


def _generations_of(state: State, app_shuffle: AppShuffle) -> list[Generation]:
    return [g for g in state.generations.values() if g.app_shuffle == app_shuffle]


def gap(desk: Desk, command: c.ReportGap) -> None:
    """Nothing expires until a resync has come and the jobs then running have ended."""
    running = tuple(sorted(desk.state.jobs))
    desk.emit(e.GapRecorded(command.dropped, command.where, running))


def resync(desk: Desk, command: c.Resync) -> None:
    """Brings what we believe in line with what is: ends what is over, learns what runs, adopts what is there."""
    _end_what_is_over(desk, command)
    for execution in command.executions:
        execution_started(desk, execution)
    for job in command.jobs:
        job_started(desk, job)
    _compare_outputs(desk, command.outputs)
    for stage in command.stages:
        stage_submitted(desk, stage)
    if desk.state.jobs or desk.state.meta.gap is not None:
        running = tuple(sorted(desk.state.jobs))
        desk.emit(e.GapRecorded(0, "resync", running, resynced=True))


def _end_what_is_over(desk: Desk, command: c.Resync) -> None:
    running = {job.job for job in command.jobs}
    for job in sorted(set(desk.state.jobs) - running):
        desk.emit(e.JobEnded(job, succeeded=False, failure="its end was missed"))
    alive = {execution.execution for execution in command.executions}
    for execution in sorted(set(desk.state.executions) - alive):
        desk.emit(e.ExecutionEnded(execution, failed=False))
    submitted = {stage.stage for stage in command.stages}
    for stage in sorted(set(desk.state.attempts) - submitted):
        if desk.state.attempts[stage].running:
            desk.emit(e.StageCompleted(stage, "its end was missed"))


def _compare_outputs(desk: Desk, found: tuple[Outputs, ...]) -> None:
    there = {output.app_shuffle for output in found}
    for app_shuffle in sorted(set(desk.state.shuffles) - there)[:ADOPTIONS]:
        if desk.state.shuffles[app_shuffle].current is not None:
            shuffle_cleaned(desk, c.ReportShuffleCleaned(app_shuffle))
    adopted = 0
    for output in found:
        shuffle = desk.state.shuffles.get(output.app_shuffle)
        if shuffle is not None and shuffle.current is not None:
            _compare(desk, output)
        elif output.available > 0 and adopted < ADOPTIONS:
            adopted += 1
            _adopt(desk, output)


def _compare(desk: Desk, output: Outputs) -> None:
    """A known generation: perhaps completed, perhaps lost, perhaps written anew while nobody told us."""
    generation = desk.state.current(output.app_shuffle)
    if generation is None or generation.life is Life.FENCED:
        if output.available > 0:
            _adopt(desk, output)
    elif output.available >= output.total > 0 and not generation.complete:
        desk.emit(e.GenerationCompleted(generation.shuffle_id, 0))
    else:
        _note_outputs(desk, output)


def _adopt(desk: Desk, output: Outputs) -> None:
    shuffle_id = desk.state.meta.next_shuffle_id
    desk.emit(e.GenerationAdopted(shuffle_id, output.app_shuffle, output.available, output.total))
