"""Ordinary Spark history logs.

Responsible for finding and reading them: `run.Run` is what one application's log tells. Refuses to judge policies
(`replay.advise`). Invariant: a log that cannot be read, wholly or in part, costs a warning and nothing else.

    where logs are  finding, gathering, joining
    their lines     framing, lines, records
    one log         reading, book, heading, clock, order
    what it tells   descriptions, shuffles, sums, weights, roots, facts, run
    as DataFrames   frames, columns
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, places: Iterable[str] | str) -> DataFrame:
    """A row for each run at or below these places, and for each file without one; `frames.schema` has the columns."""
    from replay.history import frames

    return frames.read(spark, places)
