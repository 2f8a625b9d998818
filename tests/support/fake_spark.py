"""A Spark session that does everything at once and in this process.

Responsible for the few calls with which logs are spread over a session. Refuses to be Spark. Invariant: what is asked
of it and is not here fails loudly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any


class FakeSpark:
    """The session, and its context."""

    @property
    def sparkContext(self) -> FakeSpark:  # noqa: N802 - Spark's name
        return self

    def parallelize(self, items: Iterable[Any], slices: int) -> FakeRdd:
        assert slices >= 1
        return FakeRdd(list(items))

    def accumulator(self, value: int) -> FakeAccumulator:
        return FakeAccumulator(value)


class FakeAccumulator:
    def __init__(self, value: int) -> None:
        self.value = value

    def add(self, more: int) -> None:
        self.value += more


class FakeRdd:
    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def flatMap(self, work: Callable[[Any], Iterable[Any]]) -> FakeRdd:  # noqa: N802 - Spark's name
        return FakeRdd(list(chain.from_iterable(map(work, self._items))))

    def reduceByKey(self, merge: Callable[[Any, Any], Any]) -> FakeRdd:  # noqa: N802 - Spark's name
        found: dict[Any, Any] = {}
        for key, value in self._items:
            found[key] = merge(found[key], value) if key in found else value
        return FakeRdd(list(found.items()))

    def values(self) -> FakeRdd:
        return FakeRdd([value for _, value in self._items])

    def collect(self) -> list[Any]:
        return self._items
