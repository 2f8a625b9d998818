"""Logs move to the archive: nothing is ever missing, whatever is interrupted, and store and archive read as one log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from coordinator.archive.api import Archive, ArchiveAway
from coordinator.archive.folder import Folder
from coordinator.core.commands import EndApplication
from coordinator.core.digest import digest
from coordinator.core.events import Recorded
from coordinator.core.evolve import fold
from coordinator.core.ids import ApplicationId
from coordinator.core.state import empty
from coordinator.core.values import Capabilities, Driver, Ending, Policy, Settings
from coordinator.runtime import archiving, places
from coordinator.runtime.archiving import Application, Archiver
from coordinator.runtime.errors import (
    ApplicationOver,
    Archived,
    ArchiveUnread,
    DamagedLog,
    EventsMissing,
    UnknownApplication,
)
from coordinator.runtime.housekeeping import LOCK
from coordinator.runtime.journal import CommitIds, Journal
from coordinator.runtime.replica import Replica
from coordinator.runtime.retention import Retention, take_out
from coordinator.runtime.shelf import Shelf
from coordinator.runtime.snapshot import Snapshots, at_once
from coordinator.runtime.verifying import Verdict, verify
from coordinator.wire.records import ApplicationRecord, Head, decode, encode
from state_backend.api import Lock, StateBackend
from state_backend.errors import Conflict, Corrupt, StateBackendError, Unavailable
from state_backend.memory import MemoryBackend
from state_backend.testing.faults import AnswerLost, Fault, Faults, FaultyBackend, Late, Overtaken, Refused, RequestLost
from state_backend.values import Delete, Keyspace, Page, Put, Reading
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered

OFTEN = replace(OPTIONS, snapshot_every_events=15, archive_every_s=5.0)
ENDED = ApplicationRecord(facts.APP, Driver(), Capabilities(), Policy(), Settings(), ended_ms=1, ending=Ending.ENDED)
SMALL = 600
JOBS = 7


class Failing(Folder):
    """Fails at one call, and does or does not do what it was asked before."""

    def __init__(self, path: Path, at: int, done: bool = False) -> None:
        super().__init__(path)
        self._left, self._done = at, done

    def _meet(self, do: Callable[[], Any]) -> Any:
        self._left -= 1
        if self._left != -1:
            return do()
        if self._done:
            do()
        raise ArchiveAway(self.where, "it is to fail")

    def read(self, name: str) -> bytes:
        found: bytes = self._meet(lambda: super(Failing, self).read(name))
        return found

    def write(self, name: str, content: bytes) -> None:
        self._meet(lambda: super(Failing, self).write(name, content))

    def names(self, folder: str) -> list[str]:
        found: list[str] = self._meet(lambda: super(Failing, self).names(folder))
        return found

    def remove(self, name: str) -> None:
        self._meet(lambda: super(Failing, self).remove(name))


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "FILE_BYTES", SMALL)


def opened(backend: StateBackend, archive: Archive | None, name: ApplicationId = facts.APP) -> Application:
    shelf = Shelf(archive, name, at_once) if archive is not None else None
    journal = Journal(backend, name, "test", CommitIds("test"), virtual.clock(), shelf)
    return Application(journal, shelf, Snapshots(backend, name, at_once))  # type: ignore[arg-type]


@asynccontextmanager
async def replica(world: World, archive: Archive | None, **options: Any) -> AsyncIterator[Replica]:
    backend = MemoryBackend(world.store)
    chosen = replace(OFTEN, **{"reap": False, **options})
    async with Replica(backend, chosen, virtual.clock(), archive=archive) as started:
        yield started
    await backend.close()


async def told(world: World, end: bool = False) -> list[Recorded]:
    """A replica hears some jobs, which make snapshots. Gives the whole log."""
    async with replica(world, None, replica="teller") as teller:
        number = await registered(teller)
        for job in range(JOBS):
            await teller.submit(facts.APP, number(facts.whole(job)))
        if end:
            await teller.submit(facts.APP, number([EndApplication()]))
        await asyncio.sleep(1)
    return [recorded for segment in await checks.read_log(world.reader(), facts.APP) for recorded in segment.records]


async def head(world: World, name: ApplicationId = facts.APP) -> Head:
    entry = (await world.reader().get(Keyspace.HEADS, places.of_application(name))).entry
    assert entry is not None
    return decode(Head, entry.value, "head")


def kept(folder: Path) -> list[Path]:
    """The archive's files; events come before snapshots."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def look(world: World, archive: Archive, backend: StateBackend | None = None) -> None:
    """One look of a new holder of the lock, whose line to the store may have faults."""
    async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
        store = backend or locks
        await Archiver(store, lambda _: opened(store, archive), OFTEN).run(lock)


async def verdict(world: World, archive: Archive | None) -> Verdict:
    application = opened(world.reader(), archive)
    return await verify(world.reader(), application.journal, application.snapshots)


async def assert_whole(world: World, archive: Archive, log: list[Recorded]) -> None:
    """Archive and store are the log that was told, for readers and for a replica that begins."""
    found = await verdict(world, archive)
    assert (found.problems, found.events) == ((), len(log))
    async with replica(world, archive, replica="reader") as reader:
        assert await reader.events(facts.APP, 0, 100_000) == log
        for after in (0, 1, 17, found.archived_below - 2, found.archived_below - 1, found.archived_below, len(log)):
            assert await reader.events(facts.APP, max(0, after), 5) == log[max(0, after) :][:5]
        if (await world.reader().scan_keys(Keyspace.HEADS)).keys:
            assert digest(await reader.view(facts.APP)) == digest(fold(empty(), log))


def test_42_segments_below_the_last_snapshot_but_one_leave_the_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            log = await told(world)
            await look(world, Folder(tmp_path))
            now = await head(world)
            assert now.archived_below == now.previous_snapshot + 1 > 1
            left = [places.first_sequence_of(key) for key in (await world.reader().scan_keys(Keyspace.EVENTS)).keys]
            assert min(left) == now.archived_below
            files = [path.name for path in kept(tmp_path)]
            assert len([name for name in files if name.startswith("events-")]) > 2
            assert [name for name in files if name.startswith("snapshot-")] == [
                f"snapshot-{now.previous_snapshot:020d}.parts"
            ]
            await assert_whole(world, Folder(tmp_path), log)

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


@pytest.mark.parametrize("fault", [Refused(), AnswerLost(), RequestLost(), Late(2), Overtaken()], ids=repr)
@pytest.mark.parametrize("ended", [False, True], ids=["archiving", "taking out"])
def test_whatever_the_store_does_at_any_step_is_harmless(tmp_path: Path, fault: Fault, ended: bool) -> None:
    """The fault meets one transaction after the other, and from then on everything, as after a crash."""

    async def story(step: int) -> bool:
        archive = Folder(tmp_path / f"{step}")
        async with World() as world:
            log = await told(world, ended)
            later: dict[int, Fault] = {n: Refused() for n in range(step + 1, step + 500)}
            faulty = FaultyBackend(world.reader(), Faults({step: fault, **later}))
            reached = not await _tried(do(world, archive, ended, faulty))
            await faulty.apply_late()
            await assert_whole(world, archive, log)
            await do(world, archive, ended)
            await do(world, archive, ended)
            await assert_whole(world, archive, log)
            assert bool((await world.reader().scan_keys(Keyspace.HEADS)).keys) is not ended
            return reached

    steps = 0
    while virtual.run(story(steps)):
        steps += 1
    assert steps > 3


async def _tried(work: Any) -> bool:
    """Whether it came to its end. One that waits for the store to come back would wait for ever: it has crashed."""
    try:
        await asyncio.wait_for(work, 10)
    except (StateBackendError, asyncio.TimeoutError):
        return False
    return True


async def do(world: World, archive: Archive, ended: bool, backend: StateBackend | None = None) -> None:
    if not ended:
        await look(world, archive, backend)
        return
    async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
        store = backend or locks
        await take_out(store, lock, opened(store, archive))


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done and not answered"])
def test_whatever_the_archive_does_at_any_step_is_harmless(tmp_path: Path, done: bool) -> None:
    async def story(step: int) -> bool:
        folder = tmp_path / f"{step}"
        async with World() as world:
            log = await told(world)
            failing = Failing(folder, step, done)
            await look(world, failing)  # it is told to the replica's log, and tried again
            await assert_whole(world, Folder(folder), log)
            await look(world, Folder(folder))
            await assert_whole(world, Folder(folder), log)
            assert (await head(world)).archived_below == (await head(world)).previous_snapshot + 1
            return failing._left < 0

    steps = 0
    while virtual.run(story(steps)):
        steps += 1
    assert steps > 5


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

    async def scan(self, keyspace: Keyspace, prefix: str = "", *more: Any) -> Page:
        if keyspace is Keyspace.EVENTS and prefix == places.within_application(ApplicationId(self.application)):
            raise Corrupt("a store", "a record fails its checksum")
        return await super().scan(keyspace, prefix, *more)


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
                await Archiver(store, lambda one: opened(store, archive, one), OFTEN).run(lock)
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


def test_a_replica_that_was_far_behind_begins_from_a_snapshot(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world, replica(world, None, replica="slow") as slow:
            number = await registered(slow)
            early = await slow.view(facts.APP)
            async with replica(world, None, replica="busy") as busy:
                for job in range(JOBS):
                    await busy.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(1)
            await look(world, Folder(tmp_path))
            assert (await head(world)).archived_below > early.meta.next_sequence
            await slow.submit(facts.APP, number(facts.whole(99)))
            log = await (await _reader(world, tmp_path)).events(facts.APP, 0, 100_000)
            assert digest(await slow.view(facts.APP)) == digest(fold(empty(), log))

    virtual.run(story())


class Overtaking(MemoryBackend):
    """Something happens elsewhere right after the next look at a head."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        reading = await super().get(keyspace, key)
        if keyspace is Keyspace.HEADS and self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return reading


def test_what_is_appended_while_a_replica_begins_from_a_snapshot_is_no_damage(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            backend = Overtaking(world.store)
            chosen = replace(OFTEN, reap=False, replica="slow")
            async with Replica(backend, chosen, virtual.clock()) as slow, replica(world, None, replica="busy") as busy:
                number = await registered(slow)
                for job in range(JOBS):
                    await busy.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(1)
                await look(world, Folder(tmp_path))
                backend.meanwhile = lambda: busy.submit(facts.APP, number(facts.whole(99)))
                seen = await slow.view(facts.APP)
                assert digest(seen) == digest(await busy.view(facts.APP))

    virtual.run(story())


async def _reader(world: World, folder: Path) -> Any:
    class Reader:
        async def events(self, application: Any, after: int, limit: int) -> list[Recorded]:
            async with replica(world, Folder(folder), replica="other") as other:
                return await other.events(application, after, limit)

    return Reader()


def test_where_both_snapshots_are_damaged_the_archive_helps(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            log = await told(world)
            await look(world, Folder(tmp_path))
            for key in (await world.reader().scan_keys(Keyspace.SNAPSHOTS)).keys:
                await world.reader().put(Keyspace.SNAPSHOTS, key, b"torn")
            async with replica(world, Folder(tmp_path), replica="helped") as helped:
                assert digest(await helped.view(facts.APP)) == digest(fold(empty(), log))
            async with replica(world, None, replica="alone") as alone:
                with pytest.raises(Archived, match="none is named here"):
                    await alone.view(facts.APP)

    virtual.run(story())


def test_a_piece_that_the_archive_misses_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with World() as world:
            log = await told(world)
            await look(world, Folder(tmp_path))
            second = kept(tmp_path)[1]
            first = int(second.name.split("-")[1])
            content = second.read_bytes()
            second.unlink()
            async with replica(world, Folder(tmp_path), replica="reader") as reader:
                with pytest.raises(EventsMissing, match=f"event {first} of application {facts.APP} is neither"):
                    await reader.events(facts.APP, 0, 100_000)
                assert await reader.events(facts.APP, 0, 10) == log[:10]
                second.write_bytes(content[:-9])
                with pytest.raises(DamagedLog, match="events-"):
                    await reader.events(facts.APP, 0, 100_000)
                assert (await reader.view(facts.APP)).meta.next_sequence == len(log) + 1, "it serves all the same"
            found = await verdict(world, Folder(tmp_path))
            assert "events-" in found.problems[0]
            with pytest.raises(ArchiveUnread):
                async with replica(world, Failing(tmp_path, 0), replica="away") as away:
                    await away.events(facts.APP, 0, 10)

    virtual.run(story())


# ---- retention -------------------------------------------------------------------------------------------------------


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


def test_an_archive_that_does_not_answer_keeps_nobody_from_registering(tmp_path: Path) -> None:
    async def never(_: Callable[[], Any]) -> Any:
        await asyncio.Event().wait()

    async def story() -> None:
        async with World() as world, world.reader() as backend:
            alone = replace(OFTEN, reap=False)
            async with Replica(backend, alone, virtual.clock(), aside=never, archive=Folder(tmp_path)) as replica:
                with pytest.raises(ArchiveUnread, match="no answer within"):
                    await replica.registration(facts.APP)
                await registered(replica)
                assert (await replica.registration(facts.APP)).driver.name == "story"

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
