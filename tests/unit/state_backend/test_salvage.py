"""Everything is read in its order, also past what is damaged."""

from __future__ import annotations

import asyncio

import pytest

from state_backend.errors import Conflict, Corrupt
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.salvage import entries, replaceable
from state_backend.values import Keyspace, Put, Reading, RevisionIs
from tests.support.damaged import Damaged

KEYS = [f"a/{number}" for number in range(7)]


async def read(store: MemoryStore, damaged: str, prefix: str, after: str | None, limit: int) -> list[str]:
    backend = Damaged(store, f"audit/{damaged}")
    found = entries(backend, Keyspace.AUDIT, prefix, after, limit)
    return [str(item) if isinstance(item, Corrupt) else item.key async for item in found]


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
@pytest.mark.parametrize("damaged", ["", *KEYS])
def test_each_entry_is_given_once_with_an_error_in_the_place_of_the_damaged_one(damaged: str, limit: int) -> None:
    async def story() -> None:
        store = MemoryStore()
        backend = MemoryBackend(store)
        for key in [*KEYS, "b/0"]:
            await backend.put(Keyspace.AUDIT, key, b"")
        told = await read(store, damaged, "a/", None, limit)
        assert [damaged in one if key == damaged else one == key for key, one in zip(KEYS, told, strict=True)] == [
            True
        ] * len(KEYS)
        assert len(await read(store, damaged, "a/", KEYS[4], limit)) == 2

    asyncio.run(story())


def test_a_damaged_entry_can_be_compared_with_and_written_anew() -> None:
    async def story() -> None:
        store = MemoryStore()
        backend, whole = Damaged(store, "audit/a"), MemoryBackend(store)
        assert await replaceable(backend, Keyspace.AUDIT, "b") is None
        for value in (b"1", b"2"):
            await whole.put(Keyspace.AUDIT, "a", value)
        found, there = await replaceable(backend, Keyspace.AUDIT, "a"), (await whole.get(Keyspace.AUDIT, "a")).entry
        assert found is not None
        assert there is not None
        assert (found.revision, found.version, found.value) == (there.revision, there.version, b"")
        await whole.put_txn((RevisionIs(Keyspace.AUDIT, "a", found.revision),), (Put(Keyspace.AUDIT, "a", b"3"),))
        backend.damaged = ""
        assert await replaceable(backend, Keyspace.AUDIT, "a") == (await whole.get(Keyspace.AUDIT, "a")).entry

    asyncio.run(story())


class MendedMeanwhile(Damaged):
    """Somebody writes the record anew as soon as it has been read so many times."""

    def __init__(self, store: MemoryStore, damaged: str, reads: int) -> None:
        super().__init__(store, damaged)
        self.reads = reads

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        try:
            return await super().get(keyspace, key)
        except Corrupt:
            self.reads -= 1
            if not self.reads:
                await MemoryBackend(self.store).put(keyspace, key, b"whole")
                self.damaged = ""
            raise


@pytest.mark.parametrize("reads", [1, 2])
def test_what_somebody_has_written_anew_meanwhile_is_not_written_over(reads: int) -> None:
    async def story() -> None:
        store = MemoryStore()
        backend = MendedMeanwhile(store, "audit/a", reads)
        await MemoryBackend(store).put(Keyspace.AUDIT, "a", b"1")
        found = await replaceable(backend, Keyspace.AUDIT, "a")
        assert found is not None
        if reads == 1:
            assert found.value == b"whole"
            return
        with pytest.raises(Conflict):
            await backend.put_txn(
                (RevisionIs(Keyspace.AUDIT, "a", found.revision),), (Put(Keyspace.AUDIT, "a", b"mine"),)
            )

    asyncio.run(story())
