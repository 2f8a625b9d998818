"""Spark history logs made by hand, as small as can be.

Responsible for lines as Spark writes them, with only the fields that matter. Refuses to know who reads them.
Invariant: times are seconds after `BEGIN_MS`, so that figures can be worked out by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BEGIN_MS = 1_700_000_000_000
Line = Mapping[str, Any]
_SQL = "org.apache.spark.sql.execution.ui."


def at(seconds: float) -> int:
    return BEGIN_MS + int(seconds * 1000)


@dataclass(frozen=True)
class Stage:
    """A stage, its last RDD, and the stages that it reads. ``outside``: what that RDD is made of.

    ``below``: its further RDDs, each with what it is made of; ``kept``: those of them that are persisted.
    """

    id: int
    rdd: int
    parents: Sequence[int] | None = ()
    tasks: int = 2
    outside: Sequence[int] = ()
    name: str = "map at job.scala:7"
    persisted: bool = False
    below: Mapping[int, Sequence[int]] = field(default_factory=dict)
    kept: Sequence[int] = ()

    def info(self, attempt: int = 0, tasks: int | None = None, **more: Any) -> dict[str, Any]:
        own = _rdd(self.rdd, self.outside, self.persisted)
        told = {
            "Stage ID": self.id,
            "Stage Attempt ID": attempt,
            "Stage Name": self.name,
            "Number of Tasks": self.tasks if tasks is None else tasks,
            "RDD Info": [own, *(_rdd(rdd, of, rdd in self.kept) for rdd, of in self.below.items())],
            "Parent IDs": None if self.parents is None else list(self.parents),
            **more,
        }
        return {key: value for key, value in told.items() if value is not None}


def _rdd(rdd: int, made_of: Sequence[int], persisted: bool) -> dict[str, Any]:
    storage = {"Use Disk": False, "Use Memory": persisted, "Replication": 1}
    return {"RDD ID": rdd, "Parent IDs": list(made_of), "Storage Level": storage}


@dataclass
class Log:
    """Lines, one after another."""

    lines: list[Line] = field(default_factory=list)

    def event(self, name: str, **more: Any) -> Log:
        self.lines.append({"Event": name, **more})
        return self

    def start(self, application: str = "app-1", name: str = "a job", attempt: str | None = None) -> Log:
        self.event("SparkListenerLogStart", **{"Spark Version": "4.0.1"})
        more = {"App Attempt ID": attempt} if attempt else {}
        told = {"App Name": name, "App ID": application, "Timestamp": at(0), "User": "ann", **more}
        return self.event("SparkListenerApplicationStart", **told)

    def end(self, seconds: float) -> Log:
        return self.event("SparkListenerApplicationEnd", Timestamp=at(seconds))

    def job(self, number: int, seconds: float, *stages: Stage, execution: int | None = None) -> Log:
        about = {} if execution is None else {"spark.sql.execution.id": str(execution)}
        infos = [stage.info() for stage in stages]
        told = {"Job ID": number, "Submission Time": at(seconds), "Stage Infos": infos, "Properties": about}
        return self.event("SparkListenerJobStart", **told)

    def job_end(self, number: int, seconds: float) -> Log:
        told = {"Job ID": number, "Completion Time": at(seconds), "Job Result": {"Result": "JobSucceeded"}}
        return self.event("SparkListenerJobEnd", **told)

    def stage(
        self,
        stage: Stage,
        begin: float,
        end: float,
        written: int = 0,
        attempt: int = 0,
        tasks: int | None = None,
        failure: str | None = None,
        ends: int | None = None,
        **more: Any,
    ) -> Log:
        """A whole attempt. ``written``: bytes of all its tasks together; each runs half a second.

        ``ends``: so many ends of tasks are in the log, each of the same size; ``more`` stands in its last line.
        """
        count = stage.tasks if tasks is None else tasks
        info = stage.info(attempt, count, **{"Submission Time": at(begin)})
        self.event("SparkListenerStageSubmitted", **{"Stage Info": info})
        for index in range(count if ends is None else ends):
            self.task(stage.id, end, written // count, attempt, written > 0, index)
        over = {"Submission Time": at(begin), "Completion Time": at(end), "Failure Reason": failure, **more}
        return self.event("SparkListenerStageCompleted", **{"Stage Info": stage.info(attempt, count, **over)})

    def task(self, stage: int, seconds: float, written: int, attempt: int, is_map: bool, index: int) -> Log:
        metrics = {"Executor Run Time": 500, "Shuffle Write Metrics": {"Shuffle Bytes Written": written}}
        return self.event(
            "SparkListenerTaskEnd",
            **{
                "Stage ID": stage,
                "Stage Attempt ID": attempt,
                "Task Type": "ShuffleMapTask" if is_map else "ResultTask",
                "Task Info": {"Index": index, "Finish Time": at(seconds), "Failed": False, "Killed": False},
                "Task Metrics": metrics,
            },
        )

    def execution(self, number: int, seconds: float, description: str = "q") -> Log:
        told = {"executionId": number, "description": description, "time": at(seconds)}
        return self.event(f"{_SQL}SparkListenerSQLExecutionStart", **told)

    def execution_end(self, number: int, seconds: float) -> Log:
        return self.event(f"{_SQL}SparkListenerSQLExecutionEnd", executionId=number, time=at(seconds))

    @property
    def text(self) -> bytes:
        return packed(self.lines)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.text)
        return path


def packed(lines: Iterable[Line]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


FIRST, SECOND, LAST = Stage(0, rdd=1), Stage(1, rdd=3, parents=(0,)), Stage(2, rdd=5, parents=(1,))


def chain(application: str = "app-1", **names: Any) -> Log:
    """A map stage that writes 1,000 bytes by 10 s, a second one that reads it until 20 s and writes 500, a result stage
    that reads these until 30 s; the application ends at 110 s."""
    log = Log().start(application, **names).job(0, 0, FIRST, SECOND, LAST)
    log.stage(FIRST, 0, 10, written=1000).stage(SECOND, 10, 20, written=500).stage(LAST, 20, 30)
    return log.job_end(0, 30).end(110)


def chain_read_again() -> Log:
    """The same, and at 50 s another job reads the first shuffle again, until 60 s."""
    log = chain()
    end = log.lines.pop()
    skipped, again = Stage(3, rdd=1), Stage(4, rdd=7, parents=(3,))
    log.job(1, 50, skipped, again).stage(again, 50, 60).job_end(1, 60)
    log.lines.append(end)
    return log
