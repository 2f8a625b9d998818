"""An event loop whose time is a number.

Responsible for running tasks in one thread on virtual time: where nothing is ready, time jumps to what comes next.
Refuses to know what runs. Invariant: the same program gives the same order of steps, every time, in no real time; a
program that waits for something that can never come is an error and not a hang.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from coordinator.runtime.clock import Clock

T = TypeVar("T")
EPOCH_S = 1_700_000_000.0


class Stuck(Exception):  # noqa: N818 - it names a state, not a mistake
    """Every task waits, and nothing will ever happen."""


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("no task is ready and no timer runs; expected one: something is awaited that nobody will do")
        self.now_s += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time begins at zero."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now_s


def run(program: Coroutine[Any, Any, T]) -> T:
    """Runs the program to its end on a loop of its own."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(program)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def clock(skew_s: float = 0.0) -> Clock:
    """A replica's clock in such a loop; its wall may be wrong by so much."""
    return Clock(lambda: EPOCH_S + skew_s + asyncio.get_running_loop().time())


async def moment() -> None:
    """Lets everything that is ready, and what that makes ready, come to rest."""
    await asyncio.sleep(0.001)
