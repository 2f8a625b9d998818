"""Everything is read in its order, also past what is damaged."""

from __future__ import annotations

import asyncio

import pytest

from state_backend.errors import Corrupt
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.salvage import entries
from state_backend.values import Keyspace
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
