"""A table laid over another one.

Responsible for a mapping that reads through to the one below and keeps what is written to itself. Refuses to know what
it maps. Invariant: the table below is never touched, and what differs from it is exactly what the overlay owns: of what
has come and gone nothing is left.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Gone:
    __slots__ = ()


GONE = Gone()
_MISSING = object()


class Overlay(MutableMapping[K, V], Generic[K, V]):
    """A table laid over another one; what is deleted here hides what is below."""

    __slots__ = ("below", "own")

    def __init__(self, below: MutableMapping[K, V]) -> None:
        self.below = below
        self.own: dict[K, V | Gone] = {}

    def __getitem__(self, key: K) -> V:
        value = self.own.get(key, _MISSING)
        if value is _MISSING:
            return self.below[key]
        if value is GONE:
            raise KeyError(key)
        return value  # type: ignore[return-value]

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        value = self.own.get(key, _MISSING)
        if value is _MISSING:
            return self.below.get(key, default)
        return default if value is GONE else value  # type: ignore[return-value]

    def __setitem__(self, key: K, value: V) -> None:
        self.own[key] = value

    def __delitem__(self, key: K) -> None:
        self[key]  # a key that is not there is an error here as in any mapping
        if key in self.below:
            self.own[key] = GONE
        else:
            del self.own[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self.flat())

    def __len__(self) -> int:
        return len(self.flat())

    def values(self) -> ValuesView[V]:
        """As of now: what is written while one walks over them is not seen."""
        return self.flat().values()

    def items(self) -> ItemsView[K, V]:
        """As of now, as ``values``."""
        return self.flat().items()

    def clear(self) -> None:
        self.own = dict.fromkeys(self.below, GONE)

    def flat(self) -> MutableMapping[K, V]:
        """One plain table, in the order of the one below; not to be written to."""
        below = self.below.flat() if type(self.below) is Overlay else self.below
        if not self.own:
            return below
        flat: dict[K, V | Gone] = {**below, **self.own}
        for key in [key for key, value in self.own.items() if value is GONE]:
            del flat[key]
        return flat  # type: ignore[return-value]

    def __contains__(self, key: object) -> bool:
        value = self.own.get(key, _MISSING)  # type: ignore[arg-type]
        return key in self.below if value is _MISSING else value is not GONE
