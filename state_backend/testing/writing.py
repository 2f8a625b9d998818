"""Chapter two: writes and transactions.

Responsible for: what `put`, `delete`, `put_txn` and `mv` promise. Refuses to know: any backend.
Invariant: all or nothing, and a conflict names what failed.
"""

from __future__ import annotations

import asyncio

import pytest

from state_backend.api import (
    Absent,
    Compare,
    Delete,
    FailedCompare,
    Keyspace,
    Move,
    Present,
    Put,
    Revision,
    RevisionIs,
    StateBackend,
    VersionIs,
)
from state_backend.errors import Conflict

HEADS, LIVE, EXPIRED = Keyspace.HEADS, Keyspace.LIVE, Keyspace.EXPIRED


async def value_of(backend: StateBackend, keyspace: Keyspace, key: str) -> bytes | None:
    """The value, None where the key is missing."""
    entry = (await backend.get(keyspace, key)).entry
    return None if entry is None else entry.value


class WritingContract:
    async def test_put_replaces(self, backend: StateBackend) -> None:
        await backend.put(HEADS, "a", b"1")
        await backend.put(HEADS, "a", b"2")
        assert await value_of(backend, HEADS, "a") == b"2"

    async def test_delete_removes_and_may_be_repeated(self, backend: StateBackend) -> None:
        await backend.put(HEADS, "a", b"1")
        deleted = await backend.delete(HEADS, "a")
        assert await value_of(backend, HEADS, "a") is None
        again = [deleted, *[await backend.delete(HEADS, "a") for _ in range(5)]]
        assert again == sorted(again)
        assert len(set(again)) < len(again)  # others may write to the store, and take a revision

    async def test_a_transaction_is_one_revision(self, backend: StateBackend) -> None:
        await backend.put(LIVE, "old", b"")
        operations = (Put(HEADS, "a", b"1"), Put(LIVE, "a", b"2"), Delete(LIVE, "old"))
        revision = await backend.put_txn((Absent(HEADS, "a"),), operations)
        heads, live = await backend.scan(HEADS), await backend.scan(LIVE)
        assert [entry.revision for entry in (*heads.entries, *live.entries)] == [revision, revision]
        following = await backend.put(HEADS, "b", b"")
        assert revision <= live.revision < following  # others may write to the store

    @pytest.mark.parametrize(
        "compare", [Absent(HEADS, "there"), Present(HEADS, "missing"), VersionIs(HEADS, "there", 2)], ids=repr
    )
    async def test_a_failed_compare_changes_nothing(self, backend: StateBackend, compare: Compare) -> None:
        revision = await backend.put(HEADS, "there", b"1")
        with pytest.raises(Conflict) as raised:
            await backend.put_txn((compare,), (Put(HEADS, "new", b""), Delete(HEADS, "there")))
        assert [failure.compare for failure in raised.value.failed] == [compare]
        (left,) = (await backend.scan(HEADS)).entries
        following = await backend.put(HEADS, "there", b"2")
        assert revision <= raised.value.revision < following  # others may write to the store
        assert (left.key, left.value, left.revision, left.version) == ("there", b"1", revision, 1)

    async def test_compares_that_hold_let_it_happen(self, backend: StateBackend) -> None:
        revision = await backend.put(HEADS, "a", b"1")
        compares = (RevisionIs(HEADS, "a", revision), VersionIs(HEADS, "a", 1), Present(HEADS, "a"), Absent(HEADS, "b"))
        await backend.put_txn(compares, (Put(HEADS, "b", b"2"),))
        assert await value_of(backend, HEADS, "b") == b"2"

    async def test_a_conflict_names_every_failed_compare_with_what_was_found(self, backend: StateBackend) -> None:
        revision = await backend.put(HEADS, "a", b"1")
        wrong = RevisionIs(HEADS, "a", Revision(revision + 1))
        missing = VersionIs(LIVE, "b", 1)
        with pytest.raises(Conflict) as raised:
            await backend.put_txn((wrong, Present(HEADS, "a"), missing), (Put(HEADS, "c", b""),))
        first, second = raised.value.failed
        assert first.compare == wrong
        assert first.found is not None
        assert (first.found.revision, first.found.create_revision, first.found.version) == (revision, revision, 1)
        assert second == FailedCompare(missing, None)
        assert "heads" in str(raised.value).lower()

    async def test_an_append_is_won_by_exactly_one(self, backend: StateBackend, other: StateBackend) -> None:
        head = await backend.put(HEADS, "a", b"0")

        async def append(client: StateBackend, number: int) -> bool:
            operations = (Put(HEADS, "a", b"1"), Put(Keyspace.EVENTS, "a/1", str(number).encode()))
            try:
                await client.put_txn((RevisionIs(HEADS, "a", head),), operations)
            except Conflict:
                return False
            return True

        won = await asyncio.gather(*(append((backend, other)[number % 2], number) for number in range(10)))
        assert won.count(True) == 1
        assert await value_of(backend, Keyspace.EVENTS, "a/1") == str(won.index(True)).encode()

    async def test_counting_under_compares_loses_nothing(self, backend: StateBackend, other: StateBackend) -> None:
        await backend.put(HEADS, "count", b"0")

        async def count(client: StateBackend) -> None:
            done = 0
            while done < 10:
                entry = (await client.get(HEADS, "count")).entry
                assert entry is not None
                try:
                    following = Put(HEADS, "count", str(int(entry.value) + 1).encode())
                    await client.put_txn((RevisionIs(HEADS, "count", entry.revision),), (following,))
                    done += 1
                except Conflict:
                    pass

        await asyncio.gather(count(backend), count(other), count(backend))
        assert await value_of(backend, HEADS, "count") == b"30"

    async def test_mv_takes_the_value_along(self, backend: StateBackend) -> None:
        read = await backend.put(LIVE, "a", b"1")
        moved = await backend.mv(LIVE, EXPIRED, "a", read)
        assert await value_of(backend, LIVE, "a") is None
        entry = (await backend.get(EXPIRED, "a")).entry
        assert entry is not None
        assert (entry.value, entry.create_revision, entry.revision, entry.version) == (b"1", moved, moved, 1)

    async def test_mv_may_bring_a_new_value(self, backend: StateBackend) -> None:
        read = await backend.put(LIVE, "a", b"1")
        await backend.mv(LIVE, EXPIRED, "a", read, b"")
        assert await value_of(backend, EXPIRED, "a") == b""

    async def test_mv_fails_when_the_source_changed(self, backend: StateBackend) -> None:
        read = await backend.put(LIVE, "a", b"1")
        changed = await backend.put(LIVE, "a", b"2")
        with pytest.raises(Conflict) as raised:
            await backend.mv(LIVE, EXPIRED, "a", read)
        (failure,) = raised.value.failed
        assert failure.compare == RevisionIs(LIVE, "a", read)
        assert failure.found is not None
        assert failure.found.revision == changed
        assert await value_of(backend, LIVE, "a") == b"2"

    @pytest.mark.parametrize("value", [None, b"new"])
    async def test_mv_fails_when_the_source_is_gone(self, backend: StateBackend, value: bytes | None) -> None:
        read = await backend.put(LIVE, "a", b"1")
        await backend.delete(LIVE, "a")
        with pytest.raises(Conflict) as raised:
            await backend.mv(LIVE, EXPIRED, "a", read, value)
        assert raised.value.failed == (FailedCompare(RevisionIs(LIVE, "a", read), None),)

    async def test_mv_fails_when_the_destination_exists(self, backend: StateBackend) -> None:
        read = await backend.put(LIVE, "a", b"1")
        await backend.put(EXPIRED, "a", b"there")
        with pytest.raises(Conflict) as raised:
            await backend.mv(LIVE, EXPIRED, "a", read)
        assert [failure.compare for failure in raised.value.failed] == [Absent(EXPIRED, "a")]
        assert await value_of(backend, LIVE, "a") == b"1"
        assert await value_of(backend, EXPIRED, "a") == b"there"

    async def test_moves_go_along_in_a_transaction(self, backend: StateBackend) -> None:
        one = await backend.put(LIVE, "1", b"one")
        two = await backend.put(LIVE, "2", b"two")
        operations = (Move(LIVE, EXPIRED, "1", one), Move(LIVE, EXPIRED, "2", two, b"2"), Put(HEADS, "a", b"h"))
        revision = await backend.put_txn((Absent(HEADS, "a"),), operations)
        page = await backend.scan(EXPIRED)
        assert [(entry.value, entry.revision) for entry in page.entries] == [(b"one", revision), (b"2", revision)]
        assert (await backend.scan(LIVE)).entries == ()

    async def test_a_failed_move_takes_the_transaction_along(self, backend: StateBackend) -> None:
        one = await backend.put(LIVE, "1", b"one")
        operations = (Move(LIVE, EXPIRED, "1", one), Move(LIVE, EXPIRED, "2", one), Put(HEADS, "a", b"h"))
        with pytest.raises(Conflict):
            await backend.put_txn((), operations)
        assert (await backend.scan_keys(LIVE)).keys == ("1",)
        assert (await backend.scan(HEADS)).entries == ()
