"""Generated values of the core's types.

Responsible for any value that a type allows and the protocol can carry: whole numbers from 0 below 2**31,
text without surrogates. Refuses to know which class is which.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import Enum
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

NUMBERS = st.one_of(st.integers(0, 20), st.integers(0, 2**31 - 1))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def values_of(hint: Any) -> SearchStrategy[Any]:
    """Any value of this type."""
    if isinstance(hint, typing.NewType):
        return values_of(hint.__supertype__)
    if dataclasses.is_dataclass(hint):
        return records_of(typing.cast(type, hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    simple = {int: NUMBERS, str: TEXTS, bool: st.booleans(), bytes: st.binary(max_size=12), type(None): st.none()}
    return simple[hint] if hint in simple else _many_of(hint)


def records_of(kind: type) -> SearchStrategy[Any]:
    """Any instance of this dataclass."""
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(typing.cast(Any, kind))
    return st.builds(kind, **{field.name: values_of(hints[field.name]) for field in fields})


def _many_of(hint: Any) -> SearchStrategy[Any]:
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*[values_of(item) for item in items])
    if origin is tuple and items[-1] is not Ellipsis:
        return st.tuples(*[values_of(item) for item in items])
    if origin is frozenset:
        return st.frozensets(values_of(items[0]), max_size=3)
    return st.lists(values_of(items[0]), max_size=3).map(tuple)
