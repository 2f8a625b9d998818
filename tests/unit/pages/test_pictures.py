"""A picture is drawn by one thread at a time, also where a question is given up."""

from __future__ import annotations

import asyncio
import threading

import pytest

from coordinator.core.events import Recorded
from coordinator.core.state import empty
from coordinator.pages import pictures
from coordinator.pages.pictures import Pictures
from replay.timeline.collect import Picture
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

    def hear(self, picture: Picture, records: list[Recorded]) -> None:
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
