"""The live cut: what can still be reached.

Responsible for walking lineage from the roots down to intact outputs. Refuses to know policies, and how a root was
found. Invariant: a shuffle outside every cut is never read again unless something intact is lost.

A walk stops at intact outputs, since a lineage that is computed again starts there; it goes on behind a generation that
is being written, fenced or only partly there, and needs that one too; it goes on behind what is gone, which it cannot
need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coordinator.core.ids import AppShuffle
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, Job, Shuffle, State
from coordinator.core.values import RootKind


def walk(state: State, starts: Iterable[AppShuffle]) -> frozenset[AppShuffle]:
    """The app shuffles that reading ``starts`` needs: intact ones where it stops, unfinished ones on the way."""
    return frozenset(met for met in reached(state, starts) if not is_gone(state.current(met)))


def is_gone(generation: Generation | None) -> bool:
    """Nobody can read it: a tombstone, never written, or fenced."""
    return generation is None or generation.life is Life.FENCED


def reached(state: State, starts: Iterable[AppShuffle], stop_at_losses: bool = False) -> set[AppShuffle]:
    """Every app shuffle that a walk meets, gone ones too; it does not look behind intact outputs.

    ``stop_at_losses``: nor behind what was complete and went without our doing (`_was_lost`).
    """
    shuffles, generations = state.shuffles, state.generations
    seen: set[AppShuffle] = set()
    to_see = list(starts)
    while to_see:
        met = to_see.pop()
        if met in seen:
            continue
        seen.add(met)
        shuffle = shuffles.get(met)
        if shuffle is None:
            continue
        generation = generations.get(shuffle.current) if shuffle.current is not None else None
        is_intact = generation is not None and generation.intact
        if not (is_intact or (stop_at_losses and _was_lost(shuffle, generation))):
            to_see.extend(shuffle.lineage.reads)
    return seen


def _was_lost(shuffle: Shuffle, generation: Generation | None) -> bool:
    """Whether it was complete and went without our doing, wholly or partly; or cached blocks read in its place did."""
    if _was_uncovered(shuffle):
        return True
    if generation is None:
        return shuffle.fate is Life.LOST and shuffle.was_whole
    return generation.completed > 0 and not generation.complete and generation.life is not Life.FENCED


def _was_uncovered(shuffle: Shuffle | None) -> bool:
    """Whether cached blocks that were read in its place were lost while it was gone, or about to go.

    Until somebody writes it again.
    """
    return shuffle is not None and shuffle.uncached is not None and shuffle.uncached == shuffle.current


def is_behind_a_loss(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether live jobs reach it only because something was lost."""
    if _was_uncovered(state.shuffles.get(app_shuffle)):
        return True
    starts = {start for job in state.jobs.values() for start in starts_of(job)}
    is_met = app_shuffle in reached(state, starts)
    return is_met and app_shuffle not in reached(state, starts, stop_at_losses=True)


def reads_of(state: State, app_shuffle: AppShuffle) -> tuple[AppShuffle, ...]:
    """What the map stage of an app shuffle reads; nothing where that was never told."""
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle.lineage.reads if shuffle is not None else ()


def inputs_read(state: State, app_shuffle: AppShuffle) -> Iterator[AppShuffle]:
    """The app shuffles that its map stage has read to an end, of those still there. Looks at every generation."""
    return (one.app_shuffle for one in state.generations.values() if app_shuffle in one.map_readers)


def of_job(state: State, job: Job) -> frozenset[AppShuffle]:
    """The live cut of a job, from its final stage down."""
    return walk(state, starts_of(job))


def starts_of(job: Job) -> tuple[AppShuffle, ...]:
    """Where a job's walk starts. A result stage that has completed reads no more; a map stage may have to run again."""
    if job.writes is not None:
        return (job.writes,)
    return () if job.finished else job.reads


def of_jobs(state: State) -> frozenset[AppShuffle]:
    """The union of the live jobs' cuts."""
    return walk(state, {start for job in state.jobs.values() for start in starts_of(job)})


def of_roots(state: State, kinds: frozenset[RootKind]) -> frozenset[AppShuffle]:
    """What roots of these kinds need: what looks have reported, and what lies behind that where it was lost since."""
    return walk(state, needs_of(state, kinds))


def needs_of(state: State, kinds: frozenset[RootKind]) -> frozenset[AppShuffle]:
    """What looks have reported that roots of these kinds need."""
    return frozenset().union(*[root.needs for root in state.roots.values() if root.kind in kinds])


def of_recoveries(state: State) -> frozenset[AppShuffle]:
    """What open recoveries need: what they name is to be written again, from what lies behind it."""
    return walk(state, {shuffle for each in state.recoveries.values() if each.open for _, shuffle in each.gone})


def holders(state: State, app_shuffle: AppShuffle) -> Iterator[str]:
    """Who needs an app shuffle now, for people."""
    for _, job in sorted(state.jobs.items()):
        if app_shuffle in of_job(state, job):
            yield f"job {job.job}"
    for _, root in sorted(state.roots.items()):
        if app_shuffle in walk(state, root.needs):
            yield root.why or f"{root.kind.value} {root.root}"


def listed(state: State) -> frozenset[AppShuffle]:
    """Every app shuffle whose map stage a live job lists, however far behind intact outputs."""
    return listed_by(state, state.jobs.values())


def listed_by(state: State, jobs: Iterable[Job]) -> frozenset[AppShuffle]:
    """What these jobs list."""
    seen: set[AppShuffle] = set()
    to_see = [a for job in jobs for a in (*job.reads, *(() if job.writes is None else (job.writes,)))]
    while to_see:
        app_shuffle = to_see.pop()
        if app_shuffle not in seen:
            seen.add(app_shuffle)
            to_see.extend(reads_of(state, app_shuffle))
    return frozenset(seen)
