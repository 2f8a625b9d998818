"""What people call the things that events speak of by number.

Responsible for remembering, while a log goes by, call sites of jobs, names of stages, SQL executions and roots, and the
app shuffle of each generation. Refuses to know what events mean. Invariant: what was not told yet is called by its
number, never guessed; and no more is remembered than what is alive, and what was over last.

A log speaks of what is over for a while: that a job has ended, what expired because of it, that a reader of it is done.
Whoever shows names later than that keeps them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, ShuffleId, StageAttempt, StageId, within
from coordinator.core.values import Lineage, RootKind
from replay.units import place

#: And its number: what the bridge calls the root that a running plan is.
PLAN_OF = "execution "
#: Of what is over, so many of each kind are remembered, the last ones.
_OVER = 1_000

K = TypeVar("K")
V = TypeVar("V")


class Known(dict[K, V], Generic[K, V]):
    """What is known of things by their numbers: of those that are alive, and of the last that are over."""

    def __init__(self) -> None:
        super().__init__()
        self._over: OrderedDict[K, None] = OrderedDict()

    def begin(self, key: K, value: V) -> None:
        """It is alive, and this is known of it."""
        self[key] = value
        if key in self._over:
            del self._over[key]

    def end(self, key: K) -> None:
        """It is over."""
        if key in self:
            over = self._over
            over[key] = None
            if len(over) > _OVER:
                del self[over.popitem(last=False)[0]]

    def is_alive(self, key: K) -> bool:
        """Whether it has begun and is not over."""
        return key in self and key not in self._over


@dataclass(slots=True)
class Whose:
    """Which app shuffle a generation belongs to.

    Known of generations that are there, of those that are gone and may still be asked for, and of the last others.
    """

    of: Known[ShuffleId, AppShuffle] = field(default_factory=Known)
    gone: dict[AppShuffle, list[ShuffleId]] = field(default_factory=dict)  #: Generations that may still be asked for.

    def began(self, shuffle_id: ShuffleId, app_shuffle: AppShuffle) -> None:
        """A generation was written, or found."""
        self.of.begin(shuffle_id, app_shuffle)

    def ended(self, shuffle_id: ShuffleId, is_known: Callable[[AppShuffle], bool]) -> None:
        """Its data are gone. It may be asked for until Spark has cleaned its app shuffle (``is_known``: it has not)."""
        app_shuffle = self.of.get(shuffle_id)
        if app_shuffle is not None and is_known(app_shuffle):
            self.gone.setdefault(app_shuffle, []).append(shuffle_id)
        else:
            self.of.end(shuffle_id)

    def cleaned(self, app_shuffle: AppShuffle) -> None:
        """Spark has forgotten it."""
        for shuffle_id in self.gone.pop(app_shuffle, ()):
            self.of.end(shuffle_id)


@dataclass(slots=True)
class Names:
    """Names heard so far."""

    jobs: Known[JobId, e.JobStarted] = field(default_factory=Known)
    stages: Known[StageId, str] = field(default_factory=Known)
    lineage: Known[AppShuffle, Lineage] = field(default_factory=Known)
    whose: Whose = field(default_factory=Whose)
    roots: Known[str, str] = field(default_factory=Known)
    executions: Known[ExecutionId, str] = field(default_factory=Known)
    running: set[StageId] = field(default_factory=set)  #: Stages that were submitted and have not ended well.

    @property
    def shuffle_of(self) -> Known[ShuffleId, AppShuffle]:
        """Which app shuffle each generation belongs to."""
        return self.whose.of

    def hear(self, recorded: e.Recorded) -> None:
        """One more event has gone by."""
        learn = _LEARN.get(type(recorded.event))
        if learn is not None:
            learn(self, recorded.event)

    def with_earlier(self, earlier: Names) -> Names:
        """These, and the names of an earlier point of the same log that are forgotten here."""
        both = Names()
        for names in (earlier, self):
            for name in ("jobs", "stages", "lineage", "shuffle_of", "roots", "executions"):
                getattr(both, name).update(getattr(names, name))
        return both

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
        """`stage 4.0 (map at chain.py:12) of job 3 (count at chain.py:20)`."""
        job = self.job_of(stage.stage) if stage is not None else None
        return self.stage(stage) + (f" of {self.job(job)}" if job is not None else "")

    def job_of(self, stage: StageId) -> JobId | None:
        """The last job that listed the stage."""
        listing = (job for job, started in reversed(self.jobs.items()) if within(started.stages, stage))
        return next(listing, None)

    def was_listed_by(self, job: JobId, stage: StageId) -> bool:
        """Whether the job, which may be over, listed the stage."""
        started = self.jobs.get(job)
        return started is not None and within(started.stages, stage)

    def is_listed(self, stage: StageId) -> bool:
        """Whether a live job lists the stage."""
        return any(within(job.stages, stage) for number, job in self.jobs.items() if self.jobs.is_alive(number))

    def call_site(self, app_shuffle: AppShuffle) -> str:
        """Where it is written; empty: not known."""
        known = self.lineage.get(app_shuffle)
        return known.call_site if known is not None else ""

    def shuffle(self, app_shuffle: AppShuffle) -> str:
        """`app shuffle 5 (groupBy at chain.py:14)`."""
        return f"app shuffle {app_shuffle}{_aside(self.call_site(app_shuffle))}"

    def execution(self, execution: ExecutionId) -> str:
        """`SQL execution 12 (show at etl.py:41)`."""
        return f"SQL execution {execution}{_aside(self.executions.get(execution, ''))}"

    def root_of(self, kind: RootKind, root: str, why: str) -> str:
        """``handle `ranks` in pagerank.py:41``, or `plan SQL execution 12 (show at etl.py:41)`."""
        who = self.who(kind, root, why)
        return who if who.startswith(f"{kind.value} ") else f"{kind.value} {who}"

    def who(self, kind: RootKind, root: str, why: str) -> str:
        """What people call a root, without its kind. ``why``: what the driver says of it, such as a name's line."""
        number = root.removeprefix(PLAN_OF)
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


# ---- what each kind of event names, or is the end of -----------------------------------------------------------------


def _job(names: Names, event: e.JobStarted) -> None:
    names.jobs.begin(event.job, event)


def _job_over(names: Names, event: e.JobEnded) -> None:
    """What its stages have not done by now they will not do, unless they are another live job's too."""
    ended = names.jobs.get(event.job)
    names.jobs.end(event.job)
    if ended is None or not names.running:
        return
    for stage in [stage for stage in names.running if within(ended.stages, stage)]:
        if not names.is_listed(stage):
            names.running.discard(stage)
            names.stages.end(stage)


def _stage(names: Names, event: e.StageSubmitted) -> None:
    names.stages.begin(event.stage.stage, event.name)
    names.running.add(event.stage.stage)


def _completed(names: Names, event: e.StageCompleted) -> None:
    if not event.failure:
        stage = event.stage.stage
        names.running.discard(stage)
        names.stages.end(stage)


def _lineage(names: Names, event: e.LineageLearned) -> None:
    names.lineage.begin(event.lineage.app_shuffle, event.lineage)


def _cleaned(names: Names, event: e.ShuffleCleaned) -> None:
    names.lineage.end(event.app_shuffle)
    names.whose.cleaned(event.app_shuffle)


def _generation(names: Names, event: e.GenerationStarted | e.GenerationAdopted) -> None:
    names.whose.began(event.shuffle_id, event.app_shuffle)


def _gone(names: Names, event: e.GenerationDeleted | e.GenerationLost) -> None:
    names.whose.ended(event.shuffle_id, names.lineage.is_alive)


def _root(names: Names, event: e.CutReported) -> None:
    names.roots.begin(event.root, names.root_of(event.kind, event.root, event.why))


def _root_gone(names: Names, event: e.RootGone) -> None:
    names.roots.end(event.root)


def _execution(names: Names, event: e.ExecutionStarted) -> None:
    names.executions.begin(event.execution, event.name)


def _execution_over(names: Names, event: e.ExecutionEnded) -> None:
    names.executions.end(event.execution)


_LEARN: dict[type, Callable[[Names, Any], None]] = {
    e.JobStarted: _job,
    e.JobEnded: _job_over,
    e.StageSubmitted: _stage,
    e.StageCompleted: _completed,
    e.LineageLearned: _lineage,
    e.ShuffleCleaned: _cleaned,
    e.GenerationStarted: _generation,
    e.GenerationAdopted: _generation,
    e.GenerationDeleted: _gone,
    e.GenerationLost: _gone,
    e.CutReported: _root,
    e.RootGone: _root_gone,
    e.ExecutionStarted: _execution,
    e.ExecutionEnded: _execution_over,
}
