"""A lock is sought with pauses where the store never says what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from state_backend.errors import OutcomeUnknown
from state_backend.memory import MemoryBackend
from state_backend.values import Compare, Keyspace, Operation, Revision


class Doubtful(MemoryBackend):
    """As on a disk whose quota is used up, where a commit fails at once, and nobody knows how."""

    tries = 0

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        self.tries += 1
        await asyncio.sleep(0)
        raise OutcomeUnknown("a transaction", "disk I/O error")


async def test_a_lock_of_which_the_store_says_nothing_is_sought_with_pauses() -> None:
    async with Doubtful() as backend:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(backend.lock(Keyspace.SESSIONS, "a", 10).__aenter__(), 0.4)
        assert 2 <= backend.tries < 40
