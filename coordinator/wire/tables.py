"""State as named rows and back.

Responsible for turning the state's tables into JSON that names every field. Refuses to know protobuf, parts and sizes.
Invariant: what is read back equals what was written, and a row of an older release gets the defaults of what it lacks.

A row is ``[key, record]``. Inside: a dataclass is an object of all its fields, an enum its name, a set a sorted array,
bytes base64. A field that is unknown here is an error: a newer release wrote it.
"""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any

from coordinator.core.state import TABLES, Meta, State
from coordinator.wire.errors import Malformed

Json = Any
Convert = Callable[[Any], Any]

_SCALARS = (int, str, bool)


def rows_of(state: State, table: str) -> list[Json]:
    """The rows of one table, or of ``meta``."""
    if table == "meta":
        return [["", _writer(Meta)(state.meta)]]
    key_hint, record_hint = _columns(table)
    key_of, record_of = _writer(key_hint), _writer(record_hint)
    return [[key_of(key), record_of(record)] for key, record in getattr(state, table).items()]


def put_rows(state: State, table: str, rows: Json) -> None:
    """Puts rows into the state's table."""
    try:
        _put(state, table, rows)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Malformed(
            f"the rows of state's table {table!r} make no sense ({error!r})",
            f"what this release writes into one of meta, {', '.join(TABLES)}",
            "Fold the log instead.",
        ) from error


def _put(state: State, table: str, rows: Json) -> None:
    if table == "meta":
        state.meta = _reader(Meta)(rows[0][1])
        return
    key_hint, record_hint = _columns(table)
    key_from, record_from = _reader(key_hint), _reader(record_hint)
    getattr(state, table).update((key_from(key), record_from(record)) for key, record in rows)


@cache
def _columns(table: str) -> tuple[Any, Any]:
    key, record = typing.get_args(typing.get_type_hints(State)[table])
    return key, record


@cache
def _writer(hint: Any) -> Convert:
    """How values of this type are written."""
    hint = _plain(hint)
    if hint in _SCALARS:
        return _same
    if hint is bytes:
        return lambda value: base64.b64encode(value).decode()
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda member: member.name
    if dataclasses.is_dataclass(hint):
        return _record_writer(typing.cast(type, hint))
    return _many_writer(hint)


@cache
def _reader(hint: Any) -> Convert:
    """How values of this type are read."""
    hint = _plain(hint)
    if hint in _SCALARS:
        return _same
    if hint is bytes:
        return base64.b64decode
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint.__getitem__
    if dataclasses.is_dataclass(hint):
        return _record_reader(typing.cast(type, hint))
    return _many_reader(hint)


def _record_writer(kind: type) -> Convert:
    fields = [(name, _writer(hint)) for name, hint in _fields(kind)]

    def write(record: Any) -> Json:
        values = [(name, getattr(record, name), convert) for name, convert in fields]
        return {name: None if value is None else convert(value) for name, value, convert in values}

    return write


def _record_reader(kind: type) -> Convert:
    readers = {name: _reader(hint) for name, hint in _fields(kind)}

    def read(written: Json) -> Any:
        return kind(**{n: None if value is None else readers[n](value) for n, value in written.items()})

    return read


def _many_writer(hint: Any) -> Convert:
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and items[-1] is not Ellipsis:
        converts = [_writer(item) for item in items]
        return lambda values: [convert(value) for convert, value in zip(converts, values, strict=True)]
    convert = _writer(items[0])
    if origin is frozenset:
        return lambda values: [convert(value) for value in sorted(values)]
    return lambda values: [convert(value) for value in values]


def _many_reader(hint: Any) -> Convert:
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and items[-1] is not Ellipsis:
        converts = [_reader(item) for item in items]
        return lambda values: tuple([convert(value) for convert, value in zip(converts, values, strict=True)])
    convert = _reader(items[0])
    return lambda values: origin([convert(value) for value in values])


def _fields(kind: type) -> list[tuple[str, Any]]:
    """Name and type of each field."""
    hints = typing.get_type_hints(kind)
    return [(field.name, hints[field.name]) for field in dataclasses.fields(typing.cast(Any, kind))]


def _plain(hint: Any) -> Any:
    """The type behind `NewType` and `| None`."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(one for one in typing.get_args(hint) if one is not type(None))
    return hint.__supertype__ if isinstance(hint, typing.NewType) else hint


def _same(value: Any) -> Any:
    return value
