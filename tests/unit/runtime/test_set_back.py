"""A store that was set back to a copy beneath replicas that live on.

Responsible for what they take from the log that is there then. Refuses to know how a store is copied. Invariant: what
was read before counts no more, and no state is made of two logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from copy import copy

import pytest

from coordinator.core.commands import Command
from coordinator.runtime import loading, tail
from coordinator.runtime.api import GoAway
from coordinator.runtime.engine import Engine
from coordinator.runtime.errors import Happened, SetBack
from coordinator.runtime.replica import Replica
from coordinator.wire.upcast import VERSION
from state_backend.errors import Compacted
from state_backend.limits import PAGE_LIMIT
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.values import Keyspace, Page, Revision
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered
from tests.unit.runtime.archiving.archived import opened
from tests.unit.runtime.listening import next_of

_KEPT = ("_keys", "_versions", "_commits")


def copied(store: MemoryStore) -> Callable[[], None]:
    """Takes a copy; sets the store back to it when called. What leases hold stays as it is then."""
    revision = store.revision
    kept = {name: {key: copy(value) for key, value in getattr(store, name).items()} for name in _KEPT}

    def set_back() -> None:
        store.revision = revision
        for name, values in kept.items():
            setattr(store, name, values)

    return set_back


async def tell(replica: Replica, number: facts.Numbers, commands: Sequence[Command]) -> None:
    """One after the other, so that each is a segment of its own."""
    for command in commands:
        await replica.submit(facts.APP, number([command]))


#: What is told after the copy was taken, and what instead of it: as many events, more, and fewer.
LOST = facts.writes(0)
TOLD = {"as far": facts.writes(1), "further": [*facts.writes(1), *facts.reads(1)], "less far": facts.writes(1)[:1]}


@pytest.mark.parametrize("told", TOLD.values(), ids=list(TOLD))
def test_a_replica_that_had_read_further_begins_anew(told: Sequence[Command]) -> None:
    async def story() -> None:
        async with World() as world:
            before, after = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(before)
            set_back = copied(world.store)
            await tell(before, number, LOST)
            read = await before.view(facts.APP)
            set_back()
            await tell(after, facts.Numbers(), told)
            with pytest.raises(SetBack, match=f"up to event {read.meta.next_sequence - 1}") as found:
                await before.view(facts.APP)
            assert found.value.happened is Happened.NOTHING
            assert await before.view(facts.APP) == await after.view(facts.APP)
            log = await checks.read_log(world.reader(), facts.APP)
            assert checks.fold_log(log) == await before.view(facts.APP)

    virtual.run(story())


class SetBackWhileRead(MemoryBackend):
    """Once some pages of it were read it is set back, and has no longer the history that is being read."""

    def __init__(self, store: MemoryStore, befalls: Callable[[], Awaitable[None]]) -> None:
        super().__init__(store)
        self._befalls = befalls
        self.pages_left = 0  #: 0: nothing befalls it.

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        if self.pages_left and at is not None:
            self.pages_left -= 1
            if not self.pages_left:
                await self._befalls()
                raise Compacted(at, Revision(at + 1))
        return await super().scan(keyspace, prefix, after, limit, at)


async def load(store: MemoryBackend) -> Engine:
    """It reads on when it is asked, and not before."""
    application = opened(store, None)
    loaded = await loading.load(application.journal, application.snapshots)
    return Engine(application.journal, application.snapshots, loaded, OPTIONS, virtual.clock(), lambda: VERSION)


@pytest.mark.parametrize("told", TOLD.values(), ids=list(TOLD))
@pytest.mark.parametrize("is_known", [True, False], ids=["catching up", "loading"])
def test_what_was_half_read_when_it_was_set_back_counts_no_more(
    told: Sequence[Command], is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.runtime.journal.PAGE_SEGMENTS", 2)
    monkeypatch.setattr("coordinator.runtime.journal.PAGE_GROWTH", 1)

    async def story() -> None:
        async with World() as world:
            before, after = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(before)
            set_back = copied(world.store)

            async def befall() -> None:
                set_back()
                await tell(after, facts.Numbers(), told)

            store = SetBackWhileRead(world.store, befall)
            known = await load(store) if is_known else None
            await tell(before, number, facts.whole(0))
            store.pages_left = 3
            with pytest.raises(SetBack):
                await (known or await load(store)).view()
            assert not store.pages_left
            found = await (await load(store)).view()
            assert found == await after.view(facts.APP) == checks.fold_log(await checks.read_log(store, facts.APP))

    virtual.run(story())


def test_the_driver_that_is_there_is_sent_away() -> None:
    """It was told that more of its numbers are in the log than are: only a new session says so."""

    async def story() -> None:
        async with World() as world:
            before, after = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(before)
            set_back = copied(world.store)
            await tell(before, number, LOST)
            async with await before.open_session(facts.APP, facts.DRIVER) as session:
                set_back()
                await tell(after, facts.Numbers(), TOLD["further"])
                farewell = await next_of(session)
            assert isinstance(farewell, GoAway)
            assert "holds another one now" in farewell.why
            log = await checks.read_log(world.reader(), facts.APP)
            assert checks.fold_log(log) == await after.view(facts.APP) == await before.view(facts.APP)

    virtual.run(story())


@pytest.mark.parametrize("told", TOLD.values(), ids=list(TOLD))
def test_a_reader_hears_nothing_of_another_log_where_all_history_is_gone(told: Sequence[Command]) -> None:
    """As etcd's revisions go on, far beyond and compacted, where a snapshot is restored by its manual."""

    async def story() -> None:
        async with World() as world, world.reader() as store:
            before, after = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(before)
            set_back = copied(world.store)
            await tell(before, number, LOST)
            log = await checks.read_log(store, facts.APP)
            reading = tail.follow(store, opened(store, None).journal, 0)
            heard = [await anext(reading) for segment in log for _ in segment.records]
            waiting = asyncio.ensure_future(anext(reading))
            await asyncio.sleep(1)
            set_back()
            world.store.revision = Revision(world.store.revision + 1_000)
            world.store.compact(world.store.revision)
            await tell(after, facts.Numbers(), told)
            with pytest.raises(SetBack, match=f"up to event {heard[-1].sequence}"):
                await asyncio.wait_for(waiting, 60)

    virtual.run(story())


def test_a_segment_that_was_damaged_since_it_was_read_is_no_other_log() -> None:
    async def story() -> None:
        async with World() as world:
            before, after = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(before)
            await after.view(facts.APP)
            async with await before.open_session(facts.APP, facts.DRIVER) as session, world.reader() as store:
                key = (await store.scan_keys(Keyspace.EVENTS)).keys[-1]
                await store.put(Keyspace.EVENTS, key, b"damaged")
                await tell(after, number, LOST[:1])
                farewell = await next_of(session)
            assert isinstance(farewell, GoAway)
            assert "7 bytes that do not end in a checksum" in farewell.why

    virtual.run(story())
