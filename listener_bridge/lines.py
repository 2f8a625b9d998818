"""Spark's names for jobs, shuffles and executions, made lines of the program where Spark does not know these.

Responsible for: saying which line of the program a job was started from, and which one an app shuffle was first needed
by.
Refuses to know: how a thread's calls are noted (`reach.calls`), and who tells the names on.
Invariant: a fact loses nothing: Spark's own name of a stage stays beside the line; an app shuffle keeps its first line.

PySpark tells Spark the program's line for RDDs, and for `collect`. All other SQL is called by whatever Java method
stands outside of Spark's own: `count at NativeMethodAccessorImpl.java:0`, and an exchange of an adaptive plan, which
runs in a thread of a pool, `$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768`.

The jobs of a streaming query run in a thread of its own: where they do not call the program, they are called by the
line that has started it.

And PySpark takes for the program whoever has called it first. In a thread that it wraps (`InheritableThread`,
`inheritable_thread_target`) that is Python's own library: `copy_local_properties at /usr/lib/python3/threading.py:982`.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from listener_bridge.reach.calls import PROPERTY
from listener_bridge.reach.naming import Kind, kind_of_file
from listener_bridge.tap.facts import (
    ActiveJob,
    ExecutionStarted,
    Fact,
    JobEnded,
    JobStarted,
    QueryStarted,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
    StageFact,
    StageSubmitted,
)

log = logging.getLogger("shuffle_lifecycle")

LineOf: TypeAlias = Callable[["str | None", "str | None", float, bool], str]
"""The line whose call was under way, of a thread by its mark, or into a JVM method by its name; wall clock, ms.

Where the last is true, only of a thread that the JVM has called.
"""

_NOT_THE_PROGRAMS = re.compile(r"\A\Z|\.(?:java|scala):\d+\Z|<unknown>:\d*\Z|[/\\]py4j[/\\]\w+\.py:\d+\Z")
_OF_PYTHON = re.compile(r" at (.+\.py):\d+\Z")
_OF_SPARK = re.compile(r"\.scala:\d+\Z")
_STARTS = ("start", "toTable")  # of a streaming query, in the JVM
QUERIES_MAX = 1_000


class Lines:
    """One application's lines. Belongs to the tap's thread; `snapshot` may come from another."""

    def __init__(self, line_of: LineOf) -> None:
        self._line_of = line_of
        self._shuffles: dict[int, str] = {}
        self._results: dict[int, str] = {}  #: Stages that write none, while a job lists them.
        self._listed: dict[int, tuple[int, ...]] = {}
        self._queries: OrderedDict[str, str] = OrderedDict()  #: Streaming queries, by where they were started last.

    def named(self, told: Sequence[Fact]) -> list[Fact]:
        """The facts, with lines of the program where some are known. Raises nothing: a name is never worth a fact."""
        return [self._named_or_not(fact) for fact in told]

    def _named_or_not(self, fact: Fact) -> Fact:
        try:
            return self._named(fact)
        except Exception:
            log.debug("%s has no line", type(fact).__name__, exc_info=True)
            return fact

    def snapshot(self, present: Snapshot) -> Snapshot:
        """The snapshot, with lines of the program where some are known."""
        return replace(
            present,
            running_stages=self._stages(present.running_stages),
            active_jobs=tuple(self._active(job) for job in present.active_jobs),
        )

    def _named(self, fact: Fact) -> Fact:
        if isinstance(fact, (StageSubmitted, StageCompleted)):
            return replace(fact, stage=self._stage(fact.stage)) if self._lacks(fact.stage) else fact
        if isinstance(fact, JobStarted):
            return self._job_started(fact)
        if isinstance(fact, ExecutionStarted):
            return self._execution_started(fact)
        if isinstance(fact, QueryStarted):
            self._query_started(fact)
        elif isinstance(fact, JobEnded):
            for stage in self._listed.pop(fact.job_id, ()):
                self._results.pop(stage, None)
        elif isinstance(fact, ShuffleCleaned):
            self._shuffles.pop(fact.app_shuffle, None)
        return fact

    def _job_started(self, job: JobStarted) -> JobStarted:
        if not is_no_line(job.call_site) and not any(map(self._lacks, job.stages)):
            return job
        line = self._line_of_job(job)
        if line:
            self._learn(job, line)
        site = _beside(line, job.call_site) if is_no_line(job.call_site) else job.call_site
        return replace(job, call_site=site, stages=self._stages(job.stages))

    def _line_of_job(self, job: JobStarted) -> str:
        if is_no_line(job.call_site):
            # a stream's thread has the mark of whoever started it, until it calls the program and is given one
            line = self._line_of(job.properties.get(PROPERTY), None, job.time_ms, job.is_of_stream)
            return line or self._queries.get(job.query_id or "", "")
        return job.call_site

    def _query_started(self, fact: QueryStarted) -> None:
        lines = {self._line_of(None, method, fact.time_ms, False) for method in _STARTS} - {""}
        self._queries.pop(fact.query_id, None)  # it may have been started elsewhere before
        if len(lines) == 1:
            self._queries[fact.query_id] = lines.pop()
            if len(self._queries) > QUERIES_MAX:
                self._queries.popitem(last=False)

    def _learn(self, job: JobStarted, line: str) -> None:
        for stage in filter(self._lacks, job.stages):
            if stage.writes is not None:
                self._shuffles.setdefault(stage.writes, line)
            else:
                self._results[stage.stage_id] = line
        self._listed[job.job_id] = tuple(stage.stage_id for stage in job.stages if stage.writes is None)

    def _execution_started(self, fact: ExecutionStarted) -> ExecutionStarted:
        """Spark calls it by the JVM's method, and says in no thread's name."""
        if not fact.description or not is_no_line(fact.description):
            return fact
        line = self._line_of(None, fact.description.split(" at ")[0], fact.time_ms, False)
        return replace(fact, description=line) if line else fact

    def _active(self, job: ActiveJob) -> ActiveJob:
        return replace(job, stages=self._stages(job.stages))

    def _stages(self, stages: Iterable[StageFact]) -> tuple[StageFact, ...]:
        return tuple(self._stage(stage) if self._lacks(stage) else stage for stage in stages)

    def _stage(self, stage: StageFact) -> StageFact:
        known = self._results.get(stage.stage_id) if stage.writes is None else self._shuffles.get(stage.writes)
        return replace(stage, line=_beside(known, stage.name)) if known else stage

    def _lacks(self, stage: StageFact) -> bool:
        return is_no_line(stage.name)


def is_no_line(name: str | None) -> bool:
    """Whether Spark's name tells nothing of the program: it is empty, or a line of Java, Spark, py4j or Python itself.

    `collect` in a function of `foreachBatch` has PySpark tell a line of py4j's.
    """
    if _NOT_THE_PROGRAMS.search(name or ""):
        return True
    told = _OF_PYTHON.search(name or "")
    return told is not None and kind_of_file(told[1]) is Kind.MACHINERY


def _beside(line: str, name: str | None) -> str:
    """The program's line; with Spark's own where that says which step of an algorithm it is."""
    return f"{line} ({name})" if line and _OF_SPARK.search(name or "") else line or name or ""
