"""A SQLite store that is damaged, newer, foreign, busy or shared.

Its invariant: every damage is a clear error, and what is not damaged is still there.
"""

# ruff: noqa: ASYNC220, ASYNC240 - nothing else runs in these loops

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state_backend.api import Keyspace, Put, Revision, RevisionIs, StateBackend
from state_backend.errors import Compacted, Corrupt, NewerStore, NotAStore, Unavailable
from state_backend.sqlite import file
from state_backend.sqlite.backend import SqliteBackend, open_sqlite
from state_backend.testing.watching import keys, take

LIVE, HEADS = Keyspace.LIVE, Keyspace.HEADS
NAMES = [f"{number:02d}" for number in range(20)]


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    async with await open_sqlite(tmp_path / "store.db") as backend:
        yield backend


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    """A closed store of twenty records."""
    async with await open_sqlite(tmp_path / "store.db") as backend:
        for name in NAMES:
            await backend.put(LIVE, name, name.encode() * 100)
    return tmp_path / "store.db"


def tamper(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


async def test_a_store_survives_being_closed(filled: Path) -> None:
    async with await open_sqlite(filled) as backend:
        assert [entry.key for entry in (await backend.scan(LIVE)).entries] == NAMES


@pytest.mark.parametrize("gone", ["store.db*", "store.db", "store.db-wal", "store.db-[ws]*"])
async def test_what_nobody_would_find_again_is_not_acknowledged(
    backend: SqliteBackend, tmp_path: Path, gone: str
) -> None:
    """SQLite writes on into the file that it has open, and that is in no folder any more."""
    await backend.put(LIVE, "a", b"1")
    for place in tmp_path.glob(gone):
        place.unlink()
    with pytest.raises(Unavailable, match="was removed while it was open"):
        await backend.put(LIVE, "a", b"2")
    with pytest.raises(Unavailable, match="was removed while it was open"):
        await backend.get(LIVE, "a")


async def test_the_log_is_beside_the_file_itself_where_a_link_to_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "disk.db")
    async with await open_sqlite(tmp_path / "link.db") as backend:
        await backend.put(LIVE, "a", b"1")
        (tmp_path / "disk.db-wal").unlink()
        with pytest.raises(Unavailable, match=r"disk\.db-wal was removed while it was open"):
            await backend.put(LIVE, "a", b"2")


async def test_a_store_without_the_log_beside_it_is_whole_where_its_process_ends_in_order(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path / "store.db") as backend:
        await backend.put(LIVE, "a", b"1")
        (tmp_path / "store.db-wal").unlink()
    async with await open_sqlite(tmp_path / "store.db") as backend:
        assert (await backend.get(LIVE, "a")).entry is not None


async def test_a_file_that_is_put_in_the_place_of_an_open_one_is_not_taken_for_it(
    backend: SqliteBackend, filled: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    await asyncio.to_thread(tamper, filled, f"VACUUM INTO '{copy}'")
    aside = tmp_path / "aside.db"
    backend.path.rename(aside)
    copy.rename(backend.path)
    with pytest.raises(Unavailable, match=r"another file was put in the place of store.db .*start it again"):
        await backend.put(LIVE, "a", b"2")
    aside.rename(backend.path)
    await backend.put(LIVE, "a", b"3")


async def test_it_is_as_durable_as_it_says(backend: SqliteBackend) -> None:
    connection = file.connect(backend.path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize(
    "damage", ["compacted_revision = 1 << 62", "compacted_revision = -1", "revision = 'x'", "revision = 0"]
)
async def test_revisions_that_cannot_be_are_damage_and_no_history_that_is_gone(filled: Path, damage: str) -> None:
    async with await open_sqlite(filled) as backend:
        await backend.compact(Revision(3))
    tamper(filled, f"UPDATE store SET {damage}")
    with pytest.raises(Corrupt, match="it says that it is at revision"):
        async with await open_sqlite(filled) as backend:
            await backend.scan(LIVE)


async def test_a_damaged_word_in_the_schema_is_damage(filled: Path) -> None:
    content = filled.read_bytes()
    filled.write_bytes(content.replace(b"CREATE UNIQUE INDEX", b"CREATE UNIQUE \xc9NDEX"))
    with pytest.raises(Corrupt, match="is damaged"):
        await open_sqlite(filled)


# ---- not ours, or not yet --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"hello, I am a letter\n" * 500, b"x"], ids=["text", "byte"])
async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_bytes(content)
    with pytest.raises(NotAStore, match=r"letter\.txt is not a store"):
        await open_sqlite(letter)
    assert letter.read_bytes() == content


async def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.db"
    tamper(theirs, "CREATE TABLE theirs (id INTEGER)")
    before = theirs.read_bytes()
    with pytest.raises(NotAStore):
        await open_sqlite(theirs)
    assert theirs.read_bytes() == before


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    async with await open_sqlite(tmp_path / "empty.db") as backend:
        await backend.put(LIVE, "a", b"1")


async def test_a_store_that_another_process_makes_meanwhile_is_no_foreign_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = file._pragma
    others: list[sqlite3.Connection] = []

    def asked_slowly(connection: sqlite3.Connection, name: str) -> int:
        answer = asked(connection, name)
        if name == "application_id" and not others:
            others.append(connection)
            others.append(file.connect(tmp_path / "store.db"))
        return answer

    monkeypatch.setattr(file, "_pragma", asked_slowly)
    async with await open_sqlite(tmp_path / "store.db") as backend:
        await backend.put(HEADS, "a", b"1")
    others[1].close()


async def test_who_makes_a_store_waits_for_another_process_that_makes_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure = file._configure
    maker = sqlite3.connect(tmp_path / "store.db", isolation_level=None, check_same_thread=False)

    def just_then(connection: sqlite3.Connection) -> None:
        maker.execute("BEGIN IMMEDIATE")
        letting_go = threading.Timer(0.2, maker.close)
        letting_go.start()
        configure(connection)
        letting_go.join()

    monkeypatch.setattr(file, "_configure", just_then)
    async with await open_sqlite(tmp_path / "store.db") as backend:
        await backend.put(HEADS, "a", b"1")


async def test_a_newer_store_is_left_alone(filled: Path) -> None:
    tamper(filled, f"PRAGMA user_version = {file.SCHEMA_VERSION + 1}")
    before = filled.read_bytes()
    with pytest.raises(NewerStore, match="upgrade this program") as raised:
        await open_sqlite(filled)
    assert (raised.value.found, raised.value.supported) == (file.SCHEMA_VERSION + 1, file.SCHEMA_VERSION)
    assert filled.read_bytes() == before


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="unable to open"):
        await open_sqlite(tmp_path / "nowhere" / "store.db")


# ---- damaged ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        *("value = x'00'", "revision = 3", "version = 9", "checksum = 0", "key = '10x'"),
        *("value = 'text'", "value = CAST(x'ff' AS TEXT)", "value = 7", "value = NULL"),
    ],
)
async def test_a_damaged_record_in_the_middle_is_named_and_the_others_are_read(filled: Path, column: str) -> None:
    tamper(filled, f"UPDATE version SET {column} WHERE key = '10'")
    async with await open_sqlite(filled) as backend:
        with pytest.raises(Corrupt, match=r"record live/10x? of revision"):
            await backend.scan(LIVE)
        for name in NAMES:
            if name != "10":
                assert (await backend.get(LIVE, name)).entry is not None
        assert len((await backend.scan_keys(LIVE)).keys) == len(NAMES)


async def test_a_value_that_is_called_text_is_what_it_was(filled: Path) -> None:
    """One bit says of what kind a value is."""
    tamper(filled, "UPDATE version SET value = CAST(value AS TEXT)")
    async with await open_sqlite(filled) as backend:
        assert [entry.value for entry in (await backend.scan(LIVE)).entries] == [name.encode() * 100 for name in NAMES]


async def test_a_watch_takes_no_damaged_value_for_a_removal(filled: Path) -> None:
    tamper(filled, "UPDATE version SET value = NULL WHERE key = '10'")
    async with await open_sqlite(filled) as backend, backend.watch(LIVE, "10", Revision(1)) as watch:
        with pytest.raises(Corrupt, match="record live/10 of revision"):
            await take(watch, 1)


async def test_a_key_that_is_no_text_is_damage_that_no_patience_mends(filled: Path) -> None:
    tamper(filled, "UPDATE version SET key = CAST(x'3130ff' AS TEXT) WHERE key = '10'")
    async with await open_sqlite(filled) as backend:
        for read in (backend.scan, backend.scan_keys):
            with pytest.raises(Corrupt, match="is no text"):
                await read(LIVE)
        assert (await backend.get(LIVE, "11")).entry is not None


@pytest.mark.parametrize("damage", ["keyspace = 'replicaz'", "key = CAST(x'61ff' AS TEXT)"])
async def test_a_damaged_key_of_a_lease_that_ran_out_costs_no_write(tmp_path: Path, damage: str) -> None:
    """Every call takes away what has run out: each of them failed for ever."""
    async with await open_sqlite(tmp_path / "store.db") as backend:
        lease = await backend.grant(0.05)
        await backend.put_txn((), [Put(Keyspace.REPLICAS, key, b"", lease.id) for key in ("a", "b")])
        await lease.abandon("its holder is gone")
        tamper(backend.path, f"UPDATE version SET {damage} WHERE key = 'a'")
        await asyncio.sleep(0.1)
        assert (await backend.get(Keyspace.REPLICAS, "b")).entry is None
        await backend.put(LIVE, "a", b"")


async def test_what_was_forgotten_is_not_known_again_and_what_is_to_come_will_be(filled: Path) -> None:
    async with await open_sqlite(filled) as backend:
        last = await backend.put(LIVE, "10", b"again")
        for upto in (last, 3, last + 100):
            await backend.compact(Revision(upto))
        with pytest.raises(Compacted):
            await backend.scan(LIVE, at=Revision(last - 1))
        following = await backend.put(LIVE, "10", b"once more")
        async with backend.watch(LIVE, "10", Revision(last + 1)) as watch:
            assert [commit.revision for commit in await take(watch, 1)] == [following]


async def test_a_damaged_record_can_be_replaced(filled: Path) -> None:
    tamper(filled, "UPDATE version SET value = x'00' WHERE key = '10'")
    async with await open_sqlite(filled) as backend:
        await backend.put(LIVE, "10", b"restored")
        assert len((await backend.scan(LIVE)).entries) == len(NAMES)


async def test_a_torn_last_commit_is_as_if_it_never_was(tmp_path: Path) -> None:
    """A crash in the middle of a commit: the log of the file ends within the last transaction."""
    async with await open_sqlite(tmp_path / "store.db") as backend:
        for name in NAMES:
            await backend.put(LIVE, name, name.encode())
        log = tmp_path / "store.db-wal"
        whole = log.stat().st_size
        await backend.put(LIVE, "last", b"x" * 20_000)
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        shutil.copy(tmp_path / "store.db", crashed)
        (crashed / log.name).write_bytes(log.read_bytes()[: whole + 10_000])
    async with await open_sqlite(crashed / "store.db") as backend:
        assert list((await backend.scan_keys(LIVE)).keys) == NAMES
        await backend.put(LIVE, "last", b"again")
        assert len((await backend.scan(LIVE)).entries) == len(NAMES) + 1


async def test_a_file_that_was_cut_off_is_corrupt(filled: Path) -> None:
    content = filled.read_bytes()
    filled.write_bytes(content[: len(content) // 2])
    with pytest.raises(Corrupt, match="keep a copy"):
        async with await open_sqlite(filled) as backend:
            await backend.scan(LIVE)


# ---- shared ----------------------------------------------------------------------------------------------------------

OTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from state_backend.api import Keyspace, Put, RevisionIs
from state_backend.errors import Conflict
from state_backend.sqlite.backend import open_sqlite

async def main():
    async with await open_sqlite(Path(sys.argv[1])) as backend:
        done = 0
        while done < int(sys.argv[2]):
            entry = (await backend.get(Keyspace.HEADS, "count")).entry
            try:
                put = Put(Keyspace.HEADS, "count", str(int(entry.value) + 1).encode())
                await backend.put_txn((RevisionIs(Keyspace.HEADS, "count", entry.revision),), (put,))
                done += 1
            except Conflict:
                pass

asyncio.run(main())
"""


async def test_two_processes_lose_no_update_and_hear_each_other(backend: SqliteBackend) -> None:
    start = await backend.put(HEADS, "count", b"0")
    watch = backend.watch(HEADS, "", Revision(start + 1))
    command = [sys.executable, "-c", OTHER_PROCESS, str(backend.path), "30"]
    others = [subprocess.Popen(command) for _ in range(2)]
    commits = await take(watch, 60)
    assert [await asyncio.to_thread(other.wait) for other in others] == [0, 0]
    assert [commit.revision for commit in commits] == [start + number for number in range(1, 61)]
    entry = (await backend.get(HEADS, "count")).entry
    assert entry is not None
    assert entry.value == b"60"


ONCE = """
import asyncio, sys
from pathlib import Path
from state_backend.sqlite.backend import open_sqlite
from state_backend.api import Keyspace

async def once():
    async with await open_sqlite(Path(sys.argv[1])) as backend:
        print(await backend.put(Keyspace.LIVE, "other", b""))

asyncio.run(once())
"""


async def test_to_open_it_a_second_time_takes_no_locks_from_the_first(backend: SqliteBackend) -> None:
    first = await backend.put(LIVE, "a", b"")
    async with await open_sqlite(backend.path):
        pass
    command = [sys.executable, "-c", ONCE, str(backend.path)]

    async def elsewhere() -> int:
        return int(await asyncio.to_thread(subprocess.check_output, command))

    assert await elsewhere() == first + 1
    assert await backend.put(LIVE, "b", b"") == first + 2
    assert await elsewhere() == first + 3, "to end, the other process has worked the log in and taken it away"


async def test_a_lease_by_a_clock_that_was_ahead_ends_when_the_clock_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder has died: what it holds, as the lock of housekeeping, would be held until the clock comes there."""
    dead, alive = [await open_sqlite(tmp_path / "store.db") for _ in range(2)]
    real = time.time
    monkeypatch.setattr("state_backend.sqlite.backend.time.time", lambda: real() + 3_600)
    lease = await dead.grant(1.0)
    await dead.put(LIVE, "held", b"", lease.id)
    await lease.abandon("its process was killed")
    monkeypatch.setattr("state_backend.sqlite.backend.time.time", real)
    try:
        assert (await alive.get(LIVE, "held")).entry is None
    finally:
        await dead.close()
        await alive.close()


async def test_it_is_read_where_it_can_no_more_be_written(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, real = await backend.grant(60.0), time.time
    await backend.put(LIVE, "leased", b"", lease.id)
    holder = sqlite3.connect(backend.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    backend._connection.execute("PRAGMA busy_timeout = 10")  # five seconds are long for a test
    monkeypatch.setattr("state_backend.sqlite.backend.time.time", lambda: real() + 3_600)  # the lease has run out
    assert [entry.key for entry in (await backend.scan(LIVE)).entries] == ["leased"]
    holder.execute("ROLLBACK")
    assert (await backend.scan(LIVE)).entries == ()
    holder.close()


@pytest.mark.parametrize("named", ["left.db", "link.db"])
async def test_what_is_not_ours_is_not_worked_into_its_file(tmp_path: Path, named: str) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "left.db")
    theirs, left = sqlite3.connect(tmp_path / "theirs.db"), tmp_path / "left.db"
    theirs.execute("PRAGMA journal_mode = WAL")
    theirs.execute("CREATE TABLE t (x)")
    theirs.execute("PRAGMA user_version = 7")
    theirs.commit()
    for end in ("", "-wal"):  # as their program leaves them when it dies
        shutil.copy(f"{tmp_path}/theirs.db{end}", f"{left}{end}")
    before = [Path(f"{left}{end}").read_bytes() for end in ("", "-wal")]
    with pytest.raises(NotAStore):
        await open_sqlite(tmp_path / named)
    assert [Path(f"{left}{end}").read_bytes() for end in ("", "-wal")] == before
    theirs.close()


async def test_a_file_that_is_held_is_unavailable(backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "_BUSY_TIMEOUT_SECONDS", 0.1)
    holder = sqlite3.connect(backend.path, isolation_level=None)
    async with await open_sqlite(backend.path) as other:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            await other.put(LIVE, "a", b"1")
        holder.execute("ROLLBACK")
        await other.put(LIVE, "a", b"2")
    holder.close()


async def test_the_loop_goes_on_while_the_disk_is_slow(backend: SqliteBackend) -> None:
    holder = sqlite3.connect(backend.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    writing = asyncio.ensure_future(backend.put(LIVE, "a", b"1"))
    turns = 0
    while turns < 1_000 and not writing.done():
        turns += 1
        await asyncio.sleep(0)
    holder.execute("ROLLBACK")
    assert turns == 1_000
    await writing
    holder.close()


async def test_writers_that_wait_together_succeed_and_fail_for_themselves(backend: SqliteBackend) -> None:
    head = await backend.put(HEADS, "a", b"0")
    race = [backend.put_txn((RevisionIs(HEADS, "a", head),), (Put(HEADS, "a", b"1"),)) for _ in range(5)]
    free = [backend.put(LIVE, str(number), b"") for number in range(5)]
    raced = await asyncio.gather(*race, return_exceptions=True)
    assert sum(isinstance(each, int) for each in raced) == 1
    assert len(set(await asyncio.gather(*free))) == 5


async def test_history_is_bounded(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path / "store.db", history_commits=10) as backend:
        first = await backend.put(LIVE, "kept", b"1")
        await asyncio.gather(*(backend.put(HEADS, "a", str(number).encode()) for number in range(1_100)))
        with pytest.raises(Compacted):
            await backend.scan(LIVE, at=first)
        assert keys(await take(backend.watch(HEADS, "", Revision(first + 1_100)), 1)) == ["a"]
        assert (await backend.get(LIVE, "kept")).entry is not None
    rows = sqlite3.connect(tmp_path / "store.db").execute("SELECT count(*) FROM version").fetchone()[0]
    assert rows < 150


async def test_closing_ends_the_thread(tmp_path: Path) -> None:
    backend: StateBackend = await open_sqlite(tmp_path / "store.db")
    await backend.close()
    assert not [thread for thread in threading.enumerate() if str(tmp_path) in thread.name]


async def test_closing_ends_the_thread_whatever_became_of_the_look_for_others(tmp_path: Path) -> None:
    """As where a program that ends has cancelled every task."""
    backend = await open_sqlite(tmp_path / "store.db")
    backend.watch(LIVE, "", Revision(1))
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await backend.close()
    assert str(backend.path) not in " ".join(thread.name for thread in threading.enumerate())


async def test_a_bug_in_a_job_is_an_answer_and_undoes_its_batch(backend: SqliteBackend) -> None:
    def broken() -> None:
        backend._records.set_revision(Revision(10_000))
        raise ZeroDivisionError

    before = await backend.put(LIVE, "a", b"1")
    with pytest.raises(ZeroDivisionError):
        await backend._worker.write("a bug", broken)
    assert await backend.put(LIVE, "b", b"2") == before + 1


async def test_a_reader_that_was_away_pages_from_where_it_was(backend: SqliteBackend) -> None:
    for name in NAMES:
        await backend.put(LIVE, f"app/{name}", b"")
    found: list[str] = []
    async for page in backend.pages(LIVE, "app/", limit=3):
        found += [entry.key for entry in page.entries]
    assert found == [f"app/{name}" for name in NAMES]
    assert (await backend.scan_keys(LIVE, "app/", after="a")).keys[0] == "app/00"


WRITING_PROCESS = """
import asyncio, sys
from pathlib import Path
from state_backend.api import Keyspace
from state_backend.sqlite.backend import open_sqlite

async def main():
    backend = await open_sqlite(Path(sys.argv[1]))
    for number in range(1_000_000):
        await backend.put(Keyspace.LIVE, f"{number:06d}", b"x" * 1_000)
        print(number, flush=True)

asyncio.run(main())
"""


def test_what_was_acknowledged_survives_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITING_PROCESS, str(tmp_path / "store.db")]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    heard = [int(writer.stdout.readline()) for _ in range(200)]
    writer.kill()
    heard += [int(line) for line in writer.communicate()[0].splitlines()]

    async def keys_of_store() -> tuple[str, ...]:
        async with await open_sqlite(tmp_path / "store.db") as backend:
            page = await backend.scan_all(LIVE)
            return tuple(entry.key for entry in page.entries)

    found = asyncio.run(keys_of_store())
    assert found[: len(heard)] == tuple(f"{number:06d}" for number in heard)
    assert len(found) <= len(heard) + 1, "at most the one that was not acknowledged"
