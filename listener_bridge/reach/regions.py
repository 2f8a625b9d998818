"""Algorithms inside the JVM: what the jobs of a call wrote is held until the call returns.

Responsible for: which calls under way a job belongs to; what the jobs of each such call wrote; the call's name for
people; and what adaptive plans wrote that run under no call and no SQL execution.
Refuses to know: how calls are noted (`calls`), which need no such care (`actions`), and what is concluded.
Invariant: in doubt a job belongs to more calls, never to fewer. If its thread is not known it belongs to every call
that began before it, and to every call under the mark that it carries; if there is none (the clock was set back), to
every call under way.

`ALS.fit` keeps its RDDs in variables inside the JVM: between two of its jobs nothing outside tells that it will read
the first one's shuffles again. The same holds for an adaptive plan that runs outside an SQL execution (`df.rdd`).

A library may run such a plan in a thread of the JVM's own. Delta Lake updates its view of a table so, while the program
makes any other call or none. Such a plan is known by its exchanges, each of which is a job that ends with a map stage;
nothing tells when the plan is done. What these jobs write is held until somebody has read it. If, moreover, the thread
whose mark they carry was in no call that may have run them, it is held until Spark's own cleaner lets it go. (A thread
of the JVM inherits local properties from the thread that started it: perhaps those of an SQL execution that is over,
or the mark of a Python thread whose call runs something else.)

What a streaming query writes outside its batches is held until then, too. Its source may be listing its files: Delta
Lake's numbers those of a table with one job that counts them, and another one that reads the counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from listener_bridge.reach import actions, naming
from listener_bridge.reach.calls import PROPERTY, Calls
from listener_bridge.reach.findings import Region
from listener_bridge.reach.slots import Call
from listener_bridge.reach.stacks import other_frames
from listener_bridge.tap.facts import (
    ExecutionEnded,
    ExecutionStarted,
    Fact,
    JobEnded,
    JobStarted,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
    StageFact,
    StageSubmitted,
)

CLOCKS_DIFFER_MS = 2.0
"""By how much our times of calls may differ from Spark's time of a job's start, which is in whole milliseconds."""
ALONE, PLAN = "plans", "a plan without an SQL execution"
"""The id of the region that belongs to no call, and its name for people."""
CROWD = 64
"""At so many open regions those whose calls have returned are forgotten, even if no look comes to ask."""


@dataclass(slots=True)
class OpenRegion:
    """A call under way that has run jobs, or the plans that belong to no call; what a look reads of it is a `Region`.

    `name`: for people. `wrote`: app shuffles. `jobs`: live job -> stage -> the app shuffle that it writes.
    """

    name: str
    wrote: set[int] = field(default_factory=set)
    jobs: dict[int, dict[int, int]] = field(default_factory=dict)

    def submitted(self, stage_id: int) -> None:
        """A stage runs: what it writes belongs to the region, if a job of the region lists it."""
        self.wrote |= {listed[stage_id] for listed in self.jobs.values() if stage_id in listed}


class Regions:
    """The regions of one application. `hear` belongs to the tap's thread, `read` to the look's."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._open: dict[int, OpenRegion] = {}
        self._alone = OpenRegion(PLAN)  # of plans under no call: held until Spark's cleaner lets it go
        self._unread = OpenRegion(PLAN)  # of plans that may run under no call: held until it was read
        self._readers: dict[int, dict[int, set[int]]] = {}  # live job -> stage -> the app shuffles that it reads
        self._executions: set[int] = set()  # SQL executions that run; belongs to the tap's thread
        self._newest_execution = -1
        self._running: set[int] = set()  # map stages that run
        self._crowd = CROWD
        self._lock = threading.Lock()

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""
        rule = _HEARD.get(type(fact))
        if rule is not None:
            rule(self, fact)

    def resync(self, present: Snapshot) -> None:
        """Facts were lost: whatever there is may have been written by any call under way."""
        listed = [stage for job in present.active_jobs for stage in job.stages]
        wrote = {shuffle.app_shuffle for shuffle in present.shuffles} | {
            stage.writes for stage in listed if stage.writes is not None
        }
        calls = [call for call in self._calls.under_way() if _reads_again(call, in_execution=False)]
        if present.executions is not None:
            self._executions = set(present.executions)
            self._newest_execution = max(self._newest_execution, *self._executions, -1)
        with self._lock:
            there = {shuffle.app_shuffle for shuffle in present.shuffles}
            self._alone.wrote |= self._unread.wrote  # stages that have read these may have been missed
            self._alone.wrote &= there
            self._unread.wrote.clear()
            for ended in self._readers.keys() - {job.job_id for job in present.active_jobs}:
                self._forget_job(ended)
            self._running = {stage.stage_id for stage in present.running_stages}
            for call in calls:
                self._opened(call).wrote |= wrote

    def read(self) -> tuple[Region, ...]:
        """The regions that are under way now."""
        self._forget_over()
        with self._lock:
            found: dict[str, OpenRegion] = {f"call-{number}": region for number, region in self._open.items()}
            if self._alone.wrote or self._unread.wrote:
                found[ALONE] = OpenRegion(PLAN, self._alone.wrote | self._unread.wrote)
            return tuple(Region(name, region.name, frozenset(region.wrote)) for name, region in found.items())

    def _forget_over(self) -> None:
        """Closes regions whose calls have returned. None that is opened meanwhile: its call may have begun since."""
        with self._lock:
            opened = frozenset(self._open)
        under_way = {call.number for call in self._calls.under_way()}
        with self._lock:
            for over in opened - under_way:
                self._open.pop(over, None)
            self._crowd = max(CROWD, 2 * len(self._open))

    # ---- facts ----

    def _job_started(self, job: JobStarted) -> None:
        if len(self._open) >= self._crowd:  # no look may come: there is none without a candidate
            self._forget_over()
        in_execution = self._runs(job.execution_id)
        calls = [call for call in self._owners(job) if _reads_again(call, in_execution)]
        plans = [] if in_execution else self._plans(job)
        with self._lock:
            if plans or self._unread.wrote:
                self._readers[job.job_id] = _reads(job.stages)
            for region in [*(self._opened(call) for call in calls), *plans]:
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

    def _runs(self, execution: int | None) -> bool:
        """Whether an SQL execution runs. One newer than all that were told does: planning it may take jobs."""
        return execution is not None and (execution in self._executions or execution > self._newest_execution)

    def _plans(self, job: JobStarted) -> list[OpenRegion]:
        """Where else than in its calls it is kept what a job writes that belongs to no running SQL execution."""
        if job.query_id is not None:
            return [self._alone]
        if not _is_exchange(job):
            return []
        return [self._unread] if self._is_of_its_thread(job) else [self._unread, self._alone]

    def _is_of_its_thread(self, job: JobStarted) -> bool:
        """Whether the thread whose mark it carries was in a call that may have run it, also one that has returned."""
        thread = job.properties.get(PROPERTY)
        now = self._calls.of_thread(thread, job.time_ms, CLOCKS_DIFFER_MS) or ()
        return any(_reads_again(call, in_execution=False) for call in now) or any(
            actions.reads_again(method, in_execution=False)
            for method in self._calls.methods_of(thread, job.time_ms, CLOCKS_DIFFER_MS)
        )

    def _opened(self, call: Call) -> OpenRegion:
        if call.number not in self._open:
            self._open[call.number] = OpenRegion(naming.of_call(other_frames().get(call.ident), call.method))
        return self._open[call.number]

    def _stage_submitted(self, fact: StageSubmitted) -> None:
        stage = fact.stage
        if stage.writes is None:
            return
        with self._lock:
            self._running.add(stage.stage_id)
            for region in (*self._open.values(), self._alone, self._unread):
                region.submitted(stage.stage_id)

    def _stage_completed(self, fact: StageCompleted) -> None:
        with self._lock:
            self._running.discard(fact.stage.stage_id)
            if fact.failure is None:
                for stages in self._readers.values():
                    self._unread.wrote -= stages.get(fact.stage.stage_id, set())

    def _job_ended(self, job: JobEnded) -> None:
        with self._lock:
            self._forget_job(job.job_id)

    def _forget_job(self, job_id: int) -> None:
        self._readers.pop(job_id, None)
        for region in (*self._open.values(), self._alone, self._unread):
            region.jobs.pop(job_id, None)

    def _execution_started(self, fact: ExecutionStarted) -> None:
        self._executions.add(fact.execution_id)
        self._newest_execution = max(self._newest_execution, fact.execution_id)

    def _execution_ended(self, fact: ExecutionEnded) -> None:
        self._executions.discard(fact.execution_id)

    def _shuffle_cleaned(self, fact: ShuffleCleaned) -> None:
        with self._lock:
            self._alone.wrote.discard(fact.app_shuffle)
            self._unread.wrote.discard(fact.app_shuffle)


_HEARD: dict[type, Callable[[Regions, Any], None]] = {
    JobStarted: Regions._job_started,  # noqa: SLF001 - the class's own table
    StageSubmitted: Regions._stage_submitted,  # noqa: SLF001
    StageCompleted: Regions._stage_completed,  # noqa: SLF001
    JobEnded: Regions._job_ended,  # noqa: SLF001
    ExecutionStarted: Regions._execution_started,  # noqa: SLF001
    ExecutionEnded: Regions._execution_ended,  # noqa: SLF001
    ShuffleCleaned: Regions._shuffle_cleaned,  # noqa: SLF001
}


def _reads_again(call: Call, in_execution: bool) -> bool:
    return actions.reads_again(call.method, in_execution, call.at_once, call.in_steps)


def _is_exchange(job: JobStarted) -> bool:
    """Whether it ends with a map stage, as only exchanges of adaptive plans do."""
    return any(stage.stage_id == job.result_stage_id and stage.writes is not None for stage in job.stages)


def _reads(stages: Sequence[StageFact]) -> dict[int, set[int]]:
    writes = _writes(stages)
    return {stage.stage_id: {writes[n] for n in stage.parent_stage_ids if n in writes} for stage in stages}


def _writes(stages: Iterable[StageFact]) -> dict[int, int]:
    return {stage.stage_id: stage.writes for stage in stages if stage.writes is not None}
