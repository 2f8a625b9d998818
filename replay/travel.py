"""Travelling through a log: to a point in it, from one point to another, event by event.

Responsible for what a point is, for the state there, and for what changed on the way. Refuses to know where the log
comes from: a traveller is handed the events one by one. Invariant: the state at a point is the fold of exactly the
events up to it, whatever way one came there.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, timezone
from enum import Enum

from coordinator.core import events as e
from coordinator.core import ids
from coordinator.core.evolve import apply, apply_alone, count
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import State, empty, lay_over, settle
from replay.changes import Changed, between, of_step
from replay.names import Names
from replay.phrases import became, kind_named
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
    """After all that had happened at this time, which is the end of what was said: of a second, a minute, a day."""

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
    """The same, with the first such time of day in the log."""

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


@dataclass(frozen=True, slots=True)
class Gone:
    """A generation that is no more."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    life: Life  #: DELETED or LOST.
    cause: str
    bytes: int  #: What it held.
    freed_bytes: int  #: By our directive.
    sequence: ids.Sequence
    time_ms: int


@dataclass(slots=True)
class Ended:
    """Generations that are gone: how many, how large, and the newest of them. ``most``: so many; None: all."""

    most: int | None = None
    newest: dict[ShuffleId, Gone] = field(default_factory=dict)
    #: How many, and their bytes, by what they have become, in the table's word and in a person's.
    counts: dict[tuple[Life, str], tuple[int, int]] = field(default_factory=dict)

    def add(self, one: Gone) -> None:
        """One more."""
        key = one.life, became(one.life.value, one.cause)
        many, held = self.counts.get(key, (0, 0))
        self.counts[key] = many + 1, held + one.bytes
        self.newest[one.shuffle_id] = one
        if self.most is not None and len(self.newest) > self.most:
            del self.newest[min(self.newest)]


@dataclass(slots=True)
class Traveller:
    """Goes through a log up to a point, and knows the state where it is."""

    point: Point = field(default_factory=End)
    state: State = field(default_factory=empty)
    names: Names = field(default_factory=Names)
    gone: Ended = field(default_factory=Ended)
    last: e.Recorded | None = None
    behind: e.Recorded | None = None  #: The first event, where the point lies before it.
    arrived: bool = False

    def take(self, recorded: e.Recorded) -> bool:
        """Takes the event in. False, and nothing is taken, where the point lies before it."""
        if not self._is_due(recorded):
            return False
        self._note(recorded)
        apply(self.state, recorded)
        return True

    def take_all(self, batch: Sequence[e.Recorded]) -> bool:
        """Takes events in that follow one another. False where the point lies before the last of them."""
        if self.last is None or self.arrived or not self.point.is_before(batch[-1]):
            return all(map(self.take, batch))
        time_ms = self.state.meta.time_ms
        for recorded in batch:
            self._note(recorded)
            apply_alone(self.state, recorded)
            time_ms = max(time_ms, recorded.time_ms)
        count(self.state, batch[-1].sequence + 1, time_ms)
        return True

    def step(self, recorded: e.Recorded) -> tuple[Changed, ...] | None:
        """The same, with what the event changes; None where the point lies before it."""
        if not self._is_due(recorded):
            return None
        self._note(recorded)
        draft = lay_over(self.state)
        apply(draft, recorded)
        found = of_step(self.state, draft, self.names)
        settle(draft, self.state)
        return found

    def check_arrived(self) -> None:
        """Raises `NotReached` where the log ended before the point."""
        why = None if self.arrived else self.point.missing(self.last)
        if why is not None:
            raise why
        if self.last is None:
            first = self.behind
            begins = (
                f", which begins with event {first.sequence:,}, {moment(first.time_ms)}" if first is not None else ""
            )
            raise NotReached("the point lies before the first event", f"one in the log{begins}")

    def overshot(self) -> str:
        """What is said where the log ended before a point that its end stands for; empty: nothing."""
        return self.point.overshot(self.last) if self.last is not None and not self.arrived else ""

    @property
    def sequence(self) -> int:
        """Of the event where it is; 0: before the first."""
        return self.last.sequence if self.last is not None else 0

    def here(self) -> str:
        """Where it is, for people."""
        if self.last is None:
            return "before the first event"
        return f"event {self.last.sequence:,}, {moment(self.last.time_ms)}"

    def _is_due(self, recorded: e.Recorded) -> bool:
        if self.arrived:
            return False
        if self.last is None:
            self.point = self.point.in_log(recorded)
        place = self.point.place(recorded, self.names)
        self.arrived = place is not Place.BEFORE
        self.behind = recorded if self.last is None and place is Place.BEHIND else self.behind
        return place is not Place.BEHIND

    def _note(self, recorded: e.Recorded) -> None:
        self.last = recorded
        self.names.hear(recorded)
        event = recorded.event
        if isinstance(event, (e.GenerationDeleted, e.GenerationLost)) and event.shuffle_id in self.state.generations:
            self.gone.add(self._gone(recorded, event))

    def _gone(self, recorded: e.Recorded, event: e.GenerationDeleted | e.GenerationLost) -> Gone:
        generation = self.state.generations[event.shuffle_id]
        deleted = isinstance(event, e.GenerationDeleted)
        return Gone(
            event.shuffle_id,
            generation.app_shuffle,
            self.names.call_site(generation.app_shuffle),
            Life.DELETED if deleted else Life.LOST,
            event.cause.value,
            generation.bytes,
            event.bytes if isinstance(event, e.GenerationDeleted) else 0,
            recorded.sequence,
            recorded.time_ms,
        )


def at(log: Iterable[e.Recorded], where: Point) -> Traveller:
    """A traveller that has gone through this log to the point. Raises `NotReached`."""
    traveller = Traveller(where)
    for recorded in log:
        if not traveller.take(recorded):
            break
    traveller.check_arrived()
    return traveller


def difference(before: Traveller, after: Traveller) -> tuple[Changed, ...]:
    """What has changed from one point to a later one."""
    return between(before.state, after.state, after.names.with_earlier(before.names))


def passed(before: Traveller, after: Traveller) -> int:
    """How many generations began behind the first point of which the state at the second keeps no record."""
    first, end = before.state.meta.next_shuffle_id, after.state.meta.next_shuffle_id
    kept = {*after.state.generations, *(one.current or 0 for one in after.state.shuffles.values())}
    return end - first - sum(first <= one < end for one in kept)
