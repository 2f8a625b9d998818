"""The faults themselves, and that the suite finds a backend that breaks its promise.

Its invariant: every checker is seen failing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from state_backend.api import Absent, Compare, Keyspace, Operation, Put, Revision, RevisionIs
from state_backend.errors import Compacted, Conflict, OutcomeUnknown, StateBackendError, Unavailable
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.testing.contract import Compact, StateBackendContract
from state_backend.testing.faults import (
    AnswerLost,
    Fault,
    Faults,
    FaultyBackend,
    Late,
    Overtaken,
    Refused,
    RequestLost,
    random_faults,
)

HEADS = Keyspace.HEADS


async def put(backend: FaultyBackend, key: str) -> Revision:
    return await backend.put_txn((Absent(HEADS, key),), (Put(HEADS, key, b"1"),))


async def is_there(backend: FaultyBackend, key: str) -> bool:
    return (await backend.inner.get(HEADS, key)).entry is not None


@pytest.mark.parametrize(
    ("fault", "error", "applied"),
    [
        (Refused(), Unavailable, False),
        (AnswerLost(), OutcomeUnknown, True),
        (RequestLost(), OutcomeUnknown, False),
        (Late(), OutcomeUnknown, False),
        (Overtaken(), Conflict, False),
    ],
)
async def test_a_fault_raises_its_error_and_applies_the_write_or_not(
    fault: Fault, error: type[StateBackendError], applied: bool
) -> None:
    backend = FaultyBackend(MemoryBackend(), Faults({1: fault}))
    await put(backend, "before")
    with pytest.raises(error):
        await put(backend, "a")
    assert await is_there(backend, "a") is applied


async def test_a_late_write_comes_before_the_one_that_is_named() -> None:
    backend = FaultyBackend(MemoryBackend(), Faults({0: Late(2)}))
    with pytest.raises(OutcomeUnknown):
        await put(backend, "late")
    await put(backend, "next")
    assert not await is_there(backend, "late")
    await put(backend, "after")
    assert await is_there(backend, "late")


async def test_a_late_write_may_come_when_it_is_asked_for() -> None:
    backend = FaultyBackend(MemoryBackend(), Faults({0: Late(100)}))
    with pytest.raises(OutcomeUnknown):
        await put(backend, "late")
    await backend.apply_late()
    assert await is_there(backend, "late")


async def test_a_late_write_keeps_its_compares() -> None:
    """Why reading proves nothing: the same submitted again makes the late one fail."""
    backend = FaultyBackend(MemoryBackend(), Faults({0: Late(2)}))
    with pytest.raises(OutcomeUnknown):
        await put(backend, "a")
    revision = await put(backend, "a")
    await put(backend, "b")
    entry = (await backend.get(HEADS, "a")).entry
    assert entry is not None
    assert entry.revision == revision


async def test_reads_fail_and_watches_are_compacted_on_schedule() -> None:
    backend = FaultyBackend(MemoryBackend(), Faults(reads=frozenset({1}), watch_commits=1))
    await backend.get(HEADS, "a")
    with pytest.raises(Unavailable):
        await backend.scan(HEADS)
    first = await put(backend, "a")
    await put(backend, "b")
    watch = backend.watch(HEADS, "", first)
    assert (await watch.__anext__()).revision == first
    with pytest.raises(Compacted):
        await watch.__anext__()


async def test_a_reader_that_gave_up_waiting_was_told_no_commit() -> None:
    backend = FaultyBackend(MemoryBackend(), Faults(watch_commits=1))
    watch = backend.watch(HEADS, "", Revision((await backend.get(HEADS, "a")).revision + 1))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(watch.__anext__(), 0.01)
    first = await put(backend, "a")
    assert (await watch.__anext__()).revision == first
    with pytest.raises(Compacted):
        await watch.__anext__()


def test_a_schedule_is_its_seed() -> None:
    assert random_faults(7, 100, 0.2) == random_faults(7, 100, 0.2)
    assert random_faults(7, 100, 0.2) != random_faults(8, 100, 0.2)


class TestWithoutFaults(StateBackendContract):
    """A schedule without faults changes nothing."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    async def backend(self, store: MemoryStore) -> AsyncIterator[FaultyBackend]:
        async with FaultyBackend(MemoryBackend(store), Faults()) as backend:
            yield backend

    @pytest.fixture
    async def other(self, store: MemoryStore) -> AsyncIterator[FaultyBackend]:
        async with FaultyBackend(MemoryBackend(store), Faults()) as other:
            yield other

    @pytest.fixture
    def compact(self, store: MemoryStore) -> Compact:
        async def compact(revision: Revision) -> None:
            store.compact(revision)

        return compact


class Blind(MemoryBackend):
    """Breaks the contract: it never compares."""

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        return await super().put_txn((), operations)


class Torn(MemoryBackend):
    """Breaks the contract: its transactions are several commits."""

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        for operation in operations:
            revision = await super().put_txn(compares, (operation,))
        return revision


class Shared(MemoryBackend):
    """Keeps the contract, while others write to the same store: as where their leases run out."""

    def __init__(self, writes: frozenset[int]) -> None:
        super().__init__()
        self.others, self.count = writes, 0

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        self.count += 1
        if self.count in self.others:
            await super().put_txn((), (Put(Keyspace.AUDIT, "others", b""),))
        return await super().put_txn(compares, operations)


async def test_the_suite_takes_what_others_write_for_nobody_s_mistake() -> None:
    await StateBackendContract().test_delete_removes_and_may_be_repeated(Shared(frozenset({3})))


async def test_the_suite_finds_a_store_that_takes_a_revision_for_nothing() -> None:
    with pytest.raises(AssertionError):
        await StateBackendContract().test_delete_removes_and_may_be_repeated(Shared(frozenset(range(100))))


async def test_the_suite_finds_a_store_that_does_not_compare() -> None:
    suite = StateBackendContract()
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        await suite.test_a_failed_compare_changes_nothing(Blind(), RevisionIs(HEADS, "there", Revision(99)))


async def test_the_suite_finds_a_store_that_tears_transactions() -> None:
    with pytest.raises(AssertionError):
        await StateBackendContract().test_a_commit_comes_whole(Torn())
