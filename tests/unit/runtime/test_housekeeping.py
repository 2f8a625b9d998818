"""The reaper: a driver that is gone is noticed, and an outage of the store is not a driver that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core import events as e
from coordinator.core.commands import EndApplication, ReportStageSubmitted
from coordinator.core.ids import ApplicationId, AppShuffle
from coordinator.core.values import Deletion, Ending
from coordinator.runtime import places
from coordinator.runtime.housekeeping import LOCK, Chore, Housekeeper, entries
from coordinator.runtime.reaping import Reaper
from coordinator.runtime.replica import Replica
from state_backend.api import Lock
from state_backend.errors import Corrupt
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.testing.faults import Refused
from state_backend.values import Compare, Keyspace, Page, Put, RevisionIs
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered
from tests.support.damaged import Damaged


async def ending_of(replica: Replica) -> Ending | None:
    return (await replica.view(facts.APP)).meta.ending


def test_20_the_application_of_a_driver_that_is_gone_is_closed_to_the_last_record() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start()).replica
            number = await registered(replica)
            writers = [ReportStageSubmitted(facts.attempt(n), writes=AppShuffle(n), tasks=1) for n in range(100)]
            await replica.submit(facts.APP, number(writers))
            session = await replica.open_session(facts.APP, facts.DRIVER)
            await session.close()
            await asyncio.sleep(60)
            state = await replica.view(facts.APP)
            assert state.meta.ending is Ending.LOST
            assert not state.generations
            told = [recorded.event for recorded in await replica.events(facts.APP, 0, 9_999)]
            causes = [event.cause for event in told if isinstance(event, e.GenerationDeleted)]
            assert causes == [Deletion.APPLICATION_LOST] * 100
            key = places.of_application(facts.APP)
            assert (await world.reader().get(Keyspace.SESSIONS, key)).entry is None
            assert [record.ending for record in await replica.applications()] == [Ending.LOST]
            assert await replica.applications(running_only=True) == []
            assert await checks.wrongs(world.reader(), facts.APP, {}) == []

    virtual.run(story())


def test_a_driver_that_gives_signs_of_life_is_left_alone() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start()).replica
            await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            for _ in range(100):
                await session.heartbeat()
                await asyncio.sleep(10)
            assert await ending_of(replica) is None
            await asyncio.sleep(60)
            assert await ending_of(replica) is Ending.LOST

    virtual.run(story())


def test_a_sign_of_life_that_comes_a_moment_early_is_written() -> None:
    """They travel, so that their distances differ a little; without this there would be every second one."""

    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            key = places.of_application(facts.APP)
            written = set()
            for _ in range(10):
                await asyncio.sleep(0.98 * OPTIONS.heartbeat_s)
                await session.heartbeat()
                await asyncio.sleep(0)
                entry = (await world.reader().get(Keyspace.SESSIONS, key)).entry
                assert entry is not None
                written.add(entry.revision)
            assert len(written) == 10

    virtual.run(story())


def test_requests_are_signs_of_life_too() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start()).replica
            number = await registered(replica)
            for job in range(30):
                await replica.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(10)
            assert await ending_of(replica) is None

    virtual.run(story())


def test_41a_an_hour_without_the_store_reaps_nobody() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start()
            await registered(running.replica)
            session = await running.replica.open_session(facts.APP, facts.DRIVER)
            await asyncio.sleep(20)
            running.backend.weather = Refused()
            for _ in range(360):
                await session.heartbeat()
                await asyncio.sleep(10)
            running.backend.weather = None
            await asyncio.sleep(25)
            assert await ending_of(running.replica) is None, "a full time-out counts from the store's return"
            await session.heartbeat()
            await asyncio.sleep(20)
            assert await ending_of(running.replica) is None

    virtual.run(story())


def test_41a_a_time_in_which_nothing_can_be_written_is_no_silence() -> None:
    """The store can be read all the time, and is there again just before somebody looks."""

    async def story() -> None:
        async with World() as world:
            running = await world.start()
            await registered(running.replica)
            session = await running.replica.open_session(facts.APP, facts.DRIVER)
            await asyncio.sleep(1)
            running.backend.full = True
            for _ in range(33):
                await session.heartbeat()
                await asyncio.sleep(1)
            await asyncio.sleep(0.9)
            running.backend.full = False
            await asyncio.sleep(25)
            assert await ending_of(running.replica) is None, "a full time-out counts from the store's return"
            await session.heartbeat()
            await asyncio.sleep(20)
            assert await ending_of(running.replica) is None

    virtual.run(story())


def test_the_count_begins_anew_with_a_new_keeper_of_the_house() -> None:
    async def story() -> None:
        async with World() as world:
            one = await world.start()
            two = await world.start()
            await registered(two.replica)
            await asyncio.sleep(25)
            await one.kill()
            await asyncio.sleep(25)
            assert await ending_of(two.replica) is None
            await asyncio.sleep(30)
            assert await ending_of(two.replica) is Ending.LOST

    virtual.run(story())


def test_a_sign_of_life_in_the_last_moment_saves_the_application() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            key = places.of_application(facts.APP)
            entry = (await world.reader().get(Keyspace.SESSIONS, key)).entry
            assert entry is not None
            await world.reader().put(Keyspace.SESSIONS, key, entry.value)
            counted = RevisionIs(Keyspace.SESSIONS, key, entry.revision)
            assert not await replica._end(facts.APP, Ending.LOST, (counted,))
            assert await ending_of(replica) is None

    virtual.run(story())


def test_a_driver_that_comes_back_after_it_was_reaped_finds_out() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start()).replica
            await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            await asyncio.sleep(90)
            farewell = await session.__anext__()
            assert "lost" in str(farewell)
            await session.heartbeat()
            await asyncio.sleep(1)
            key = places.of_application(facts.APP)
            assert (await world.reader().get(Keyspace.SESSIONS, key)).entry is None

    virtual.run(story())


def test_a_sweep_that_a_dead_replica_left_is_finished_by_another() -> None:
    async def story() -> None:
        async with World(seed=1) as world:
            one = await world.start(reap=False)
            number = await registered(one.replica)
            writers = [ReportStageSubmitted(facts.attempt(n), writes=AppShuffle(n), tasks=1) for n in range(200)]
            await one.replica.submit(facts.APP, number(writers))
            await one.replica.submit(facts.APP, number([EndApplication()]))
            await one.kill()
            store = world.reader()
            assert (await store.scan(Keyspace.LIVE)).entries, "the story needs something that is left over"
            two = (await world.start()).replica
            await asyncio.sleep(60)
            assert not (await two.view(facts.APP)).generations
            assert not (await store.scan(Keyspace.LIVE)).entries

    virtual.run(story())


# --- what fails is its own concern ------------------------------------------------------------------------------------


class Noted(Chore):
    """Fails as often as it was told to, and notes what is asked of it."""

    every_s = 1.0

    def __init__(self, failing: int = 0) -> None:
        self.noted: list[str] = []
        self._failing = failing

    def begin(self) -> None:
        self.noted.append("begin")

    async def run(self, lock: Lock) -> None:
        self.noted.append("look")
        if self._failing:
            self._failing -= 1
            raise Corrupt("a store", "a record fails its checksum")


def test_a_chore_that_fails_begins_anew_and_the_others_go_on_under_the_same_lock() -> None:
    async def story() -> None:
        sound, broken = Noted(), Noted(failing=2)
        async with MemoryBackend() as backend:
            keeper = Housekeeper(backend, [broken, sound], OPTIONS, virtual.clock())
            keeper.start()
            await asyncio.sleep(3.5)
            await keeper.stop()
        assert sound.noted == ["begin", *["look"] * 4]
        assert broken.noted == ["begin", "look", "begin", "look", "begin", "look", "look"]

    virtual.run(story())


@pytest.mark.parametrize("rounds", range(6))
def test_it_stops_although_the_lock_is_lost_in_that_very_moment(rounds: int) -> None:
    class Holding(Noted):
        async def run(self, lock: Lock) -> None:
            self.lease = lock.lease

    async def story() -> None:
        chore = Holding()
        async with MemoryBackend() as backend:
            keeper = Housekeeper(backend, [chore], OPTIONS, virtual.clock())
            keeper.start()
            await asyncio.sleep(0.1)
            losing = asyncio.create_task(chore.lease.abandon("the store was away"))
            for _ in range(rounds):
                await asyncio.sleep(0)
            await asyncio.wait_for(keeper.stop(), 4)
            await losing

    virtual.run(story())


def test_a_lock_that_was_taken_away_is_sought_ever_more_slowly_as_long_as_no_look_succeeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def pause_s(failures: int) -> float:
        asked.append(failures)
        return 0.1

    monkeypatch.setattr("coordinator.runtime.housekeeping.back_off_s", pause_s)

    class Robbed(Noted):
        async def run(self, lock: Lock) -> None:
            await backend.delete(Keyspace.LOCKS, f"{Keyspace.SESSIONS.value}/{LOCK}")
            await backend.put_txn((lock.guard,), (Put(Keyspace.AUDIT, "something", b""),))

    backend = MemoryBackend()

    async def story() -> None:
        keeper = Housekeeper(backend, [Robbed()], OPTIONS, virtual.clock())
        keeper.start()
        await asyncio.sleep(1)
        await keeper.stop()
        assert asked[:4] == [1, 2, 3, 4]

    virtual.run(story())


@pytest.mark.parametrize("error", [Corrupt("a store", "a record fails its checksum"), KeyError("a defect")])
def test_an_application_that_cannot_be_ended_keeps_no_other_from_being_reaped(error: Exception) -> None:
    async def story() -> None:
        ended: list[ApplicationId] = []

        async def end(application: ApplicationId, ending: Ending, compares: Sequence[Compare]) -> bool:
            if application == "a":
                raise error
            ended.append(application)
            return True

        async with MemoryBackend() as backend:
            for application in "ab":
                await backend.put(Keyspace.SESSIONS, places.of_application(ApplicationId(application)), b"")
            reaper = Reaper(backend, end, replace(OPTIONS, silence_s=3.0), virtual.clock())
            async with backend.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                await reaper.run(lock)
                await asyncio.sleep(3)
                await reaper.run(lock)
        assert ended == ["b"]

    virtual.run(story())


def test_a_damaged_key_keeps_no_other_application_from_being_reaped() -> None:
    async def story() -> None:
        ended: list[ApplicationId] = []

        async def end(application: ApplicationId, ending: Ending, compares: Sequence[Compare]) -> bool:
            ended.append(application)
            return True

        async with MemoryBackend() as backend:
            for key in ("%ff", "b"):
                await backend.put(Keyspace.SESSIONS, key, b"")
            reaper = Reaper(backend, end, replace(OPTIONS, silence_s=3.0), virtual.clock())
            async with backend.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                await reaper.run(lock)
                await asyncio.sleep(3)
                await reaper.run(lock)
        assert ended == ["b"]

    virtual.run(story())


def test_a_slow_store_takes_nothing_from_a_driver_s_time() -> None:
    """A sign of life that was given while they were read counts from then on, in full."""

    class Slow(MemoryBackend):
        seconds = 20.0

        async def scan(self, keyspace: Keyspace, *more: Any, **named: Any) -> Page:
            await asyncio.sleep(self.seconds)
            return await super().scan(keyspace, *more, **named)

    async def story() -> None:
        ended: list[ApplicationId] = []

        async def end(application: ApplicationId, ending: Ending, compares: Sequence[Compare]) -> bool:
            ended.append(application)
            return True

        backend = Slow(MemoryStore())
        await backend.put(Keyspace.SESSIONS, "a", b"")
        reaper = Reaper(backend, end, replace(OPTIONS, silence_s=30.0), virtual.clock())
        async with backend.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
            await reaper.run(lock)
            backend.seconds = 0.0
            await asyncio.sleep(29)
            await reaper.run(lock)
            assert ended == []
            await asyncio.sleep(1)
            backend.seconds = 20.0
            await reaper.run(lock)
        assert ended == ["a"]

    virtual.run(story())


def test_a_damaged_record_keeps_no_other_application_from_being_reaped_and_listed() -> None:
    async def story() -> None:
        damaged, whole = ApplicationId("a"), ApplicationId("b")
        async with World() as world:
            teller = (await world.start(reap=False)).replica
            for application in (damaged, whole):
                await registered(teller, application)
            store = Damaged(world.store, f"sessions/{damaged}")
            async with Replica(store, replace(OPTIONS, silence_s=3.0), virtual.clock()) as replica:
                await asyncio.sleep(6)
                assert (await teller.view(whole)).meta.ending is Ending.LOST
                assert (await teller.view(damaged)).meta.ending is Ending.LOST, "it is as silent as any other"
                assert [peer.replica for peer in await replica.roll_call()]
                store.damaged = f"applications/{damaged}"
                assert [record.application for record in await replica.applications()] == [whole]

    virtual.run(story())


def test_what_is_looked_through_may_take_longer_than_the_store_keeps_its_history() -> None:
    async def story() -> None:
        store = MemoryStore()
        backend = MemoryBackend(store)
        for number in range(1_001):
            await backend.put(Keyspace.HEADS, f"{number:04}", b"")
        seen = []
        async for entry in entries(backend, Keyspace.HEADS):
            seen.append(entry.key)
            store.compact(await backend.put(Keyspace.AUDIT, "meanwhile", b""))
        assert seen == [f"{number:04}" for number in range(1_001)]

    virtual.run(story())
