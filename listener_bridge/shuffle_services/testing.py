"""The contract of shuffle services as tests: what every adapter promises, whatever lies behind it.

Responsible for: one suite that native, Celeborn and Uniffle pass unchanged. Subclass `ShuffleServiceContract`, give a
pytest fixture `world`. What an adapter declares not to do, the suite does not ask of it.
Refuses to know: how data are written, found or deleted.
Invariant: each test writes a shuffle of its own, and ends with a right result of the job that reads it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from listener_bridge.shuffle_services.api import (
    Busy,
    Cannot,
    Failed,
    Fenced,
    Freed,
    Held,
    Locator,
    NotHeld,
    ShuffleService,
    Superseded,
)

TIMEOUT = 20.0
NEVER_WRITTEN = 1_000_000


class World(Protocol):
    """A running application with one shuffle service, as the suite needs it."""

    service: ShuffleService

    def write(self) -> int:
        """Run a job through a new shuffle; answers its app shuffle, complete and read by nobody now."""

    def read_again(self, app_shuffle: int) -> bool:
        """Run the same job again; whether its result is the one of the first time."""

    def reader_running(self, app_shuffle: int) -> AbstractContextManager[Any]:
        """Inside the block a task that reads the app shuffle runs; leaving it waits for the end of its job."""

    def bytes_stored(self, app_shuffle: int) -> int:
        """What the service really stores of the app shuffle, all generations."""

    def marker_passed(self, name: str) -> bool:
        """Whether this marker has come, or comes soon, among the facts."""


class ShuffleServiceContract:
    def test_what_it_declares_is_that_it_deletes(self, world: World) -> None:
        assert world.service.probe().deletes is True

    def test_it_holds_what_was_written_and_nothing_else(self, world: World) -> None:
        shuffle = world.write()
        assert isinstance(world.service.holds(shuffle), Held)
        assert isinstance(world.service.holds(NEVER_WRITTEN), NotHeld)

    def test_a_fence_is_marked_and_leaves_nothing_to_read(self, world: World) -> None:
        shuffle = world.write()
        held = world.service.holds(shuffle)
        fenced = _fenced(world, shuffle)
        assert held == Held(fenced.locator)
        assert fenced.bytes > 0
        assert world.marker_passed(fenced.marker)
        assert isinstance(world.service.holds(shuffle), NotHeld)
        assert world.read_again(shuffle)

    def test_a_second_fence_answers_the_first(self, world: World) -> None:
        shuffle = world.write()
        fenced = _fenced(world, shuffle)
        assert world.service.fence(shuffle, TIMEOUT) == fenced
        assert world.service.fence(shuffle, TIMEOUT, fenced.locator) == fenced
        assert world.read_again(shuffle)

    def test_what_spark_does_not_know_cannot_be_fenced_and_is_gone_when_asked_again(self, world: World) -> None:
        assert isinstance(world.service.fence(NEVER_WRITTEN, TIMEOUT), Cannot)
        assert isinstance(world.service.fence(NEVER_WRITTEN, TIMEOUT), Superseded)

    def test_a_running_reader_is_busy_and_nothing_changes(self, world: World) -> None:
        shuffle = world.write()
        before = world.bytes_stored(shuffle)
        assert before > 0
        with world.reader_running(shuffle):
            outcome = world.service.fence(shuffle, TIMEOUT)
            assert isinstance(outcome, Busy)
            assert outcome.who
        assert world.bytes_stored(shuffle) == before
        assert isinstance(world.service.holds(shuffle), Held)
        assert world.read_again(shuffle)

    def test_free_deletes_and_says_how_much(self, world: World) -> None:
        shuffle = world.write()
        fenced = _fenced(world, shuffle)
        assert world.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
        assert world.bytes_stored(shuffle) == 0
        assert world.service.free(fenced.locator, TIMEOUT) == Freed(0)
        assert world.read_again(shuffle)

    def test_forget_after_free_and_again(self, world: World) -> None:
        shuffle = world.write()
        fenced = _fenced(world, shuffle)
        world.service.free(fenced.locator, TIMEOUT)
        assert world.service.forget(fenced.locator, TIMEOUT) == Freed(0)
        assert world.service.forget(fenced.locator, TIMEOUT) == Freed(0)
        assert world.read_again(shuffle)

    def test_late_calls_leave_the_next_generation_alone(self, world: World) -> None:
        shuffle = world.write()
        first = _fenced(world, shuffle)
        assert world.read_again(shuffle)
        stored = world.bytes_stored(shuffle)
        assert isinstance(world.service.free(first.locator, TIMEOUT), Superseded | Freed)
        assert isinstance(world.service.forget(first.locator, TIMEOUT), Superseded | Freed | Busy)
        assert isinstance(world.service.fence(shuffle, TIMEOUT, first.locator), Superseded)
        assert isinstance(world.service.holds(shuffle), Held)
        assert 0 < world.bytes_stored(shuffle) <= stored
        assert world.read_again(shuffle)

    def test_each_generation_has_a_locator_of_its_own(self, world: World) -> None:
        shuffle = world.write()
        first = _fenced(world, shuffle)
        assert world.read_again(shuffle)
        second = _fenced(world, shuffle)
        assert first.locator != second.locator
        assert first.marker != second.marker
        assert isinstance(world.service.free(second.locator, TIMEOUT), Freed)
        assert world.read_again(shuffle)

    def test_an_invalidated_generation_is_fenced(self, world: World) -> None:
        shuffle = world.write()
        held = world.service.holds(shuffle)
        assert isinstance(held, Held)
        outcome = world.service.invalidate(held.locator, TIMEOUT)
        assert isinstance(outcome, Fenced)
        assert outcome.locator == held.locator
        assert world.read_again(shuffle)

    def test_what_is_not_fenced_is_not_freed(self, world: World) -> None:
        shuffle = world.write()
        held = world.service.holds(shuffle)
        assert isinstance(held, Held)
        assert isinstance(world.service.free(held.locator, TIMEOUT), Failed)
        assert world.bytes_stored(shuffle) > 0
        assert world.read_again(shuffle)

    def test_a_foreign_locator_is_refused(self, world: World) -> None:
        shuffle = world.write()
        foreign = Locator("another", "other/0/0")
        assert isinstance(world.service.free(foreign, TIMEOUT), Failed)
        assert isinstance(world.service.forget(foreign, TIMEOUT), Failed)
        assert isinstance(world.service.invalidate(foreign, TIMEOUT), Cannot)
        assert isinstance(world.service.fence(shuffle, TIMEOUT, foreign), Cannot)
        assert isinstance(world.service.holds(shuffle), Held)


def _fenced(world: World, shuffle: int) -> Fenced:
    outcome = world.service.fence(shuffle, TIMEOUT)
    assert isinstance(outcome, Fenced), outcome
    return outcome
