"""The contract, kept in a SQLite file. Its invariant: two clients share one file, as two processes would."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state_backend.sqlite.backend import SqliteBackend, open_sqlite
from state_backend.testing.contract import Compact, StateBackendContract


class TestSqlite(StateBackendContract):
    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[SqliteBackend]:
        async with await open_sqlite(tmp_path / "store.db") as backend:
            yield backend

    @pytest.fixture
    async def other(self, backend: SqliteBackend) -> AsyncIterator[SqliteBackend]:
        async with await open_sqlite(backend.path) as other:
            yield other

    @pytest.fixture
    def compact(self, backend: SqliteBackend) -> Compact:
        return backend.compact
