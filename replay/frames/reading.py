"""The events frame, on every Spark.

Responsible for `events`, which needs nothing newer than Spark 3.5, and for making the format known to a session.
Refuses to know where logs are. Invariant: both ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from replay.frames.columns import ddl
from replay.frames.options import PARTITION_EVENTS, PERMISSIVE, Reading, WrongOption, reading_of
from replay.frames.pieces import Piece

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: Data sources in Python came with this Spark.
_SOURCES_SINCE = 4
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_BUILDER = "org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder"


def events(
    spark: SparkSession,
    url: str,
    *,
    application: str | Sequence[str] | None = None,
    first: int = 1,
    last: int | None = None,
    partition_events: int = PARTITION_EVENTS,
    mode: str = PERMISSIVE,
    archive: str = "",
    user: str = "",
    password: str = "",
) -> DataFrame:
    """The events of a store, an archive or an export; docs/frames.md has the columns and the options.

    Which logs there are is looked up now, how they go on until then is read by Spark's tasks.
    """
    from replay.frames.sources.opening import plan

    reading = reading_of(
        {
            "path": url,
            "application": application,
            "first": first,
            "last": last,
            "partition_events": partition_events,
            "mode": mode,
            "archive": archive,
            "user": user,
            "password": password,
        }
    )
    pieces = plan(reading)
    numbers = spark.range(0, len(pieces), 1, max(1, len(pieces)))
    return numbers.mapInArrow(_Task(reading, tuple(pieces)), ddl())  # type: ignore[arg-type,unused-ignore]


class _Task:
    """What a worker does: the numbers that it is given say which pieces it reads."""

    def __init__(self, reading: Reading, pieces: tuple[Piece, ...]) -> None:
        self._reading = reading
        self._pieces = pieces

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from replay.frames.sources.opening import read

        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read(self._reading, self._pieces[number])


def register(spark: SparkSession) -> None:
    """Makes `spark.read.format("shuffle_lifecycle")` known. Filters are pushed down where this Spark can."""
    if int(spark.version.partition(".")[0]) < _SOURCES_SINCE:
        told = f"Spark is {spark.version}, which has no data sources in Python"
        raise WrongOption(told, f"Spark {_SOURCES_SINCE}.0 or later", "Read with `frames.events(spark, …)` instead.")
    from replay.frames.datasource import ShuffleLifecycle, ShuffleLifecyclePushed

    pushes = _turn_on_pushdown(spark)
    spark.dataSource.register(ShuffleLifecyclePushed if pushes else ShuffleLifecycle)


def _turn_on_pushdown(spark: SparkSession) -> bool:
    """Whether this session pushes filters to Python data sources; a session that was told not to does not."""
    if not _keeps_filters_apart(spark):
        return False
    if spark.conf.get(_PUSHDOWN, None) is None:
        spark.conf.set(_PUSHDOWN, "true")
    return spark.conf.get(_PUSHDOWN, "false") == "true"


def _keeps_filters_apart(spark: SparkSession) -> bool:
    """Whether what one query pushes down stays with its scan.

    Spark 4.1 to 4.3.0 keep what was planned with it for all that is made of one `load`: the next query, or the other
    side of a union, then reads no more than the first one had asked for, and gives wrong rows.
    """
    try:
        builder = spark._jvm.java.lang.Class.forName(_BUILDER)  # type: ignore[union-attr] # noqa: SLF001
        return any(field.getName() == "readInfo" for field in builder.getDeclaredFields())
    except Exception:  # noqa: BLE001 - another Spark, or Spark Connect: nobody knows
        return False
