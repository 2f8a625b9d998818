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
from coordinator.core.state import Execution, Generation, State
from coordinator.core.values import Deletion, Lineage, Loss, Outputs

#: Lineages told at once beyond which everything is evaluated, and not what each of them concerns.
MANY = 64


def job_started(desk: Desk, command: c.ReportJobStarted) -> None:
    """Learns what the job lists. One that is known is told again after a reconnect: only its lineage can be new.

    What has ended does not run again: told late, or once more, it would live for ever.
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
    """Ahead of its job. What nobody knew before can only keep more: walks go on where they ended."""
    _learn_all(desk, command.lineage)


def _learn_all(desk: Desk, told: tuple[Lineage, ...]) -> None:
    """What is behind each of many is, as a rule, behind the next one too: walking it again and again is too much."""
    desk.concerns_all |= len(told) > MANY
    for lineage in told:
        _learn(desk, lineage)


def _learn(desk: Desk, lineage: Lineage) -> None:
    known = desk.state.shuffles.get(lineage.app_shuffle)
    if known is None or not known.told or known.lineage != lineage:
        desk.emit(e.LineageLearned(lineage, _cut_off(desk.state, lineage) if known is not None else ()))


def _cut_off(state: State, lineage: Lineage) -> tuple[AppShuffle, ...]:
    """What its map stage has read once and it is made from no more: a checkpoint has cut it off."""
    return tuple(sorted(set(cuts.inputs_read(state, lineage.app_shuffle)) - set(lineage.reads)))


def job_ended(desk: Desk, command: c.ReportJobEnded) -> None:
    desk.emit(e.JobEnded(command.job, command.succeeded, command.failure))


def stage_submitted(desk: Desk, command: c.ReportStageSubmitted) -> None:
    """A stage was submitted just now, unless facts were missed: then it may have run before something was lost.

    What has ended is not submitted again: told late or twice, it would read for ever, and write anew what is whole.
    """
    if not attempts.has_ended(desk.state, command.stage):
        submitted(desk, command, is_just_now=desk.state.meta.gap is None)


def submitted(desk: Desk, command: c.ReportStageSubmitted, is_just_now: bool) -> None:
    """A stage was really submitted: it reads and writes from now on.

    Spark submits a stage only when all that it has to read is there. So where what lies behind persisted RDDs is gone,
    the stage reads their blocks: it misses nothing.
    """
    known = desk.state.attempts.get(command.stage)
    if known is not None and known.submitted:
        return
    asked = _asked_wrongly(desk.state, command)
    desk.emit(_as_event(command, asked))
    _lose_what_nobody_writes(desk, asked)
    behind = caches.behind(command)
    for app_shuffle in command.reads:
        if is_just_now and app_shuffle not in behind:
            _note_whole(desk, app_shuffle)
        if not (app_shuffle in behind and cuts.is_gone(desk.state.current(app_shuffle))):
            readers.note_reader(desk, app_shuffle, command.stage)
    if command.writes is not None:
        writers.ask_to_write(desk, command.writes, command.stage, command.tasks)


def _as_event(command: c.ReportStageSubmitted, asked: ShuffleId | None) -> e.StageSubmitted:
    told = command.stage, command.reads, command.writes, command.tasks, command.name, command.cached, command.behind
    return e.StageSubmitted(*told, asked)


def _note_whole(desk: Desk, app_shuffle: AppShuffle) -> None:
    """What somebody has missed, and nobody writes again, is all there: Spark submits who reads it."""
    generation = desk.state.current(app_shuffle)
    if generation is not None and _is_left_partial(generation) and desk.take_move():
        desk.emit(e.GenerationCompleted(generation.shuffle_id, 0))


def _is_left_partial(generation: Generation) -> bool:
    return generation.life is Life.PARTIAL and not generation.writers


def _asked_wrongly(state: State, command: c.ReportStageSubmitted) -> ShuffleId | None:
    """Who had asked to write before its stage was told may have asked for what another one writes, or nobody does."""
    attempt = state.attempts.get(command.stage)
    asked = state.generations.get(attempt.writing) if attempt is not None and attempt.writing is not None else None
    return asked.shuffle_id if asked is not None and asked.app_shuffle != command.writes else None


def _lose_what_nobody_writes(desk: Desk, given_up: ShuffleId | None) -> None:
    """What was begun by nobody else has never been written; what others write, or have written, stays what it is."""
    begun = desk.state.generations.get(given_up) if given_up is not None else None
    if begun is not None and begun.life is Life.WRITING and not begun.written_by:
        lose(desk, begun, Loss.INVALIDATED)


def stage_completed(desk: Desk, command: c.ReportStageCompleted) -> None:
    """An attempt ended; if it ended well, what it wrote is complete."""
    attempt = desk.state.attempts.get(command.stage) if not command.failure else None
    written = attempt.writing if attempt is not None else None
    desk.emit(
        e.StageCompleted(
            command.stage,
            command.failure,
            command.shuffle_bytes_written,
            command.shuffle_bytes_read,
            command.output_bytes,
            command.output_records,
            command.task_ms,
            tuple(sorted(recovery.proved(desk.state, attempt))) if attempt is not None else (),
            tuple(sorted(recovery.unread(desk.state, attempt))) if attempt is not None else (),
        )
    )
    generation = desk.state.generations.get(written) if written is not None else None
    if generation is not None and generation.life is not Life.FENCED:  # else it had failed, and what it wrote is gone
        desk.emit(e.GenerationCompleted(generation.shuffle_id, command.shuffle_bytes_written))
    if attempt is not None and attempt.writes is not None:
        _cut_again(desk, attempt.reading, attempt.writes)


def _cut_again(desk: Desk, reading: tuple[ShuffleId, ...], written: AppShuffle) -> None:
    """Its lineage was cut while its map stage ran, or a task had asked for what is not in it."""
    known = desk.state.shuffles.get(written)
    read = {desk.state.generations[one].app_shuffle for one in reading if one in desk.state.generations}
    if known is None or not known.told or read <= set(known.lineage.reads):
        return
    cut_off = _cut_off(desk.state, known.lineage)
    if cut_off:
        desk.emit(e.LineageLearned(known.lineage, cut_off))


def outputs(desk: Desk, command: c.ReportOutputs) -> None:
    """What went missing. After a gap, until the resync: what is there at all, told in parts."""
    gap = desk.state.meta.gap
    missed = gap is not None and not gap.resynced
    for output in command.outputs:
        (take_stock if missed else _note_outputs)(desk, output)


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
    """Whole, or can be made whole. Else it is what is left of something lost, or who writes it will be told."""
    completes = output.available > 0 and state.meta.capabilities.completes_after_loss
    return completes or output.available >= output.total > 0


def _adopt(desk: Desk, output: Outputs) -> None:
    shuffle_id = desk.state.meta.next_shuffle_id
    desk.emit(e.GenerationAdopted(shuffle_id, output.app_shuffle, output.available, output.total))


def _note_outputs(desk: Desk, output: Outputs) -> None:
    """Some, or all, of what we hold for intact is gone.

    While writers run it says nothing: what they leave missing, Spark submits again, and that writer tells how much.
    Of what is being fenced some are gone at the most: its outcome decides what becomes of the rest. What waits for its
    fence and has lost a part may lose what was left.
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
    """What of that behind them was ever written."""
    shuffles = desk.state.shuffles
    behind = {one for one in command.app_shuffles if one in shuffles and shuffles[one].current is not None}
    if behind:
        desk.emit(e.CachedBlocksLost(command.executor, tuple(sorted(behind))))


def disk(desk: Desk, command: c.ReportDisk) -> None:
    """How full it is. Nothing to be told where the application was given a capacity: then data are counted."""
    meta = desk.state.meta
    is_known = any(known.disk == command.disk for known in meta.disks)
    if not meta.settings.pressure_capacity_bytes and (is_known or len(meta.disks) < pressure.DISKS):
        desk.emit(e.DiskReported(command.disk, command.used_bytes, command.free_bytes))


def execution_started(desk: Desk, command: c.ReportExecutionStarted) -> None:
    """Learns of one that runs; of one that a resync merely named, what it is. What has ended does not run again."""
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
    """Who has pinned it before, and why, is not forgotten."""
    shuffle = desk.state.shuffles.get(command.app_shuffle)
    if shuffle is not None and shuffle.pin is None:
        desk.emit(e.PinSet(command.app_shuffle, command.why))


def shuffle_cleaned(desk: Desk, command: c.ReportShuffleCleaned) -> None:
    """Spark's own cleaner has let it go: never premature, whatever state it was in.

    What of its generations there is no move left for, the sweep finds to be of no app shuffle that is known.
    """
    of_it = [g for g in desk.state.generations.values() if g.app_shuffle == command.app_shuffle]
    for generation in sorted(of_it, key=lambda generation: generation.shuffle_id):
        if desk.take_move():
            desk.emit(e.GenerationDeleted(generation.shuffle_id, Deletion.SPARK))
        else:
            desk.concerns_all = True
    if command.app_shuffle in desk.state.shuffles:
        desk.emit(e.ShuffleCleaned(command.app_shuffle, by_inputs=True))
