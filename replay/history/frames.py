"""Runs as a DataFrame.

Responsible for the columns of `read`. Refuses to judge (`replay.advise.frames` does). Invariant: every log that was
found is in it: in the row of its run, or in a row of its own, where ``why`` says why, and the rest is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from replay.history import columns as k
from replay.history.gathering import Read, each_run, find
from replay.history.run import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]


def read(spark: SparkSession, places: Iterable[str] | str) -> DataFrame:
    """A row for each run at or below these places (directories, files, URLs), and for each file without one.

    Parts of a run are one row, and a copy is told as one, as `advise` has it. Logs are read when it is used; those
    behind a URL now too, to know which of them are parts of one run."""
    logs, refused = find(spark, [places] if isinstance(places, str) else places)
    missing: list[Read[Row]] = [Read(one.place, None, one.why) for one in refused]
    found = each_run(spark, logs, of_run).union(spark.sparkContext.parallelize(missing, 1))
    return spark.createDataFrame(found.map(_values), schema())


def of_run(run: Run) -> Row:
    """The row of one run."""
    return {
        **{name: getattr(run, name) for name in _SAME},
        "task_seconds": run.task_ms / 1000,
        "shuffles": [
            {**{name: getattr(one, name) for name in _OF_SHUFFLE}, "task_seconds": one.task_ms / 1000}
            for one in run.shuffles
        ],
    }


def _values(read: Read[Row]) -> tuple[Any, ...]:
    columns = schema()
    told = {"place": read.place, "why": read.why or None, **(read.found or {})}
    if read.found is None:
        return tuple(told.get(field.name) for field in columns.fields)
    return k.values(columns, told)


def schema() -> Any:
    """The columns of `read`."""
    return k.struct(
        k.text("place", "the file or folder of the log"),
        k.text("why", "why nothing could be read; null where something could"),
        *k.APPLICATION,
        k.many("shuffles", k.struct(*k.SHUFFLE), "one for each app shuffle"),
    )


_SAME = tuple(column.name for column in k.APPLICATION if column.name != "task_seconds")
_OF_SHUFFLE = tuple(column.name for column in k.SHUFFLE if column.name != "task_seconds")
