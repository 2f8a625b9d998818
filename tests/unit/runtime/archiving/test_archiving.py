"""Logs move to the archive: what leaves the store, when, and by whose hand.

Responsible for an archiver that nothing disturbs, and for whom it may not disturb. Refuses to know faults. Invariant:
store and archive read as one log.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from coordinator.archive.api import ArchiveAway
from coordinator.archive.folder import Folder
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.runtime import archiving, places
from coordinator.runtime.archiving import Application, Archiver
from coordinator.runtime.housekeeping import LOCK
from coordinator.runtime.replica import Replica
from coordinator.runtime.verifying import _Verifier
from coordinator.wire.records import Head
from state_backend.api import StateBackend
from state_backend.errors import Conflict, Corrupt
from state_backend.memory import MemoryBackend
from state_backend.values import Keyspace, Page, Reading
from tests.simulation import checks, facts, virtual
from tests.simulation.world import World, registered
from tests.unit.runtime.archiving.archived import JOBS, OFTEN, assert_whole, head, kept, look, opened, replica, told


def test_42_segments_below_the_last_snapshot_but_one_leave_the_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            log = await told(world)
            await look(world, Folder(tmp_path))
            now = await head(world)
            assert now.archived_below == now.previous_snapshot + 1 > 1
            left = (await world.reader().scan_keys(Keyspace.EVENTS)).keys
            assert places.first_sequence_of(left[0]) == now.archived_below
            files = [path.name for path in kept(tmp_path)]
            assert len([name for name in files if name.startswith("events-")]) > 2
            assert [name for name in files if name.startswith("snapshot-")] == [
                f"snapshot-{now.previous_snapshot:020d}.parts"
            ]
            await assert_whole(world, Folder(tmp_path), log)

    virtual.run(story())


def test_a_damaged_key_stays_and_keeps_nothing_else_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            await told(world)
            damaged = f"{places.within_application(facts.APP)}-damaged"
            store = world.reader()
            for keyspace in (Keyspace.EVENTS, Keyspace.SNAPSHOTS):
                await store.put(keyspace, damaged, b"x")
            no_part = f"{places.snapshot(facts.APP, 1)}x"
            await store.put(Keyspace.SNAPSHOTS, no_part, b"x")
            await look(world, Folder(tmp_path))
            now = await head(world)
            await opened(store, None).snapshots.prune(now)
            events = (await store.scan_keys(Keyspace.EVENTS)).keys
            assert (events[0], places.first_sequence_of(events[1])) == (damaged, now.archived_below)
            snapshots = (await store.scan_keys(Keyspace.SNAPSHOTS)).keys
            assert snapshots[:2] == (damaged, no_part)
            left = {places.snapshot_of(key) for key in snapshots[2:]}
            assert left == {now.previous_snapshot, now.last_snapshot}

    virtual.run(story())


def test_a_second_look_finds_nothing_to_do(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            await told(world)
            await look(world, Folder(tmp_path))
            before = {path: path.stat().st_mtime_ns for path in kept(tmp_path)}
            revision = (await world.reader().scan_keys(Keyspace.EVENTS)).keys
            await look(world, Folder(tmp_path))
            assert {path: path.stat().st_mtime_ns for path in kept(tmp_path)} == before
            assert (await world.reader().scan_keys(Keyspace.EVENTS)).keys == revision

    virtual.run(story())


def test_what_an_archive_that_failed_left_in_the_store_goes_with_the_next_look(tmp_path: Path) -> None:
    """An application that is quiet makes no further snapshot: its segments stayed as long as one held the lock."""

    class NoSnapshots(Folder):
        def write(self, name: str, content: bytes) -> None:
            if self.fails and "snapshot-" in name:
                raise ArchiveAway(self.where, "it is to fail")
            super().write(name, content)

        fails = False

    async def story() -> None:
        archive = NoSnapshots(tmp_path)
        async with World() as world, replica(world, archive, replica="teller") as teller:
            number, store = await registered(teller), world.reader()
            async with store.lock(Keyspace.SESSIONS, LOCK, 600) as lock:
                archiver = Archiver(store, lambda _: opened(store, archive), OFTEN)
                for fails in (False, True, False):
                    for job in range(0 if archive.fails else JOBS):
                        await teller.submit(facts.APP, number(facts.whole(job)))
                    await asyncio.sleep(1)
                    archive.fails = fails
                    await archiver.run(lock)
            left = (await store.scan_keys(Keyspace.EVENTS)).keys
            assert places.first_sequence_of(left[0]) == (await head(world)).archived_below

    virtual.run(story())


def test_nothing_is_added_to_a_place_that_misses_what_was_archived(tmp_path: Path) -> None:
    """The folder above which a disk is to be mounted: what is written there is hidden later, and has left the store."""

    async def story() -> None:
        disk, bare = Folder(tmp_path / "disk"), Folder(tmp_path / "bare")
        async with World() as world, replica(world, disk, replica="teller") as teller:
            number, store = await registered(teller), world.reader()
            async with store.lock(Keyspace.SESSIONS, LOCK, 600) as lock:
                for archive, moves in ((disk, True), (bare, False), (disk, True)):
                    before = (await head(world)).archived_below
                    for job in range(JOBS):
                        await teller.submit(facts.APP, number(facts.whole(job)))
                    await asyncio.sleep(1)
                    with capture_logs() as said:
                        await Archiver(store, lambda _, at=archive: opened(store, at), OFTEN).run(lock)  # type: ignore[misc]
                    assert ((await head(world)).archived_below > before) is moves
                    failed = [line["error"] for line in said if line["event"] == "not archived"]
                    assert [f"event {before - 1}" in error for error in failed] == [True] * (not moves)
            log = await teller.events(facts.APP, 0, 100_000)
            assert kept(tmp_path / "bare") == []
            await assert_whole(world, disk, log)

    virtual.run(story())


def test_who_has_lost_the_lock_changes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            log = await told(world)
            store = world.reader()
            async with store.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                await store.delete(Keyspace.LOCKS, f"{Keyspace.SESSIONS.value}/{LOCK}")
                before = await head(world)
                with pytest.raises(Conflict):
                    await Archiver(store, lambda _: opened(store, Folder(tmp_path)), OFTEN).run(lock)
                with pytest.raises(Conflict):
                    await archiving.sweep(store, lock, _archived_to(store, tmp_path, before))
            assert await head(world) == before
            await assert_whole(world, Folder(tmp_path), log)

    virtual.run(story())


def _archived_to(store: StateBackend, tmp_path: Path, before: Head) -> Application:
    """The head says more than it does, so that there is something to delete."""
    application = opened(store, Folder(tmp_path))
    plain = application.journal.mark

    async def ahead() -> Any:
        mark, at = await plain()
        return replace(mark, head=replace(before, archived_below=before.previous_snapshot)), at

    application.journal.mark = ahead  # type: ignore[method-assign]
    return application


def test_a_replica_archives_what_it_hears_and_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world:
            async with replica(world, archive, replica="keeper", reap=True) as keeper:
                number = await registered(keeper)
                follower = asyncio.create_task(_follow(keeper, 400))
                for job in range(60):
                    await keeper.submit(facts.APP, number(facts.whole(job)))
                    await asyncio.sleep(1)
                followed = await follower
                whole = await keeper.events(facts.APP, 0, 100_000)
                assert [recorded.sequence for recorded in whole] == list(range(1, len(whole) + 1))
                assert followed == whole[: len(followed)]
            assert (await head(world)).archived_below > len(whole) // 2
            await assert_whole(world, archive, whole)
            segments = await checks.read_log(world.reader(), facts.APP)
            assert segments[0].first_sequence == (await head(world)).archived_below

    virtual.run(story())


class Damaged(MemoryBackend):
    """One application's segments cannot be read."""

    application = ""

    async def scan(self, keyspace: Keyspace, prefix: str = "", *more: Any, **named: Any) -> Page:
        if keyspace is Keyspace.EVENTS and prefix == places.within_application(ApplicationId(self.application)):
            raise Corrupt("a store", "a record fails its checksum")
        return await super().scan(keyspace, prefix, *more, **named)


def test_one_damaged_application_keeps_no_other_from_being_archived(tmp_path: Path) -> None:
    async def story() -> None:
        archive = Folder(tmp_path)
        damaged, whole = ApplicationId("a"), ApplicationId("b")
        async with World() as world:
            async with replica(world, None, replica="teller") as teller:
                for application in (damaged, whole):
                    number = await registered(teller, application)
                    for job in range(JOBS):
                        await teller.submit(application, number(facts.whole(job)))
                await asyncio.sleep(1)
            store = Damaged(world.store)
            store.application = damaged
            async with store.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                with capture_logs() as said:
                    await Archiver(store, lambda one: opened(store, archive, one), OFTEN).run(lock)
            failed = [line["error"] for line in said if line["event"] == "not archived"]
            assert [f"the log of application {damaged} cannot be read" in error for error in failed] == [True]
            assert {path.relative_to(tmp_path).parts[0] for path in kept(tmp_path)} == {whole}
            assert (await head(world, whole)).archived_below > 1

    virtual.run(story())


async def _follow(replica: Replica, count: int) -> list[Recorded]:
    found: list[Recorded] = []
    async for recorded in replica.follow(facts.APP, 0):
        found.append(recorded)
        if len(found) == count:
            break
    return found


def test_what_has_no_snapshot_is_looked_at_once(tmp_path: Path) -> None:
    class Counting(MemoryBackend):
        asked: list[Keyspace] = []  # noqa: RUF012 - one store, one test

        async def get(self, keyspace: Keyspace, key: str) -> Reading:
            self.asked.append(keyspace)
            return await super().get(keyspace, key)

        async def scan(self, keyspace: Keyspace, *more: Any, **others: Any) -> Page:
            self.asked.append(keyspace)
            return await super().scan(keyspace, *more, **others)

        async def scan_keys(self, keyspace: Keyspace, *more: Any, **others: Any) -> Any:
            self.asked.append(keyspace)
            return await super().scan_keys(keyspace, *more, **others)

    async def story() -> None:
        async with World() as world:
            async with replica(world, None, replica="teller") as teller:
                await registered(teller)
            store = Counting(world.store)
            archiver = Archiver(store, lambda _: opened(store, Folder(tmp_path)), OFTEN)
            async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
                await archiver.run(lock)
                assert set(store.asked) != {Keyspace.HEADS}
                store.asked.clear()
                await archiver.run(lock)
                assert store.asked == [Keyspace.HEADS]
            assert kept(tmp_path) == []

    virtual.run(story())


def test_a_snapshot_that_is_archived_while_a_log_is_proven_is_no_problem(tmp_path: Path) -> None:
    """It is of an event behind the end of what is proven."""

    async def story() -> None:
        async with World() as world:
            async with replica(world, None, replica="teller") as teller:
                number = await registered(teller)
                for job in range(JOBS):
                    await teller.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(1)
                await look(world, Folder(tmp_path))
                application = opened(world.reader(), Folder(tmp_path))
                mark, at = await application.journal.mark()
                for job in range(JOBS, 2 * JOBS):
                    await teller.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(1)
            await look(world, Folder(tmp_path))
            newest = await application.shelf.snapshot()
            assert newest is not None
            assert newest.sequence > mark.head.next_sequence > mark.head.archived_below > 1
            proof = _Verifier(world.reader(), application.journal, application.snapshots, mark, at)
            assert (await proof.run()).problems == ()

    virtual.run(story())


def test_a_snapshot_that_goes_while_it_is_looked_for_is_no_mistake(tmp_path: Path) -> None:
    """The archive keeps two: what is the newest when names are read may be gone when it is."""

    class Going(Folder):
        def read(self, name: str) -> bytes:
            if name.endswith(".parts"):
                self.remove(name)
            return super().read(name)

    async def story() -> None:
        async with World() as world:
            log = await told(world)
            await look(world, Folder(tmp_path))
            assert [path for path in kept(tmp_path) if path.suffix == ".parts"]
            await assert_whole(world, Going(tmp_path), log)

    virtual.run(story())
