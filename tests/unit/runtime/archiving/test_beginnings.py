"""Replicas that begin, or go on, where the store no longer has the beginning of the log.

Responsible for what is read from the archive, and for what is said where it cannot be. Refuses to know how it got
there. Invariant: a piece that is missing or damaged is named, and never passed over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.archive.folder import Folder
from coordinator.core.digest import digest
from coordinator.core.events import Recorded
from coordinator.core.evolve import fold
from coordinator.core.state import empty
from coordinator.runtime.errors import Archived, ArchiveUnread, DamagedLog, EventsMissing
from coordinator.runtime.replica import Replica
from state_backend.memory import MemoryBackend
from state_backend.values import Keyspace, Reading
from tests.simulation import facts, virtual
from tests.simulation.world import World, registered
from tests.unit.runtime.archiving.archived import (
    JOBS,
    OFTEN,
    Failing,
    assert_whole,
    head,
    kept,
    look,
    replica,
    told,
    verdict,
)


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


def test_damage_is_named_although_another_replica_goes_on_appending(tmp_path: Path) -> None:
    """It has the state in memory, and need not read what is damaged."""

    class Racing(MemoryBackend):
        looks = 0
        appends: Callable[[], Awaitable[object]]

        async def get(self, keyspace: Keyspace, key: str) -> Reading:
            reading = await super().get(keyspace, key)
            if keyspace is Keyspace.HEADS:
                self.looks += 1
                assert self.looks < 20, "it is read again and again"
                await self.appends()
            return reading

    async def story() -> None:
        async with World() as world, replica(world, None, replica="busy", snapshot_every_events=10_000) as busy:
            number = await registered(busy)
            await busy.submit(facts.APP, number(facts.whole(1)))
            last = (await world.reader().scan_keys(Keyspace.EVENTS)).keys[-1]
            await world.reader().put(Keyspace.EVENTS, last, b"torn")
            backend = Racing(world.store)
            backend.appends = lambda: busy.submit(facts.APP, number(facts.whole(2)))
            async with Replica(backend, replace(OFTEN, reap=False), virtual.clock()) as reader:
                with pytest.raises(DamagedLog, match="events/"):
                    await reader.view(facts.APP)

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


def test_a_torn_file_that_was_to_come_further_hides_no_whole_one(tmp_path: Path) -> None:
    """As where taking out broke off in the middle of a write, at a place that does not write a file at once."""

    async def story() -> None:
        async with World() as world:
            log = await told(world)
            await look(world, Folder(tmp_path))
            whole = kept(tmp_path)[1]
            first = int(whole.name.split("-")[1])
            torn = whole.with_name(f"events-{first:020d}-{len(log):020d}.log")
            torn.write_bytes(whole.read_bytes()[:-9])
            await assert_whole(world, Folder(tmp_path), log)

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
