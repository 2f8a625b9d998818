"""Byte-seconds: how much disk, for how long.

Responsible for what was held, what was needed, what early deletion saved and what it could have saved. Refuses to
count what the log does not know: of what is being written only what failed attempts left. Invariant: held is never less
than needed, and what is counted ends with the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from replay.frames.analyses.generations import KEY, POLICY, SHUFFLE, generations, log_ends
from replay.frames.analyses.sizes import sizes

#: What byte-seconds may be summed by.
GROUPS = ("application", "job_group", "call_site", "app_shuffle", "job", "shuffle_id")


def byte_seconds(events: DataFrame, by: Sequence[str] = ("application",)) -> DataFrame:
    """Byte-seconds by application, job group, call site …: docs/frames.md, *Byte-seconds*."""
    unknown = sorted(set(by) - set(GROUPS))
    if unknown or not by:
        raise ValueError(f"byte-seconds by {unknown or 'nothing'}; expected some of {', '.join(GROUPS)}. Choose some.")
    known = generations(events)
    needed_ms = F.when(F.col("last_read_ms").isNotNull(), F.least("to_ms", "last_read_ms") - F.col("from_ms"))
    held = (
        steps(events)
        .join(known.select(*KEY, "last_read_ms"), KEY)
        .groupBy(*KEY)
        .agg(
            F.sum(weight("bytes", F.col("to_ms") - F.col("from_ms"))).alias("held"),
            F.sum(weight("bytes", needed_ms)).alias("needed"),
        )
    )
    of_all = _without_us(events, known).join(held, KEY, "left")
    return of_all.groupBy(*by).agg(
        F.count("*").alias("generations"),
        _total("held").alias("held_byte_seconds"),
        _total("needed").alias("needed_byte_seconds"),
        _total("saved").alias("saved_byte_seconds"),
        _total("could_save").alias("could_save_byte_seconds"),
    )


def steps(events: DataFrame) -> DataFrame:
    """For each generation, how many bytes it held from when to when (milliseconds since the epoch)."""
    until = F.coalesce("following_ms", "log_ends_ms").alias("to_ms")
    return sizes(events).join(log_ends(events), "application").select(*KEY, "bytes", "from_ms", until)


def weight(size: str, milliseconds: Column) -> Column:
    """Byte-seconds; nothing where no time passes, or none is known (`greatest` passes nulls over).

    A terabyte for three hours is more byte-milliseconds than a `bigint` holds.
    """
    return F.col(size).cast("double") * F.greatest(milliseconds, F.lit(0)) / 1000.0


def _without_us(events: DataFrame, known: DataFrame) -> DataFrame:
    """Generations with what early deletion saved, and could have saved.

    Without it the data would have stayed until Spark's own cleaner lets the app shuffle go, until the application, or
    the log, ends; and where it was written again, that would not have been needed.
    """
    cleaned = events.where("kind = 'ShuffleCleaned'").groupBy(*SHUFFLE).agg(F.max("time_ms").alias("cleaned_ms"))
    ended = events.where("kind = 'ApplicationEnded'").groupBy("application").agg(F.min("time_ms").alias("ended_ms"))
    later = Window.partitionBy(*SHUFFLE).orderBy("shuffle_id").rowsBetween(1, Window.unboundedFollowing)
    again = F.min("completed_ms").over(later)
    after = F.when(F.col("cleaned_ms") >= F.col("gone_ms"), F.col("cleaned_ms"))
    kept_until = F.least("again_ms", after, "ended_ms", "log_ends_ms")
    would_go = F.coalesce("gone_ms", "log_ends_ms")
    saved = F.when(F.col("gone_because") == POLICY, weight("bytes", kept_until - F.col("gone_ms")))
    could_save = F.when(F.col("held_by") == "observe", weight("bytes", would_go - F.col("expired_ms")))
    return (
        known.withColumn("again_ms", again)
        .join(cleaned, SHUFFLE, "left")
        .join(ended, "application", "left")
        .withColumn("saved", saved)
        .withColumn("could_save", could_save)
    )


def _total(column: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0.0))
