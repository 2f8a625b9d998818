"""Refusals are counted, and nobody fills the store by being refused."""

from __future__ import annotations

import asyncio

from coordinator.runtime.audit import CLOSING_S, WRITE_EVERY_S, Audit
from coordinator.wire.records import AuditRecord, decode
from state_backend.errors import Unavailable
from state_backend.memory import MemoryBackend
from state_backend.testing.faults import Refused
from state_backend.values import Keyspace, Reading
from tests.simulation import virtual
from tests.simulation.world import OPTIONS, World


async def records_of(world: World) -> list[AuditRecord]:
    page = await world.reader().scan_all(Keyspace.AUDIT)
    return [decode(AuditRecord, entry.value, entry.key) for entry in page.entries]


def test_refusals_of_one_peer_kind_and_minute_are_one_record() -> None:
    async def story() -> None:
        async with World() as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            for number in range(100):
                await (one, two)[number % 2].audit("10.0.0.1", "unknown application", f"app-{number}")
            await asyncio.sleep(3)
            (record,) = await records_of(world)
            assert (record.peer, record.kind, record.count) == ("10.0.0.1", "unknown application", 100)

    virtual.run(story())


def test_the_oldest_records_go_first() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False, audit_records_max=10)).replica
            for number in range(30):
                await replica.audit(f"peer {number:02}", "token", "")
                await asyncio.sleep(61)
            assert [record.peer for record in await records_of(world)] == [f"peer {n}" for n in range(20, 30)]

    virtual.run(story())


def test_many_peers_at_once_are_counted_together() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            for number in range(3_000):
                await replica.audit(f"peer {number}", "token", "x" * 10_000)
            await asyncio.sleep(5)
            records = await records_of(world)
            assert len(records) == 1_001
            assert sum(record.count for record in records) == 3_000
            assert max(len(record.detail) for record in records) <= 100

    virtual.run(story())


def test_after_each_flush_no_more_records_are_left_than_there_may_be() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False, audit_records_max=10)).replica
            for number in range(900):
                await replica.audit(f"peer {number:03}", "token", "")
            await asyncio.sleep(3)
            assert [record.peer for record in await records_of(world)] == [f"peer {n}" for n in range(890, 900)]

    virtual.run(story())


def test_a_strangers_words_are_safe_and_an_outage_is_no_error() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            await running.replica.audit("a/b\n%", "", "\x00")
            await asyncio.sleep(3)
            assert [record.peer for record in await records_of(world)] == ["a/b?%"]
            running.backend.weather = Refused()
            await running.replica.audit("peer", "token", "")
            await asyncio.sleep(3)

    virtual.run(story())


def test_who_stops_while_refusals_are_being_written_writes_the_others_too() -> None:
    class Slow(MemoryBackend):
        async def get(self, keyspace: Keyspace, key: str) -> Reading:
            await asyncio.sleep(0.1)
            return await super().get(keyspace, key)

    async def story() -> None:
        backend = Slow()
        audit = Audit(backend, OPTIONS, virtual.clock())
        for number in range(5):
            audit.note(f"peer-{number}", "token", "")
        await asyncio.sleep(WRITE_EVERY_S + 0.15)  # the second one is under way
        await audit.close()
        page = await backend.scan_all(Keyspace.AUDIT)
        told = [decode(AuditRecord, entry.value, entry.key).peer for entry in page.entries]
        assert {"peer-0", "peer-2", "peer-3", "peer-4"} <= set(told)

    virtual.run(story())


def test_what_the_store_does_not_take_holds_up_no_shutdown() -> None:
    class Away(MemoryBackend):
        async def get(self, keyspace: Keyspace, key: str) -> Reading:
            await asyncio.sleep(12)
            raise Unavailable("a store", "it does not answer")

    async def story() -> None:
        audit = Audit(Away(), OPTIONS, virtual.clock())
        for number in range(1_000):
            audit.note(f"peer-{number}", "token", "")
        begun_s = asyncio.get_running_loop().time()
        await audit.close()
        assert asyncio.get_running_loop().time() - begun_s <= CLOSING_S

    virtual.run(story())
