"""The log as a data source of Spark: `spark.read.format("shuffle_lifecycle").load(…)`, Spark 4.0 and later.

Responsible for what Spark's Python Data Source API asks for. Refuses to know where logs are. Invariant: what Spark
pushes down only saves work: Spark filters again, so that a row is the same with and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition, SimpleDataSourceStreamReader

from coordinator.explained import Explained
from replay.frames.columns import ddl
from replay.frames.options import Reading, WrongOption, reading_of
from replay.frames.pieces import Piece
from replay.frames.sources.opening import plan, read
from state_backend.errors import StateBackendError

NAME = "shuffle_lifecycle"
#: Errors that say what is so and what to do: where they were raised interests nobody.
_TOLD = (WrongOption, Explained, StateBackendError)
T = TypeVar("T")


def _shortly(work: Callable[[], T]) -> T:
    """Spark shows an error with every call that led to it; of one that is told, these two are left."""
    try:
        return work()
    except _TOLD as error:
        raise error.with_traceback(None) from None


class Part(InputPartition):
    """A piece as Spark hands it to a task."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(piece)


class EventsReader(DataSourceReader):
    """Reads what was asked for."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._kinds: frozenset[str] | None = None
        self._nothing = False  #: The filters let nothing through.

    def partitions(self) -> list[InputPartition]:
        """One for each piece."""
        return [] if self._nothing else [Part(piece) for piece in _shortly(lambda: plan(self._reading))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a task. Spark asks for one partition with nothing in it where there is none."""
        return read(self._reading, partition.value, self._kinds) if isinstance(partition, Part) else iter(())


class PushedReader(EventsReader):
    """A reader for sessions that push filters down, and keep those of one query apart from another's.

    `reading.register` finds out whether a session does.
    """

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Takes from them which applications, events and kinds are wanted; all are left for Spark to apply."""
        for one in filters:
            self._take(type(one).__name__, getattr(one, "attribute", ()), getattr(one, "value", None))
        return filters

    def _take(self, kind: str, attribute: tuple[str, ...], value: Any) -> None:
        values = frozenset(value if kind == "In" else (value,)) - {None}  # no application is null
        if attribute == ("application",) and kind in ("EqualTo", "EqualNullSafe", "In"):
            wanted = values & set(self._reading.applications) if self._reading.applications else values
            self._nothing = self._nothing or not wanted
            self._reading = replace(self._reading, applications=tuple(sorted(wanted)))
        elif attribute == ("kind",) and kind in ("EqualTo", "In"):
            self._kinds = values if self._kinds is None else self._kinds & values
        elif attribute == ("sequence",) and kind in _RANGES and isinstance(value, int):
            below, above = _RANGES[kind]
            first, last = self._reading.span(*_bounds(value, below, above))
            self._reading = replace(self._reading, first=first, last=None if last >= _BEYOND else max(last, 0))


class NoStream(SimpleDataSourceStreamReader):
    """Says that a log is no stream, when Spark asks it where to begin. Without it Spark shows an error of its own."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Never answers."""
        raise WrongOption(
            f"a stream of {NAME} was asked for, which is read as it is when a query begins",
            "spark.read",
            "Use spark.read, in `foreachBatch` of another stream to read it again and again; "
            "`shufflectl events APP --follow` shows a log as it grows.",
        ).with_traceback(None)


#: What a comparison lets in below and above its value: how far the first and the last that fit are from it.
_RANGES: dict[str, tuple[int | None, int | None]] = {
    "EqualTo": (0, 0),
    "GreaterThan": (1, None),
    "GreaterThanOrEqual": (0, None),
    "LessThan": (None, -1),
    "LessThanOrEqual": (None, 0),
}
_BEYOND = 1 << 63


def _bounds(value: int, below: int | None, above: int | None) -> tuple[int, int]:
    return 1 if below is None else value + below, _BEYOND if above is None else value + above


class ShuffleLifecycle(DataSource):
    """The format `shuffle_lifecycle`, for sessions that push no filters down."""

    reads_with: type[EventsReader] = EventsReader

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._reading = _shortly(lambda: reading_of(dict(options)))

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)`."""
        return NAME

    def schema(self) -> str:
        """The columns of the events frame."""
        return ddl()

    def reader(self, schema: Any) -> EventsReader:  # noqa: ARG002 - Spark's signature
        """In the driver's planning process."""
        return self.reads_with(self._reading)

    def simpleStreamReader(self, schema: Any) -> NoStream:  # noqa: ARG002, N802 - Spark's signature
        """What Spark asks for at `readStream`: an answer that says why there is none."""
        return NoStream()


class ShuffleLifecyclePushed(ShuffleLifecycle):
    """The format, for sessions that push filters down."""

    reads_with = PushedReader
