"""One row a generation: what it was, who read it, how it ended.

Responsible for putting the events of a generation together; the other analyses begin here. Refuses to judge. Invariant:
every generation that a log has heard of the beginning of is one row, and only those.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from replay.frames.analyses.sizes import last_sizes

#: What names a generation.
KEY = ["application", "shuffle_id"]
#: What names an app shuffle.
SHUFFLE = ["application", "app_shuffle"]
BORN = ("GenerationStarted", "GenerationAdopted")
GONE = ("GenerationLost", "GenerationDeleted")
FREED = ("GenerationDeleted", "DataInvalidated")
KEPT = ("ExpiryTakenBack", "FenceRefused")  #: Ends of an expiry; the second where somebody wants the data.
POLICY = "policy"  #: The cause of a deletion that is ours.


def generations(events: DataFrame) -> DataFrame:
    """One row a generation: docs/frames.md, *Generations*. ``readers`` and the times of reads say who read it."""
    born = births(events)
    return (
        born.join(_lives(events), KEY, "left")
        .join(last_sizes(events), KEY, "left")
        .join(_reads(events), KEY, "left")
        .join(call_sites(events), SHUFFLE, "left")
        .join(_groups(events), ["application", "job"], "left")
        .join(log_ends(events), "application")
        .select(*KEY, "app_shuffle", "call_site", "job", F.coalesce("job_group", F.lit("")).alias("job_group"),
                "recovery", "started_ms", "completed_ms", F.coalesce("bytes", F.lit(0)).alias("bytes"),
                F.coalesce("readers", F.lit(0)).alias("readers"),
                F.coalesce("reading_stages", F.lit(0)).alias("reading_stages"), "first_read_ms",
                _last_read().alias("last_read_ms"), "expired_ms", "expired_because", "held_by", "fenced_ms", "gone_ms",
                "gone_because", F.coalesce("freed_bytes", F.lit(0)).alias("freed_bytes"),
                F.coalesce("missed", F.lit(0)).alias("missed"), "log_ends_ms")
    )  # fmt: skip


def readers(events: DataFrame) -> DataFrame:
    """How often each generation was read: docs/frames.md, *Readers*."""
    columns = ["app_shuffle", "call_site", "bytes", "readers", "reading_stages", "first_read_ms", "last_read_ms"]
    return generations(events).where("completed_ms IS NOT NULL").select(*KEY, *columns)


def births(events: DataFrame) -> DataFrame:
    """Where each generation began."""
    return (
        events.where(F.col("kind").isin(*BORN))
        .groupBy(*KEY)
        .agg(
            F.min("app_shuffle").alias("app_shuffle"),
            F.min("job").alias("job"),
            F.min("recovery").alias("recovery"),
            F.min("time_ms").alias("started_ms"),
        )
    )


def log_ends(events: DataFrame) -> DataFrame:
    """The time of each log's last event."""
    return events.groupBy("application").agg(F.max("time_ms").alias("log_ends_ms"))


def call_sites(events: DataFrame) -> DataFrame:
    """Where in the program each app shuffle is made, as it was told last."""
    told = events.where("kind = 'LineageLearned'").groupBy(*SHUFFLE)
    return told.agg(F.max_by("call_site", "sequence").alias("call_site"))


def _groups(events: DataFrame) -> DataFrame:
    started = events.where("kind = 'JobStarted'").groupBy("application", "job")
    return started.agg(F.max_by("job_group", "sequence").alias("job_group"))


def _lives(events: DataFrame) -> DataFrame:
    """What became of each generation, a row for each. An expiry counts unless the generation was kept after it."""
    expired = ~F.col("expiry.kind").isin(*KEPT)
    lost = F.concat(F.lit("lost: "), F.col("gone.cause"))
    return _turns(events).select(
        *KEY,
        "completed_ms",
        "fenced_ms",
        _where(expired, F.col("expired.time_ms")).alias("expired_ms"),
        _where(expired, F.col("expired.cause")).alias("expired_because"),
        _where(expired, F.col("expiry.hold")).alias("held_by"),
        F.col("gone.time_ms").alias("gone_ms"),
        F.when(F.col("gone.kind") == "GenerationLost", lost).otherwise(F.col("gone.cause")).alias("gone_because"),
        "freed_bytes",
        "missed",
    )


def _turns(events: DataFrame) -> DataFrame:
    """The events that decided about each generation: the first of its end, since later ones are of its remains.

    ``expiry`` is the last event of an expiry, one that takes it back too; ``expired`` the last one that began it.
    """
    expiry = F.col("kind").isin("GenerationExpired", "HoldChanged") | _is_kept()
    of_expiry = _where(expiry, F.struct("sequence", "kind", "time_ms", "cause", "hold"))
    return (
        events.groupBy(*KEY)
        .agg(
            F.min(_of("GenerationCompleted", F.col("time_ms"))).alias("completed_ms"),
            F.min(_of("GenerationFenced", F.col("time_ms"))).alias("fenced_ms"),
            F.max(of_expiry).alias("expiry"),
            F.max(_of("GenerationExpired", F.struct("sequence", "time_ms", "cause"))).alias("expired"),
            F.min(_where(F.col("kind").isin(*GONE), F.struct("sequence", "time_ms", "kind", "cause"))).alias("gone"),
            F.sum(_where(F.col("kind").isin(*FREED), F.col("bytes"))).alias("freed_bytes"),
            F.sum(_of("PrematureDeletion", F.lit(1))).alias("missed"),
        )
        .where("shuffle_id IS NOT NULL")
    )


def _is_kept() -> Column:
    """Readable again: rescued, or wanted by somebody when it was to be fenced."""
    wanted = F.get_json_object("event", "$.keep") == "true"
    return (F.col("kind") == "ExpiryTakenBack") | ((F.col("kind") == "FenceRefused") & wanted)


def _reads(events: DataFrame) -> DataFrame:
    """Who read it, and until when: until the attempt ended, well or not. Who had only asked for it has not read it."""
    attempt = ["application", "stage", "attempt"]
    unread = F.from_json(F.get_json_object("event", "$.unread"), "array<bigint>")
    ended = (
        events.where("kind = 'StageCompleted'")
        .groupBy(*attempt)
        .agg(F.max("time_ms").alias("ended_ms"), F.flatten(F.collect_list(unread)).alias("unread"))
    )
    asked = events.where("kind = 'ReaderRegistered'").groupBy(*KEY, "stage", "attempt")
    return (
        asked.agg(F.min("time_ms").alias("asked_ms"))
        .join(ended, attempt, "left")
        .where(~F.coalesce(F.array_contains("unread", F.col("shuffle_id")), F.lit(False)))
        .groupBy(*KEY)
        .agg(
            F.count("*").alias("readers"),
            F.countDistinct("stage").alias("reading_stages"),
            F.min("asked_ms").alias("first_read_ms"),
            F.max("ended_ms").alias("read_ended_ms"),
            F.max(F.col("ended_ms").isNull()).alias("reading"),
        )
    )


def _last_read() -> Column:
    """A reader whose end the log does not tell reads until the data or the log end."""
    open_end = F.least(F.coalesce("gone_ms", "log_ends_ms"), F.col("log_ends_ms"))
    return F.when(F.col("reading"), F.greatest("read_ended_ms", open_end)).otherwise(F.col("read_ended_ms"))


def _of(kind: str, value: Column) -> Column:
    return _where(F.col("kind") == kind, value)


def _where(condition: Column, value: Column) -> Column:
    return F.when(condition, value)
