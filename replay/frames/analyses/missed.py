"""What was deleted too early, and what it cost.

Responsible for the premature rate and for the price of recoveries. Refuses to say who is to blame. Invariant: every
recovery is one row, whether it follows a deletion of ours or a loss.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from replay.frames.analyses.generations import KEY, births, generations

_ATTEMPT = ["application", "stage", "attempt"]


def premature_rate(events: DataFrame, by: Sequence[str] = ("application",)) -> DataFrame:
    """How many of the generations that were let go early were missed: docs/frames.md, *Premature deletions*."""
    let_go = F.col("fenced_ms").isNotNull()
    missed = let_go & (F.col("missed") > 0)
    return (
        generations(events)
        .groupBy(*by)
        .agg(
            F.count("*").alias("generations"),
            F.count(F.when(let_go, 1)).alias("let_go"),
            F.count(F.when(missed, 1)).alias("missed"),
            F.coalesce(F.sum(F.when(missed, F.col("bytes"))), F.lit(0)).alias("missed_bytes"),
        )
        .withColumn("premature_rate", F.when(F.col("let_go") > 0, F.col("missed") / F.col("let_go")))
    )


def recomputations(events: DataFrame) -> DataFrame:
    """What each recovery wrote again, and how long that took: docs/frames.md, *Recomputations*."""
    closed = _closed(events)
    known = generations(events)
    return (
        _opened(events)
        .join(_missing(known), ["application", "missing"], "left")
        .join(_written_again(known), ["application", "recovery"], "left")
        .join(_effort(events, closed), ["application", "recovery"], "left")
        .join(closed, ["application", "recovery"], "left")
        .select(
            "application",
            "recovery",
            F.col("missing").alias("shuffle_id"),
            "app_shuffle",
            "call_site",
            F.coalesce("premature", F.lit(False)).alias("premature"),
            "opened_ms",
            F.coalesce("again", F.lit(0)).alias("generations_again"),
            F.coalesce("bytes_again", F.lit(0)).alias("bytes_again"),
            F.coalesce("tasks", F.lit(0)).alias("tasks"),
            F.coalesce("stage_seconds", F.lit(0.0)).alias("stage_seconds"),
            ((F.col("closed_ms") - F.col("opened_ms")) / 1000.0).alias("open_s"),
        )
    )


def _opened(events: DataFrame) -> DataFrame:
    """When each recovery was opened, and for which generation that was missing."""
    return events.where("kind = 'RecoveryOpened'").select(
        "application", "recovery", F.col("shuffle_id").alias("missing"), F.col("time_ms").alias("opened_ms")
    )


def _missing(known: DataFrame) -> DataFrame:
    """What a generation was that is missing; premature: we had fenced it."""
    return known.select(
        "application",
        F.col("shuffle_id").alias("missing"),
        "app_shuffle",
        "call_site",
        F.col("fenced_ms").isNotNull().alias("premature"),
    )


def _closed(events: DataFrame) -> DataFrame:
    """When each recovery was done, and at which event."""
    closed = events.where("kind = 'RecoveryClosed'").groupBy("application", "recovery")
    return closed.agg(F.min("time_ms").alias("closed_ms"), F.min("sequence").alias("closed_at"))


def _written_again(known: DataFrame) -> DataFrame:
    of_recovery = known.where("recovery IS NOT NULL").groupBy("application", "recovery")
    return of_recovery.agg(F.count("*").alias("again"), F.sum("bytes").alias("bytes_again"))


def _effort(events: DataFrame, closed: DataFrame) -> DataFrame:
    """For each recovery the stage attempts that wrote for it, until it was done: their tasks, and how long they ran."""
    return (
        _writers(events, closed)
        .join(_ran(events), _ATTEMPT)
        .groupBy("application", "recovery")
        .agg(
            F.sum("tasks").alias("tasks"),
            F.sum((F.col("ended_ms") - F.col("begun_ms")) / 1000.0).alias("stage_seconds"),
        )
    )


def _writers(events: DataFrame, closed: DataFrame) -> DataFrame:
    """The stage attempts that wrote for each recovery before it was done."""
    of_recovery = births(events).where("recovery IS NOT NULL").select(*KEY, "recovery")
    writers = events.where("kind IN ('GenerationStarted', 'WriterJoined')").select(*KEY, *_ATTEMPT[1:], "sequence")
    return (
        writers.join(of_recovery, KEY)
        .join(closed, ["application", "recovery"], "left")
        .where("closed_at IS NULL OR sequence < closed_at")
        .select("recovery", *_ATTEMPT)
        .distinct()
    )


def _ran(events: DataFrame) -> DataFrame:
    """How many tasks each stage attempt had, and from when to when it ran (milliseconds since the epoch)."""
    return (
        events.where("kind IN ('StageSubmitted', 'StageCompleted')")
        .groupBy(*_ATTEMPT)
        .agg(
            F.max("tasks").alias("tasks"),
            F.min(F.when(F.col("kind") == "StageSubmitted", F.col("time_ms"))).alias("begun_ms"),
            F.max(F.when(F.col("kind") == "StageCompleted", F.col("time_ms"))).alias("ended_ms"),
        )
    )
