"""Applications that are over leave the store, and can be read for ever.

Responsible for what is taken out, and for what keeps an application in. Refuses to know live ones. Invariant: what has
left has left no key, and its log is in the archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from coordinator.archive.folder import Folder
from coordinator.core.commands import EndApplication
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Capabilities, Driver, Ending, Policy, Settings
from coordinator.runtime import places
from coordinator.runtime.archiving import Application, Archiver
from coordinator.runtime.errors import ApplicationOver, DamagedLog, UnknownApplication
from coordinator.runtime.housekeeping import LOCK
from coordinator.runtime.retention import Retention, take_out
from coordinator.wire.records import ApplicationRecord, encode
from state_backend.api import Lock, StateBackend
from state_backend.errors import Unavailable
from state_backend.memory import MemoryBackend
from state_backend.testing.faults import Faults, FaultyBackend
from state_backend.values import Delete, KeyPage, Keyspace, Put, Reading
from tests.simulation import facts, virtual
from tests.simulation.world import World, registered
from tests.unit.runtime.archiving.archived import JOBS, OFTEN, assert_whole, opened, replica, told, verdict

ENDED = ApplicationRecord(facts.APP, Driver(), Capabilities(), Policy(), Settings(), ended_ms=1, ending=Ending.ENDED)


def test_an_application_that_ended_leaves_the_store_and_can_be_read_for_ever(tmp_path: Path) -> None:
    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world:
            log = await told(world, end=True)
            async with replica(world, archive, replica="keeper", reap=True, retention_s=3600) as keeper:
                await keeper.view(facts.APP)
                await asyncio.sleep(1_800)
                assert (await keeper.applications())[0].application == facts.APP
                await asyncio.sleep(2_000)
                assert await keeper.applications() == []
                assert await keeper.events(facts.APP, 0, 100_000) == log
                assert (await keeper.registration(facts.APP)).driver.name == "story"
                with pytest.raises(UnknownApplication):
                    await keeper.view(facts.APP)
                with pytest.raises(ApplicationOver, match="its log is in the archive"):
                    await keeper.register(facts.opening()[0])
            left = {key: (await world.reader().scan_keys(key)).keys for key in Keyspace}
            assert {keyspace for keyspace, keys in left.items() if keys} == set()
            found = await verdict(world, archive)
            assert (found.problems, found.events) == ((), len(log))

    virtual.run(story())


def test_that_an_application_has_left_is_no_error_of_a_replica_that_knew_it(tmp_path: Path) -> None:
    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world:
            await told(world, end=True)
            async with (
                replica(world, archive, replica="keeper", reap=True, retention_s=3600),
                replica(world, archive, replica="other", reap=False) as other,
            ):
                await other.view(facts.APP)
                await asyncio.sleep(4_000)
                with pytest.raises(UnknownApplication):
                    await other.view(facts.APP)

    with capture_logs() as said:
        virtual.run(story())
    assert [line for line in said if line["log_level"] in ("warning", "error")] == []
    assert "application left the store" in {line["event"] for line in said}


class TakenOut(MemoryBackend):
    """Somebody takes the application out of the store before the next look at a head."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        if keyspace is Keyspace.HEADS and self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return await super().get(keyspace, key)


def test_what_leaves_the_store_while_it_is_archived_leaves_nothing_there(tmp_path: Path) -> None:
    """Both chores run under one lock; a head written by the one after the other would be of a log that is gone."""

    async def story() -> None:
        async with World() as world:
            log = await told(world, end=True)
            store, archive = TakenOut(world.store), Folder(tmp_path)

            class Watched(Folder):
                def write(self, name: str, content: bytes) -> None:
                    super().write(name, content)
                    store.meanwhile = self.once

                async def once(self) -> None:
                    if not self.done:
                        self.done = True
                        reader = world.reader()
                        assert await take_out(reader, lock, opened(reader, archive))

                done = False

            watched = Watched(tmp_path)
            async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                await Archiver(store, lambda _: opened(store, watched), OFTEN).run(lock)
                assert watched.done
                assert [key for one in Keyspace for key in await _keys(world, one) if one is not Keyspace.LOCKS] == []
            await assert_whole(world, archive, log)

    virtual.run(story())


async def _keys(world: World, keyspace: Keyspace) -> Sequence[str]:
    return (await world.reader().scan_keys(keyspace)).keys


def test_a_replica_that_still_has_it_in_memory_does_not_keep_it_in_the_store(tmp_path: Path) -> None:
    """It hears that the head names no snapshot any more, and would write a new one."""

    async def story() -> None:
        archive, other_app = Folder(tmp_path), ApplicationId("other")
        async with World() as world:
            await told(world, end=True)
            async with (
                replica(world, archive, replica="keeper", reap=True, retention_s=3600),
                replica(world, archive, replica="other", idle_s=1e6) as other,
            ):
                await registered(other, other_app)
                await other.open_session(other_app, facts.DRIVER)  # and it follows all heads
                await other.view(facts.APP)
                await asyncio.sleep(3_600 + 2 * OFTEN.archive_every_s)
                kept_keys = [key for one in Keyspace for key in await _keys(world, one) if facts.APP in key]
                assert kept_keys == []

    virtual.run(story())


def test_several_leave_at_the_same_time_and_all_come_to_an_end_where_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other took four seconds each on a busy machine: more came than went."""
    begun: list[str] = []
    ended: list[str] = []

    async def leave(_: StateBackend, __: Lock, application: Application) -> bool:
        begun.append(application.name)
        if len(begun) == 3:
            raise Unavailable("the store", "it is to fail")
        await asyncio.sleep(1)
        ended.append(application.name)
        return True

    async def story() -> None:
        async with World() as world:
            store = world.reader()
            for number in range(20):
                record = encode(replace(ENDED, application=ApplicationId(f"app-{number:02}")))
                await store.put(Keyspace.APPLICATIONS, places.of_application(ApplicationId(f"app-{number:02}")), record)
            async with store.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                often = replace(OFTEN, retention_s=1)
                retention = Retention(store, lambda name: opened(store, Folder(tmp_path), name), often, virtual.clock())
                await asyncio.sleep(10)
                with pytest.raises(Unavailable):
                    await retention.run(lock)
                assert (len(begun), len(ended)) == (8, 7)
                before_s = asyncio.get_running_loop().time()
                await retention.run(lock)
                assert (len(ended), asyncio.get_running_loop().time() - before_s) == (27, 3)

    monkeypatch.setattr("coordinator.runtime.retention.take_out", leave)
    virtual.run(story())


def test_a_damaged_key_keeps_no_other_application_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[str] = []

    async def leave(_: StateBackend, __: Lock, application: Application) -> bool:
        left.append(application.name)
        return True

    async def story() -> None:
        async with World() as world:
            store = world.reader()
            for key in ("%ff", "b"):
                await store.put(Keyspace.APPLICATIONS, key, encode(ENDED))
            async with store.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                once = replace(OFTEN, retention_s=1)
                retention = Retention(store, lambda name: opened(store, Folder(tmp_path), name), once, virtual.clock())
                await asyncio.sleep(10)
                await retention.run(lock)
        assert left == ["b"]

    monkeypatch.setattr("coordinator.runtime.retention.take_out", leave)
    virtual.run(story())


def test_what_ended_while_a_clock_was_a_year_ahead_does_not_stay_for_a_year(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[str] = []

    async def leave(_: StateBackend, __: Lock, application: Application) -> bool:
        left.append(application.name)
        return True

    async def story() -> None:
        async with World() as world:
            store, clock = world.reader(), virtual.clock()
            ended = replace(ENDED, ended_ms=clock.wall_ms() + 365 * 86_400_000)
            await store.put(Keyspace.APPLICATIONS, places.of_application(facts.APP), encode(ended))
            async with store.lock(Keyspace.SESSIONS, LOCK, 600) as lock:
                retention = Retention(
                    store, lambda _: opened(store, Folder(tmp_path)), replace(OFTEN, retention_s=100), clock
                )
                for seconds in (0, 50, 49):
                    await asyncio.sleep(seconds)
                    await retention.run(lock)
                assert left == []
                await asyncio.sleep(1)
                await retention.run(lock)
        assert left == [facts.APP]

    monkeypatch.setattr("coordinator.runtime.retention.take_out", leave)
    virtual.run(story())


def test_an_application_that_runs_or_is_swept_stays(tmp_path: Path) -> None:
    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world:
            await told(world)
            async with replica(world, archive, replica="keeper", reap=False) as keeper:
                store = world.reader()
                async with store.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                    retention = Retention(
                        store, lambda _: opened(store, archive), replace(OFTEN, retention_s=1), virtual.clock()
                    )
                    await asyncio.sleep(3_600)
                    await retention.run(lock)
                    assert not await take_out(store, lock, opened(store, archive)), "its driver gives signs of life"
                assert len(await keeper.applications(running_only=True)) == 1

    virtual.run(story())


class AskedMeanwhile(MemoryBackend):
    """Somebody asks once more when all is in the archive, before the first keys are looked for."""

    asks: Callable[[], Awaitable[object]]
    asked = False

    async def scan_keys(self, keyspace: Keyspace, *where: Any, **more: Any) -> KeyPage:
        if keyspace is Keyspace.SNAPSHOTS and not self.asked:
            self.asked = True
            await self.asks()
        return await super().scan_keys(keyspace, *where, **more)


def test_what_is_appended_behind_the_archive_is_not_deleted_with_what_is_in_it(tmp_path: Path) -> None:
    """A refusal is an event too: its segment went, and the log ended before its head for ever."""

    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world, replica(world, archive, replica="teller") as teller:
            number = await registered(teller)
            for job in range(JOBS):
                await teller.submit(facts.APP, number(facts.whole(job)))
            await teller.submit(facts.APP, number([EndApplication()]))
            store = AskedMeanwhile(world.store)
            store.asks = lambda: teller.submit(facts.APP, number([facts.asks(0)]))
            async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                assert not await take_out(store, lock, opened(store, archive))
                assert store.asked
                log = await teller.events(facts.APP, 0, 100_000)
                await assert_whole(world, archive, log)
                assert await take_out(store, lock, opened(store, archive))
            await assert_whole(world, archive, log)

    virtual.run(story())


class AskedBetween(MemoryBackend):
    """Somebody asks once more before so many more looks at the head were made."""

    asks: Callable[[], Awaitable[object]]
    left: int

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        if keyspace is Keyspace.HEADS:
            self.left -= 1
            if self.left == -1:
                await self.asks()
        return await super().get(keyspace, key)


def test_what_is_appended_while_it_is_archived_is_archived_too(tmp_path: Path) -> None:
    """Writing to the archive takes a while: what came then was called archived, and went with the rest."""

    async def story(looks: int) -> bool:
        archive = Folder(tmp_path / f"{looks}")
        async with World() as world, replica(world, archive, replica="teller") as teller:
            number = await registered(teller)
            for job in range(JOBS):
                await teller.submit(facts.APP, number(facts.whole(job)))
            await teller.submit(facts.APP, number([EndApplication()]))
            store = AskedBetween(world.store)
            store.left = looks
            store.asks = lambda: teller.submit(facts.APP, number([facts.asks(0)]))
            async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                await take_out(store, lock, opened(store, archive))
                log = await teller.events(facts.APP, 0, 100_000)
                await assert_whole(world, archive, log)
                await take_out(locks, lock, opened(locks, archive))
            await assert_whole(world, archive, log)
            return store.left < 0

    looks = 0
    while virtual.run(story(looks)):
        looks += 1
    assert looks > 5


def test_a_log_that_misses_its_end_stays(tmp_path: Path) -> None:
    """What is not there cannot be archived: the head that still names it is all that is known of it."""

    async def story() -> None:
        async with World() as world:
            await told(world, end=True)
            async with world.reader() as store, store.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                last = (await store.scan_keys(Keyspace.EVENTS)).keys[-1]
                await store.delete(Keyspace.EVENTS, last)
                with pytest.raises(DamagedLog, match="its segments end before event"):
                    await take_out(store, lock, opened(store, Folder(tmp_path)))
                assert await _keys(world, Keyspace.HEADS)

    virtual.run(story())


def test_what_is_written_meanwhile_keeps_it_in_the_store(tmp_path: Path) -> None:
    """Between the archive's last record and the last transaction somebody asks once more."""

    class Written(FaultyBackend):
        async def put_txn(self, compares: Any, operations: Any) -> Any:
            last = any(isinstance(one, Delete) and one.keyspace is Keyspace.HEADS for one in operations)
            if last and not self.done:
                self.done = True
                entry = (await self.inner.get(Keyspace.HEADS, places.of_application(facts.APP))).entry
                assert entry is not None
                await self.inner.put_txn((), (Put(Keyspace.HEADS, entry.key, entry.value),))
            return await super().put_txn(compares, operations)

        done = False

    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world:
            log = await told(world, end=True)
            store = Written(world.reader(), Faults())
            async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                assert not await take_out(store, lock, opened(store, archive))
                await assert_whole(world, archive, log)
                assert await take_out(store, lock, opened(store, archive))
            await assert_whole(world, archive, log)

    virtual.run(story())
