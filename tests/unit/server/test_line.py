"""A line ends when it has to, whatever else happens in the same turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from coordinator.core.commands import Request
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Accepted, Answer
from coordinator.server.calls import calls_of
from coordinator.server.line import Line
from coordinator.server.options import ServerOptions
from coordinator.server.security import Gate
from coordinator.wire.errors import Malformed
from tests.unit.server import facts
from tests.unit.server.fakes import APP, DRIVER, FakeCoordinator, FakeSession

PATIENCE_S = 10
TURNS = 12  # more than from a broken rule to the end of all that runs


class Wire:
    """A driver's stream: messages come as a test gives them, and replies leave when it says so."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        self.is_writing = asyncio.Event()
        self.leaves = asyncio.Event()

    async def read(self) -> Any:
        return await self.messages.get()

    async def write(self, _: Any) -> None:
        self.is_writing.set()
        await self.leaves.wait()


class Accepting(FakeCoordinator):
    async def submit(
        self, application: ApplicationId, requests: Sequence[Request], within_s: float | None = None
    ) -> list[Answer]:
        return [Accepted() for _ in requests]


@pytest.mark.parametrize("turns", range(TURNS))
async def test_a_broken_rule_ends_the_line_in_whichever_turn_the_last_reply_leaves(turns: int) -> None:
    """Who is cancelled and heard of its reply in one turn would wait for requests for ever."""
    wire, coordinator, options = Wire(), Accepting(), ServerOptions()
    calls = calls_of(coordinator, Gate(coordinator, options), options)
    line = Line(coordinator, calls, FakeSession(APP, DRIVER, 0), wire, options, 0)  # type: ignore[arg-type]
    running = asyncio.ensure_future(line.run())
    wire.messages.put_nowait(facts.batch(facts.asks([1])))
    await asyncio.wait_for(wire.is_writing.wait(), PATIENCE_S)
    wire.messages.put_nowait(facts.batch(facts.asks([9])))
    for _ in range(turns):
        await asyncio.sleep(0)
    wire.leaves.set()
    with pytest.raises(Malformed, match="request 9 follows request 1"):
        await asyncio.wait_for(running, PATIENCE_S)
