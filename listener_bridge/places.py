"""What was done in the scheduler's thread takes its place among the facts.

Responsible for: holding the outcome of a fence, or a snapshot, until the marker that was posted with it comes by in the
stream of facts; and holding the facts behind a marker while it is not known yet whose it is.
Refuses to know: what a fence or a snapshot is, and what a fact means.
Invariant: facts keep their order; what was done stands behind all facts from before it and before all from after it.

Something done has two halves that arrive in any order, by two threads: its result, which names the marker, and the
marker itself in the stream. Pure: what may go on is what the methods answer.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from listener_bridge.tap.facts import EventsDropped, Fact, MarkerPassed

T = TypeVar("T")
REMEMBERED_MARKERS = 4096


@dataclass(frozen=True, slots=True)
class Placed(Generic[T]):
    """Something done, at its place; or at the first place behind it that is known, where facts were dropped."""

    done: T
    is_exact: bool = True


class Places(Generic[T]):
    """The stream with what was done in it. Not for several threads at once."""

    def __init__(self) -> None:
        self._under_way: set[Hashable] = set()
        self._overtaken: set[Hashable] = set()  # of those: facts were dropped meanwhile, perhaps their markers
        self._awaited: dict[str, T] = {}
        self._held: deque[Fact] = deque()
        self._passed: OrderedDict[str, None] = OrderedDict()  # the newest markers that nobody awaited

    def begin(self, key: Hashable) -> None:
        """Something is being done whose marker may come by before its result is known."""
        self._under_way.add(key)

    def settle(self, key: Hashable, done: T, marker: str | None) -> list[Entry[T]]:
        """Its result. `marker`: where it stands in the stream; None: nothing was changed, so it may stand anywhere."""
        self._under_way.discard(key)
        may_be_lost = key in self._overtaken and marker is not None and not self._has_come(marker)
        self._overtaken.discard(key)
        if may_be_lost:
            return [Placed(done, is_exact=False), *self._release()]
        if marker is None or self._passed.pop(marker, _MISSING) is None:
            return [Placed(done), *self._release()]
        self._awaited[marker] = done
        return list(self._release())

    def give_up(self, key: Hashable) -> list[Entry[T]]:
        """It has no result, and no marker that we would know."""
        self._under_way.discard(key)
        self._overtaken.discard(key)
        return list(self._release())

    def forget(self) -> None:
        """Nobody wants to know any more what was done: markers that are still to come by are nobody's."""
        self._awaited.clear()

    def awaits(self, done: T) -> bool:
        """Whether this very thing waits for its marker."""
        return any(kept is done for kept in self._awaited.values())

    def pass_on(self, facts: Iterable[Fact]) -> list[Entry[T]]:
        """Facts, in the order of the stream."""
        self._held.extend(facts)
        return list(self._release())

    def _has_come(self, marker: str) -> bool:
        return marker in self._passed or any(isinstance(f, MarkerPassed) and f.name == marker for f in self._held)

    def _release(self) -> Iterator[Entry[T]]:
        while self._held:
            fact = self._held[0]
            if isinstance(fact, MarkerPassed) and fact.name not in self._awaited and self._under_way:
                return  # perhaps the marker of what is under way
            yield from self._at(self._held.popleft())

    def _at(self, fact: Fact) -> Iterator[Entry[T]]:
        if not isinstance(fact, MarkerPassed):
            yield fact
            if isinstance(fact, EventsDropped):  # a marker may be among what was dropped
                yield from (Placed(done, is_exact=False) for done in self._awaited.values())
                self._awaited.clear()
                self._overtaken |= self._under_way
        elif fact.name in self._awaited:
            yield Placed(self._awaited.pop(fact.name))
        else:
            self._remember(fact.name)

    def _remember(self, marker: str) -> None:
        self._passed[marker] = None
        if len(self._passed) > REMEMBERED_MARKERS:
            self._passed.popitem(last=False)


_MISSING = object()
Entry: TypeAlias = Fact | Placed[T]
