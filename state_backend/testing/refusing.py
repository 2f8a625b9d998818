"""Chapter three: what is refused, the same on every backend.

Responsible for: limits, keys, requests without meaning, the end. Refuses to know: any backend.
Invariant: what is refused has changed nothing.
"""

from __future__ import annotations

import asyncio

import pytest

from state_backend.api import (
    Absent,
    Delete,
    Keyspace,
    LeaseId,
    Move,
    Operation,
    Put,
    Revision,
    RevisionIs,
    StateBackend,
    VersionIs,
)
from state_backend.errors import Closed, Conflict, DuplicateKey, InvalidKey, InvalidRequest, NoSuchLease, TooLarge
from state_backend.limits import COMPARES_MAX, KEY_BYTES_MAX, OPERATIONS_MAX, REQUEST_BYTES_MAX

LIVE, EXPIRED = Keyspace.LIVE, Keyspace.EXPIRED

DOUBLES: list[tuple[Operation, Operation]] = [
    (Put(LIVE, "a", b"1"), Put(LIVE, "a", b"2")),
    (Put(LIVE, "a", b"1"), Delete(LIVE, "a")),
    (Delete(LIVE, "a"), Delete(LIVE, "a")),
    (Put(EXPIRED, "a", b"1"), Move(LIVE, EXPIRED, "a", Revision(1))),
    (Delete(LIVE, "a"), Move(LIVE, EXPIRED, "a", Revision(1))),
]


def names(count: int) -> list[str]:
    """Keys that are as long as keys may be."""
    return [f"{number:0{KEY_BYTES_MAX}d}" for number in range(count)]


class RefusingContract:
    @pytest.mark.parametrize("operations", DOUBLES, ids=lambda pair: "+".join(type(each).__name__ for each in pair))
    async def test_one_operation_a_key(self, backend: StateBackend, operations: tuple[Operation, Operation]) -> None:
        with pytest.raises(DuplicateKey):
            await backend.put_txn((), operations)
        assert (await backend.scan(LIVE)).entries == ()

    async def test_as_many_operations_as_are_allowed(self, backend: StateBackend) -> None:
        await backend.put_txn((), [Put(LIVE, name, b"v") for name in names(OPERATIONS_MAX)])
        assert len((await backend.scan_keys(LIVE)).keys) == OPERATIONS_MAX

    async def test_no_more_operations_than_allowed(self, backend: StateBackend) -> None:
        with pytest.raises(TooLarge):
            await backend.put_txn((), [Put(LIVE, str(number), b"") for number in range(OPERATIONS_MAX + 1)])
        half = OPERATIONS_MAX // 2 + 1
        with pytest.raises(TooLarge):
            await backend.put_txn((), [Move(LIVE, EXPIRED, str(number), Revision(1)) for number in range(half)])
        assert (await backend.scan(LIVE)).entries == ()

    async def test_as_many_compares_as_are_allowed(self, backend: StateBackend) -> None:
        await backend.put_txn([Absent(LIVE, name) for name in names(COMPARES_MAX)], (Put(EXPIRED, "a", b""),))
        assert (await backend.scan_keys(EXPIRED)).keys == ("a",)

    async def test_no_more_compares_than_allowed(self, backend: StateBackend) -> None:
        compares = [Absent(LIVE, str(number)) for number in range(COMPARES_MAX + 1)]
        with pytest.raises(TooLarge):
            await backend.put_txn(compares, (Put(LIVE, "a", b""),))

    async def test_as_many_bytes_as_are_allowed(self, backend: StateBackend) -> None:
        value = bytes(REQUEST_BYTES_MAX - 1024)
        await backend.put(LIVE, "a", value)
        assert [entry.value for entry in (await backend.scan(LIVE)).entries] == [value]

    async def test_no_more_bytes_than_allowed(self, backend: StateBackend) -> None:
        with pytest.raises(TooLarge):
            await backend.put(LIVE, "a", bytes(REQUEST_BYTES_MAX))
        quarter = bytes(REQUEST_BYTES_MAX // 4)
        with pytest.raises(TooLarge):
            await backend.put_txn((), [Put(LIVE, str(number), quarter) for number in range(4)])
        assert (await backend.scan(LIVE)).entries == ()

    async def test_what_is_moved_counts_as_what_is_written(self, backend: StateBackend) -> None:
        third = bytes(REQUEST_BYTES_MAX // 3)
        revisions = [await backend.put(LIVE, str(number), third) for number in range(3)]
        with pytest.raises(TooLarge):
            await backend.put_txn((), [Move(LIVE, EXPIRED, str(n), at) for n, at in enumerate(revisions)])
        assert len((await backend.scan(LIVE)).entries) == 3

    async def test_compares_count_together_with_what_is_moved(self, backend: StateBackend) -> None:
        there = await backend.put(LIVE, "a", bytes(REQUEST_BYTES_MAX - 4096))
        with pytest.raises(TooLarge):
            await backend.put_txn([Absent(LIVE, name) for name in names(50)], (Move(LIVE, EXPIRED, "a", there),))
        assert (await backend.scan_keys(LIVE)).keys == ("a",)

    async def test_of_what_is_too_large_when_moved_a_failed_compare_is_told_first(self, backend: StateBackend) -> None:
        third = bytes(REQUEST_BYTES_MAX // 3)
        moves = [Move(LIVE, EXPIRED, key, await backend.put(LIVE, key, third)) for key in "abc"]
        with pytest.raises(Conflict) as raised:
            await backend.put_txn((Absent(LIVE, "a"),), moves)
        assert [failure.compare for failure in raised.value.failed] == [Absent(LIVE, "a")]

    @pytest.mark.parametrize(
        "key", ["", "a\nb", "\0", "\ud800", "x" * (KEY_BYTES_MAX + 1)], ids=["empty", "line", "zero", "half", "long"]
    )
    async def test_what_cannot_be_a_key_everywhere_is_none_anywhere(self, backend: StateBackend, key: str) -> None:
        with pytest.raises(InvalidKey):
            await backend.get(LIVE, key)
        with pytest.raises(InvalidKey):
            await backend.put(LIVE, key, b"")
        with pytest.raises(InvalidKey):
            await backend.put_txn((Absent(LIVE, key),), (Put(LIVE, "a", b""),))

    async def test_calls_without_meaning(self, backend: StateBackend) -> None:
        with pytest.raises(InvalidRequest):
            await backend.put_txn((Absent(LIVE, "a"),), ())
        with pytest.raises(InvalidRequest):
            await backend.put_txn((RevisionIs(LIVE, "a", Revision(0)),), (Put(LIVE, "a", b""),))
        with pytest.raises(InvalidRequest):
            await backend.put_txn((VersionIs(LIVE, "a", 0),), (Put(LIVE, "a", b""),))
        with pytest.raises(InvalidRequest):
            await backend.scan(LIVE, limit=0)
        for at in (0, -1, 2**63):
            with pytest.raises(InvalidRequest):
                await backend.scan(LIVE, at=Revision(at))
        with pytest.raises(InvalidRequest):
            await backend.grant(0)
        with pytest.raises(InvalidRequest):
            backend.watch(LIVE, "", Revision(0))
        with pytest.raises(InvalidRequest):
            backend.watch(LIVE, "", Revision(2**63))

    async def test_a_lease_must_exist(self, backend: StateBackend) -> None:
        for number in (987_654_321, 0, -1, 2**63):
            lease = LeaseId(number)
            with pytest.raises(NoSuchLease):
                await backend.put(LIVE, "a", b"", lease)
            with pytest.raises(NoSuchLease):
                await backend.renew_lease(lease)
            await backend.revoke_lease(lease)
        assert (await backend.scan(LIVE)).entries == ()

    async def test_a_lease_that_cannot_be_one_costs_nobody_else_a_write(self, backend: StateBackend) -> None:
        wrong = backend.put(LIVE, "a", b"", LeaseId(2**63))
        refused, *written = await asyncio.gather(
            wrong, *(backend.put(LIVE, key, b"") for key in "bcd"), return_exceptions=True
        )
        assert isinstance(refused, NoSuchLease)
        assert not [error for error in written if isinstance(error, BaseException)]
        assert (await backend.scan_keys(LIVE)).keys == ("b", "c", "d")

    async def test_a_closed_backend_says_so(self, backend: StateBackend) -> None:
        await backend.close()
        await backend.close()
        with pytest.raises(Closed):
            await backend.get(LIVE, "a")
        with pytest.raises(Closed):
            await backend.put(LIVE, "a", b"")
        with pytest.raises(Closed):
            backend.watch(LIVE, "", Revision(1))
