"""Columns of DataFrames, with their units.

Responsible for the types of what history logs give. Refuses to import Spark before somebody asks for a schema.
Invariant: every column has a comment that names its unit; every column may be null but those that name a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A name, a type in Spark's words (or the type itself), and a comment with the unit."""

    name: str
    type: Any
    comment: str


def text(name: str, comment: str) -> Column:
    return Column(name, "string", comment)


def whole(name: str, comment: str) -> Column:
    return Column(name, "bigint", comment)


def real(name: str, comment: str) -> Column:
    return Column(name, "double", comment)


def flag(name: str, comment: str) -> Column:
    return Column(name, "boolean", comment)


def texts(name: str, comment: str) -> Column:
    return Column(name, "array<string>", comment)


def many(name: str, of: Any, comment: str) -> Column:
    from pyspark.sql.types import ArrayType

    return Column(name, ArrayType(of), comment)


def struct(*columns: Column) -> Any:
    """A schema of these columns."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(c.name, _type(c.type), True, {"comment": c.comment}) for c in columns])


def _type(told: Any) -> Any:
    from pyspark.sql import types

    if not isinstance(told, str):
        return told
    simple = {"string": types.StringType, "bigint": types.LongType, "double": types.DoubleType}
    if told in simple:
        return simple[told]()
    return types.BooleanType() if told == "boolean" else types.ArrayType(types.StringType())


def values(schema: Any, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of a row in the order of a schema, rows within rows too."""
    return tuple(_value(field.dataType, row[field.name]) for field in schema.fields)


def _value(kind: Any, value: Any) -> Any:
    if hasattr(kind, "fields"):
        return values(kind, value)
    if hasattr(kind, "elementType"):
        return [_value(kind.elementType, one) for one in value]
    return float(value) if kind.typeName() == "double" and value is not None else value


APPLICATION = (
    text("application_id", "Spark's; where the log lacks its start, the name of the file"),
    text("attempt", "Spark's attempt of the application; empty where there is only one"),
    text("name", "the application's name"),
    text("user", "who ran it"),
    text("spark_version", "the version that wrote the log"),
    flag("is_python", "its call sites are PySpark's"),
    whole("started_ms", "ms since the epoch"),
    whole("ended_ms", "ms since the epoch; the last event's, where the log has no end"),
    flag("ended", "the log holds the end of the application"),
    real("task_seconds", "run time of all tasks that ended well, seconds"),
    whole("raw_bytes", "bytes of log that were read, unpacked"),
    texts("warnings", "what is wrong or missing in the log, one sentence each"),
)
SHUFFLE = (
    whole("app_shuffle", "id of the map stage's first RDD, which stands in for Spark's shuffle id"),
    text("call_site", "the line of the program that it belongs to, as Spark names its stage or its SQL execution"),
    whole("maps", "tasks of its map stage"),
    whole("bytes", "its data, written once"),
    real("task_seconds", "run time of the tasks that wrote it once, seconds"),
)
