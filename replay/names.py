"""What people call the things that events speak of by number.

Responsible for remembering, while a log goes by, call sites of jobs, names of stages, SQL executions and roots, and the
app shuffle of each generation. Refuses to know what events mean. Invariant: what was not told yet is called by its
number, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, ShuffleId, StageAttempt, StageId, within
from coordinator.core.values import Lineage, RootKind
from replay.units import place

_PLAN_OF = "execution "  # and its number: what the bridge calls the root that a running plan is


@dataclass(slots=True)
class Names:
    """Names heard so far."""

    jobs: dict[JobId, e.JobStarted] = field(default_factory=dict)
    stages: dict[StageId, str] = field(default_factory=dict)
    lineage: dict[AppShuffle, Lineage] = field(default_factory=dict)
    shuffle_of: dict[ShuffleId, AppShuffle] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    executions: dict[ExecutionId, str] = field(default_factory=dict)

    def hear(self, recorded: e.Recorded) -> None:
        """One more event has gone by."""
        learn = _LEARN.get(type(recorded.event))
        if learn is not None:
            learn(self, recorded.event)

    def job(self, job: JobId) -> str:
        """`job 3 (count at chain.py:20)`."""
        started = self.jobs.get(job)
        return f"job {job}{_aside(started.call_site if started else '')}"

    def stage(self, stage: StageAttempt | None) -> str:
        """`stage 4.0 (map at chain.py:12)`."""
        if stage is None:
            return "somebody who gave no stage"
        return f"stage {stage}{_aside(self.stages.get(stage.stage, ''))}"

    def stage_of_job(self, stage: StageAttempt | None) -> str:
        """The same, with the job that runs it."""
        job = self.job_of(stage.stage) if stage is not None else None
        return self.stage(stage) + (f" of {self.job(job)}" if job is not None else "")

    def job_of(self, stage: StageId) -> JobId | None:
        """The last job that listed the stage."""
        listing = (job for job, started in reversed(self.jobs.items()) if within(started.stages, stage))
        return next(listing, None)

    def shuffle(self, app_shuffle: AppShuffle) -> str:
        """`app shuffle 5 (groupBy at chain.py:14)`."""
        known = self.lineage.get(app_shuffle)
        return f"app shuffle {app_shuffle}{_aside(known.call_site if known else '')}"

    def execution(self, execution: ExecutionId) -> str:
        """`SQL execution 12 (show at etl.py:41)`."""
        return f"SQL execution {execution}{_aside(self.executions.get(execution, ''))}"

    def root_of(self, kind: RootKind, root: str, why: str) -> str:
        """``handle `ranks` in pagerank.py:41``, or `plan SQL execution 12 (show at etl.py:41)`."""
        return f"{kind.value} {self.who(kind, root, why)}"

    def who(self, kind: RootKind, root: str, why: str) -> str:
        """The same without its kind."""
        number = root.removeprefix(_PLAN_OF)
        if kind is RootKind.PLAN and number.isdecimal():
            return self.execution(ExecutionId(int(number)))
        return why or root

    def root(self, root: str) -> str:
        """``handle `ranks` in pagerank.py:41``."""
        return self.roots.get(root, root)

    def generation(self, shuffle_id: ShuffleId) -> str:
        """`#7 of app shuffle 5`."""
        app_shuffle = self.shuffle_of.get(shuffle_id)
        return f"#{shuffle_id}" if app_shuffle is None else f"#{shuffle_id} of app shuffle {app_shuffle}"


def _aside(name: str) -> str:
    return f" ({place(name)})" if name else ""


# ---- what each kind of event names -----------------------------------------------------------------------------------


def _job(names: Names, event: e.JobStarted) -> None:
    names.jobs[event.job] = event


def _stage(names: Names, event: e.StageSubmitted) -> None:
    names.stages[event.stage.stage] = event.name


def _lineage(names: Names, event: e.LineageLearned) -> None:
    names.lineage[event.lineage.app_shuffle] = event.lineage


def _generation(names: Names, event: e.GenerationStarted | e.GenerationAdopted) -> None:
    names.shuffle_of[event.shuffle_id] = event.app_shuffle


def _root(names: Names, event: e.CutReported) -> None:
    names.roots[event.root] = names.root_of(event.kind, event.root, event.why)


def _execution(names: Names, event: e.ExecutionStarted) -> None:
    names.executions[event.execution] = event.name


_LEARN: dict[type, Callable[[Names, Any], None]] = {
    e.JobStarted: _job,
    e.StageSubmitted: _stage,
    e.LineageLearned: _lineage,
    e.GenerationStarted: _generation,
    e.GenerationAdopted: _generation,
    e.CutReported: _root,
    e.ExecutionStarted: _execution,
}
