"""A replica that heard nothing for a while, and goes on where the store has forgotten something since.

Responsible for its being at the log's end afterwards, whatever went in between. Refuses to know who took it out of the
store. Invariant: what was forgotten is no other log; nothing is folded twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from coordinator.archive.folder import Folder
from coordinator.core.digest import digest
from coordinator.core.state import State
from coordinator.runtime import loading
from coordinator.runtime.engine import Engine
from coordinator.runtime.errors import Overtaken
from coordinator.wire.codec import Segment
from coordinator.wire.upcast import VERSION
from state_backend.errors import Compacted
from state_backend.limits import PAGE_LIMIT
from state_backend.memory import MemoryBackend
from state_backend.values import Keyspace, Page, Revision
from tests.simulation import checks, facts, virtual
from tests.simulation.world import World, registered
from tests.unit.runtime.archiving.archived import JOBS, OFTEN, head, look, opened, replica


@asynccontextmanager
async def deaf(backend: MemoryBackend, archive: Folder | None) -> AsyncIterator[Engine]:
    """It reads on when it is asked, and not before."""
    application = opened(backend, archive)
    loaded = await loading.load(application.journal, application.snapshots)
    engine = Engine(application.journal, application.snapshots, loaded, OFTEN, virtual.clock(), lambda: VERSION)
    yield engine
    await engine.close(drain=False)


def test_wherever_it_was_when_others_archived(tmp_path: Path) -> None:
    """Also right where what is archived ends: the last segment that it has read is gone, and the next one is not."""

    async def story(jobs: int) -> int:
        archive = Folder(tmp_path / str(jobs))
        async with World() as world, replica(world, None, replica="busy") as busy:
            number = await registered(busy)
            for job in range(jobs):
                await busy.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(1)
            async with deaf(MemoryBackend(world.store), archive) as engine:
                before = engine.mark.head.next_sequence
                for job in range(jobs, JOBS):
                    await busy.submit(facts.APP, number(facts.whole(job)))
                    await asyncio.sleep(1)
                await look(world, archive)
                assert digest(await engine.view()) == digest(await busy.view(facts.APP))
                return (await head(world)).archived_below - before

    behind = [virtual.run(story(jobs)) for jobs in range(1, JOBS)]
    assert behind[0] > 0
    assert 0 in behind
    assert behind[-1] < 0


def test_who_has_a_session_there_is_sent_away(tmp_path: Path) -> None:
    """What it was told may be of another log: the segment that could tell has left the store."""

    async def story() -> None:
        archive = Folder(tmp_path)
        async with World() as world, replica(world, None, replica="busy") as busy:
            number = await registered(busy)
            async with deaf(MemoryBackend(world.store), archive) as engine:
                engine.hold()
                for job in range(JOBS):
                    await busy.submit(facts.APP, number(facts.whole(job)))
                    await asyncio.sleep(1)
                await look(world, archive)
                with pytest.raises(Overtaken) as found:
                    await engine.view()
                assert engine.broken is found.value

    virtual.run(story())


class Forgetful(MemoryBackend):
    """Has forgotten the moment of a read before its third page."""

    pages_left = 0  #: 0: it forgets nothing.

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        if self.pages_left:
            self.pages_left -= 1
            if at is not None and not self.pages_left:
                raise Compacted(at, Revision(at + 1))
        return await super().scan(keyspace, prefix, after, limit, at)


def test_what_was_folded_before_the_store_forgot_is_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.runtime.journal.PAGE_SEGMENTS", 2)
    monkeypatch.setattr("coordinator.runtime.journal.PAGE_GROWTH", 1)
    folded: list[int] = []
    fold_it = loading.fold_segment

    def fold_segment(state: State, segment: Segment) -> None:
        folded.append(segment.first_sequence)
        fold_it(state, segment)

    async def story() -> None:
        async with World() as world, replica(world, None, replica="busy") as busy:
            number = await registered(busy)
            store = Forgetful(world.store)
            async with deaf(store, None) as engine:
                for command in facts.whole(0):
                    await busy.submit(facts.APP, number([command]))
                store.pages_left = 3
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(loading, "fold_segment", fold_segment)
                    found = await engine.view()
            assert store.pages_left == 0
            told = [segment.first_sequence for segment in await checks.read_log(store, facts.APP)]
            assert folded == told[-len(facts.whole(0)) :]
            assert digest(found) == digest(await busy.view(facts.APP))

    virtual.run(story())
