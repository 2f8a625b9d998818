"""A line ends when it has to, whatever else happens in the same turn of the event loop."""

from __future__ import annotations

import asyncio
import time
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
from coordinator.server.service import ShuffleLifecycle
from coordinator.wire.errors import Malformed
from tests.unit.server import facts
from tests.unit.server.fakes import APP, DRIVER, FakeCoordinator, FakeSession

PATIENCE_S = 10
OPTIONS = ServerOptions(write_within_s=0.5)
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


class Paused(Wire):
    """The whole replica stands still for longer than a driver may take, while a reply is on its way that is read."""

    async def write(self, _: Any) -> None:
        asyncio.get_running_loop().call_soon(self._stand_still)
        await self.leaves.wait()

    def _stand_still(self) -> None:
        time.sleep(1.2 * OPTIONS.write_within_s)
        asyncio.get_running_loop().call_later(0.001, self.leaves.set)


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


async def test_a_pause_of_the_replica_is_not_a_driver_that_reads_nothing() -> None:
    wire, coordinator = Paused(), Accepting()
    calls = calls_of(coordinator, Gate(coordinator, OPTIONS), OPTIONS)
    line = Line(coordinator, calls, FakeSession(APP, DRIVER, 0), wire, OPTIONS, 0)  # type: ignore[arg-type]
    running = asyncio.ensure_future(line.run())
    wire.messages.put_nowait(facts.batch(facts.asks([1])))
    await asyncio.wait({running, asyncio.ensure_future(wire.leaves.wait())}, timeout=PATIENCE_S)
    wire.messages.put_nowait(facts.batch(facts.asks([9])))
    with pytest.raises(Malformed, match="request 9 follows request 1"):
        await asyncio.wait_for(running, PATIENCE_S)


async def test_nor_is_it_a_caller_that_does() -> None:
    wire = Paused()
    await ShuffleLifecycle(FakeCoordinator(), OPTIONS).write("one reply of many", wire)  # type: ignore[arg-type]
    assert wire.leaves.is_set()
