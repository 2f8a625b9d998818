"""Sessions: who holds one, who is sent on, and what an outage or another session does to it.

Responsible for the life of a session on one replica and on several. Refuses to know which directives it carries.
Invariant: of two sessions of one application the newer one stays, and no driver is left where it cannot be served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core.commands import EndApplication, Fenced, ReportExecutorLost, ReportOutcome, Request
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Accepted
from coordinator.core.state import Directive
from coordinator.core.values import DirectiveKind
from coordinator.runtime.api import GoAway, Notice
from coordinator.runtime.errors import ApplicationOver, InDoubt, Unavailable
from coordinator.runtime.housekeeping import Housekeeper
from coordinator.runtime.replica import Replica
from state_backend.errors import OutcomeUnknown
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.testing.faults import AnswerLost, Fault, Refused
from state_backend.values import Compare, Keyspace, Operation, Page, Reading, Revision
from tests.simulation import facts, virtual
from tests.simulation.world import OPTIONS, World, registered
from tests.unit.runtime.listening import directive_of, next_of, silent


def test_an_application_whose_session_is_being_opened_is_not_forgotten() -> None:
    async def story() -> None:
        async with World() as world:
            first = (await world.start(reap=False)).replica
            number = await registered(first)
            running = await world.start(reap=False, idle_s=1.0)
            second, claim = running.replica, running.backend.put_txn
            await second.view(facts.APP)

            async def slow(compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
                await asyncio.sleep(1.5)
                return await claim(compares, operations)

            running.backend.put_txn = slow  # type: ignore[method-assign]
            session = await second.open_session(facts.APP, facts.DRIVER)
            await first.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE
            assert second.standing().sessions == 1
            await session.close()
            assert second.standing().sessions == 0

    virtual.run(story())


def test_a_session_is_not_sought_without_a_pause_where_the_store_never_says_what_came_of_it() -> None:
    """As on a disk whose quota is used up: SQLite fails at once, and a driver's process would do nothing else."""
    tries = 0

    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False, answer_within_s=10.0)
            await registered(running.replica)

            async def failing(compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
                nonlocal tries
                tries += 1
                await asyncio.sleep(0.001)
                raise OutcomeUnknown("a transaction", "disk I/O error")

            running.backend.put_txn = failing  # type: ignore[method-assign]
            with pytest.raises(InDoubt):
                await running.replica.open_session(facts.APP, facts.DRIVER)
            assert tries < 100

    virtual.run(story())


def test_a_session_tells_the_highest_number_that_was_answered_whatever_came_late() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            before = session.answered
            late = [Request(facts.DRIVER, before + ahead, ReportExecutorLost(str(ahead))) for ahead in (2, 4)]
            await replica.submit(facts.APP, late)
            assert session.answered == before + 4

    virtual.run(story())


def test_a_newer_session_sends_the_older_one_away() -> None:
    async def story() -> None:
        async with World() as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            await registered(one)
            old = await one.open_session(facts.APP, facts.DRIVER)
            new = await one.open_session(facts.APP, facts.DRIVER)
            assert isinstance(await next_of(old), GoAway)
            with pytest.raises(StopAsyncIteration):
                await old.__anext__()
            await two.open_session(facts.APP, facts.DRIVER)
            await asyncio.sleep(2)
            await new.heartbeat()
            assert isinstance(await next_of(new), GoAway)

    virtual.run(story())


def test_the_end_of_the_application_ends_its_session_and_lets_no_other_open() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            assert await replica.submit(facts.APP, number([EndApplication()])) == [Accepted()]
            assert isinstance(await next_of(session), GoAway)
            with pytest.raises(ApplicationOver):
                await replica.open_session(facts.APP, facts.DRIVER)

    virtual.run(story())


def test_a_stopping_replica_tells_its_sessions_where_else_to_go() -> None:
    async def story() -> None:
        async with World() as world:
            one = (await world.start(reap=False, address="one:1")).replica
            two = (await world.start(reap=False, address="two:2")).replica
            await registered(one)
            assert {peer.address for peer in await one.replicas()} == {"one:1", "two:2"}
            session = await one.open_session(facts.APP, facts.DRIVER)
            await one.stop()
            farewell = await next_of(session)
            assert isinstance(farewell, GoAway)
            assert farewell.elsewhere == ("two:2",)
            assert {peer.address for peer in await two.replicas()} == {"two:2"}

    virtual.run(story())


def test_drivers_are_sent_on_before_a_stopping_replica_waits_for_its_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """To give a lock back takes a while where the store is away."""

    async def story() -> None:
        async with World() as world:
            replica = (await world.start()).replica
            await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            answers, stop = asyncio.Event(), Housekeeper.stop

            async def late(house: Housekeeper) -> None:
                await answers.wait()
                await stop(house)

            monkeypatch.setattr(Housekeeper, "stop", late)
            stopping = asyncio.create_task(replica.stop())
            assert isinstance(await next_of(session), GoAway)
            answers.set()
            await stopping

    virtual.run(story())


@pytest.mark.parametrize("weather", [Refused(), AnswerLost()], ids=["refused", "outcomes unknown"])
def test_a_replica_that_cannot_reach_the_store_sends_quiet_drivers_on_before_others_take_them_for_dead(
    weather: Fault,
) -> None:
    async def story() -> None:
        async with World() as world:
            cut_off = await world.start(reap=False, address="one:1")
            await world.start(reap=True, address="two:2")
            await registered(cut_off.replica)
            await asyncio.sleep(1)
            session = await cut_off.replica.open_session(facts.APP, facts.DRIVER)
            cut_off.backend.weather = weather
            began_s = asyncio.get_running_loop().time()
            farewell = asyncio.create_task(next_of(session, OPTIONS.silence_s))
            while not farewell.done():
                await session.heartbeat()
                await asyncio.sleep(OPTIONS.heartbeat_s)
            told = await farewell
            assert isinstance(told, GoAway)
            assert told.elsewhere == ("two:2",)
            assert asyncio.get_running_loop().time() - began_s < OPTIONS.silence_s
            cut_off.backend.weather = None

    virtual.run(story())


def test_who_is_alone_keeps_its_drivers_through_an_outage() -> None:
    async def story() -> None:
        async with World() as world:
            alone = await world.start(reap=False)
            await registered(alone.replica)
            session = await alone.replica.open_session(facts.APP, facts.DRIVER)
            alone.backend.weather = Refused()
            for _ in range(2 * int(OPTIONS.silence_s)):
                await session.heartbeat()
                await asyncio.sleep(1)
            alone.backend.weather = None
            assert await silent(session, 5.0)

    virtual.run(story())


def test_one_registration_that_fails_takes_nothing_from_another_of_the_same_application() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            let_in, late = replica._census.let_in, asyncio.Event()

            async def full(application: ApplicationId) -> None:
                await late.wait()
                raise Unavailable(application, "it is to fail")

            replica._census.let_in = full  # type: ignore[method-assign]
            failing = asyncio.create_task(replica.register(facts.opening()[0]))
            await virtual.moment()
            replica._census.let_in = let_in  # type: ignore[method-assign]
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            late.set()
            with pytest.raises(Unavailable):
                await failing
            await replica.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE

    virtual.run(story())


def test_who_registers_beside_one_that_fails_is_not_sent_away() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            tries, let_in, go_on = iter("ab"), replica._census.let_in, asyncio.Event()

            async def first_fails(application: ApplicationId) -> None:
                if next(tries) == "a":
                    await virtual.moment()
                    raise Unavailable(application, "it is to fail")
                await go_on.wait()
                await let_in(application)

            replica._census.let_in = first_fails  # type: ignore[method-assign]
            both = [asyncio.create_task(replica.register(facts.opening()[0])) for _ in range(2)]
            with pytest.raises(Unavailable):
                await both[0]
            go_on.set()
            assert await both[1] == Accepted()

    virtual.run(story())


@pytest.mark.parametrize("ends", ["given up", "refused"])
def test_a_registration_that_comes_to_nothing_leaves_nothing_in_memory(ends: str) -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            running.backend.full = True
            registering = asyncio.create_task(running.replica.register(facts.opening()[0]))
            await virtual.moment()
            if ends == "given up":
                registering.cancel()
            await asyncio.wait((registering,))
            assert registering.cancelled() == (ends == "given up")
            assert registering.cancelled() or isinstance(registering.exception(), Unavailable)
            assert list(running.replica._engines) == []

    virtual.run(story())


def test_18_a_suspension_is_told_to_the_driver() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            for job in range(12):
                await replica.submit(facts.APP, number(facts.whole(job)))
                fence = await next_of(session)
                if isinstance(fence, Notice):
                    assert "is suspended: premature deletions passed the budget" in fence.text
                    assert f"`shufflectl resume {facts.APP}`" in fence.text
                    return
                assert isinstance(fence, Directive)
                assert session.newest(fence.app_shuffle) == fence.shuffle_id
                await replica.submit(facts.APP, number([ReportOutcome(fence.directive, Fenced(1))]))
                await next_of(session)
                await replica.submit(facts.APP, number(facts.comes_back(job)))
            pytest.fail("every shuffle was missed and nobody was told")

    virtual.run(story())


def test_an_outage_ends_and_the_session_goes_on() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            session = await running.replica.open_session(facts.APP, facts.DRIVER)
            running.backend.weather = Refused()
            await session.heartbeat()
            await asyncio.sleep(30)
            running.backend.weather = None
            await running.replica.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE

    virtual.run(story())


class Counted(MemoryBackend):
    """Notes what it is asked."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.asked: list[str] = []

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        self.asked.append(f"get {keyspace.value}")
        return await super().get(keyspace, key)

    async def scan(self, keyspace: Keyspace, *more: Any, **named: Any) -> Page:
        self.asked.append(f"scan {keyspace.value}")
        return await super().scan(keyspace, *more, **named)

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        self.asked.append("write")
        return await super().put_txn(compares, operations)


def test_a_driver_that_comes_from_another_replica_waits_for_few_calls_of_the_store() -> None:
    """What its Hello asks for, in this order; each call is a round trip that the driver waits for."""

    async def story() -> None:
        async with World() as world:
            number = await registered(first := (await world.start(reap=False)).replica)
            await first.submit(facts.APP, number(facts.whole(0)))
            store = Counted(world.store)
            async with Replica(store, replace(OPTIONS, replica="second", reap=False), virtual.clock()) as second:
                await asyncio.sleep(1)
                store.asked.clear()
                await second.registration(facts.APP)
                assert await second.register(facts.opening()[0]) == Accepted()
                await second.open_session(facts.APP, facts.DRIVER)
                assert store.asked == ["get heads", "scan events", "get heads", "get sessions", "write"]

    virtual.run(story())
