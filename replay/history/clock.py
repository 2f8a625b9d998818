"""The time of a run, as its events tell it.

Responsible for a clock that never runs backwards, and for the times that cannot be. Refuses to know events. Invariant:
a time counts as long as no later event contradicts it.

Spark writes events some tenths of a second late, at most as late as its scheduler was busy. Of a line that tells of a
time hours ahead of the one before it and the one behind it, that time is damaged; were it believed, nothing after it
would have taken any time. Nothing contradicts the last time of all: it is believed where an application can have rested
for so long. The first one is not believed against the two that follow it.

Of a log whose lines stand in another order (`order`), what follows a line contradicts nothing: there a time counts that
the run came to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from replay.units import moment, span

_DAY_MS = 86_400_000
#: Clocks are put right by less.
JITTER_MS = 1_000
#: What nothing is written late by.
LATE_MS = 3_600_000
#: A longer rest is not believed where only the last line tells of it.
LONGEST_REST_MS = 31 * _DAY_MS
#: Times that are remembered, though they could not be: where they are in the wrong place, they are few.
MOST_WRONG = 100


@dataclass(frozen=True, slots=True)
class Leap:
    """A time that lies more than `LATE_MS` after the one before it. ``place``: how many facts had been told before."""

    from_ms: int
    to_ms: int
    place: int


@dataclass(slots=True)
class Clock:
    """The clock of one log.

    ``now_ms``: the latest time that is believed. ``back_ms``: by how much times went back at most, where no damaged
    time explains it. ``wrong``: leaps to times that are not believed, the first `MOST_WRONG` of them.
    """

    now_ms: int = 0
    first_ms: int = 0
    back_ms: int = 0
    rest_ms: int = 0  #: Which only the last line told of, and which is not believed.
    wrong: list[Leap] = field(default_factory=list)
    further: int = 0  #: That could not be either, and are not remembered one by one.
    further_ms: int = 0  #: The first of these.
    _leaps: list[Leap] = field(default_factory=list)  #: Each on from the one before; nothing confirms the last yet.
    _second_ms: int = 0  #: What is told against the first time of all, once so far.

    def hear(self, time_ms: int, place: int) -> Sequence[Leap]:
        """An event tells its time, after ``place`` facts. Gives the leaps that are not believed now, the last first."""
        undone: Sequence[Leap] = ()
        if 0 < time_ms < self.now_ms - LATE_MS:
            undone = self._back(time_ms)
        elif time_ms > 0 and self._leaps and self._leaps[-1].to_ms - LATE_MS <= time_ms <= self.now_ms + LATE_MS:
            self._confirm(self._leaps[-1])
        if time_ms > self.now_ms + LATE_MS:
            self._leap(time_ms, place)
        self.now_ms = max(self.now_ms, time_ms)
        self.first_ms = self.first_ms or self.now_ms
        return undone

    def close(self) -> Leap | None:
        """The log has ended. Gives the leap at its very end, if that is not believed."""
        leap, self._leaps = self._leaps[-1] if self._leaps else None, []
        if leap is None or not leap.from_ms or leap.to_ms - leap.from_ms <= LONGEST_REST_MS:
            self._confirm(leap)
            return None
        self.rest_ms = leap.to_ms - leap.from_ms
        return self._undo(leap)

    def misplaced(self, end_ms: int) -> Iterable[Leap]:
        """The lines of the log stand in another order. Gives the leaps that count again: their lines were misplaced.

        ``end_ms``: when the application says that it ended; 0: nothing stands behind that line.
        """
        longest_ms = self.now_ms + LONGEST_REST_MS
        found = [
            one for one in self.wrong if one.to_ms <= (longest_ms if one.to_ms == end_ms else self.now_ms + LATE_MS)
        ]
        for leap in found:
            self.wrong.remove(leap)
            self.back_ms = max(self.back_ms, leap.to_ms - leap.from_ms)
            self.now_ms = max(self.now_ms, leap.to_ms)
        return found

    def _leap(self, time_ms: int, place: int) -> None:
        """Notes a leap. Where it goes on from the first time of all, that one is believed from now on."""
        on = self._leaps[-MOST_WRONG:] if self._leaps and self._leaps[-1].from_ms else []
        self._leaps = [*on, Leap(self.now_ms, time_ms, place)]

    def _confirm(self, leap: Leap | None) -> None:
        if leap is not None and self._second_ms:
            self.back_ms = max(self.back_ms, leap.to_ms - self._second_ms)
        self._leaps, self._second_ms = [], 0

    def _back(self, time_ms: int) -> Sequence[Leap]:
        """A time that contradicts leaps before it: damaged times may follow one another, and all such go."""
        if self._leaps and not self._leaps[-1].from_ms:
            return self._against_first(self._leaps[-1], time_ms)
        none = [leap for leap in self._leaps if time_ms < leap.to_ms - LATE_MS]
        self._leaps = []
        if not none or time_ms < none[0].from_ms - LATE_MS:
            self.back_ms = max(self.back_ms, self.now_ms - time_ms)
            return ()
        for leap in none:
            self._undo(leap)
        self.now_ms = none[0].from_ms
        return none[::-1]

    def _against_first(self, leap: Leap, time_ms: int) -> Sequence[Leap]:
        """A time that contradicts the first one of all. That goes when a second time contradicts it."""
        if not self._second_ms:
            self._second_ms = time_ms
            return ()
        leap, self._leaps = replace(leap, from_ms=self._second_ms), []
        self.first_ms, self._second_ms = leap.from_ms, 0
        return (self._undo(leap),)

    def _undo(self, leap: Leap) -> Leap:
        if len(self.wrong) < MOST_WRONG:
            self.wrong.append(leap)
        else:
            self.further, self.further_ms = self.further + 1, self.further_ms or leap.to_ms
        self.now_ms = leap.from_ms
        return leap

    def doubts(self) -> list[str]:
        """Sentences about the times that were not believed, for who reads what was made of the log."""
        told = []
        contradicted = len(self.wrong) + self.further - bool(self.rest_ms)
        if contradicted:
            others = f" and {contradicted - 1:,} more" if contradicted > 1 else ""
            first_ms = self.wrong[0].to_ms if self.wrong else self.further_ms
            told.append(
                f"the time {moment(first_ms)}{others} is not believed: all that was written after it is earlier"
            )
        if self.rest_ms:
            told.append(
                f"the time {moment(self.now_ms + self.rest_ms)} is not believed: only the last line tells of it, "
                f"{self.rest_ms // _DAY_MS:,} days behind all else"
            )
        if self.back_ms:
            told.append(
                f"its times go back by {span(self.back_ms)} (a clock was set?): what that makes of it is doubtful"
            )
        return told
