"""A table that notes what it replaces.

Responsible for a mapping that is written in place and notes, for every key written to, what was there when it was first
written to; several tables share one list of notes, which is whose they are to empty. Refuses to know what it maps.
Invariant: what is there now, with what was noted put back, is what was there when the notes were empty.

It is what an ``Overlay`` is to whoever keeps each step: reading costs what a plain table's reading costs, and keeping a
step costs nothing. Whoever may have to throw a step away, while others read the state below, needs the overlay.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: What was under a key of a table, by the table's name and the key; None where there was nothing.
Replaced: TypeAlias = dict[tuple[str, Any], Any]


class Tracked(dict[K, V]):
    """A table that notes what it replaces."""

    __slots__ = ("name", "replaced")

    def __init__(self, name: str, records: Mapping[K, V], replaced: Replaced) -> None:
        super().__init__(records)
        self.name = name
        self.replaced = replaced

    def __setitem__(self, key: K, value: V) -> None:
        place = (self.name, key)
        if place not in self.replaced:
            self.replaced[place] = self.get(key)
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: K) -> None:
        self.replaced.setdefault((self.name, key), self[key])  # as in any mapping an error where there is none
        dict.__delitem__(self, key)

    # A dict's own would go past the two above.

    def pop(self, key: K, *default: Any) -> Any:
        there = self[key] if key in self else dict.pop(self, key, *default)
        if key in self:
            del self[key]
        return there

    def popitem(self) -> tuple[K, V]:
        for key in reversed(self):
            return key, self.pop(key)
        return dict.popitem(self)

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    setdefault: Any = MutableMapping.setdefault
    update: Any = MutableMapping.update

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]  # a dict's takes less
        self.update(other)
        return self
