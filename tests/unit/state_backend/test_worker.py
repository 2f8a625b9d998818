"""The thread that talks to SQLite answers in our words, and goes on, whatever SQLite fails at."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from state_backend.errors import OutcomeUnknown, StateBackendError, Unavailable
from state_backend.sqlite.worker import Worker


class Failing(sqlite3.Connection):
    """A disk that fails at some statements, once each."""

    failing: list[str]

    def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        if statement in self.failing:
            self.failing.remove(statement)
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(statement, *parameters)


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        (["BEGIN IMMEDIATE"], Unavailable),
        (["COMMIT"], OutcomeUnknown),
        (["COMMIT", "ROLLBACK"], OutcomeUnknown),
        (["INSERT INTO one VALUES (1)", "ROLLBACK"], Unavailable),
    ],
)
async def test_a_write_that_fails_is_told_in_our_words_and_the_next_one_is_made(
    tmp_path: Path, failing: list[str], told: type[StateBackendError]
) -> None:
    connection = sqlite3.connect(
        tmp_path / "one.db", factory=Failing, isolation_level=None, check_same_thread=False, timeout=1
    )
    connection.failing = []
    connection.execute("CREATE TABLE one (number)")
    connection.failing = list(failing)
    worker = Worker(connection, "one.db", lambda: None)

    def insert() -> None:
        connection.execute("INSERT INTO one VALUES (1)")

    with pytest.raises(told, match="disk I/O error"):
        await worker.write("a write", insert)
    assert connection.failing == []
    await worker.write("another one", insert)
    assert await worker.read(lambda: connection.execute("SELECT count(*) FROM one").fetchone()) == (1,)
    await worker.stop()


async def test_a_read_whose_end_fails_does_not_end_the_next_one(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "one.db", factory=Failing, isolation_level=None, check_same_thread=False)
    connection.failing = ["COMMIT"]
    worker = Worker(connection, "one.db", lambda: None)
    with pytest.raises(Unavailable, match="disk I/O error"):
        await worker.read(lambda: 1)
    assert await worker.read(lambda: 2) == 2
    await worker.stop()
