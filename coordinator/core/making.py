"""Frozen records, made and altered quickly.

Responsible for what `dataclasses` does to a frozen record field by field through `object.__setattr__`: making one, and
making one like it with other fields. Refuses to know any single class. Invariant: what is made equals what the class's
own constructor and `dataclasses.replace` make, and is as frozen.

A log is folded by altering records, hundreds of thousands a second, and a frozen dataclass pays for each field that it
merely copies. So the fields are written into an object of a sibling class with the same slots that is not frozen yet,
which then becomes the record. Nobody holds it before it is frozen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

R = TypeVar("R")
Make = Callable[..., Any]

_ALTERERS: dict[tuple[object, ...], Make] = {}


def maker(kind: type[R]) -> Callable[..., R]:
    """A constructor that takes every field, in order; the class's own where it does more than store them."""
    plain: Any = kind
    return _compiled(plain, _names(plain), {}) if _only_stores(plain) else kind


def replace(record: R, /, **fields: Any) -> R:
    """As `dataclasses.replace`."""
    key: tuple[object, ...] = (type(record), *fields)
    found = _ALTERERS.get(key)
    if found is None:
        found = _ALTERERS[key] = _alterer(type(record), tuple(fields))
    altered: R = found(record, *fields.values())
    return altered


def altering(kind: type[R], *fields: str) -> Callable[..., R]:
    """`replace` of always the same fields, all of them, by name: for what every second event does, twice as quick."""
    plain: Any = kind
    if unknown := set(fields) - set(_names(plain)):
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    return _alterer(plain, fields)


def _alterer(kind: type, changed: tuple[str, ...]) -> Make:
    if not _only_stores(kind) or set(changed) - set(_names(kind)):
        return lambda record, *values, **named: dataclasses.replace(record, **_by_name(changed, values), **named)
    kept = {name: f"_record.{name}" for name in _names(kind) if name not in changed}
    return _compiled(kind, ("_record", *changed), kept)


def _by_name(names: Sequence[str], values: Sequence[object]) -> dict[str, Any]:
    """Of as many names as there are values; whoever gives values by name gives none here."""
    return dict(zip(names, values, strict=False))


def _only_stores(kind: Any) -> bool:
    """A frozen record with nothing but its fields, whose constructor only stores them."""
    is_plain = kind.__bases__ == (object,) and not hasattr(kind, "__post_init__") and "__slots__" in vars(kind)
    return is_plain and all(field.init for field in dataclasses.fields(kind))


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@cache
def _unfrozen(kind: type) -> type:
    """The sibling: the same slots in the same place, and plain assignment."""
    return type(f"Unfrozen{kind.__name__}", (), {"__slots__": _names(kind)})


def _compiled(kind: type, takes: Sequence[str], sources: dict[str, str]) -> Make:
    """A function that stores each field from where it is to be found: an argument of its name unless told otherwise."""
    lines = [f"def made_of({', '.join(takes)}):", "    _made = _new(_unfrozen)"]
    lines += [f"    _made.{name} = {sources.get(name, name)}" for name in _names(kind)]
    lines += ["    _made.__class__ = _kind", "    return _made"]
    known: dict[str, Any] = {"_new": object.__new__, "_unfrozen": _unfrozen(kind), "_kind": kind}
    exec("\n".join(lines), known)  # the source is made of field names alone, as `dataclasses` makes its own
    function: Make = known["made_of"]
    return function
