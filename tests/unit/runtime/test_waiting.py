"""The queue of one application: who gets in, in which order, and who is told when.

Responsible for its bound, for taking turns, and for the end of the queue. Refuses to know who decides. Invariant: who
waits for room gets it in the order of coming, or hears at once that there will be none.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from coordinator.core.commands import Request, Tick
from coordinator.core.rejections import Accepted
from coordinator.runtime.errors import Draining, Happened, Overloaded
from coordinator.runtime.limits import Limits
from coordinator.runtime.waiting import Batch, Waiting
from state_backend.testing.faults import Refused
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered

MOST = 4
LATER_S = 60.0


def queue() -> Waiting:
    return Waiting(facts.APP, MOST, virtual.clock())


def batch(requests: int) -> Batch:
    numbered = [Request(facts.DRIVER, number, Tick()) for number in range(1, requests + 1)]
    return Batch(numbered, asyncio.get_running_loop().create_future())


async def outside(waiting: Waiting, one: Batch, within_s: float = LATER_S) -> asyncio.Task[None]:
    """One that has come and found no room."""
    coming = asyncio.create_task(waiting.put(one, within_s))
    await virtual.moment()
    assert not coming.done()
    return coming


def test_what_is_small_does_not_overtake_what_is_large_and_waits_longer() -> None:
    async def story() -> None:
        waiting, first, large, small = queue(), batch(3), batch(3), batch(1)
        await waiting.put(first, LATER_S)
        coming = [await outside(waiting, large), await outside(waiting, small)]
        waiting.withdraw(first)
        await asyncio.gather(*coming)
        assert list(waiting) == [large, small]

    virtual.run(story())


def test_who_has_just_come_does_not_take_the_room_that_another_was_called_for() -> None:
    async def story() -> None:
        waiting, first, earlier, later = queue(), batch(4), batch(4), batch(4)
        await waiting.put(first, LATER_S)
        coming = await outside(waiting, earlier)
        waiting.withdraw(first)
        too_early = asyncio.create_task(waiting.put(later, LATER_S))
        await coming
        assert list(waiting) == [earlier]
        waiting.withdraw(earlier)
        await too_early
        assert list(waiting) == [later]

    virtual.run(story())


@pytest.mark.parametrize("gives_up", ["in time", "cancelled"])
def test_who_gives_up_lets_the_next_one_in(gives_up: str) -> None:
    async def story() -> None:
        waiting, first, large, small = queue(), batch(2), batch(4), batch(2)
        await waiting.put(first, LATER_S)
        leaving = await outside(waiting, large, virtual.clock().monotonic_s() + 1)
        coming = await outside(waiting, small)
        if gives_up == "cancelled":
            leaving.cancel()
        await asyncio.wait((leaving,))
        assert leaving.cancelled() or isinstance(leaving.exception(), Overloaded)
        await coming
        assert list(waiting) == [first, small]

    virtual.run(story())


def test_there_is_room_as_soon_as_a_part_of_a_batch_is_answered() -> None:
    async def story() -> None:
        waiting, first, second = queue(), batch(4), batch(2)
        await waiting.put(first, LATER_S)
        coming = await outside(waiting, second)
        waiting.answer(first, [Accepted()] * 2)
        await virtual.moment()
        assert coming.done()
        assert waiting.requests == MOST
        waiting.withdraw(first)
        assert waiting.requests == 2

    virtual.run(story())


def test_a_batch_larger_than_the_queue_gets_in_alone() -> None:
    async def story() -> None:
        waiting, large = queue(), batch(MOST + 1)
        await waiting.put(large, LATER_S)
        coming = await outside(waiting, batch(1))
        waiting.withdraw(large)
        await coming
        assert waiting.requests == 1

    virtual.run(story())


def test_who_waits_for_room_hears_at_once_that_there_will_be_none() -> None:
    async def story() -> None:
        waiting, first = queue(), batch(MOST)
        await waiting.put(first, LATER_S)
        coming = [await outside(waiting, batch(1)) for _ in range(2)]
        waiting.close(Draining("replica-1"))
        await virtual.moment()
        assert [type(each.exception()) for each in coming] == [Draining] * 2
        with pytest.raises(Draining):
            await waiting.put(batch(1), LATER_S)
        assert list(waiting) == [first]

    virtual.run(story())


@pytest.mark.parametrize("drain", [True, False])
def test_who_waits_for_room_where_the_engine_stops_is_sent_elsewhere_at_once(drain: bool) -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=Limits(waiting=MOST))) as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            running.backend.weather = Refused()
            first = asyncio.create_task(running.replica.submit(facts.APP, number(facts.writes(0)), within_s=LATER_S))
            await virtual.moment()
            waits = asyncio.create_task(running.replica.submit(facts.APP, number(facts.reads(0)), within_s=LATER_S))
            await virtual.moment()
            assert not waits.done()
            stopping = asyncio.create_task(running.replica._engines.stop(drain))
            await virtual.moment()
            told = waits.exception()
            assert isinstance(told, Draining)
            assert told.happened is Happened.NOTHING
            running.backend.weather = None
            await asyncio.gather(first, stopping, return_exceptions=True)
            assert len(await checks.read_log(world.reader(), facts.APP)) == (3 if drain else 2)

    virtual.run(story())
