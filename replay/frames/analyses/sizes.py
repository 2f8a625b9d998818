"""How many bytes a generation holds, change by change.

Responsible for what completions, failed attempts, losses and the fence make of a generation's bytes, by the core's
rule. Refuses to count time. Invariant: of what is gone nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from replay.units import left, whole

_KEY = ["application", "shuffle_id"]
_ATTEMPT = ["application", "stage", "attempt"]
_GONE = ("GenerationLost", "GenerationDeleted")
_WEIGHTY = ("GenerationCompleted", "OutputsLost", "GenerationFenced", *_GONE)
_WRITING = ("GenerationStarted", "WriterJoined")


def sizes(events: DataFrame) -> DataFrame:
    """A row for every change until it is gone: from when on, how many bytes, and when the next change is."""
    order = Window.partitionBy(*_KEY).orderBy("sequence")
    upto = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    change = F.struct("kind", "bytes", "available", "total")
    return (
        _changes(events)
        .select(
            *_KEY,
            "sequence",
            F.col("time_ms").alias("from_ms"),
            F.lead("time_ms").over(order).alias("following_ms"),
            F.max(F.col("kind").isin(*_GONE)).over(upto).alias("is_gone"),
            F.collect_list(change).over(upto).alias("changes"),
        )
        .where("NOT is_gone")
        .select(*_KEY, "sequence", "from_ms", "following_ms", _held("changes").alias("bytes"))
    )


def _held(changes: str) -> Column:
    """Spark is told what kind of function it is: what is annotated for readers it takes for hints, and warns."""
    return F.udf(bytes_after, "bigint", useArrow=False)(changes)


def last_sizes(events: DataFrame) -> DataFrame:
    """What each generation held last."""
    return sizes(events).groupBy(*_KEY).agg(F.max_by("bytes", "sequence").alias("bytes"))


def bytes_after(changes: Iterable[Any]) -> int:
    """The bytes after these changes, each with ``kind``, ``bytes``, ``available`` and ``total``."""
    held = before = 0
    for one in changes:
        if one["kind"] == "OutputsLost":
            before = before or held
            held = left(held, one["available"] or 0, one["total"] or 0)
        elif one["kind"] == "GenerationCompleted":
            held, before = whole(held, before, one["bytes"] or 0), 0
        elif one["kind"] == "GenerationFenced":
            held = one["bytes"] or held
        else:
            held += one["bytes"] or 0
    return held


def _changes(events: DataFrame) -> DataFrame:
    """The generation's own events, and the ends of failed attempts that wrote it."""
    columns = [*_KEY, "sequence", "time_ms", "kind", "bytes", "available", "total"]
    counted = (_of_event("available"), _of_event("total"))
    own = events.where(F.col("kind").isin(*_WEIGHTY)).select(*columns[:-2], *counted)
    writers = events.where(F.col("kind").isin(*_WRITING)).select(*_ATTEMPT, "shuffle_id").distinct()
    ended = events.where((F.col("kind") == "StageCompleted") & (F.get_json_object("event", "$.failure") != ""))
    written = F.col("shuffle_bytes_written").alias("bytes")
    failed = ended.select(*_ATTEMPT, "sequence", "time_ms", "kind", written, *counted).join(writers, _ATTEMPT)
    return own.unionByName(failed.select(*columns))


def _of_event(name: str) -> Any:
    return F.get_json_object("event", f"$.{name}").cast("bigint").alias(name)
