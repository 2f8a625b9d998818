"""Values of the core as plain data.

Responsible for the words and field names under which events leave this program: JSON, YAML, the content of a row.
Refuses to know who reads them. Invariant: only texts, numbers, flags, lists of them, dicts of them, and None.
"""

from __future__ import annotations

import dataclasses
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
