"""The time of a run, as its events tell it.

Responsible for a clock that never runs backwards, and for the times that cannot be. Refuses to know events. Invariant:
a time counts as long as no later event contradicts it.

Spark writes events some tenths of a second late, at most as late as its scheduler was busy. Of a line that tells of a
time hours ahead of the one before it and the one behind it, that time is damaged; were it believed, nothing after it
would have taken any time.
"""

from __future__ import annotations

from dataclasses import dataclass

from replay.units import moment, span

#: What nothing is written late by.
LATE_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Leap:
    """From when to when, and how many facts had been told before."""

    from_ms: int
    to_ms: int
    place: int


@dataclass(slots=True)
class Clock:
    """``wrong``: how many times could not be; ``back_ms``: how far it was set back at most, for another reason."""

    now_ms: int = 0
    first_ms: int = 0
    wrong: int = 0
    wrong_ms: int = 0  #: The first of them.
    back_ms: int = 0
    _leap: Leap | None = None

    def hear(self, time_ms: int, place: int) -> Leap | None:
        """An event tells its time, so many facts having been told; answers the leap that was none."""
        undone = None
        if 0 < time_ms < self.now_ms - LATE_MS:
            undone = self._back(time_ms)
        elif time_ms > self.now_ms + LATE_MS:
            self._leap = Leap(self.now_ms, time_ms, place) if self.now_ms else None
        elif time_ms > 0:
            self._leap = self._leap if self._leap is not None and time_ms < self._leap.to_ms - LATE_MS else None
        self.now_ms = max(self.now_ms, time_ms)
        self.first_ms = self.first_ms or self.now_ms
        return undone

    def _back(self, time_ms: int) -> Leap | None:
        leap, self._leap = self._leap, None
        if leap is None or time_ms < leap.from_ms - LATE_MS:
            self.back_ms = max(self.back_ms, self.now_ms - time_ms)
            return None
        self.wrong, self.wrong_ms = self.wrong + 1, self.wrong_ms or leap.to_ms
        self.now_ms = leap.from_ms
        return leap

    def doubts(self) -> list[str]:
        """What its reader should know."""
        told = []
        if self.wrong:
            others = f" and {self.wrong - 1:,} more" if self.wrong > 1 else ""
            told.append(
                f"the time {moment(self.wrong_ms)}{others} is not believed: all that was written after it is earlier"
            )
        if self.back_ms:
            told.append(
                f"its times go back by {span(self.back_ms)} (a clock was set?): what that makes of it is doubtful"
            )
        return told
