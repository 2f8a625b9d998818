"""What the tap tells about Spark: one frozen value for each fact.

Responsible for: the vocabulary between the driver's Java side and everything in Python that reasons about it.
Refuses to know: how facts are carried (`rows`), where they come from (`tap`), what they mean (`translate`).
Invariant: every fact carries `seq`, its place in the one ordered stream of this tap; the stream has no gap.

Ids are Spark's own: `app_shuffle` is stable over recomputation, `stage_id` is not (a later job gives the same shuffle
new stage ids). Times are the driver's wall clock in milliseconds. A `None` means that Spark did not say.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


class Level(enum.Enum):
    """What Spark takes an RDD's output for when it is computed again."""

    DETERMINATE = "DETERMINATE"
    UNORDERED = "UNORDERED"
    INDETERMINATE = "INDETERMINATE"


@dataclass(frozen=True, slots=True)
class StageFact:
    """One attempt of a stage. `level` is declared by the RDD that the stage computes, never a mark of our own.

    `direct_rdd_ids`: the last RDDs of other stages that it reads past every persisted RDD; told where it has such, of
    a stage that is submitted or runs. `line`: of the program, where `name` has none and it is known.
    """

    stage_id: int
    attempt: int
    num_tasks: int
    writes: int | None
    parent_stage_ids: tuple[int, ...]
    name: str
    call_site: str
    level: Level
    is_barrier: bool
    rdd_ids: tuple[int, ...]
    cached_rdd_ids: tuple[int, ...]
    direct_rdd_ids: tuple[int, ...] = ()
    line: str = ""


@dataclass(frozen=True, slots=True)
class JobStarted:
    """A job and all its ancestor stages, those that will be skipped too. `properties` are those of our own prefix.

    `is_of_stream`: a streaming query or a batch of a DStream runs it, whose thread took its properties from another.
    `query_id`: Spark's id of the streaming query.
    """

    seq: int
    job_id: int
    time_ms: int
    stages: tuple[StageFact, ...]
    result_stage_id: int | None
    execution_id: int | None
    group: str | None
    properties: Mapping[str, str] = field(default_factory=dict)
    call_site: str = ""
    is_of_stream: bool = False
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class QueryStarted:
    """A streaming query, by Spark's id, which stays when it is started anew; `time_ms`: while its start is called."""

    seq: int
    query_id: str
    time_ms: int


@dataclass(frozen=True, slots=True)
class JobEnded:
    seq: int
    job_id: int
    time_ms: int
    succeeded: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class StageSubmitted:
    seq: int
    time_ms: int
    stage: StageFact


@dataclass(frozen=True, slots=True)
class StageCompleted:
    """The end of a stage attempt; `failure` is None where it succeeded."""

    seq: int
    time_ms: int
    stage: StageFact
    failure: str | None
    shuffle_bytes_written: int
    shuffle_bytes_read: int
    output_bytes: int
    output_records: int
    task_ms: int = 0


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """A task of a reader missed data. `map_index` is None where the whole generation was missing."""

    seq: int
    stage_id: int
    attempt: int
    app_shuffle: int
    map_index: int | None
    reduce_id: int
    executor: str | None


@dataclass(frozen=True, slots=True)
class ExecutorRemoved:
    seq: int
    executor: str
    reason: str
    time_ms: int


@dataclass(frozen=True, slots=True)
class OutputsChanged:
    """How many map outputs of a registered shuffle are there, told after something was seen to go missing."""

    seq: int
    app_shuffle: int
    available: int
    total: int


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """An SQL execution. `writes_output`: its plan holds a command that writes data."""

    seq: int
    execution_id: int
    description: str
    call_site: str
    time_ms: int
    writes_output: bool


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    seq: int
    execution_id: int
    failed: bool
    time_ms: int


@dataclass(frozen=True, slots=True)
class BlocksGone:
    """An executor's blocks have gone, and these persisted RDDs may have had some there."""

    seq: int
    executor: str
    rdd_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RddUnpersisted:
    seq: int
    rdd_id: int


@dataclass(frozen=True, slots=True)
class ShuffleCleaned:
    """Spark's own cleaner let the shuffle go: nothing can read it again."""

    seq: int
    app_shuffle: int


@dataclass(frozen=True, slots=True)
class GenerationsMixed:
    """A result stage had delivered a part when a deleted shuffle above it was written again; `failed` under strict.

    Or a job reads what was made of its old generation beside what was made of the new one.

    `late`: a part was repaired before our hook came to it.
    """

    seq: int
    app_shuffle: int
    job_id: int
    stage_id: int
    delivered: int
    partitions: int
    late: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class ResultsMayDiffer:
    """What the result of a finished job was computed from is written again."""

    seq: int
    app_shuffle: int


@dataclass(frozen=True, slots=True)
class MarkerPassed:
    """A marker posted on the listener bus arrived at its place among the facts."""

    seq: int
    name: str
    payload: str


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """Facts are missing here; `where` is `bus` (Spark's queue was full) or `tap` (nobody took from ours)."""

    seq: int
    count: int
    where: str


@dataclass(frozen=True, slots=True)
class ApplicationEnded:
    seq: int
    time_ms: int


Fact: TypeAlias = (
    JobStarted
    | JobEnded
    | StageSubmitted
    | StageCompleted
    | FetchFailed
    | ExecutorRemoved
    | OutputsChanged
    | ExecutionStarted
    | ExecutionEnded
    | QueryStarted
    | BlocksGone
    | RddUnpersisted
    | ShuffleCleaned
    | GenerationsMixed
    | ResultsMayDiffer
    | MarkerPassed
    | EventsDropped
    | ApplicationEnded
)


@dataclass(frozen=True, slots=True)
class KnownShuffle:
    """A shuffle that the driver's map output tracker has registered, and what of it is there."""

    app_shuffle: int
    available: int
    total: int


@dataclass(frozen=True, slots=True)
class ActiveJob:
    """A job that has not ended, told as `JobStarted` tells it."""

    job_id: int
    stages: tuple[StageFact, ...]
    result_stage_id: int | None
    execution_id: int | None
    group: str | None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is so at one moment in the scheduler's own thread; `marker` passes at that moment's place in the stream."""

    marker: str
    shuffles: tuple[KnownShuffle, ...]
    running_stages: tuple[StageFact, ...]
    active_jobs: tuple[ActiveJob, ...]
    executions: frozenset[int] | None = None  #: SQL executions that run; None: this Spark does not say.
