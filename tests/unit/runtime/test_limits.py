"""What one application, and a store, may hold: refused beyond, in words, and everything else goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, ExecutionId, JobId, LookId, StageId
from coordinator.core.rejections import Accepted, Reason, Rejection
from coordinator.core.values import CLIENT_IDLE_MS, Lineage, Outputs, Policy, RootKind, Rule
from coordinator.runtime.census import Census
from coordinator.runtime.errors import TooManyApplications
from coordinator.runtime.limits import Limits
from state_backend.errors import Unavailable
from state_backend.memory import MemoryBackend
from state_backend.values import KeyPage, Revision
from tests.simulation import facts, virtual
from tests.simulation.world import OPTIONS, World, registered

TWO = Limits(shuffles=2, readers=2, jobs=2, executions=2, roots=2, clients=2, groups=2)


def job(number: int) -> c.ReportJobStarted:
    return c.ReportJobStarted(JobId(number), StageId(number))


def writing(shuffle: int) -> c.ReportJobStarted:
    lineage = (Lineage(AppShuffle(shuffle), maps=1),)
    return c.ReportJobStarted(JobId(1), StageId(1), reads=(AppShuffle(shuffle),), lineage=lineage)


def stage(number: int) -> c.ReportStageSubmitted:
    return c.ReportStageSubmitted(facts.attempt(number), tasks=1)


def root(number: int) -> c.ReportCut:
    return c.ReportCut(LookId(1), (c.ReportedRoot(f"root {number}", RootKind.HANDLE, ()),))


def group(number: int) -> c.SetPolicy:
    return c.SetPolicy(Policy(Rule.EAGER), group=f"group {number}")


#: What is limited -> two commands that fill it, and a third that would be one too many.
GROWING: dict[str, tuple[c.Command, c.Command, c.Command]] = {
    "jobs": (job(1), job(2), job(3)),
    "shuffles": (writing(1), writing(2), writing(3)),
    "readers": (stage(1), stage(2), stage(3)),
    "executions": tuple(c.ReportExecutionStarted(ExecutionId(n)) for n in (1, 2, 3)),  # type: ignore[dict-item]
    "roots": (root(1), root(2), root(3)),
    "groups": (group(1), group(2), group(3)),
    "clients": tuple(c.RegisterClient(ClientId(f"client {n}")) for n in (1, 2, 3)),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("what", GROWING)
def test_one_more_is_refused_in_words_and_the_rest_goes_on(what: str) -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=TWO)) as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            number = facts.Numbers()
            if what == "roots":
                await replica.submit(facts.APP, number([c.BeginLook(LookId(1))]))
            *fill, more = GROWING[what] if what != "clients" else GROWING[what][1:]  # the driver's own is one
            for one in fill:
                assert await replica.submit(facts.APP, number([one])) == [Accepted()]
            before = (await replica.view(facts.APP)).meta.next_sequence
            (refusal, again) = await replica.submit(facts.APP, number([more, fill[0]]))
            assert isinstance(refusal, Rejection)
            assert refusal.reason is Reason.EXHAUSTED
            assert f"has 2 {what}, and {type(more).__name__} adds one" in refusal.fact
            assert f"raise limits.{what}" in refusal.next_step
            assert again == Accepted()
            told = [recorded.event for recorded in await replica.events(facts.APP, before - 1)]
            assert {getattr(kept, "answer", "") for event in told for kept in getattr(event, "refused", ())} == {
                "exhausted"
            }

    virtual.run(story())


def test_a_client_that_is_idle_makes_room_for_another_one() -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=TWO)) as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            number = facts.Numbers()
            _, second, third = GROWING["clients"]
            assert await replica.submit(facts.APP, number([second])) == [Accepted()]
            await asyncio.sleep(CLIENT_IDLE_MS / 1000 + 1)
            before = (await replica.view(facts.APP)).meta.next_sequence
            assert await replica.submit(facts.APP, number([third])) == [Accepted()]
            told = [recorded.event for recorded in await replica.events(facts.APP, before - 1)]
            assert told[:2] == [e.ClientDropped(ClientId("client 2")), e.ClientRegistered(ClientId("client 3"))]

    virtual.run(story())


def test_what_was_refused_is_looked_at_anew_when_it_is_sent_again() -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=TWO)) as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            number = facts.Numbers()
            await replica.submit(facts.APP, number([job(1), job(2)]))
            refused = number([job(3)])
            first = await replica.submit(facts.APP, refused)
            assert isinstance(first[0], Rejection)
            assert await replica.submit(facts.APP, refused) == first
            await replica.submit(facts.APP, number([c.ReportJobEnded(JobId(1))]))
            assert await replica.submit(facts.APP, refused) == [Accepted()]
            assert sorted((await replica.view(facts.APP)).jobs) == [2, 3]

    virtual.run(story())


def test_what_is_told_anew_as_a_whole_is_looked_through() -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=TWO)) as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            number = facts.Numbers()
            await replica.submit(facts.APP, number([job(1), job(2)]))
            resync = c.Resync(jobs=(job(1), job(2), job(3)), outputs=(Outputs(AppShuffle(1), 1, 1),))
            (refusal,) = await replica.submit(facts.APP, number([resync]))
            assert isinstance(refusal, Rejection)
            assert "Resync adds one" in refusal.fact

    virtual.run(story())


@pytest.mark.parametrize("is_away", [True, False], ids=["a count fails", "two come at once"])
def test_nobody_is_let_in_before_the_store_was_asked(is_away: bool) -> None:
    """One who waits for the count, or met a store that was away, has not made it a moment old."""

    class Full(MemoryBackend):
        is_away = False

        async def scan_keys(self, *asked: Any, **named: Any) -> KeyPage:
            await asyncio.sleep(0.1)
            if self.is_away:
                raise Unavailable("a store", "it does not answer")
            return KeyPage(("one",), Revision(1), more=False)

    async def story() -> None:
        backend = Full()
        census = Census(backend, 1, virtual.clock())
        backend.is_away = is_away
        first = asyncio.ensure_future(census.let_in(facts.APP))
        await asyncio.sleep(0.05)
        if is_away:
            with pytest.raises(Unavailable):
                await first
            backend.is_away = False
        with pytest.raises(TooManyApplications):
            await census.let_in(ApplicationId("another"))
        if not is_away:
            with pytest.raises(TooManyApplications):
                await first

    virtual.run(story())


def test_the_store_holds_so_many_running_applications_and_an_ended_one_makes_room() -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=Limits(applications=2))) as world:
            replica = (await world.start(reap=False)).replica
            first, second, third = (ApplicationId(f"{facts.APP[:-1]}{n}") for n in range(3))
            for one in (first, second):
                await registered(replica, one)
            with pytest.raises(TooManyApplications, match="at most 2"):
                await registered(replica, third)
            await registered(replica, first)  # is known: nothing grows
            await replica.submit(second, [c.Request(facts.DRIVER, 0, c.EndApplication())])
            await asyncio.sleep(10)
            await registered(replica, third)

    virtual.run(story())
