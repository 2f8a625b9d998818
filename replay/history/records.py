"""The lines of a history log that matter, and what of them.

Responsible for the names that Spark gives things in its JSON, for Spark 1.4 to 4.x. Refuses to know what they mean.
Invariant: what a version of Spark does not write has a default here; whatever else a line holds is skipped unread,
which is most of every line; no number is one that figures or tables cannot hold.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

#: The largest amount that a log can mean: sums of them still fit where figures are kept.
MOST = 1 << 53
#: A line that holds more is damaged; one that weighs less than nothing too.
Amount: TypeAlias = Annotated[int, Meta(ge=0, le=MOST)]
Elapsed: TypeAlias = Annotated[int, Meta(ge=-MOST, le=MOST)]  # clocks that are set give less than nothing
Moment: TypeAlias = Annotated[int, Meta(ge=-MOST, le=253_402_300_799_999)]  # to the end of year 9999; -1: not known
Id: TypeAlias = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class LogStart(Struct):
    version: str = field(name="Spark Version", default="")


class ApplicationStart(Struct):
    name: str = field(name="App Name", default="")
    id: str | None = field(name="App ID", default=None)
    time: Moment = field(name="Timestamp", default=0)
    user: str = field(name="User", default="")
    attempt: str | None = field(name="App Attempt ID", default=None)


class ApplicationEnd(Struct):
    time: Moment = field(name="Timestamp", default=0)


class Conf(Struct):
    master: str = field(name="spark.master", default="")


class Environment(Struct):
    conf: Conf | None = field(name="Spark Properties", default=None)


class Storage(Struct):
    disk: bool = field(name="Use Disk", default=False)
    memory: bool = field(name="Use Memory", default=False)


class Rdd(Struct):
    id: Id = field(name="RDD ID")
    parents: list[Id] = field(name="Parent IDs", default_factory=list)
    storage: Storage | None = field(name="Storage Level", default=None)
    level: str = field(name="DeterministicLevel", default="")
    barrier: bool = field(name="Barrier", default=False)

    @property
    def persisted(self) -> bool:
        """Somebody asked Spark to keep its partitions."""
        return self.storage is not None and (self.storage.disk or self.storage.memory)


class Accumulable(Struct):
    name: str | None = field(name="Name", default=None)
    value: Any = field(name="Value", default=None)


class Stage(Struct):
    id: Id = field(name="Stage ID")
    attempt: Id = field(name="Stage Attempt ID", default=0)
    name: str = field(name="Stage Name", default="")
    tasks: Amount = field(name="Number of Tasks", default=0)
    rdds: list[Rdd] = field(name="RDD Info", default_factory=list)
    parents: list[Id] | None = field(name="Parent IDs", default=None)
    submitted: Moment | None = field(name="Submission Time", default=None)
    completed: Moment | None = field(name="Completion Time", default=None)
    failure: str | None = field(name="Failure Reason", default=None)
    accumulables: list[Accumulable] = field(name="Accumulables", default_factory=list)


class StageLine(Struct):
    stage: Stage = field(name="Stage Info")


class Properties(Struct):
    execution: str | None = field(name="spark.sql.execution.id", default=None)
    group: str | None = field(name="spark.jobGroup.id", default=None)
    application: str | None = field(name="spark.app.id", default=None)
    call_site: str | None = field(name="callSite.short", default=None)


class JobStart(Struct):
    id: Id = field(name="Job ID")
    time: Moment = field(name="Submission Time", default=0)
    stages: list[Stage] = field(name="Stage Infos", default_factory=list)
    properties: Properties | None = field(name="Properties", default=None)


class Failure(Struct):
    message: str | None = field(name="Message", default=None)


class JobResult(Struct):
    result: str = field(name="Result", default="JobSucceeded")
    failure: Failure | None = field(name="Exception", default=None)


class JobEnd(Struct):
    id: Id = field(name="Job ID")
    time: Moment = field(name="Completion Time", default=0)
    result: JobResult | None = field(name="Job Result", default=None)


class TaskInfo(Struct):
    finished: Moment = field(name="Finish Time", default=0)
    failed: bool = field(name="Failed", default=False)
    killed: bool = field(name="Killed", default=False)


class ShuffleWrite(Struct):
    bytes: Amount = field(name="Shuffle Bytes Written", default=0)


class ShuffleRead(Struct):
    remote_bytes: Amount = field(name="Remote Bytes Read", default=0)
    local_bytes: Amount = field(name="Local Bytes Read", default=0)


class Output(Struct):
    bytes: Amount = field(name="Bytes Written", default=0)
    records: Amount = field(name="Records Written", default=0)


class Metrics(Struct):
    run_ms: Elapsed = field(name="Executor Run Time", default=0)
    shuffle_write: ShuffleWrite | None = field(name="Shuffle Write Metrics", default=None)
    shuffle_read: ShuffleRead | None = field(name="Shuffle Read Metrics", default=None)
    output: Output | None = field(name="Output Metrics", default=None)


class TaskEnd(Struct):
    stage: Id = field(name="Stage ID")
    attempt: Id = field(name="Stage Attempt ID", default=0)
    type: str = field(name="Task Type", default="")
    info: TaskInfo | None = field(name="Task Info", default=None)
    metrics: Metrics | None = field(name="Task Metrics", default=None)


class ExecutorRemoved(Struct):
    time: Moment = field(name="Timestamp", default=0)
    executor: str = field(name="Executor ID", default="")
    reason: str | None = field(name="Removed Reason", default=None)


class Unpersist(Struct):
    rdd: Id = field(name="RDD ID")


class Plan(Struct):
    node: str = field(name="nodeName", default="")
    children: list[Plan] = field(name="children", default_factory=list)


class ExecutionStart(Struct):
    id: Id = field(name="executionId")
    description: str | None = None
    time: Moment = 0
    plan: Plan | None = field(name="sparkPlanInfo", default=None)


class ExecutionEnd(Struct):
    id: Id = field(name="executionId")
    time: Moment = 0
    error: str | None = field(name="errorMessage", default=None)


_SQL = "org.apache.spark.sql.execution.ui."
#: What is read of a line, by its event's name; lines of other events are skipped.
KINDS: dict[bytes, type[Struct]] = {
    b"SparkListenerLogStart": LogStart,
    b"SparkListenerApplicationStart": ApplicationStart,
    b"SparkListenerApplicationEnd": ApplicationEnd,
    b"SparkListenerEnvironmentUpdate": Environment,
    b"SparkListenerJobStart": JobStart,
    b"SparkListenerJobEnd": JobEnd,
    b"SparkListenerStageSubmitted": StageLine,
    b"SparkListenerStageCompleted": StageLine,
    b"SparkListenerTaskEnd": TaskEnd,
    b"SparkListenerExecutorRemoved": ExecutorRemoved,
    b"SparkListenerUnpersistRDD": Unpersist,
    f"{_SQL}SparkListenerSQLExecutionStart".encode(): ExecutionStart,
    f"{_SQL}SparkListenerSQLExecutionEnd".encode(): ExecutionEnd,
}
DECODERS = {name: msgspec.json.Decoder(kind, strict=False) for name, kind in KINDS.items()}
