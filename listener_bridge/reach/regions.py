"""Algorithms inside the JVM: what the jobs of a call wrote is held until the call returns.

Responsible for: laying jobs to the calls under way, from facts; what each such call's jobs wrote; its name for people.
Refuses to know: how calls are known (`calls`), which need no such care (`actions`), who walks what from there.
Invariant: in doubt a job belongs to more calls, never to fewer: one that no thread claims belongs to every call that
began before it, and to those of the thread that it names; to every call where that is none (the clock was set back).

`ALS.fit` keeps its RDDs in variables inside the JVM: between two of its jobs nothing outside says that it will read the
first one's shuffles again. The same holds for an adaptive plan that runs outside an SQL execution (`df.rdd`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from listener_bridge.reach import actions, naming
from listener_bridge.reach.calls import PROPERTY, Call, Calls
from listener_bridge.reach.findings import Region
from listener_bridge.reach.stacks import other_frames
from listener_bridge.tap.facts import (
    Fact,
    JobEnded,
    JobStarted,
    Snapshot,
    StageCompleted,
    StageFact,
    StageSubmitted,
)

CLOCKS_DIFFER_MS = 2.0
"""Spark tells a job's start in whole milliseconds."""
CROWD = 64
"""So many regions are asked whether they are over, though nobody looks."""


@dataclass(slots=True)
class Open:
    """A call under way that has run jobs. `jobs`: live ones, with what their stages write."""

    name: str
    wrote: set[int] = field(default_factory=set)
    jobs: dict[int, dict[int, int]] = field(default_factory=dict)

    def submitted(self, stage_id: int) -> None:
        self.wrote |= {listed[stage_id] for listed in self.jobs.values() if stage_id in listed}


class Regions:
    """The regions of one application. `hear` belongs to the tap's thread, `read` to the look's."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._open: dict[int, Open] = {}
        self._running: set[int] = set()
        self._crowd = CROWD
        self._lock = threading.Lock()

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""
        if isinstance(fact, JobStarted):
            self._job_started(fact)
        elif isinstance(fact, StageSubmitted):
            self._stage_submitted(fact.stage)
        elif isinstance(fact, StageCompleted):
            with self._lock:
                self._running.discard(fact.stage.stage_id)
        elif isinstance(fact, JobEnded):
            self._job_ended(fact.job_id)

    def resync(self, present: Snapshot) -> None:
        """Facts were lost: whatever there is may have been written by any call under way."""
        listed = [stage for job in present.active_jobs for stage in job.stages]
        wrote = {shuffle.app_shuffle for shuffle in present.shuffles} | {
            stage.writes for stage in listed if stage.writes is not None
        }
        calls = [call for call in self._calls.under_way() if _reads_again(call, in_execution=False)]
        with self._lock:
            self._running = {stage.stage_id for stage in present.running_stages}
            for call in calls:
                self._opened(call).wrote |= wrote

    def read(self) -> tuple[Region, ...]:
        """The regions that are under way now."""
        self._forget_over()
        with self._lock:
            return tuple(
                Region(f"call-{number}", region.name, frozenset(region.wrote)) for number, region in self._open.items()
            )

    def _forget_over(self) -> None:
        """Regions whose calls have returned. One that is opened from here on may be of a call that began meanwhile."""
        with self._lock:
            opened = frozenset(self._open)
        under_way = {call.number for call in self._calls.under_way()}
        with self._lock:
            for over in opened - under_way:
                self._open.pop(over, None)
            self._crowd = max(CROWD, 2 * len(self._open))

    # ---- facts ----

    def _job_started(self, job: JobStarted) -> None:
        if len(self._open) >= self._crowd:  # where no shuffle is nobody looks, and nobody asks for them
            self._forget_over()
        in_execution = job.execution_id is not None
        calls = [call for call in self._owners(job) if _reads_again(call, in_execution)]
        with self._lock:
            for call in calls:
                region = self._opened(call)
                region.jobs[job.job_id] = _writes(job.stages)
                for stage_id in self._running & region.jobs[job.job_id].keys():
                    region.submitted(stage_id)

    def _owners(self, job: JobStarted) -> Iterable[Call]:
        """The calls that a job belongs to."""
        thread = job.properties.get(PROPERTY)
        mine = self._calls.of_thread(thread, job.time_ms, CLOCKS_DIFFER_MS)
        if mine is not None:
            return mine
        under_way = self._calls.under_way()
        latest_ms = job.time_ms + CLOCKS_DIFFER_MS
        began = [call for call in under_way if call.started_ms <= latest_ms or call.thread == thread]
        return began or under_way  # none before the job's start: the clock was set back since

    def _opened(self, call: Call) -> Open:
        if call.number not in self._open:
            self._open[call.number] = Open(naming.of_call(other_frames().get(call.ident), call.method))
        return self._open[call.number]

    def _stage_submitted(self, stage: StageFact) -> None:
        if stage.writes is None:
            return
        with self._lock:
            self._running.add(stage.stage_id)
            for region in self._open.values():
                region.submitted(stage.stage_id)

    def _job_ended(self, job_id: int) -> None:
        with self._lock:
            for region in self._open.values():
                region.jobs.pop(job_id, None)


def _reads_again(call: Call, in_execution: bool) -> bool:
    return actions.reads_again(call.method, in_execution, call.at_once, call.in_steps)


def _writes(stages: Iterable[StageFact]) -> dict[int, int]:
    return {stage.stage_id: stage.writes for stage in stages if stage.writes is not None}
