"""What a module's names hold, without having in hand what is not asked for.

    out = open(path, "w"); out.write(row)
    out = None                  # writes the file, unless somebody else has it in hand

Responsible for: the ids of what names hold, and the values of the classes that are wanted.
Refuses to know: whose namespace it is.
Invariant: values of other classes are in nobody's hand where another thread may run: each reading is one step, of
functions written in C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import compress
from typing import Any

_values: Callable[[Any], Any] = dict.values


def ids_in(namespace: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Names, with the ids of what they hold."""
    return [*zip(namespace, map(id, _values(namespace)), strict=False)]


def values_in(namespace: Mapping[str, Any], wanted: Callable[[type], bool]) -> list[Any]:
    """What they hold of these classes. What is bound meanwhile may be missing, if nothing else is of its class."""
    kinds = {id(kind): kind for kind in [*map(type, _values(namespace))]}
    of_these = frozenset(which for which, kind in kinds.items() if wanted(kind)).__contains__
    return [*compress(_values(namespace), map(of_these, map(id, map(type, _values(namespace)))))]
