"""The facts of a log, each at its moment.

Responsible for when each fact was: by the clock, by what its line says where lines stand in another order, and put back
where a time was not believed. Refuses to know what a fact means. Invariant: a fact keeps its place, and by the clock no
fact is before the one at the place before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from coordinator.core import commands as c
from replay.history.clock import LONGEST_REST_MS, MOST_WRONG, Clock, Leap
from replay.history.order import Order, by_time
from replay.history.roots import Persisted
from replay.history.run import Fact


class Facts:
    """The facts of one log, told so far. A place is a fact's index in the order of the log."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._facts: list[Fact] = []
        self._times_ms: list[int] = []  #: As their lines tell them.
        self._undone: dict[Leap, list[int]] = {}  #: Times that are not believed.

    def __len__(self) -> int:
        return len(self._facts)

    def __getitem__(self, place: int) -> c.Command:
        return self._facts[place][1]

    def at(self, time_ms: int | None) -> int:
        """The moment of an event, in ms since the epoch; for one without a time (None, 0) that of the event before."""
        for leap in self.clock.hear(time_ms or 0, len(self._facts)):
            self._undo(leap)
        return self.clock.now_ms

    def tell(self, time_ms: int | None, command: c.Command) -> int:
        """Tells one more fact; gives its place."""
        self._facts.append((self.at(time_ms), command))
        self._times_ms.append(time_ms if time_ms and time_ms > 0 else (self._times_ms or [self.clock.now_ms])[-1])
        return len(self._facts) - 1

    def says(self, place: int, time_ms: int | None) -> None:
        """The line of a fact says another time than the one that the fact was told at; None or 0: it says none."""
        self._times_ms[place] = max(time_ms or 0, 0) or self._times_ms[place]

    def put_right(self, place: int, **changes: Any) -> None:
        """Changes fields of a command that was told before: it is known better now."""
        time_ms, command = self._facts[place]
        self._facts[place] = (time_ms, replace(command, **changes))

    def close(self, order: Order, end_ms: int) -> None:
        """The log has ended. ``end_ms``: when the application says that it ended."""
        last = self.clock.close()
        if last is not None:
            self._undo(last)
        self._put_back(order, end_ms)

    def in_order(self, order: Order, persisted: Persisted, begun_ms: int) -> tuple[list[Fact], Persisted]:
        """All facts in the order of the log; in that of their own times, if the lines stand in another order.

        ``begun_ms``: when the application says that it began; 0: it does not say.
        """
        if order.is_odd and (order.back or self.clock.back_ms):
            return by_time(self._facts, list(self._since(begun_ms)), persisted)
        return self._facts, persisted

    def _since(self, begun_ms: int) -> Iterable[int]:
        """The times of the facts. For one from before the application can have begun, that of the line before."""
        earliest_ms, last_ms = begun_ms or self.clock.first_ms - LONGEST_REST_MS, begun_ms or self.clock.first_ms
        for time_ms in self._times_ms:
            last_ms = time_ms if time_ms >= earliest_ms else last_ms
            yield last_ms

    def _undo(self, leap: Leap) -> None:
        """A time is not believed: what was told at it, or since, gets the time before it."""
        if len(self._undone) < MOST_WRONG:
            self._undone[leap] = self._times_ms[leap.place :]
        self._facts[leap.place :] = [(leap.from_ms, command) for _, command in self._facts[leap.place :]]
        self._times_ms[leap.place :] = [leap.from_ms] * (len(self._facts) - leap.place)

    def _put_back(self, order: Order, end_ms: int) -> None:
        """Facts whose lines were misplaced get their own times again."""
        ended_ms = end_ms if order.behind_end else 0
        for leap in self.clock.misplaced(ended_ms) if order.is_odd else ():
            times_ms = self._undone.get(leap, [])
            self._times_ms[leap.place : leap.place + len(times_ms)] = times_ms
