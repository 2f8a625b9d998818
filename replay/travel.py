"""Travelling through a log: to a point in it, from one point to another, event by event.

Responsible for the state at a point, and for what changed on the way. Refuses to know what people call a point
(`points`) and where the log comes from: a traveller is handed the events one by one. Invariant: the state at a point is
the fold of exactly the events up to it, whatever way one came there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from coordinator.core import events as e
from coordinator.core import ids
from coordinator.core.evolve import apply, apply_alone, count
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import State, empty, lay_over, settle
from replay.changes import Changed, between, of_step
from replay.names import Names
from replay.phrases import became
from replay.points import End, NotReached, Place, Point
from replay.units import moment


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
    """Generations that are gone: how many, how large, and the ``most`` newest of them (None: all)."""

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
        """Takes the event in, and gives what it changes. None, and nothing is taken, where the point lies before it."""
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
        """The number of the event that was taken in last; 0: none was."""
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
