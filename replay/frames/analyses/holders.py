"""Who of the program kept how much, for how long.

Responsible for weighing what roots reached, as looks reported it. Refuses to walk lineage: what a root reaches behind
an output that is not there is not counted. Invariant: a root is charged for a shuffle only while a look says so and the
data are there; what two roots reach is charged to both.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from coordinator.core.values import RootKind
from replay.frames.analyses.generations import KEY, births, log_ends
from replay.frames.analyses.weights import steps, weight
from replay.names import PLAN_OF

_ROOT = ["application", "root"]


def top_holders(events: DataFrame, limit: int | None = 20) -> DataFrame:
    """The names, plans and objects that kept most, the heaviest first: docs/frames.md, *Holders*. None: all."""
    held = steps(events).join(births(events).select(*KEY, "app_shuffle"), KEY)
    begun, ended = F.greatest("from_ms", "since_ms"), F.least("to_ms", "until_ms")
    ranked = (
        _reached(events)
        .join(held, ["application", "app_shuffle"])
        .withColumn("weight", weight("bytes", ended - begun))
        .where("weight > 0")
        .join(_names(events), _ROOT)
        .groupBy("application", "root_kind", "who")
        .agg(
            F.countDistinct("app_shuffle").alias("app_shuffles"),
            F.sum("weight").alias("byte_seconds"),
        )
        .orderBy(F.desc("byte_seconds"), "application", "root_kind", "who")
    )
    return ranked if limit is None else ranked.limit(limit)


def _reached(events: DataFrame) -> DataFrame:
    """For each root and app shuffle, from when to when the one reached the other."""
    cuts = events.where("kind = 'CutReported'")
    added = _changes(cuts, "added", True)
    removed = _changes(cuts, "removed", False)
    gone = events.where("kind = 'RootGone'").select(*_ROOT, "sequence", "time_ms").join(
        added.select(*_ROOT, "app_shuffle").distinct(), _ROOT
    )  # fmt: skip
    let_go = gone.select(*_ROOT, "sequence", "time_ms", "app_shuffle", F.lit(False).alias("reaches"))
    order = Window.partitionBy(*_ROOT, "app_shuffle").orderBy("sequence")
    return (
        added.unionByName(removed)
        .unionByName(let_go)
        .select("*", F.lead("time_ms").over(order).alias("following_ms"))
        .where("reaches")
        .join(log_ends(events), "application")
        .select(
            *_ROOT,
            "app_shuffle",
            F.col("time_ms").alias("since_ms"),
            F.coalesce("following_ms", "log_ends_ms").alias("until_ms"),
        )
    )


def _changes(cuts: DataFrame, column: str, reaches: bool) -> DataFrame:
    return cuts.select(
        *_ROOT, "sequence", "time_ms", F.explode(column).alias("app_shuffle"), F.lit(reaches).alias("reaches")
    )


def _names(events: DataFrame) -> DataFrame:
    """What people call a root: as it was told last; a plan with what Spark calls its execution."""
    told = events.where("kind = 'CutReported'").groupBy(*_ROOT)
    named = F.when(F.col("detail") != "", F.col("detail")).otherwise(F.col("root"))
    last = told.agg(F.max_by("root_kind", "sequence").alias("root_kind"), F.max_by(named, "sequence").alias("who"))
    who = F.when(F.col("root_kind") == RootKind.PLAN.value, F.concat_ws(" ", "who", "aside")).otherwise(F.col("who"))
    return last.join(_executions(events), _ROOT, "left").select(*_ROOT, "root_kind", who.alias("who"))


def _executions(events: DataFrame) -> DataFrame:
    """`(show at etl.py:41)`, by the root that the running plan is."""
    started = events.where("kind = 'ExecutionStarted' and name != ''")
    root = F.concat(F.lit(PLAN_OF), F.col("execution").cast("string")).alias("root")
    name = F.max_by("name", "sequence")
    return started.groupBy("application", root).agg(F.concat(F.lit("("), name, F.lit(")")).alias("aside"))
