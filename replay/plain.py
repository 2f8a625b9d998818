"""Values of the core as plain data, and back.

Responsible for the words and field names under which events leave this program: JSON, YAML, the content of a row.
Refuses to know who reads them. Invariant: only texts, numbers, flags, lists of them, dicts of them, and None; and
``valued(type(value), plain(value)) == value``.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

_LEAVES = frozenset({int, str, bool, float, type(None)})


def plain(value: Any) -> Any:
    """Any value of the core; enums as their words, bytes in hexadecimal digits."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is tuple:
        return [plain(one) for one in value]
    if dataclasses.is_dataclass(kind):
        return {name: plain(getattr(value, name)) for name in _fields(kind)}
    if isinstance(value, Enum):
        return value.value
    return value.hex() if isinstance(value, bytes) else value


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def valued(kind: Any, data: Any) -> Any:
    """The value of this type that was made plain. What an earlier release did not know has its default.

    Raises ``ValueError``, which says where and why: a field is missing or not known, or a value is of another type.
    """
    kind = getattr(kind, "__supertype__", kind)
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        (only,) = (one for one in typing.get_args(kind) if one is not type(None))
        return None if data is None else valued(only, data)
    if origin is tuple:
        return tuple(valued(typing.get_args(kind)[0], one) for one in _checked(list, data))
    if dataclasses.is_dataclass(kind):
        return _built(kind, _checked(dict, data))
    if issubclass(kind, Enum):
        return kind(data)
    return bytes.fromhex(_checked(str, data)) if kind is bytes else _checked(kind, data)


def _built(kind: Any, data: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    strange = sorted(data.keys() - hints.keys())
    if strange:
        raise ValueError(f"{kind.__name__} has no {strange[0]!r}")
    try:
        return kind(**{name: valued(hints[name], value) for name, value in data.items()})
    except TypeError as error:
        raise ValueError(str(error)) from error


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return typing.get_type_hints(kind)


def _checked(kind: Any, data: Any) -> Any:
    if type(data) is not kind:
        raise ValueError(f"{data!r} is no {kind.__name__}")
    return data
