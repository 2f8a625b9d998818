"""What is remembered while a log is read, and the facts that it becomes.

Responsible for turning Spark's events of jobs, stages, tasks and executions into the commands that the driver part
would have reported. Refuses to know files, when a fact was (`facts`), whose log it is (`heading`), app shuffles and
their weight (`shuffles`), what tasks did (`sums`), roots (`roots`), and how Spark describes stages (`descriptions`).
Invariant: what is remembered of a stage goes with the last job that lists it; facts stand in the log's order (`order`:
where that is Spark's).

A log does not say whether a stage writes a shuffle. A stage that is another's parent does; of a job's final stage the
first end of a task tells (adaptive SQL runs map stages as jobs of their own), so that what was told of it before is
then put right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, StageAttempt, StageId, spans_of
from replay.history import records as r
from replay.history.descriptions import Stage, described, final_of, names_no_parents, short, writes_files
from replay.history.facts import Facts
from replay.history.heading import MOST_DIGITS, Heading
from replay.history.order import Order
from replay.history.roots import Persisted, with_roots
from replay.history.run import Fact, Run
from replay.history.shuffles import Shuffles
from replay.history.sums import RunningSums, Sums, written_by

_MOST_WARNINGS = 20
_MAP_TASK = "ShuffleMapTask"


class Book:
    """One application's log, as far as it was read."""

    def __init__(self, name: str) -> None:
        self.warnings: list[str] = []
        self._untold = 0
        self._heading = Heading(name)
        self._facts = Facts()
        self._order = Order()
        self._parents_missing = self._is_over = False
        self._task_ms = self._unheard_ms = 0
        self._work = 0  #: Jobs and stages that have begun.
        self._stages: dict[int, Stage] = {}
        self._jobs: dict[int, tuple[int, ...]] = {}
        self._shuffles = Shuffles(self._facts)
        self._sums = RunningSums()
        self._persisted = Persisted()
        self._calls: dict[ExecutionId, str] = {}  #: What the running SQL executions are called.

    def warn(self, text: str) -> None:
        """Notes a sentence about the log that whoever reads its figures should know."""
        if len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(text)
        else:
            self._untold += 1

    def take(self, name: bytes, record: Any) -> None:
        """One more event. What follows a second application's start is not this one's."""
        if not self._is_over:
            _TAKERS[name](self, record)

    def run(self, place: str, files: tuple[str, ...], raw_bytes: int) -> Run:
        """The run, when the whole log was read. ``place``: of the log, for people."""
        self._close()
        about, clock = self._heading, self._facts.clock
        facts = tuple(self._all_facts(about.started_ms(clock.first_ms)))
        return Run(
            application_id=about.application,
            attempt=about.attempt,
            name=about.start.name,
            user=about.start.user,
            spark_version=about.version,
            master=about.master,
            is_python=about.is_python,
            begun=bool(about.start.time),
            started_ms=facts[0][0],
            ended_ms=clock.now_ms,
            ended=about.ended,
            warnings=tuple(self._warnings()),
            shuffles=self._shuffles.written(),
            facts=facts,
            task_ms=self._task_ms,
            readers_known=not self._parents_missing,
            files=files,
            place=place,
            raw_bytes=raw_bytes,
        )

    def _close(self) -> None:
        if not self._heading.ended:
            self._facts.at(self._unheard_ms)
        self._facts.close(self._order, self._heading.end_ms)
        for sums in self._sums.unbegun():
            self._order.miss(sums.ends, sums.written)

    def _all_facts(self, started_ms: int) -> Iterable[Fact]:
        begun_ms = started_ms if self._heading.start.time > 0 else 0
        ordered, persisted = self._facts.in_order(self._order, self._persisted, begun_ms)
        yield min([started_ms, *(time_ms for time_ms, _ in ordered[:1])]), self._heading.registration()
        yield from with_roots(ordered, persisted)
        ended_ms = self._facts.clock.now_ms
        yield ended_ms, c.EndApplication() if self._heading.ended else c.Tick()  # what it held, it held until then

    def _warnings(self) -> Iterable[str]:
        yield from self.warnings
        if self._parents_missing:
            yield "no stage names its parents, as before Spark 1.5: what was read, and when, is not known"
        yield from self._heading.missing()
        yield from self._facts.clock.doubts()
        yield from self._order.doubts(begun=bool(self._heading.start.time))
        yield from self._heading.too_new()
        if self._untold:
            yield f"{self._untold:,} more warnings"

    # ---- the application ----

    def _log_started(self, record: r.LogStart) -> None:
        self._heading.learn(version=record.version)

    def _started(self, record: r.ApplicationStart) -> None:
        why_not = self._heading.why_not(record)
        if why_not:
            self.warn(why_not)
            self._is_over = True
            return
        self._heading.start = record
        self._order.before_start = self._work
        self._facts.clock.first_ms = 0
        self._facts.at(record.time)

    def _environment(self, record: r.Environment) -> None:
        if record.conf is not None:
            self._heading.learn(master=record.conf.master)

    def _application_ended(self, record: r.ApplicationEnd) -> None:
        self._heading.end(record.time)
        self._facts.at(record.time)

    def _begins(self) -> None:
        """A job or a stage begins; one behind the application's end is counted as out of order."""
        self._work += 1
        self._order.behind_end += self._heading.ended

    def _hear(self, time_ms: int | None) -> None:
        """A job or a stage begins or ends: notes where that is told to have been before something above it."""
        self._order.hear(time_ms, self._facts.clock.now_ms)

    # ---- jobs ----

    def _job_started(self, record: r.JobStart) -> None:
        self._hear(record.time)
        self._begins()
        by_id = {stage.id: stage for stage in record.stages}
        self._parents_missing |= names_no_parents(record.stages, by_id)
        final = final_of(record.stages)
        about = record.properties or r.Properties()
        execution = _execution(about.execution)
        call = self._calls.get(execution, "") if execution is not None else ""
        for stage in record.stages:
            self._list(stage, by_id, record.id, None if stage.id == final else True, call)
        self._jobs[record.id] = tuple(by_id)
        self._heading.learn(told_id=about.application or "")
        self._tell_job(record, tuple(by_id), final, execution)

    def _tell_job(self, record: r.JobStart, listed: tuple[int, ...], final: int, execution: ExecutionId | None) -> None:
        about = record.properties or r.Properties()
        last = self._stages.get(final)
        place = self._facts.tell(
            record.time,
            c.ReportJobStarted(
                job=JobId(record.id),
                final_stage=StageId(final),
                reads=last.reads if last is not None else (),
                writes=AppShuffle(last.rdd) if last is not None and last.writes else None,
                stages=spans_of(listed),
                lineage=tuple(self._shuffles.news(self._stages[number] for number in listed)),
                execution=execution,
                group=about.group or "",
                call_site=short(about.call_site),
            ),
        )
        if last is not None and last.writes is None:
            last.told_at.append(place)

    def _list(
        self, stage: r.Stage, by_id: dict[int, r.Stage], job: int | None, writes: bool | None, call: str = ""
    ) -> Stage:
        """Learns a stage from its description. ``job``: the one that lists it, if one does.

        ``writes``: whether it writes a shuffle; None: not known yet. ``call``: the SQL execution that it is a part of.
        """
        self._persisted.see(stage, len(self._facts))
        self._heading.see(stage.name)
        known = self._stages.get(stage.id)
        if known is None:
            known = self._stages[stage.id] = described(stage, by_id, call)
        if job is not None:
            known.jobs.add(job)
        if writes:
            self._shuffles.decide_parent(known)
        return known

    def _job_ended(self, record: r.JobEnd) -> None:
        result = record.result or r.JobResult()
        succeeded = result.result == "JobSucceeded"
        why = "" if succeeded else short((result.failure.message if result.failure else None) or result.result)
        self._hear(record.time)
        self._order.unbegun += record.id not in self._jobs
        self._facts.tell(record.time, c.ReportJobEnded(JobId(record.id), succeeded, why))
        for number in self._jobs.pop(record.id, ()):
            stage = self._stages[number]
            stage.jobs.discard(record.id)
            if not stage.jobs:
                del self._stages[number]
                self._shuffles.leave_undecided(stage)

    # ---- stages and tasks ----

    def _stage_submitted(self, record: r.StageLine) -> None:
        self._hear(record.stage.submitted)
        self._submit(record.stage, record.stage.submitted)

    def _submit(self, stage: r.Stage, at_ms: int | None) -> None:
        """An attempt begins. Told a second time, or when it is over, it is only counted as out of order."""
        sums = self._sums.of((stage.id, stage.attempt))
        if sums is None or sums.begun:
            self._order.again += 1
            return
        sums.begun = True
        self._begins()
        self._begin(stage, at_ms)

    def _begin(self, stage: r.Stage, at_ms: int | None) -> None:
        self._order.jobless += stage.id not in self._stages
        known = self._stages.get(stage.id) or self._list(stage, {}, None, None)
        self._shuffles.begin(known, stage.tasks, at_ms)
        place = self._facts.tell(
            at_ms,
            c.ReportStageSubmitted(
                stage=_attempt(stage.id, stage.attempt),
                reads=known.reads,
                writes=AppShuffle(known.rdd) if known.writes else None,
                tasks=stage.tasks,
                name=short(stage.name),
                cached=bool(known.behind),
                behind=known.behind,
            ),
        )
        self._facts.says(place, stage.submitted)
        if known.writes is None:
            known.told_at.append(place)

    def _task_ended(self, record: r.TaskEnd) -> None:
        key = record.stage, record.attempt
        sums = self._sums.of(key)
        stage = self._stages.get(record.stage)
        info = record.info
        if info is not None:
            self._end_of_task(info.finished, sums is None or sums.begun)
        if stage is not None and stage.writes is None and record.type:
            self._shuffles.decide(stage, record.type == _MAP_TASK)
        if record.metrics is None or (info is not None and (info.failed or info.killed)):
            return
        if sums is not None:
            self._task_ms += sums.add(record.metrics)
        elif self._sums.is_lacking(key):
            self._order.miss(1, written_by(record.metrics))
        elif stage is not None:
            self._task_ms += self._shuffles.add_late(stage, record.metrics)

    def _end_of_task(self, time_ms: int, has_begun: bool) -> None:
        """Takes the time of a task's end; of an attempt whose beginning was not told yet it is kept for later."""
        if has_begun:
            self._facts.at(time_ms)
        else:
            self._unheard_ms = max(self._unheard_ms, time_ms)

    def _stage_completed(self, record: r.StageLine) -> None:
        stage = record.stage
        if not self._sums.has_begun((stage.id, stage.attempt)):
            self._submit_unheard(stage)
        sums = self._sums.end(stage)
        if sums is None:
            return
        self._hear(stage.completed)
        known = self._stages.get(stage.id) or self._list(stage, {}, None, None)  # its job may have ended
        written_bytes = self._shuffles.end(known, sums, stage.failure is None)
        if not known.jobs:
            del self._stages[stage.id]
        self._shuffles.note_end(known, self._tell_completed(stage, sums, written_bytes), written_bytes)

    def _tell_completed(self, stage: r.Stage, sums: Sums, written_bytes: int) -> int:
        """Tells the end of an attempt; gives the place of that fact."""
        return self._facts.tell(
            stage.completed,
            c.ReportStageCompleted(
                stage=_attempt(stage.id, stage.attempt),
                failure="" if stage.failure is None else short(stage.failure) or "failed",
                shuffle_bytes_written=written_bytes,
                shuffle_bytes_read=sums.read,
                output_bytes=sums.out_bytes,
                output_records=sums.out_records,
                task_ms=sums.run_ms,
            ),
        )

    def _submit_unheard(self, stage: r.Stage) -> None:
        """An attempt ends whose submission was not told: it is missing, stands further below, or in an earlier file.

        Before any time is known it begins as it ends.
        """
        self._submit(stage, stage.submitted if self._facts.clock.now_ms else stage.completed)

    # ---- the rest ----

    def _executor_removed(self, record: r.ExecutorRemoved) -> None:
        self._facts.tell(record.time, c.ReportExecutorLost(record.executor, short(record.reason)))

    def _unpersisted(self, record: r.Unpersist) -> None:
        self._persisted.drop(record.rdd, len(self._facts))

    def _execution_started(self, record: r.ExecutionStart) -> None:
        writes = record.plan is not None and writes_files(record.plan)
        self._heading.see(record.description or "")
        self._calls[ExecutionId(record.id)] = short(" ".join((record.description or "").split()))
        self._facts.tell(
            record.time, c.ReportExecutionStarted(ExecutionId(record.id), short(record.description), writes)
        )

    def _execution_ended(self, record: r.ExecutionEnd) -> None:
        self._calls.pop(ExecutionId(record.id), None)
        self._facts.tell(record.time, c.ReportExecutionEnded(ExecutionId(record.id), bool(record.error)))


def _attempt(stage: int, attempt: int) -> StageAttempt:
    return StageAttempt(StageId(stage), attempt)


def _execution(text: str | None) -> ExecutionId | None:
    return ExecutionId(int(text)) if text and text.isdecimal() and len(text) <= MOST_DIGITS else None


_SQL = b"org.apache.spark.sql.execution.ui."
_TAKERS: dict[bytes, Callable[[Book, Any], None]] = {
    b"SparkListenerLogStart": Book._log_started,  # noqa: SLF001 - the class's own table
    b"SparkListenerApplicationStart": Book._started,  # noqa: SLF001
    b"SparkListenerApplicationEnd": Book._application_ended,  # noqa: SLF001
    b"SparkListenerEnvironmentUpdate": Book._environment,  # noqa: SLF001
    b"SparkListenerJobStart": Book._job_started,  # noqa: SLF001
    b"SparkListenerJobEnd": Book._job_ended,  # noqa: SLF001
    b"SparkListenerStageSubmitted": Book._stage_submitted,  # noqa: SLF001
    b"SparkListenerStageCompleted": Book._stage_completed,  # noqa: SLF001
    b"SparkListenerTaskEnd": Book._task_ended,  # noqa: SLF001
    b"SparkListenerExecutorRemoved": Book._executor_removed,  # noqa: SLF001
    b"SparkListenerUnpersistRDD": Book._unpersisted,  # noqa: SLF001
    _SQL + b"SparkListenerSQLExecutionStart": Book._execution_started,  # noqa: SLF001
    _SQL + b"SparkListenerSQLExecutionEnd": Book._execution_ended,  # noqa: SLF001
}
