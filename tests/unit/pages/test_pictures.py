"""A picture is drawn by one thread at a time, also where a question is given up; and of one log."""

from __future__ import annotations

import asyncio
import threading

import pytest

from coordinator.core.events import Recorded
from coordinator.core.state import empty
from coordinator.pages import pictures
from coordinator.pages.pictures import Pictures
from tests.simulation import facts, virtual
from tests.simulation.world import World, registered
from tests.unit.server.fakes import APP, FakeCoordinator
from tests.unit.server.test_sessions import until

PATIENCE_S = 10


class Drawing:
    """Draws as always, but not before a test says so; notes how many draw at a time."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.begun = 0
        self.now: list[int] = []
        self.at_once = 0

    def hear(self, kept: object, records: list[Recorded]) -> None:
        self.begun += 1
        self.now.append(self.begun)
        self.at_once = max(self.at_once, len(self.now))
        self.go_on.wait(PATIENCE_S)
        self.now.pop()


async def test_who_is_given_up_draws_to_the_end_before_the_next_one_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else both would hear the same events, and a bar be drawn twice."""
    drawing = Drawing()
    monkeypatch.setattr(pictures, "_hear", drawing.hear)
    coordinator = FakeCoordinator()
    coordinator.states[APP], coordinator.logs[APP] = empty(), []
    shown = Pictures(coordinator)
    first = asyncio.ensure_future(shown.numbers(APP, 0))
    await until(lambda: drawing.begun == 1)
    second = asyncio.ensure_future(shown.numbers(APP, 0))
    first.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert drawing.begun == 1
    drawing.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.wait_for(second, PATIENCE_S)
    assert (drawing.begun, drawing.at_once) == (2, 1)


async def logs() -> tuple[list[Recorded], list[Recorded]]:
    """One and another, which begin alike: a store was set back between them."""
    found = []
    for job in (0, 1):
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await asyncio.sleep(job)
            await replica.submit(facts.APP, number([*facts.writes(job), *facts.reads(job)]))
            found.append(await replica.events(facts.APP, 0, 1_000))
    return found[0], found[1]


@pytest.mark.parametrize("less", [0, 2], ids=["as far", "less far"])
def test_where_the_store_was_set_back_the_other_log_is_drawn_anew(less: int) -> None:
    one, other = virtual.run(logs())
    other = other[: len(other) - less]
    coordinator = FakeCoordinator()
    coordinator.states[facts.APP], coordinator.logs[facts.APP] = empty(), one

    async def ask() -> None:
        shown, fresh = Pictures(coordinator), Pictures(coordinator)
        assert await shown.numbers(facts.APP, 0) is not None
        coordinator.logs[facts.APP] = other
        assert await shown.numbers(facts.APP, len(one)) == await fresh.numbers(facts.APP, 0) is not None

    asyncio.run(ask())
