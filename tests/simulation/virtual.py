"""An event loop whose time is a number.

Responsible for running tasks in one thread on virtual time: where nothing is ready, time jumps to what comes next.
Refuses to know what runs, and files, sockets and signals, of which there are none. Invariant: the same program gives
the same order of steps, every time, in no real time; a program that waits for something that can never come is an
error and not a hang.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import base_events
from collections.abc import Coroutine
from typing import Any, TypeVar

from coordinator.runtime.clock import Clock

T = TypeVar("T")
EPOCH_S = 1_700_000_000.0
_FAREWELL_ROUNDS = 50


class Stuck(Exception):  # noqa: N818 - it names a state, not a mistake
    """Every task waits, and nothing will ever happen."""


class VirtualLoop(base_events.BaseEventLoop):
    """Time begins at zero. CPython's own loop, with its one look at the operating system left out."""

    _ready: Any
    _scheduled: Any

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.tasks: list[asyncio.Task[Any]] = []
        self.set_task_factory(_counted)

    def time(self) -> float:
        return self.now_s

    def _run_once(self) -> None:
        """One round: what is ready, or else what is due first."""
        ready, scheduled = self._ready, self._scheduled
        while scheduled and (scheduled[0]._cancelled or scheduled[0]._when <= self.now_s or not ready):
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            if not timer._cancelled:
                self.now_s = max(self.now_s, timer._when)
                ready.append(timer)
        if not ready and not self.is_stopping:
            raise Stuck("no task is ready and no timer runs; expected one: something is awaited that nobody will do")
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    @property
    def is_stopping(self) -> bool:
        """Whether this is the last round."""
        return bool(getattr(self, "_stopping", False))

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""


def run(program: Coroutine[Any, Any, T]) -> T:
    """Runs the program to its end on a loop of its own."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(program)
    finally:
        loop.run_until_complete(_end_all(loop))
        loop.close()


def _counted(loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
    """Remembers every task, so that none is looked for among all that the process has.

    ``more``: of its context, and since Python 3.14 of its name and whether it begins at once.
    """
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
    loop.tasks.append(task)
    return task


async def _end_all(loop: VirtualLoop) -> None:
    """Cancels whatever is left, and lets it come to its end."""
    me = asyncio.current_task()
    for _ in range(_FAREWELL_ROUNDS):
        left = [task for task in loop.tasks if not task.done() and task is not me]
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.sleep(0)


def clock(skew_s: float = 0.0) -> Clock:
    """A replica's clock in such a loop; its wall may be wrong by so much."""
    return Clock(lambda: EPOCH_S + skew_s + asyncio.get_running_loop().time())


async def moment() -> None:
    """Lets everything that is ready, and what that makes ready, come to rest."""
    await asyncio.sleep(0.001)
