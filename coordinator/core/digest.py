"""The digest of a state: equal states, equal digests, on every replica.

Responsible for one short text that two replicas, a replay and a snapshot can compare. Refuses to know how the state
came about. Invariant: the digest depends on the records alone, not on the order of tables, sets or folding.

Every record hashes by itself and the hashes are added up, so a changed record costs its own two hashes and nothing
else. A field that holds its default is left out: a release that adds one gives an older state the digest that it had.
So is one that is not compared: it is for people, and a state that was read from an older snapshot may lack it.
Hashes are 32 bytes of BLAKE2b; sums are taken modulo 2**256, which no accident makes collide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from functools import cache
from hashlib import blake2b
from typing import Any

from coordinator.core.state import TABLES, Change, State, changes

_MODULUS = 1 << 256


def digest(state: State) -> str:
    """The digest of the whole state."""
    return as_text(state, total(state))


def total(state: State) -> int:
    """The sum of all records' hashes, counters left out: what ``advance`` goes on from."""
    return sum(_row(name, *row) for name in TABLES for row in getattr(state, name).items()) % _MODULUS


def advance(before: int, draft: State) -> int:
    """The total after what the draft changes, from the total of the state that it lies over."""
    moved = (_difference(name, change) for name in TABLES for change in changes(draft, name))
    return (before + sum(moved)) % _MODULUS


def as_text(state: State, records: int) -> str:
    """The digest of a state whose records have this total."""
    return f"{(records + _row('meta', '', state.meta)) % _MODULUS:064x}"


def _difference(table: str, change: Change[object, object]) -> int:
    gone = _row(table, change.key, change.before) if change.before is not None else 0
    come = _row(table, change.key, change.after) if change.after is not None else 0
    return come - gone


def _row(table: str, key: object, record: object) -> int:
    text = f"{table}|{spelled(key)}|{spelled(record)}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest(), "big")


def spelled(value: Any) -> str:
    """A value as text that says its kind and all of it, sets in order."""
    kind: type = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: type) -> Callable[[Any], str]:
    if issubclass(kind, Enum):
        return lambda member: f"{kind.__name__}.{member.name}"
    if dataclasses.is_dataclass(kind):
        return _record_writer(kind)
    if issubclass(kind, frozenset):
        return lambda many: "{" + ",".join(sorted(map(spelled, many))) + "}"
    if issubclass(kind, tuple):
        return lambda many: "(" + ",".join(map(spelled, many)) + ")"
    return repr


def _record_writer(kind: type) -> Callable[[Any], str]:
    fields = tuple((field.name, _default(field)) for field in dataclasses.fields(kind) if field.compare)

    def write(one: Any) -> str:
        values = ((name, getattr(one, name), default) for name, default in fields)
        told = [f"{name}={spelled(value)}" for name, value, default in values if value != default]
        return f"{kind.__name__}({','.join(told)})"

    return write


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
