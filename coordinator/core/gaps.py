"""Facts that were missed, and the truth that is told after them.

Responsible for gaps, and for bringing what we believe in line with what a resync says is so. Refuses to know how facts
get lost, and what follows from them (``sweep``). Invariant: a resync is carried out as a whole or refused as a whole,
since a truth that was accepted is not told again; only the data of what has been cleaned go in steps, and stages that
run there is no move left for are told once more behind it, and of very many that were cleaned some stay known.
"""

from __future__ import annotations

import itertools

from coordinator.core import commands as c
from coordinator.core import cuts, scheduler
from coordinator.core import events as e
from coordinator.core.desk import MOVES, Desk
from coordinator.core.ids import AppShuffle, ExecutionId, within
from coordinator.core.state import State
from coordinator.core.values import Outputs

#: App shuffles that one resync forgets at the most, 26 bytes of a segment each.
FORGOTTEN = 10_000


def gap(desk: Desk, command: c.ReportGap) -> None:
    """Nothing expires until a resync has come and the jobs then running have ended."""
    running = tuple(sorted(desk.state.jobs))
    desk.emit(e.GapRecorded(command.dropped, command.where, running))


def resync(desk: Desk, command: c.Resync) -> None:
    """Brings what we believe in line with what is: ends what is over, learns what runs, adopts what is there."""
    _end_what_is_over(desk, command)
    for execution in command.executions:
        scheduler.execution_started(desk, execution)
    for job in command.jobs:
        scheduler.job_started(desk, job)
    _compare_outputs(desk, command.outputs)
    for stage in command.stages:
        _run_on(desk, stage)
    if desk.state.jobs or desk.state.meta.gap is not None:
        running = tuple(sorted(desk.state.jobs))
        desk.emit(e.GapRecorded(0, "resync", running, resynced=True))


def is_too_much(state: State, command: c.Resync) -> bool:
    """Whether more differs from what we believe than one fact may change: whoever has so much tells it in parts before.

    Nothing would remember what is left out, and a truth that was accepted is not told again.
    """
    if len(command.outputs) <= MOVES:
        return False
    probe = Desk.over(state, state.meta.time_ms)
    _end_what_is_over(probe, command)
    differing = (output for output in command.outputs if _differs(probe, output))
    return next(itertools.islice(differing, MOVES, None), None) is not None


def _differs(desk: Desk, output: Outputs) -> bool:
    """Whether it was not what we believe; it is from here on."""
    before = len(desk.log)
    scheduler.take_stock(desk, output)
    return len(desk.log) > before


def _run_on(desk: Desk, command: c.ReportStageSubmitted) -> None:
    """A stage that runs. What there is no move left for is told once more, as a submission of its own.

    What it writes may go and begin anew: two generations move.
    """
    if desk.take_move() and (command.writes is None or desk.take_move()):
        scheduler.submitted(desk, command, is_just_now=False)


def _end_what_is_over(desk: Desk, command: c.Resync) -> None:
    running = {job.job for job in command.jobs}
    for job in sorted(set(desk.state.jobs) - running):
        desk.emit(e.JobEnded(job, succeeded=False, failure="its end was missed"))
    alive = {execution.execution for execution in command.executions}
    for execution in sorted(_executions(desk.state) - alive):
        desk.emit(e.ExecutionEnded(execution, failed=False))
    submitted = {stage.stage for stage in command.stages}
    for stage in sorted(set(desk.state.attempts) - submitted):
        if desk.state.attempts[stage].running:
            desk.emit(e.StageCompleted(stage, "its end was missed"))


def _executions(state: State) -> set[ExecutionId]:
    """Every execution that may still run, as far as we know: started, or merely named by what was written or read."""
    named = {execution for g in state.generations.values() for execution in (g.execution, g.last_read_execution)}
    unended = {n for n in named if n is not None and not within(state.meta.executions_ended, n)}
    return unended | set(state.executions)


def _compare_outputs(desk: Desk, found: tuple[Outputs, ...]) -> None:
    """Takes what differs from what we believe, and what moves are left for of what has been cleaned."""
    for output in found:
        if _differs(desk, output):
            desk.take_move()
    state = desk.state
    there = {output.app_shuffle for output in found}
    for app_shuffle in sorted(set(state.shuffles) - there - cuts.listed(state)):
        if state.current(app_shuffle) is not None and desk.moves_left:
            scheduler.shuffle_cleaned(desk, c.ReportShuffleCleaned(app_shuffle))
    _forget_cleaned(desk, there)


def _forget_cleaned(desk: Desk, there: set[AppShuffle]) -> None:
    """What Spark has no longer registered. No record is moved, so there may be many; what somebody uses is left.

    More than a segment holds wait for the next resync; first go those of which something is there.
    """
    state = desk.state
    cleaned = [(state.current(one), one) for one in sorted(set(state.shuffles) - there - cuts.listed(state))]
    unused = [(found is None, one) for found, one in cleaned if found is None or not found.in_use]
    for app_shuffle in sorted(one for _, one in sorted(unused)[:FORGOTTEN]):
        desk.emit(e.ShuffleCleaned(app_shuffle, by_inputs=True))
        desk.concerns_all = True
