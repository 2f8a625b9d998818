"""How long data stay after nobody reads them any more.

Responsible for the times between last read, expiry and deletion. Refuses to judge whether that is long. Invariant: one
row for each generation that a policy deleted.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from replay.frames.analyses.generations import KEY, POLICY, generations


def deletion_delays(events: DataFrame) -> DataFrame:
    """From last read, and from expiry, to deletion, in seconds: docs/frames.md, *Delays*."""
    return (
        generations(events)
        .where(F.col("gone_because") == POLICY)
        .select(
            *KEY,
            "app_shuffle",
            "call_site",
            "bytes",
            F.col("gone_ms").alias("deleted_ms"),
            _seconds("last_read_ms").alias("last_read_to_deletion_s"),
            _seconds("expired_ms").alias("expiry_to_deletion_s"),
        )
    )


def _seconds(since: str) -> Column:
    return (F.col("gone_ms") - F.col(since)) / 1000.0
