"""Reading logs as rows in tests, without a Spark.

Responsible for planning and reading every piece, as tasks do. Refuses to know sources. Invariant: the rows are in the
order of the log.
"""

from __future__ import annotations

from typing import Any

from replay.frames.columns import NAMES
from replay.frames.options import reading_of
from replay.frames.sources.opening import plan, read

Row = dict[str, Any]


def rows(url: object, **options: object) -> list[Row]:
    """All rows, problems too."""
    reading = reading_of({"path": str(url), **options})
    found = [row for piece in plan(reading) for batch in read(reading, piece) for row in as_rows(batch)]
    return sorted(found, key=lambda row: (row["application"], row["sequence"] or 0, row["problem"] or ""))


def as_rows(batch: Any) -> list[Row]:
    """The rows of a batch. (`to_pylist` gives moments; numbers compare without a time zone.)"""
    columns = [batch.column(name) for name in NAMES]
    plain = [column.cast("int64") if name == "time" else column for name, column in zip(NAMES, columns, strict=True)]
    return [dict(zip(NAMES, row, strict=True)) for row in zip(*(c.to_pylist() for c in plain), strict=True)]


def events(found: list[Row]) -> list[Row]:
    """The rows that are events."""
    return [row for row in found if row["problem"] is None]


def problems(found: list[Row]) -> list[str]:
    """What could not be read."""
    return [row["problem"] for row in found if row["problem"] is not None]
