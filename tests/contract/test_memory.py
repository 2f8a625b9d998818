"""The contract, kept in memory. Its invariant: two clients share one store and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from state_backend.api import Revision
from state_backend.memory import MemoryBackend
from state_backend.testing.contract import Compact, StateBackendContract


class TestMemory(StateBackendContract):
    @pytest.fixture
    async def backend(self) -> AsyncIterator[MemoryBackend]:
        async with MemoryBackend() as backend:
            yield backend

    @pytest.fixture
    async def other(self, backend: MemoryBackend) -> AsyncIterator[MemoryBackend]:
        async with MemoryBackend(backend.store) as other:
            yield other

    @pytest.fixture
    def compact(self, backend: MemoryBackend) -> Compact:
        async def compact(revision: Revision) -> None:
            backend.store.compact(revision)

        return compact
