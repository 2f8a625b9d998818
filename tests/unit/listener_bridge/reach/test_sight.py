"""The halves of a look are read in the one sound order, and calls under way are roots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from listener_bridge.reach.findings import Found, Kind, Program, Region, Root, TargetId
from listener_bridge.reach.sight import ProgramSight
from listener_bridge.tap.facts import (
    ActiveJob,
    EventsDropped,
    Fact,
    JobEnded,
    JobStarted,
    KnownShuffle,
    Level,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
    StageFact,
)

DEAD = Program(frozenset({TargetId("o1")}))
HELD = Root("o2", Kind.HANDLE, frozenset({4}), "`b`")


@dataclass
class Order:
    """All four parts, and the order in which they were asked."""

    walked: Found = field(default_factory=lambda: Found((HELD,)))
    asked: list[str] = field(default_factory=list)
    given: list[tuple[Program, frozenset[int]]] = field(default_factory=list)
    changed: int = 0


class Calls:
    def __init__(self, order: Order) -> None:
        self.order = order

    def watch(self) -> None:
        self.order.asked.append("watch calls")

    def unwatch(self) -> None:
        self.order.asked.append("unwatch calls")

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        return f"{method} in {thread} at etl.py:{at_ms:.0f}"


class Regions:
    def __init__(self, order: Order) -> None:
        self.order = order

    def hear(self, fact: Fact) -> None:
        pass

    def resync(self, present: Snapshot) -> None:
        pass

    def read(self) -> tuple[Region, ...]:
        self.order.asked.append("regions")
        return (Region("call-7", "`ALS.fit`", frozenset({1, 2})),)


class Handles:
    def __init__(self, order: Order) -> None:
        self.order = order

    @property
    def changed(self) -> int:
        return self.order.changed

    def watch(self) -> None:
        self.order.asked.append("watch handles")

    def unwatch(self) -> None:
        self.order.asked.append("unwatch handles")

    def read(self) -> Program:
        self.order.asked.append("handles")
        return DEAD


class Walker:
    def __init__(self, order: Order) -> None:
        self.order = order

    def close(self) -> None:
        self.order.asked.append("close")

    def warm(self) -> None:
        self.order.asked.append("warm")

    def walk(self, program: Program, announced: frozenset[int]) -> Found:
        self.order.asked.append("walk")
        self.order.given.append((program, announced))
        return self.order.walked


def writing(shuffle: int) -> StageFact:
    return StageFact(shuffle, 0, 4, shuffle, (), "", "", Level.DETERMINATE, False, (), ())


def started(job: int, *writes: int) -> JobStarted:
    result = StageFact(100, 0, 4, None, (), "", "", Level.DETERMINATE, False, (), ())
    return JobStarted(0, job, 0, (*map(writing, writes), result), 100, None, None)


PRESENT = Snapshot("s", (), (), (ActiveJob(1, (writing(3),), None, None, None),))


def sight(order: Order) -> ProgramSight:
    return ProgramSight(Calls(order), Regions(order), Handles(order), Walker(order))


def test_calls_are_read_first_and_the_jvm_last() -> None:
    order = Order()
    assert sight(order).read().roots == (
        HELD,
        Root("call-7", Kind.ALGORITHM, frozenset({1, 2}), "`ALS.fit` is running"),
    )
    assert order.asked == ["regions", "handles", "walk"]
    assert order.given == [(DEAD, frozenset())]


def test_what_live_jobs_announce_is_walked_no_further() -> None:
    order = Order()
    eyes = sight(order)
    eyes.hear(started(1, 3, 4))
    eyes.hear(started(2, 4, 5))
    eyes.hear(JobEnded(0, 1, 0, True, None))
    eyes.read()
    assert order.given == [(DEAD, frozenset({4, 5}))]


@pytest.mark.parametrize(
    "told", [StageCompleted(0, 0, writing(3), None, 100, 0, 0, 0), ShuffleCleaned(0, 3)], ids=["whole once", "cleaned"]
)
def test_behind_what_was_whole_once_or_was_cleaned_the_walk_goes_on(told: Fact) -> None:
    """The coordinator may take the one for whole still, and has forgotten the other."""
    order = Order()
    eyes = sight(order)
    eyes.hear(started(1, 3, 4))
    eyes.hear(told)
    eyes.read()
    assert order.given == [(DEAD, frozenset({4}))]


def test_what_was_whole_once_is_not_announced_again_unless_its_lineage_was_forgotten() -> None:
    order = Order()
    eyes = sight(order)
    eyes.hear(StageCompleted(0, 0, writing(3), None, 100, 0, 0, 0))
    eyes.resync(Snapshot("s", (KnownShuffle(4, 4, 4), KnownShuffle(5, 3, 4)), (), ()))
    eyes.hear(started(1, 3, 4, 5))
    eyes.hear(ShuffleCleaned(0, 3))
    eyes.hear(started(2, 3, 4, 5))
    eyes.read()
    assert order.given == [(DEAD, frozenset({3, 5}))]


def test_what_failed_is_announced_as_before() -> None:
    order = Order()
    eyes = sight(order)
    eyes.hear(started(1, 3))
    eyes.hear(StageCompleted(0, 0, writing(3), "lost", 0, 0, 0, 0))
    eyes.read()
    assert order.given == [(DEAD, frozenset({3}))]


@pytest.mark.parametrize(
    "lost", [lambda eyes: eyes.resync(PRESENT), lambda eyes: eyes.hear(EventsDropped(9, 1, "bus"))]
)
def test_after_a_gap_only_what_starts_later_has_announced_anything(lost: Callable[[ProgramSight], None]) -> None:
    order = Order()
    eyes = sight(order)
    eyes.hear(started(1, 3))
    lost(eyes)
    eyes.hear(started(2, 7))
    eyes.read()
    assert order.given == [(DEAD, frozenset({7}))]


def test_a_walk_that_failed_tells_nothing() -> None:
    assert sight(Order(Found((HELD,), everything="it took too long"))).read().everything == "it took too long"


def test_the_first_look_finds_everything_loaded() -> None:
    order = Order()
    sight(order).warm()
    assert order.asked == ["handles", "warm"]


def test_the_program_is_left_as_it_was() -> None:
    order = Order()
    eyes = sight(order)
    eyes.open()
    eyes.close()
    assert order.asked == ["watch calls", "watch handles", "unwatch handles", "unwatch calls", "close"]
