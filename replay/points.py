"""Points of a log: what a person may call one, and which events lie before it.

Responsible for reading a point from text, and for where an event lies, seen from it. Refuses to know state, and who
goes there (`travel`). Invariant: of any log a point means the same place each time, or it says why that log has none.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone
from enum import Enum

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId
from replay.names import Names
from replay.phrases import kind_named
from replay.units import moment

_DAY_MS = 86_400_000
_SAID_MS = {0: _DAY_MS, 2: 3_600_000, 4: 60_000}  #: By how many digits of the time of day are given.
_UNTIL = re.compile(r"(?P<kind>[A-Za-z][A-Za-z_-]*)\s*(?:(?P<hash>#)?(?P<number>\d{1,19}))?")
_MOST_DIGITS = 19  #: Of what is counted here; Python refuses to read very long numbers.


class WrongPoint(ValueError):  # noqa: N818 - it says what is so
    """What was said is no point of any log."""

    def __init__(self, fact: str, expected: str) -> None:
        super().__init__(fact, expected)
        self.fact = fact
        self.expected = expected


class NotReached(LookupError):  # noqa: N818 - it says what is so
    """The log has no such point."""

    def __init__(self, fact: str, expected: str) -> None:
        super().__init__(fact, expected)
        self.fact = fact
        self.expected = expected


class Place(Enum):
    """Where an event lies, seen from a point."""

    BEFORE = "before"  #: It belongs to the state at the point, and so may those that follow.
    LAST = "last"  #: It is the last that belongs to it.
    BEHIND = "behind"


class Point(ABC):
    """A place between two events of a log."""

    @abstractmethod
    def place(self, recorded: e.Recorded, names: Names) -> Place:
        """Where this event lies; ``names`` are those heard before it."""

    def is_before(self, recorded: e.Recorded) -> bool:  # noqa: ARG002 - of some kinds nobody knows before
        """Whether the event, and with it all before it, is certain to lie before the point."""
        return False

    def in_log(self, first: e.Recorded) -> Point:  # noqa: ARG002 - most points mean the same in every log
        """The point in the log that begins with this event."""
        return self

    def missing(self, last: e.Recorded | None) -> NotReached | None:  # noqa: ARG002 - as above
        """Why the log has no such point, where it ended before it."""
        return None

    def overshot(self, last: e.Recorded) -> str:  # noqa: ARG002 - as above
        """What is said where the log ended before it, and its end stands for it; empty: nothing."""
        return ""


@dataclass(frozen=True, slots=True)
class End(Point):
    """Behind the last event."""

    def place(self, recorded: e.Recorded, names: Names) -> Place:  # noqa: ARG002
        return Place.BEFORE

    def is_before(self, recorded: e.Recorded) -> bool:  # noqa: ARG002
        return True


@dataclass(frozen=True, slots=True)
class AtEvent(Point):
    """After the event of this number."""

    sequence: int

    def place(self, recorded: e.Recorded, names: Names) -> Place:  # noqa: ARG002
        if recorded.sequence == self.sequence:
            return Place.LAST
        return Place.BEFORE if recorded.sequence < self.sequence else Place.BEHIND

    def is_before(self, recorded: e.Recorded) -> bool:
        return recorded.sequence < self.sequence

    def missing(self, last: e.Recorded | None) -> NotReached | None:
        ends = f"it ends with event {last.sequence:,}" if last is not None else "it holds no event up to there"
        return NotReached(f"event {self.sequence:,} is not in the log", f"a number that is: {ends}")


@dataclass(frozen=True, slots=True)
class AtTime(Point):
    """After all that had happened at a time. A person names a whole second, minute or day, and means its end.

    ``time_ms``: that end, milliseconds since the epoch. ``said_ms``: how long the second, minute or day is.
    """

    time_ms: int
    said_ms: int = 1_000  #: How long that was; people who read tables read no milliseconds.

    def place(self, recorded: e.Recorded, names: Names) -> Place:  # noqa: ARG002
        return Place.BEFORE if recorded.time_ms <= self.time_ms else Place.BEHIND

    def is_before(self, recorded: e.Recorded) -> bool:
        return recorded.time_ms <= self.time_ms

    def overshot(self, last: e.Recorded) -> str:
        if self.time_ms - self.said_ms < last.time_ms:
            return ""
        end = f"event {last.sequence:,}, {moment(last.time_ms)}"
        return f"{moment(self.time_ms)} lies behind the last event there is ({end}): what was so after that is shown"


@dataclass(frozen=True, slots=True)
class AtClock(Point):
    """After all that had happened at a time of day, which is taken for the first one in the log.

    ``clock_ms``: since midnight UTC. ``said_ms``: as of `AtTime`.
    """

    clock_ms: int
    said_ms: int = 1_000

    def place(self, recorded: e.Recorded, names: Names) -> Place:
        return self.in_log(recorded).place(recorded, names)

    def in_log(self, first: e.Recorded) -> Point:
        at_ms = first.time_ms - first.time_ms % _DAY_MS + self.clock_ms
        # The first second counts as a whole: what a person reads in a table has lost its milliseconds.
        is_early = at_ms < first.time_ms - first.time_ms % 1_000
        if is_early:
            return NextDay(at_ms + _DAY_MS, self.said_ms, first.time_ms)
        return AtTime(at_ms, self.said_ms)


@dataclass(frozen=True, slots=True)
class NextDay(AtTime):
    """A time of day that is earlier than the log's beginning: of the day after it, if the log goes on until then."""

    begin_ms: int = 0

    def missing(self, last: e.Recorded | None) -> NotReached:
        until_ms = last.time_ms if last is not None else self.begin_ms
        said = f"one in the log, which goes from {moment(self.begin_ms)} to {moment(until_ms)}"
        return NotReached(f"the time lies before the first event, and {moment(self.time_ms)} behind the last", said)


@dataclass(frozen=True, slots=True)
class UntilEvent(Point):
    """After the first event of a kind; where a number is given, the first that names this (app) shuffle."""

    kind: str
    shuffle_id: ShuffleId | None = None
    app_shuffle: AppShuffle | None = None

    def place(self, recorded: e.Recorded, names: Names) -> Place:
        fits = type(recorded.event).__name__ == self.kind and self._about(recorded.event, names)
        return Place.LAST if fits else Place.BEFORE

    def missing(self, last: e.Recorded | None) -> NotReached:
        ends = f"it ends with event {last.sequence:,}" if last is not None else "it is empty"
        return NotReached(f"the log has no {self}", f"one that has happened; {ends}")

    def __str__(self) -> str:
        about = f" #{self.shuffle_id}" if self.shuffle_id is not None else ""
        return self.kind + (f" {self.app_shuffle}" if self.app_shuffle is not None else about)

    def _about(self, event: e.Event, names: Names) -> bool:
        named = {getattr(event, name, None) for name in ("shuffle_id", "missing", "gone")}
        if self.shuffle_id is not None:
            return any(one == self.shuffle_id or (isinstance(one, tuple) and self.shuffle_id in one) for one in named)
        if self.app_shuffle is not None:
            lineage = getattr(event, "lineage", None)
            told = {getattr(event, "app_shuffle", None), getattr(lineage, "app_shuffle", None)}
            return self.app_shuffle in told | {
                names.shuffle_of.get(ShuffleId(one)) for one in named if isinstance(one, int)
            }
        return True


def point(text: str) -> Point:
    """What a person calls a point: a number, a date and time, a time of day, a kind of event, `end`.

    Raises `WrongPoint`.
    """
    said = text.strip()
    if said == "end":
        return End()
    if said.isdecimal() and len(said) <= _MOST_DIGITS:
        return AtEvent(int(said))
    clock = said.removesuffix(" UTC")
    found = _at_clock(clock.removesuffix("Z")) or _at_time(clock) or _until(said)
    if found is None:
        raise WrongPoint(
            f"the point is {text!r}",
            f"an event's number, a time such as 2026-11-21T10:02:11 or 10:02:11, {_A_KIND}, or end",
        )
    return found


def until(text: str) -> UntilEvent:
    """`GenerationDeleted`, `GenerationDeleted #7` (a shuffle id) or `GenerationDeleted 5` (an app shuffle).

    Raises `WrongPoint`.
    """
    found = _until(text.strip())
    if found is None:
        raise WrongPoint(f"the point is {text!r}", _A_KIND)
    return found


_A_KIND = "a kind of event such as GenerationDeleted or 'GenerationDeleted #7'"


def _until(said: str) -> UntilEvent | None:
    found = _UNTIL.fullmatch(said)
    kind = kind_named(found["kind"]) if found is not None else None
    if found is None or kind is None:
        return None
    if found["number"] is None:
        return UntilEvent(kind)
    number = int(found["number"])
    return (
        UntilEvent(kind, shuffle_id=ShuffleId(number)) if found["hash"] else UntilEvent(kind, None, AppShuffle(number))
    )


def _at_clock(said: str) -> Point | None:
    try:
        found = time.fromisoformat(said) if ":" in said and "-" not in said else None
    except ValueError:
        return None
    if found is None or found.tzinfo is not None:
        return None
    of_day = timedelta(hours=found.hour, minutes=found.minute, seconds=found.second, microseconds=found.microsecond)
    said_ms = _said_ms(said)
    return AtClock(of_day // timedelta(milliseconds=1) + said_ms - 1, said_ms)


def _at_time(said: str) -> Point | None:
    try:
        found = datetime.fromisoformat(said.replace("Z", "+00:00")) if "-" in said else None
    except ValueError:
        return None
    if found is None:
        return None
    zoned = found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
    said_ms = _said_ms(said[len("2026-11-21T") :])
    return AtTime(round(zoned.timestamp() * 1_000) + said_ms - 1, said_ms)


def _said_ms(clock: str) -> int:
    """How long what was said is: all of the second that it was given to, of the minute, of the hour, of the day."""
    of_day = re.split(r"[Z+-]", clock)[0]
    if "." in of_day or "," in of_day:
        return 1
    return _SAID_MS.get(sum(map(str.isdigit, of_day)), 1_000)
