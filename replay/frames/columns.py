"""The columns of the events frame.

Responsible for the name, type, meaning and unit of every column, and for which field of which event fills it. Refuses
to know Spark and Arrow. Invariant: a column means the same in every kind of event; where a kind has no such field it is
null; nothing of an event is lost, since `event` holds all of it.
"""

from __future__ import annotations

import operator
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import Span, StageAttempt
from coordinator.core.values import Policy

Getter = Callable[[Any], Any]

#: Of the frame's form, in exports; raised when a column changes its meaning or goes.
VERSION = 1

TEXT, NUMBER, MOMENT = "string", "bigint", "timestamp"
NUMBERS, SPANS = "array<bigint>", "array<struct<first:bigint,last:bigint>>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``fields``: which field of an event fills it, the first that the event has."""

    name: str
    kind: str  #: The type in Spark's words.
    meaning: str
    fields: tuple[str, ...] = ()


COLUMNS = (
    Column("application", TEXT, "the application's id; of a file that does not tell it, the file's name"),
    Column("sequence", NUMBER, "place of the event in its application's log, from 1"),
    Column("time", MOMENT, "event time, to the millisecond"),
    Column("time_ms", NUMBER, "the same in milliseconds since the epoch"),
    Column("because", NUMBER, "sequence of the event that it follows from; its own where it is a fact"),
    Column("kind", TEXT, "the kind of event, as docs/events.md names it; null in a row that tells of a problem"),
    Column("app_shuffle", NUMBER, "Spark's own shuffle id", ("app_shuffle", "lineage.app_shuffle")),
    Column("shuffle_id", NUMBER, "the generation; of a recovery, the one that was missing", ("shuffle_id", "missing")),
    Column("job", NUMBER, "Spark's job id", ("job",)),
    Column("job_group", TEXT, "the job group; empty: none", ("group",)),
    Column("execution", NUMBER, "Spark SQL's execution id", ("execution",)),
    Column(
        "stage",
        NUMBER,
        "Spark's stage id: who was submitted, ended, writes, reads or asks; the final one of a job",
        ("stage", "writer", "reader", "final_stage"),
    ),
    Column("attempt", NUMBER, "the attempt of that stage, from 0", ("stage", "writer", "reader")),
    Column("stages", SPANS, "ids of all stages that a job lists, both ends included", ("stages",)),
    Column("tasks", NUMBER, "tasks of a submitted stage, maps of an app shuffle", ("tasks", "lineage.maps")),
    Column("reads", NUMBERS, "app shuffles that a job's final stage, a stage or a map stage reads",
           ("reads", "lineage.reads")),
    Column("writes", NUMBER, "the app shuffle that a stage, or a job's final stage, writes", ("writes",)),
    Column("bytes", NUMBER, "bytes of a generation: complete, fenced, freed", ("bytes",)),
    Column("shuffle_bytes_written", NUMBER, "bytes that a stage attempt wrote as shuffle data",
           ("shuffle_bytes_written",)),
    Column("shuffle_bytes_read", NUMBER, "bytes that a stage attempt read as shuffle data", ("shuffle_bytes_read",)),
    Column("output_bytes", NUMBER, "bytes that a stage attempt wrote as output", ("output_bytes",)),
    Column("cause", TEXT, "why: of an expiry, a rescue, a refusal, a loss, a deletion, a suspension, an ending",
           ("cause", "why", "refusal", "ending")),
    Column("hold", TEXT, "what delays the fence of an expired generation", ("hold",)),
    Column("due_ms", NUMBER, "when a fence or a further try is due; milliseconds since the epoch, 0: at once",
           ("due_ms",)),
    Column("policy", TEXT, "the policy's name, of an application, a group or a job", ("policy",)),
    Column("directive", NUMBER, "what the driver was asked to do, by its number", ("directive",)),
    Column("recovery", NUMBER, "the recovery's number", ("recovery",)),
    Column("gone", NUMBERS, "generations that a recovery has written anew", ("gone",)),
    Column("look", NUMBER, "the look's number", ("look",)),
    Column("root", TEXT, "the root's name as the driver tells it", ("root",)),
    Column("root_kind", TEXT, "what the root is: handle, plan, …", ("kind",)),
    Column("added", NUMBERS, "app shuffles that came into a root's cut", ("added",)),
    Column("removed", NUMBERS, "app shuffles that left it", ("removed",)),
    Column("name", TEXT, "of an application, a stage, an SQL execution", ("name", "driver.name")),
    Column("call_site", TEXT, "where in the program: of a job, an app shuffle", ("call_site", "lineage.call_site")),
    Column("detail", TEXT, "words for people: of a failure, an error, a root, a refusal",
           ("failure", "error", "detail", "why", "reason", "by")),
    Column("event", TEXT, "the whole event as JSON, with the fields of docs/events.md"),
    Column("problem", TEXT, "what could not be read, and why; null: this row is an event"),
)  # fmt: skip
NAMES = tuple(column.name for column in COLUMNS)
INDEX = {name: place for place, name in enumerate(NAMES)}


def ddl() -> str:
    """The schema in Spark's words."""
    return ", ".join(f"{column.name} {column.kind}" for column in COLUMNS)


def getters() -> dict[type, tuple[tuple[int, Getter], ...]]:
    """For each kind of event, the columns that it fills, and from what."""
    return {kind: tuple(_of_kind(kind)) for kind in typing.get_args(e.Event)}


def _of_kind(kind: type) -> typing.Iterator[tuple[int, Getter]]:
    for column in COLUMNS:
        found = next((one for field in column.fields if (one := _getter(kind, field, column))), None)
        if found is not None:
            yield INDEX[column.name], found


def _getter(kind: type, path: str, column: Column) -> Getter | None:
    """How the field is read as the column's type; None where the event has no such field, or one of another type."""
    first, _, rest = path.partition(".")
    hints = typing.get_type_hints(kind)
    if first not in hints:
        return None
    hint, may_be_none = _without_none(hints[first])
    if rest:
        inner = _getter(hint, rest, column)
        return _then(operator.attrgetter(first), inner) if inner is not None else None
    convert = _conversion(hint, column)
    if convert is None:
        return None
    read: Getter = operator.attrgetter(first)
    if convert is _as_it_is:
        return read
    return _unless_none(read, convert) if may_be_none else _then(read, convert)


def _conversion(hint: Any, column: Column) -> Getter | None:
    if hint is StageAttempt:
        return operator.attrgetter("attempt" if column.name == "attempt" else "stage")
    if column.name == "attempt":
        return None
    if hint is Policy:
        return operator.attrgetter("name")
    if isinstance(hint, type) and issubclass(hint, Enum):
        return operator.attrgetter("value") if column.name != "detail" else None
    if column.kind == SPANS:
        return _spans
    number = _plain_type(hint) is int
    if column.kind == NUMBERS and number:
        return lambda value: (value,)
    fits = {TEXT: _plain_type(hint) is str, NUMBER: number, NUMBERS: typing.get_origin(hint) is tuple}
    text_cause = column.name == "cause" and _plain_type(hint) is str  # words for people are a detail
    return _as_it_is if fits[column.kind] and not text_cause else None


def _as_it_is(value: Any) -> Any:
    return value


def _spans(value: tuple[Span, ...]) -> list[dict[str, int]]:
    return [{"first": span.first, "last": span.last} for span in value]


def _then(read: Getter, convert: Getter) -> Getter:
    return lambda event: convert(read(event))


def _unless_none(read: Getter, convert: Getter) -> Getter:
    def found(event: Any) -> Any:
        value = read(event)
        return None if value is None else convert(value)

    return found


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(one for one in typing.get_args(hint) if one is not type(None)), True
    return hint, False


def _plain_type(hint: Any) -> Any:
    """`int` of `JobId`."""
    return getattr(hint, "__supertype__", hint)
