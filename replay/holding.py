"""Why a generation is still there.

Responsible for the reasons that hold data which is neither fenced nor deleted, read from the folded state. Refuses to
know how the state came about. Invariant: for whatever is held there is at least one reason.
"""

# Every row of a table takes what the table hands it.
# ruff: noqa: ARG001, ARG005

from __future__ import annotations

from collections.abc import Callable, Iterator

from coordinator.core import cuts, lineages, policies
from coordinator.core.lifecycle import Life
from coordinator.core.state import Gap, Generation, State
from coordinator.core.values import Hold, Rule
from replay.names import Names
from replay.units import clock, count, few


def reasons(state: State, generation: Generation, names: Names) -> tuple[str, ...]:
    """Why it is held, the strongest first."""
    if generation.life is Life.EXPIRED:
        return (_HOLDS[generation.hold](state, generation),)
    if generation.life is Life.FENCING:
        return (f"the driver was asked to fence it (directive {generation.directive}) and has not answered yet",)
    if generation.life is Life.FENCED:
        return (_going(state, generation),)
    found = (*_users(generation, names), *_holders(state, generation, names), *_doubts(state, generation))
    return found or (_not_released(state, generation, names),)


def _going(state: State, generation: Generation) -> str:
    """Why a fenced generation is still there: its data are about to go, or their deletion has failed."""
    deletion = state.directives.get(generation.directive) if generation.directive is not None else None
    if deletion is None or not deletion.failures:
        return "it is fenced: nobody can read it, and its data are about to go"
    failed = f"its deletion (directive {deletion.directive}) has failed {count(deletion.failures, 'time')}"
    return f"it is fenced: nobody can read it, but {failed}; it is asked for again at {clock(deletion.due_ms)}"


# --- expired, and not fenced ------------------------------------------------------------------------------------------


def _pin(state: State, generation: Generation) -> str:
    shuffle = state.shuffles.get(generation.app_shuffle)
    why = f": {shuffle.pin}" if shuffle is not None and shuffle.pin else ""
    return f"it is pinned{why}; `shufflectl unpin` lets it go"


def _suspended(state: State, generation: Generation) -> str:
    why = state.meta.suspended.value if state.meta.suspended is not None else "it suspended itself"
    return f"deletion is suspended ({why}); `shufflectl resume` lets it go on"


def _pressure(state: State) -> str:
    """Why policy `pressure` does not take an expired generation now."""
    high = state.meta.settings.pressure_high_percent
    if not state.meta.disks and not state.meta.settings.pressure_capacity_bytes:
        return "policy pressure deletes where a disk is full, and nobody has told of a disk"
    if not state.meta.full:
        return f"policy pressure deletes where a disk is used to {high} %, and none is"
    return "policy pressure has others go first"


_HOLDS: dict[Hold, Callable[[State, Generation], str]] = {
    Hold.NONE: lambda s, g: "nothing holds it: its fence is about to be asked for",
    Hold.GRACE: lambda s, g: f"the policy's grace lasts until {clock(g.due_ms)}",
    Hold.OBSERVE: lambda s, g: "policy observe only watches: under another policy it would have been deleted",
    Hold.PIN: _pin,
    Hold.SUSPENDED: _suspended,
    Hold.MISSED: lambda s, g: "an earlier generation of it was missed: what was missed once is not deleted early again",
    Hold.UNABLE: lambda s, g: f"the shuffle service cannot delete it: {s.meta.capabilities.why_not or 'it says so'}",
    Hold.PRESSURE: lambda s, g: _pressure(s),
    Hold.BACKOFF: lambda s, g: f"its fence was refused; it is asked for again at {clock(g.due_ms)}",
}


# --- wanted -----------------------------------------------------------------------------------------------------------


def _users(generation: Generation, names: Names) -> Iterator[str]:
    for stage in sorted(generation.writers):
        yield f"{names.stage_of_job(stage)} is writing it"
    for stage in sorted(generation.readers):
        yield f"{names.stage_of_job(stage)} is reading it"
    for stage in sorted(generation.retrying):
        yield f"{names.stage_of_job(stage)} failed, and its retry will read it again"


def _holders(state: State, generation: Generation, names: Names) -> Iterator[str]:
    for _, job in sorted(state.jobs.items()):
        if generation.app_shuffle in cuts.of_job(state, job):
            yield f"{names.job(job.job)} may still need it"
        elif not generation.complete and generation.app_shuffle in cuts.listed_by(state, (job,)):
            yield f"{names.job(job.job)} may write what is missing of it"
    if generation.app_shuffle in cuts.of_recoveries(state):
        yield "an open recovery needs it"
    counted = policies.counted(state, generation)
    for _, root in sorted(state.roots.items()):
        if root.kind in counted and generation.app_shuffle in cuts.walk(state, root.needs):
            yield f"{names.root_of(root.kind, root.root, root.why)} reaches it"


def _doubts(state: State, generation: Generation) -> Iterator[str]:
    gap = state.meta.gap
    if gap is not None:
        yield f"facts were missed, and nothing expires until {' and '.join(_awaited(gap))}"
    if not policies.may_not_be_guessed(state, generation):
        return
    if state.meta.settings.strict:
        yield "Spark calls it indeterminate, and `strict` fails jobs that miss such; delete.indeterminate allows it"
    elif policies.policy_of(state, generation).rule not in policies.PROVING:
        yield "Spark calls it indeterminate, and this policy guesses: only `reachable` may let it go"


def _awaited(gap: Gap) -> Iterator[str]:
    """What has to happen before the gap is over."""
    if not gap.resynced:
        yield "the whole truth has been told again"
    if gap.until:
        jobs = few(sorted(gap.until))
        yield f"job {jobs} has ended" if len(gap.until) == 1 else f"jobs {jobs} have ended"


# --- wanted by nobody, and not yet released ---------------------------------------------------------------------------


def _not_released(state: State, generation: Generation, names: Names) -> str:
    rule = policies.policy_of(state, generation).rule
    if rule is Rule.EAGER:
        return "policy eager waits for a stage that reads it and writes bytes"
    if rule in policies.PROVING:
        return f"policy {rule.value} waits for the end of a look that began after it was complete"
    lesson = lineages.lesson_of(state, generation.app_shuffle) if rule is Rule.HISTORY else None
    if lesson is not None and lesson.late and lesson.loops:
        return "policy history keeps it: in earlier runs one line of the program read it again and again"
    if lesson is not None and lesson.late:
        told = f"until {lesson.reads} stages have read it, as in earlier runs; {generation.reads} have"
        return f"policy history waits {told}"
    return f"policy {rule.value} {_frontier(state, generation, names)}"


def _frontier(state: State, generation: Generation, names: Names) -> str:
    unfinished = [made for made in sorted(generation.map_readers) if not policies.is_intact_or_let_go(state, made)]
    if generation.last_read_by_map and unfinished:
        return f"waits until what was made of it is on disk: {few(map(names.shuffle, unfinished), 3)}"
    running = policies.running_executions(state, generation)
    if running and policies.last_execution(generation) is not None:
        return f"waits for SQL execution {few(map(str, running))} to end"
    if generation.last_read_by_map is None:
        return "waits for a reader whose own output is on disk: nobody has read it to an end yet"
    return "keeps it: its last reader was the result stage of an RDD job, so the next job may read it again"
