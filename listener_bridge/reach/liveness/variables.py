"""The variables of a code object as bits of a number, and what is used of each.

Responsible for: which bit stands for which variable, or for one attribute of what it holds; what such numbers say.
Refuses to know: instructions.
Invariant: what is written to a variable ends the uses of what it held, of all of it and of its attributes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from listener_bridge.reach.liveness.using import Use

VariableUse: TypeAlias = tuple[str, Use]
"""A variable, and how one part of what it holds is used."""

Later: TypeAlias = tuple[frozenset[str], Mapping[str, frozenset[Use]]]
"""The variables that may be read; and of those of which attributes alone are used, the uses."""


class Variables:
    """Those of one code object."""

    def __init__(self, names: tuple[str, ...], uses: tuple[VariableUse, ...] = ()) -> None:
        self._things: tuple[str | VariableUse, ...] = (*names, *uses)
        self._bits = {thing: 1 << bit for bit, thing in enumerate(self._things)}
        self._whole = {name: self._bits[name] for name in names}
        for name, use in uses:
            self._whole[name] |= self._bits[name, use]

    def read(self, things: Iterable[str | VariableUse]) -> int:
        """What is no variable here is passed over."""
        return functools.reduce(operator.or_, (self._bits.get(thing, 0) for thing in things), 0)

    def written(self, name: str) -> int:
        """Nothing of what it held is used behind that."""
        return self._whole[name]

    def later(self, live: int) -> Later:
        """What these bits say."""
        there = [thing for bit, thing in enumerate(self._things) if live >> bit & 1]
        whole = frozenset(thing for thing in there if isinstance(thing, str))
        uses: dict[str, set[Use]] = {}
        for name, use in (thing for thing in there if not isinstance(thing, str)):
            if name not in whole:
                uses.setdefault(name, set()).add(use)
        return whole | uses.keys(), {name: frozenset(found) for name, found in uses.items()}
