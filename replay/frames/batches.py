"""Events as Arrow batches with the frame's columns.

Responsible for turning events into columns, and problems into rows that tell of them. Refuses to know where they come
from and who reads the batches. Invariant: a batch has the frame's schema, whatever was found, and what Arrow cannot
hold is told as a problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Set
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from coordinator.core.events import Recorded
from replay.frames.columns import COLUMNS, INDEX, MOMENT, NAMES, NUMBER, NUMBERS, SPANS, TEXT, getters
from replay.frames.options import FAILFAST, PERMISSIVE
from replay.frames.salvage import Found, Problem, Unread
from replay.plain import plain

#: Rows of a batch; what Spark itself takes at once by default.
ROWS = 10_000
#: The last moment that every reader of timestamps knows; what is beyond is left to `time_ms`.
_LAST_MS = int(datetime(9999, 12, 31, tzinfo=timezone.utc).timestamp() * 1000)


_NUMBERS = pa.list_(pa.field("element", pa.int64(), nullable=True))
_SPAN = pa.struct([pa.field("first", pa.int64(), nullable=True), pa.field("last", pa.int64(), nullable=True)])
_TYPES: dict[str, pa.DataType] = {
    TEXT: pa.string(),
    NUMBER: pa.int64(),
    MOMENT: pa.timestamp("us", tz="UTC"),
    NUMBERS: _NUMBERS,
    SPANS: pa.list_(pa.field("element", _SPAN, nullable=True)),
}
SCHEMA = pa.schema([pa.field(column.name, _TYPES[column.kind], nullable=True) for column in COLUMNS])

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  #: `json.dumps` would make one a call.

_GETTERS = {kind: (kind.__name__, found) for kind, found in getters().items()}
_APPLICATION, _SEQUENCE, _TIME, _TIME_MS, _BECAUSE, _KIND, _EVENT, _PROBLEM = (
    INDEX[name] for name in ("application", "sequence", "time", "time_ms", "because", "kind", "event", "problem")
)


def batches(
    application: str, found: Iterable[Found], mode: str = PERMISSIVE, kinds: Set[str] | None = None, rows: int = ROWS
) -> Iterator[pa.RecordBatch]:
    """The events of one application, and its problems as ``mode`` says. ``kinds``: only these, and the problems."""
    drafted = _Draft(application, rows)
    for one in found:
        if isinstance(one, Recorded):
            if kinds is None or type(one.event).__name__ in kinds:
                drafted.add(one)
        elif tells(one, mode):
            drafted.add_problem(one)
        if drafted.full:
            yield drafted.take()
    if drafted.count:
        yield drafted.take()


def tells(problem: Problem, mode: str) -> bool:
    """Whether a row tells of it. Raises `Unread` under FAILFAST, unless whoever wrote it says that it does no harm."""
    if mode == FAILFAST and not problem.harmless:
        raise Unread(f"{problem.text} (mode FAILFAST; under PERMISSIVE a row says so and the rest is read)")
    return mode == PERMISSIVE


class _Draft:
    """The batch that is being filled."""

    def __init__(self, application: str, rows: int) -> None:
        self._application = application
        self._rows = rows
        self._columns: list[list[Any]] = []
        self.count = 0
        self._begin()

    def _begin(self) -> None:
        self._columns = [[None] * self._rows for _ in NAMES]
        self.count = 0

    @property
    def full(self) -> bool:
        return self.count == self._rows

    def add(self, recorded: Recorded) -> None:
        """One more event."""
        at, columns, event = self.count, self._columns, recorded.event
        name, found = _GETTERS[type(event)]
        columns[_SEQUENCE][at] = recorded.sequence
        columns[_TIME_MS][at] = recorded.time_ms
        columns[_BECAUSE][at] = recorded.because
        columns[_KIND][at] = name
        for place, read in found:
            columns[place][at] = read(event)
        columns[_EVENT][at] = as_json(event)
        self.count += 1

    def add_problem(self, problem: Problem) -> None:
        """One more row that tells of a problem."""
        self._columns[_SEQUENCE][self.count] = problem.sequence
        self._columns[_PROBLEM][self.count] = problem.text
        self.count += 1

    def take(self) -> pa.RecordBatch:
        """The batch; the next one begins."""
        columns = [column[: self.count] for column in self._columns]
        columns[_APPLICATION] = [self._application] * self.count
        columns[_TIME] = [_micros(time_ms) for time_ms in columns[_TIME_MS]]
        self._begin()
        try:
            return _batch(columns)
        except (pa.ArrowInvalid, OverflowError):
            _name_what_does_not_fit(columns)
            return _batch(columns)


def _batch(columns: list[list[Any]]) -> pa.RecordBatch:
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _name_what_does_not_fit(columns: list[list[Any]]) -> None:
    """A number beyond 64 bits, made up or damaged: its row becomes a problem."""
    for at in range(len(columns[0])):
        row = [column[at] for column in columns]
        try:
            _batch([[value] for value in row])
        except (pa.ArrowInvalid, OverflowError) as error:
            told = f"event {row[_SEQUENCE]} ({row[_KIND]}) holds a number that no column can hold ({error})"
            for place, column in enumerate(columns):
                column[at] = row[place] if place == _APPLICATION else told if place == _PROBLEM else None


def _micros(time_ms: int | None) -> int | None:
    return time_ms * 1000 if time_ms is not None and time_ms <= _LAST_MS else None


def as_json(event: object) -> str:
    """The event with all its fields."""
    return _ENCODER.encode(plain(event))
