"""Advice as DataFrames, for people who go on in PySpark.

Responsible for the columns and their types. Refuses to compute. Invariant: a column's comment says its unit; names are
those of `advice`, so that `shufflectl advise -o json` and these tables say the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from replay.advise.advice import Advice
from replay.advise.judging import GRACE_MS, Judge
from replay.advise.report import Progress, telling
from replay.advise.rows import row
from replay.history import columns as k
from replay.history.finding import Log
from replay.history.gathering import each_run, find

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, places: Iterable[str] | str, grace_ms: int = GRACE_MS) -> DataFrame:
    """A row for each run of an application that was found at or below these places; files that are no logs are not in
    it (`replay.history.read` names them). Nothing is read before the DataFrame is used, but names of files, and logs
    behind a URL, to know which of them are parts of one run."""
    logs, _ = find(spark, [places] if isinstance(places, str) else places)
    return _of(spark, logs, grace_ms)


def write(
    spark: SparkSession,
    places: Iterable[str],
    folder: str,
    mode: str,
    grace_ms: int = GRACE_MS,
    progress: Progress | None = None,
) -> None:
    """Writes the rows of `read` as Parquet files into ``folder``; all logs are read now.

    ``mode``: as Spark's writers take it, such as `overwrite`. ``progress``: is told of bytes read, now and then.
    """
    logs, _ = find(spark, places)
    done = spark.sparkContext.accumulator(0)
    with telling(progress, done, logs):
        _of(spark, logs, grace_ms, done).write.mode(mode).parquet(folder)


def _of(spark: SparkSession, logs: Sequence[Log], grace_ms: int, done: Accumulator[int] | None = None) -> DataFrame:
    read = each_run(spark, logs, Judge(grace_ms), done)
    found = read.flatMap(lambda one: [k.values(schema(), row(one.found))] if one.found is not None else [])
    return spark.createDataFrame(found, schema())


def schema() -> Any:
    """The columns of `read`."""
    figures = k.struct(
        k.text("holder", "spark, frontier, eager, delayed or oracle"),
        k.whole("peak_bytes", "most bytes held at a time"),
        k.real("byte_seconds", "bytes held times seconds"),
        k.whole("deletions", "generations deleted early"),
        k.whole("missed", "of these, deleted too early"),
        k.whole("recomputed_bytes", "written again because of that"),
        k.real("recomputed_task_seconds", "run time of the tasks that write it again, seconds"),
    )
    shuffles = k.struct(
        *k.SHUFFLE,
        k.whole("written_ms", "when it was complete, ms since the epoch"),
        k.whole("last_read_ms", "when its last reader was done, ms since the epoch; null: never read"),
        k.whole("reads", "stage attempts that read it"),
        k.whole("idle_ms", "from its last read to the end of the application, ms"),
        k.real("idle_byte_seconds", "bytes times seconds of that"),
        k.texts("too_early", "rules that would have deleted it too early"),
    )
    return k.struct(
        *k.APPLICATION,
        k.text("place", "the file or folder of its log"),
        k.whole("shuffle_count", "app shuffles that were written"),
        k.whole("written_bytes", "all its shuffles, each written once"),
        k.many("figures", figures, "one for each holder"),
        k.many("shuffles", shuffles, "one for each app shuffle"),
        k.text("verdict", "what to do"),
        k.text("reason", "why, in words"),
        k.real("gain_byte_seconds", "what the recommended policy would have given back, at least"),
        k.real("possible_byte_seconds", "what an oracle would have given back"),
    )


__all__ = ["Advice", "read", "schema", "write"]
