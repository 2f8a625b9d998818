"""The scheduler's facts: what Spark did.

Responsible for turning each reported fact into its event and the registrations that it implies. Refuses to know
policies; ``sweep`` draws the conclusions. Invariant: a fact is recorded as it was told, also where it makes no sense;
but what has ended does not begin again, and what is known is not recorded twice.
"""

from __future__ import annotations

from coordinator.core import attempts, caches, cuts, pressure, readers, recovery, writers
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, ShuffleId, within
from coordinator.core.lifecycle import Life
from coordinator.core.losses import lose
from coordinator.core.state import Attempt, Execution, State
from coordinator.core.values import Deletion, Lineage, Loss, Outputs

#: Lineages told at once beyond which everything is evaluated, and not what each of them concerns.
MANY = 64


def job_started(desk: Desk, command: c.ReportJobStarted) -> None:
    """Records a job, and the lineage of what it lists.

    One that is known is told again after a reconnect: only its lineage can be new. One that has ended is left out: told
    late, or twice, it would live for ever.
    """
    if within(desk.state.meta.jobs_ended, command.job):
        return
    if command.job not in desk.state.jobs:
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
    _learn_all(desk, command.lineage)


def lineage_told(desk: Desk, command: c.ReportLineage) -> None:
    """Lineage that is told ahead of its job. It can only keep more: walks that ended there go on."""
    _learn_all(desk, command.lineage)


def _learn_all(desk: Desk, told: tuple[Lineage, ...]) -> None:
    """Records lineage. For very many at once everything is evaluated: that costs less than a walk behind each."""
    desk.concerns_all |= len(told) > MANY
    for lineage in told:
        _learn(desk, lineage)


def _learn(desk: Desk, lineage: Lineage) -> None:
    known = desk.state.shuffles.get(lineage.app_shuffle)
    if known is None or not known.told or known.lineage != lineage:
        desk.emit(e.LineageLearned(lineage, _cut_off(desk.state, lineage) if known is not None else ()))


def _cut_off(state: State, lineage: Lineage) -> tuple[AppShuffle, ...]:
    """What its map stage has read, and by this lineage reads no more: a checkpoint has cut it off."""
    return tuple(sorted(set(cuts.inputs_read(state, lineage.app_shuffle)) - set(lineage.reads)))


def job_ended(desk: Desk, command: c.ReportJobEnded) -> None:
    desk.emit(e.JobEnded(command.job, command.succeeded, command.failure))


def stage_submitted(desk: Desk, command: c.ReportStageSubmitted) -> None:
    """A stage was submitted. In a gap that may have been before something was lost.

    An attempt that has ended is left out: told late, or twice, it would read for ever, and write anew what is complete.
    """
    if not attempts.has_ended(desk.state, command.stage):
        submitted(desk, command, is_just_now=desk.state.meta.gap is None)


def submitted(desk: Desk, command: c.ReportStageSubmitted, is_just_now: bool) -> None:
    """Records a stage that runs: it reads and writes from now on.

    Spark submits a stage only when all that it has to read is there. So where something behind its persisted RDDs is
    gone, it reads their blocks, and misses nothing. ``is_just_now``: nothing can have been lost since it was submitted,
    so that what counts as partial is complete after all.
    """
    known = desk.state.attempts.get(command.stage)
    if known is not None and known.submitted:
        return
    asked = _asked_wrongly(desk.state, command)
    desk.emit(_as_event(command, asked))
    _lose_unless_others_write(desk, asked)
    behind = caches.behind(command)
    for app_shuffle in command.reads:
        if is_just_now and app_shuffle not in behind:
            _complete_left_partial(desk, app_shuffle)
        if not (app_shuffle in behind and cuts.is_gone(desk.state.current(app_shuffle))):
            readers.note_reader(desk, app_shuffle, command.stage)
    if command.writes is not None:
        writers.ask_to_write(desk, command.writes, command.stage, command.tasks)


def _as_event(command: c.ReportStageSubmitted, asked: ShuffleId | None) -> e.StageSubmitted:
    told = command.stage, command.reads, command.writes, command.tasks, command.name, command.cached, command.behind
    return e.StageSubmitted(*told, asked)


def _complete_left_partial(desk: Desk, app_shuffle: AppShuffle) -> None:
    """A generation that counts as partial, and that nobody writes, is complete after all: Spark submits its reader."""
    generation = desk.state.current(app_shuffle)
    if generation is None or generation.life is not Life.PARTIAL or generation.writers:
        return
    if desk.take_move():
        desk.emit(e.GenerationCompleted(generation.shuffle_id, 0))


def _asked_wrongly(state: State, command: c.ReportStageSubmitted) -> ShuffleId | None:
    """The generation that the attempt had asked to write early, where its submission says that it does not write it."""
    attempt = state.attempts.get(command.stage)
    asked = state.generations.get(attempt.writing) if attempt is not None and attempt.writing is not None else None
    return asked.shuffle_id if asked is not None and asked.app_shuffle != command.writes else None


def _lose_unless_others_write(desk: Desk, given_up: ShuffleId | None) -> None:
    """Ends a generation that its writer has given up, where no other attempt has begun it: nothing was written."""
    begun = desk.state.generations.get(given_up) if given_up is not None else None
    if begun is not None and begun.life is Life.WRITING and not begun.written_by:
        lose(desk, begun, Loss.INVALIDATED)


def stage_completed(desk: Desk, command: c.ReportStageCompleted) -> None:
    """An attempt ended; if it ended well, what it wrote is complete."""
    attempt = desk.state.attempts.get(command.stage) if not command.failure else None
    desk.emit(_completed(desk.state, command, attempt))
    written = attempt.writing if attempt is not None else None
    generation = desk.state.generations.get(written) if written is not None else None
    if generation is not None and generation.life is not Life.FENCED:  # else it had failed, and what it wrote is gone
        desk.emit(e.GenerationCompleted(generation.shuffle_id, command.shuffle_bytes_written))
    if attempt is not None and attempt.writes is not None:
        _learn_cut(desk, attempt.reading, attempt.writes)


def _completed(state: State, command: c.ReportStageCompleted, attempt: Attempt | None) -> e.StageCompleted:
    """``attempt``: as it is known, where it ended well."""
    return e.StageCompleted(
        command.stage,
        command.failure,
        command.shuffle_bytes_written,
        command.shuffle_bytes_read,
        command.output_bytes,
        command.output_records,
        command.task_ms,
        tuple(sorted(recovery.proved(state, attempt))) if attempt is not None else (),
        tuple(sorted(recovery.unread(state, attempt))) if attempt is not None else (),
    )


def _learn_cut(desk: Desk, reading: tuple[ShuffleId, ...], written: AppShuffle) -> None:
    """Tells the lineage once more where the stage has read what is not in it any more.

    A checkpoint has cut it while the stage ran, or a task had asked by mistake.
    """
    known = desk.state.shuffles.get(written)
    read = {desk.state.generations[one].app_shuffle for one in reading if one in desk.state.generations}
    if known is None or not known.told or read <= set(known.lineage.reads):
        return
    cut_off = _cut_off(desk.state, known.lineage)
    if cut_off:
        desk.emit(e.LineageLearned(known.lineage, cut_off))


def outputs(desk: Desk, command: c.ReportOutputs) -> None:
    """Outputs that are gone; between a gap and its resync, all that is there, told in parts."""
    gap = desk.state.meta.gap
    take = take_stock if gap is not None and not gap.resynced else _note_outputs
    for output in command.outputs:
        take(desk, output)


def take_stock(desk: Desk, output: Outputs) -> None:
    """What is there now: perhaps completed, lost, or fenced and written anew unseen, perhaps new to us."""
    generation = desk.state.current(output.app_shuffle)
    if generation is None or generation.life is Life.FENCED:
        if _is_of_use(desk.state, output):
            _adopt(desk, output)
    elif output.available >= output.total > 0 and not generation.complete:
        desk.emit(e.GenerationCompleted(generation.shuffle_id, 0))
    else:
        _note_outputs(desk, output)


def _is_of_use(state: State, output: Outputs) -> bool:
    """Whether it can be read, or completed. Else it is the rest of something lost, or its writer will be told."""
    completes = output.available > 0 and state.meta.capabilities.completes_after_loss
    return completes or output.available >= output.total > 0


def _adopt(desk: Desk, output: Outputs) -> None:
    shuffle_id = desk.state.meta.next_shuffle_id
    desk.emit(e.GenerationAdopted(shuffle_id, output.app_shuffle, output.available, output.total))


def _note_outputs(desk: Desk, output: Outputs) -> None:
    """Records that some, or all, outputs are gone of what counts as there.

    While writers run it says nothing: what they leave missing Spark submits again, and that submission tells how much.
    Of what is being fenced only the loss of outputs is recorded, since the outcome of the fence decides. Anything else
    is lost where the service cannot complete it, or where nothing is left.
    """
    generation = desk.state.current(output.app_shuffle)
    if generation is None or output.available >= output.total or generation.life is Life.FENCED:
        return
    if generation.writers or not (generation.completed or generation.life is Life.PARTIAL):
        return  # it is being written; completeness will be told
    completes = output.available > 0 and desk.state.meta.capabilities.completes_after_loss
    if not completes and generation.life is not Life.FENCING:
        lose(desk, generation, Loss.OUTPUTS)
    elif generation.complete:
        desk.emit(e.OutputsLost(generation.shuffle_id, output.available, output.total))


def executor_lost(desk: Desk, command: c.ReportExecutorLost) -> None:
    desk.emit(e.ExecutorLost(command.executor, command.reason))


def cached_blocks_lost(desk: Desk, command: c.ReportCachedBlocksLost) -> None:
    """Cached blocks are gone; of the app shuffles behind them those are named that were ever written."""
    shuffles = desk.state.shuffles
    behind = {one for one in command.app_shuffles if one in shuffles and shuffles[one].current is not None}
    if behind:
        desk.emit(e.CachedBlocksLost(command.executor, tuple(sorted(behind))))


def disk(desk: Desk, command: c.ReportDisk) -> None:
    """How full a disk is. Left out where the application has a capacity: then its data are counted instead."""
    meta = desk.state.meta
    is_known = any(known.disk == command.disk for known in meta.disks)
    if not meta.settings.pressure_capacity_bytes and (is_known or len(meta.disks) < pressure.DISKS):
        desk.emit(e.DiskReported(command.disk, command.used_bytes, command.free_bytes))


def execution_started(desk: Desk, command: c.ReportExecutionStarted) -> None:
    """Records an SQL execution that runs, also where a resync had only named it. One that has ended is left out."""
    known, named = desk.state.executions.get(command.execution), Execution(command.execution)
    told = Execution(command.execution, command.name, command.writes_output)
    is_over = within(desk.state.meta.executions_ended, command.execution)
    if known in (None, named) and known != told and not is_over:
        desk.emit(e.ExecutionStarted(command.execution, command.name, command.writes_output))


def execution_ended(desk: Desk, command: c.ReportExecutionEnded) -> None:
    desk.emit(e.ExecutionEnded(command.execution, command.failed))


def generations_mixed(desk: Desk, command: c.ReportGenerationsMixed) -> None:
    """Only recorded: what could be done about it, the driver has done."""
    desk.emit(
        e.GenerationsMixed(
            command.app_shuffle,
            command.job,
            command.stage,
            command.delivered,
            command.partitions,
            command.late,
            command.failed,
        )
    )


def results_may_differ(desk: Desk, command: c.ReportResultsMayDiffer) -> None:
    desk.emit(e.ResultsMayDiffer(command.app_shuffle))


def kept(desk: Desk, command: c.ReportKept) -> None:
    """Pins what the shuffle service has to keep; a pin that is there already stays, with its reason."""
    shuffle = desk.state.shuffles.get(command.app_shuffle)
    if shuffle is not None and shuffle.pin is None:
        desk.emit(e.PinSet(command.app_shuffle, command.why))


def shuffle_cleaned(desk: Desk, command: c.ReportShuffleCleaned) -> None:
    """Spark's own cleaner has let the app shuffle go: its generations are deleted, and nobody has missed them.

    Those for which no move is left are deleted by the sweep, which meets them without a known app shuffle.
    """
    of_it = [g for g in desk.state.generations.values() if g.app_shuffle == command.app_shuffle]
    for generation in sorted(of_it, key=lambda generation: generation.shuffle_id):
        if desk.take_move():
            desk.emit(e.GenerationDeleted(generation.shuffle_id, Deletion.SPARK))
        else:
            desk.concerns_all = True
    if command.app_shuffle in desk.state.shuffles:
        desk.emit(e.ShuffleCleaned(command.app_shuffle, by_inputs=True))
