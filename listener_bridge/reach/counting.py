"""What nothing live refers to: reference counts against the references that are known.

Responsible for: the graph of handles, py4j's proxies and what they hold of each other; the proof that of some of them
every reference comes from dead names or from others of the same kind.
Refuses to know: which names are dead (`liveness`), what is concluded (`handles`).
Invariant: mutates nothing, asks no object anything that would run its code; a reference that is not explained keeps
what it refers to, and all that this holds.

It is what CPython's own cycle collector does, with dead names as references that do not count. Proxies need it even
where the program has long let go: a proxy whose method was called once is in a cycle with that method (py4j keeps a
member in the proxy, and the proxy in the member), so it dies at the next collection of its generation, not at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Counts: TypeAlias = Callable[[list[Any]], list[int]]
"""References of each object of a list, but for those of the list and of the counting itself."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read at one moment: who holds whom (by place), and how often each is referred to."""

    holds: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    dead: tuple[int, ...]


class Census:
    """Handles and proxies that live now, and what they own. Holds each of them strongly, once, while it lives."""

    def __init__(self, handles: Sequence[Any], proxies: Sequence[Any]) -> None:
        self._nodes: list[Any] = [*handles, *proxies]
        self.handles, self.proxies = len(handles), len(proxies)
        self._attributes = len(self._nodes)
        self._nodes += [vars(handle) for handle in handles]
        self._nodes += [member for proxy in proxies for member in _members(proxy)]
        self._places = {id(node): place for place, node in enumerate(self._nodes)}

    def handle(self, place: int) -> Any:
        return self._nodes[place]

    def proxy(self, place: int) -> Any:
        return self._nodes[self.handles + place]

    def read(self, dead_names: Mapping[int, int], counts: Counts) -> Reading:
        """One reading. The counts come last: whoever read first is only trusted if a second reading agrees."""
        holds = tuple(self._held_by(place) for place in range(len(self._nodes)))
        dead = tuple(dead_names.get(id(node), 0) for node in self._nodes)
        return Reading(holds, tuple(counts(self._nodes)), dead)

    def reached(self, reading: Reading) -> set[int]:
        """Places of nodes to which something live refers, directly or through others."""
        unexplained = [count - dead for count, dead in zip(reading.counts, reading.dead, strict=True)]
        for held in reading.holds:
            for place in held:
                unexplained[place] -= 1
        todo = [place for place, count in enumerate(unexplained) if count != 0]  # less than none: in doubt alive
        found = set(todo)
        while todo:
            for place in reading.holds[todo.pop()]:
                if place not in found:
                    found.add(place)
                    todo.append(place)
        return found

    def _held_by(self, place: int) -> tuple[int, ...]:
        node = self._nodes[place]
        if place < self.handles:
            return (self._attributes + place,)
        if place < self._attributes:
            return self._known(_members(node))
        if isinstance(node, dict):
            return self._known(list(node.values()))
        return self._known([getattr(node, "container", None)])

    def _known(self, things: Sequence[Any]) -> tuple[int, ...]:
        places = self._places
        return tuple(places[id(thing)] for thing in things if id(thing) in places)


def _members(proxy: Any) -> list[Any]:
    """What py4j keeps in a proxy for each method that was called on it. Never by `getattr`: that would add to it."""
    try:
        return list(object.__getattribute__(proxy, "_methods").values())
    except AttributeError:
        return []
