"""What stages have really read.

Responsible for telling, of what a stage lists, the part that it fetched. Refuses to know generations, and who asks.
Invariant: what a stage reads whatever is cached counts wherever it ends; in doubt, all that it lists does.

A stage lists the shuffles behind its persisted RDDs too. The one that fills them reads these, the others take the
blocks. A record does not say which it was; bytes do, nearly: who fetched more than what it reads directly weighs has
read behind its caches too. That counts too much where data are fetched twice, and too little where only a part of the
direct reads was fetched and a part of what lies behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from coordinator.core import caches
from coordinator.core.commands import (
    Command,
    ReportJobEnded,
    ReportJobStarted,
    ReportStageCompleted,
    ReportStageSubmitted,
    Resync,
)
from coordinator.core.events import StageCompleted, StageSubmitted
from coordinator.core.ids import AppShuffle, JobId, StageAttempt, StageId, within
from replay.numbers import Attempts

Submitted: TypeAlias = ReportStageSubmitted | StageSubmitted
_Over: TypeAlias = ReportStageCompleted | StageCompleted


@dataclass(slots=True)
class Readings:
    """Goes along a run, by its commands (`hear`) or by the events of its log (the other methods)."""

    behind: Attempts = field(default_factory=Attempts)  #: Attempts that read behind their caches too.
    running: dict[StageAttempt, Submitted] = field(default_factory=dict)  #: Attempts whose end was not told.
    _unheard: set[StageAttempt] = field(default_factory=set)  #: Of these, those whose end was missed.
    _jobs: dict[JobId, ReportJobStarted] = field(default_factory=dict)
    _weights: dict[AppShuffle, int] = field(default_factory=dict)  #: Bytes of all its outputs, as they were written.
    _maps: dict[AppShuffle, int] = field(default_factory=dict)  #: Tasks that write all of it.

    def hear(self, command: Command | None) -> tuple[AppShuffle, ...]:
        """One more command. If an attempt ends with it, well or not: what that attempt has read; else nothing."""
        if isinstance(command, ReportStageSubmitted):
            self.submitted(command)
        elif isinstance(command, ReportStageCompleted):
            return self.over(command) or ()
        elif isinstance(command, ReportJobStarted):
            self._jobs[command.job] = command
        elif isinstance(command, (ReportJobEnded, Resync)):
            self._end_unheard(command)
        return ()

    def _end_unheard(self, command: ReportJobEnded | Resync) -> None:
        """Attempts that a resync does not name, or whose jobs are all over, read no more, though nobody told their end.

        It may still be told, later.
        """
        if isinstance(command, Resync):
            self._unheard |= self.running.keys() - {stage.stage for stage in command.stages}
            self._jobs = {job.job: self._jobs.get(job.job, job) for job in command.jobs}
        elif (ended := self._jobs.pop(command.job, None)) is not None:
            mine = (one for one in self.running if _lists(ended, one.stage))
            self._unheard.update(one for one in mine if not any(_lists(job, one.stage) for job in self._jobs.values()))

    def submitted(self, stage: Submitted) -> None:
        """An attempt begins."""
        self.running[stage.stage] = stage
        self._unheard.discard(stage.stage)

    def forget(self, app_shuffle: AppShuffle) -> None:
        """Spark has cleaned the app shuffle: nothing can read it again."""
        self._weights.pop(app_shuffle, None)
        self._maps.pop(app_shuffle, None)

    def over(self, over: _Over) -> tuple[AppShuffle, ...] | None:
        """What an attempt has read until its end, well or not; None: nobody has told of its beginning."""
        stage = self.running.pop(over.stage, None)
        if stage is None:
            return None
        read = self._read(stage, over.shuffle_bytes_read)
        if stage.writes is not None:
            self._weigh(stage.writes, stage.tasks, over.shuffle_bytes_written)
        return read

    def going_on(self) -> frozenset[AppShuffle]:
        """What the attempts that have not ended read, but for what lies behind their caches: nobody knows that yet."""
        return frozenset(read for stage in self.reading_on() for read in caches.direct(stage))

    def reading_on(self) -> Iterator[Submitted]:
        """The attempts that have not ended, as far as can be told."""
        return (stage for one, stage in self.running.items() if one not in self._unheard)

    def _weigh(self, app_shuffle: AppShuffle, tasks: int, written_bytes: int) -> None:
        """Notes what an attempt wrote. One of fewer tasks than write all of it adds to what others have written."""
        maps = self._maps[app_shuffle] = max(tasks, self._maps.get(app_shuffle, 0))
        known = self._weights.get(app_shuffle, 0) if tasks < maps else 0
        self._weights[app_shuffle] = known + written_bytes

    def _read(self, stage: Submitted, fetched_bytes: int) -> tuple[AppShuffle, ...]:
        direct = caches.direct(stage)
        if len(direct) < len(stage.reads):
            if fetched_bytes <= sum(self._weights.get(read, 0) for read in direct):
                return direct
            self.behind.add(stage.stage)
        return stage.reads


def went_behind(commands: Iterable[Command | None]) -> Attempts:
    """The attempts of a whole run that read behind their caches too."""
    readings = Readings()
    for command in commands:
        readings.hear(command)
    return readings.behind


def _lists(job: ReportJobStarted, stage: StageId) -> bool:
    return stage == job.final_stage or within(job.stages, stage)
