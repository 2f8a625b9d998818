"""A wait that ends in time, and of which a pause of the whole process takes one step."""

from __future__ import annotations

import asyncio
import time

import pytest

from state_backend.waiting import within

_WITHIN_S = 0.5


async def after_a_pause(steps: int) -> str:
    """Something that would come at once, but that the process stands still for longer than it may take."""
    loop, come = asyncio.get_running_loop(), asyncio.Event()

    def stand_still() -> None:
        time.sleep(_WITHIN_S * 1.2)
        loop.call_later(0.001, come.set)

    async def coming() -> str:
        loop.call_soon(stand_still)
        await come.wait()
        return "come"

    return await within(_WITHIN_S, coming(), steps)


async def test_a_pause_of_the_whole_process_takes_one_step() -> None:
    assert await after_a_pause(steps=10) == "come"
    with pytest.raises(asyncio.TimeoutError):
        await after_a_pause(steps=1)


async def test_all_steps_together_take_no_longer() -> None:
    begun = time.monotonic()
    with pytest.raises(asyncio.TimeoutError):
        await within(0.2, asyncio.Event().wait(), steps=10)
    assert 0.19 < time.monotonic() - begun < 1
