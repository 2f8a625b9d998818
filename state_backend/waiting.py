"""Waiting for something with a deadline.

Responsible for a wait that ends in time. Refuses to know what is waited for.
Invariant: a cancellation always comes through. `asyncio.wait_for` of Python 3.10 and 3.11 gives the result instead
where both come in one turn of the loop, and who cancels once then waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

_Result = TypeVar("_Result")


async def within(seconds: float | None, doing: Awaitable[_Result], steps: int = 1) -> _Result:
    """What `doing` gives; it is cancelled, and `asyncio.TimeoutError` raised, when the time is over. None: never.

    ``steps``: the time is counted in so many, of which one that a pause of this whole process makes longer counts once.
    """
    task = asyncio.ensure_future(doing)
    try:
        for _ in range(steps):
            await asyncio.wait((task,), timeout=None if seconds is None else seconds / steps)
            if in_time := task.done():
                break
    except BaseException:
        await _end(task)
        raise
    if in_time:
        return task.result()
    await _end(task)
    raise asyncio.TimeoutError


async def _end(task: asyncio.Future[_Result]) -> None:
    """Nobody hears what comes of it."""
    if task.cancel():
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
