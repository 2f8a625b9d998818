"""Roots that a history log lets one infer.

Responsible for telling running SQL executions and persisted RDDs as the looks of the driver part would have. Refuses to
know the program's handles: a log does not show them. Invariant: a root needs nothing that was not written, and lets a
shuffle go at the fact after which nothing of it was read any more.

A look reads a running adaptive plan; a log holds no plan that can be read so, but it holds what the execution really
read later: behind its end too, where an iterator's jobs come one by one. A persisted RDD needs the shuffles right
behind it, from the first stage that computes it until it is unpersisted; whether all its blocks could be kept, a log
does not tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, LookId, StageAttempt, within
from coordinator.core.values import RootKind
from replay.history import records as r
from replay.history.run import Fact


@dataclass(frozen=True, slots=True)
class Came:
    """An RDD is persisted. ``needs``: the shuffles right behind it at that time; after a checkpoint they are others."""

    rdd: int
    needs: tuple[AppShuffle, ...]


@dataclass(slots=True)
class Persisted:
    """The persisted RDDs, by the place among the facts where they came and went."""

    alive: set[int] = field(default_factory=set)
    came: dict[int, list[Came]] = field(default_factory=dict)
    went: dict[int, list[int]] = field(default_factory=dict)

    def see(self, stage: r.Stage, place: int) -> None:
        """A stage's description names what of its RDDs is persisted."""
        for rdd in stage.rdds:
            if rdd.persisted and rdd.id not in self.alive:
                self.alive.add(rdd.id)
                self.came.setdefault(place, []).append(Came(rdd.id, _behind(rdd, stage)))

    def drop(self, rdd: int, place: int) -> None:
        """An RDD was unpersisted; ``place``: how many facts had been told before."""
        if rdd in self.alive:
            self.alive.remove(rdd)
            self.went.setdefault(place, []).append(rdd)


def _behind(rdd: r.Rdd, stage: r.Stage) -> tuple[AppShuffle, ...]:
    """The shuffles from which an RDD of a stage would be computed again."""
    own = {one.id: one for one in stage.rdds}
    found, seen, to_see = set(), {rdd.id}, [rdd]
    while to_see:
        for parent in to_see.pop().parents:
            if parent not in own:
                found.add(AppShuffle(parent))
            elif parent not in seen:
                seen.add(parent)
                to_see.append(own[parent])
    return tuple(sorted(found))


def with_roots(facts: list[Fact], persisted: Persisted) -> tuple[Fact, ...]:
    """The facts, with what looks at each moment would have found."""
    plans = _Plans(facts)
    told = _Looks()
    for place, (time_ms, command) in enumerate(facts):
        told.persisted(persisted, place, time_ms)
        told.facts.append((time_ms, command))
        told.look(time_ms, *plans.after(place))
    if facts:
        told.persisted(persisted, len(facts), facts[-1][0])
    return tuple(told.facts)


def _rdd(came: Came) -> c.ReportedRoot:
    return c.ReportedRoot(f"rdd {came.rdd}", RootKind.PERSISTED, came.needs, f"persisted RDD {came.rdd}")


@dataclass(slots=True)
class _Looks:
    """Facts with looks between them."""

    facts: list[Fact] = field(default_factory=list)
    number: int = 0
    roots: set[str] = field(default_factory=set)

    def persisted(self, rdds: Persisted, place: int, time_ms: int) -> None:
        """Tells the persisted RDDs that went since the fact before, then those that came: it may be the same RDD."""
        self.look(time_ms, (), tuple(f"rdd {rdd}" for rdd in rdds.went.get(place, ())))
        self.look(time_ms, tuple(map(_rdd, rdds.came.get(place, ()))), ())

    def look(self, time_ms: int, roots: tuple[c.ReportedRoot, ...], gone: tuple[str, ...]) -> None:
        """One look, if it has anything to tell."""
        empty = tuple(root.root for root in roots if not root.needs)
        roots = tuple(root for root in roots if root.needs)
        gone = tuple(root for root in (*gone, *empty) if root in self.roots)
        if not roots and not gone:
            return
        self.number += 1
        self.roots = (self.roots | {root.root for root in roots}) - set(gone)
        self.facts.append((time_ms, c.BeginLook(LookId(self.number))))
        self.facts.append((time_ms, c.ReportCut(LookId(self.number), roots, gone)))


class _Plans:
    """What each running execution goes on to read."""

    def __init__(self, facts: list[Fact]) -> None:
        self._needs: dict[ExecutionId, set[AppShuffle]] = {}
        self._lets_go: dict[int, list[tuple[ExecutionId, AppShuffle]]] = {}
        self._started: dict[int, ExecutionId] = {}
        self._ended: dict[int, ExecutionId] = {}
        last_reads: dict[tuple[ExecutionId, AppShuffle], int] = {}
        for execution, app_shuffle, place in _readings(facts):
            last_reads[execution, app_shuffle] = place
        for (execution, app_shuffle), place in last_reads.items():
            self._needs.setdefault(execution, set()).add(app_shuffle)
            self._lets_go.setdefault(place, []).append((execution, app_shuffle))
        for place, (_, command) in enumerate(facts):
            if isinstance(command, c.ReportExecutionStarted):
                self._started[place] = command.execution
            elif isinstance(command, c.ReportExecutionEnded):
                self._ended[place] = command.execution

    def after(self, place: int) -> tuple[tuple[c.ReportedRoot, ...], tuple[str, ...]]:
        """The plans that have changed at a fact, and those that are over."""
        ended = self._ended.get(place)
        if ended is not None and not self._needs.get(ended):
            return (), (_plan(ended),)
        changed = {self._started[place]} if place in self._started else set()
        for execution, app_shuffle in self._lets_go.get(place, ()):
            if execution in self._needs:
                self._needs[execution].discard(app_shuffle)
                changed.add(execution)
        return tuple(self._root(execution) for execution in sorted(changed)), ()

    def _root(self, execution: ExecutionId) -> c.ReportedRoot:
        needs = tuple(sorted(self._needs.get(execution, ())))
        return c.ReportedRoot(_plan(execution), RootKind.PLAN, needs, f"the plan of execution {execution}")


def _plan(execution: ExecutionId) -> str:
    return f"plan {execution}"


def _readings(facts: list[Fact]) -> Iterator[tuple[ExecutionId, AppShuffle, int]]:
    """Executions, the shuffles that they read, and the place of the fact that ends the read: the attempt's end."""
    live: dict[JobId, c.ReportJobStarted] = {}
    running: dict[StageAttempt, tuple[ExecutionId, tuple[AppShuffle, ...]]] = {}
    for place, (_, command) in enumerate(facts):
        if isinstance(command, c.ReportJobStarted):
            live[command.job] = command
        elif isinstance(command, c.ReportJobEnded):
            live.pop(command.job, None)
        elif isinstance(command, c.ReportStageSubmitted) and command.reads:
            execution = _execution_of(command.stage, live)
            if execution is not None:
                running[command.stage] = (execution, command.reads)
        elif isinstance(command, c.ReportStageCompleted) and command.stage in running:
            by, reads = running.pop(command.stage)
            yield from ((by, app_shuffle, place) for app_shuffle in reads)


def _execution_of(stage: StageAttempt, live: dict[JobId, c.ReportJobStarted]) -> ExecutionId | None:
    sharing = [job for job in live.values() if within(job.stages, stage.stage)]
    return min(sharing, key=lambda job: job.job).execution if sharing else None
