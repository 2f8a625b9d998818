"""Chapter one: reads.

Responsible for: what `get`, `scan`, `scan_keys` and `scan_all` promise. Refuses to know: any backend.
Invariant: missing is never empty, order is that of the keys, pages are of one revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from state_backend.api import Keyspace, Put, Revision, StateBackend
from state_backend.errors import Compacted, InvalidRequest
from state_backend.keys import join_key, key_prefix

EVENTS = Keyspace.EVENTS


async def fill(backend: StateBackend, keys: Sequence[str], keyspace: Keyspace = EVENTS) -> Revision:
    """Puts all keys in one commit, each with its own name as value."""
    return await backend.put_txn((), [Put(keyspace, key, key.encode()) for key in keys])


class ReadingContract:
    async def test_missing_and_empty_are_different(self, backend: StateBackend) -> None:
        await backend.put(EVENTS, "empty", b"")
        assert (await backend.get(EVENTS, "missing")).entry is None
        found = (await backend.get(EVENTS, "empty")).entry
        assert found is not None
        assert found.value == b""

    async def test_a_read_tells_the_revision_of_the_store(self, backend: StateBackend) -> None:
        before = (await backend.get(EVENTS, "a")).revision
        written = await backend.put(EVENTS, "a", b"1")
        after = await backend.get(EVENTS, "a")
        scanned = await backend.scan(EVENTS)
        following = await backend.put(EVENTS, "a", b"2")
        assert before < written <= after.revision <= scanned.revision < following  # others may write to the store
        assert [entry.revision for entry in scanned.entries] == [written]

    async def test_an_entry_tells_its_history(self, backend: StateBackend) -> None:
        first = await backend.put(EVENTS, "a", b"1")
        second = await backend.put(EVENTS, "a", b"2")
        entry = (await backend.get(EVENTS, "a")).entry
        assert entry is not None
        assert (entry.create_revision, entry.revision, entry.version, entry.value) == (first, second, 2, b"2")

    async def test_a_key_that_is_created_again_starts_anew(self, backend: StateBackend) -> None:
        await backend.put(EVENTS, "a", b"1")
        await backend.delete(EVENTS, "a")
        again = await backend.put(EVENTS, "a", b"2")
        entry = (await backend.get(EVENTS, "a")).entry
        assert entry is not None
        assert (entry.create_revision, entry.version) == (again, 1)

    async def test_keyspaces_are_apart(self, backend: StateBackend) -> None:
        await backend.put(Keyspace.LIVE, "a", b"live")
        assert (await backend.get(Keyspace.LOST, "a")).entry is None
        assert (await backend.scan(Keyspace.LOST)).entries == ()

    async def test_an_empty_scan_is_an_empty_page(self, backend: StateBackend) -> None:
        page = await backend.scan(EVENTS)
        assert (page.entries, page.more) == ((), False)
        assert (await backend.scan_all(EVENTS)).entries == ()

    async def test_a_scan_is_in_the_order_of_keys(self, backend: StateBackend) -> None:
        keys = ["b", "a/2", "a/10", "a", "é", "z", "\U0001f600", "\uffee", "a b"]
        await fill(backend, keys)
        assert (await backend.scan_keys(EVENTS)).keys == tuple(sorted(keys))

    async def test_numbers_sort_as_numbers(self, backend: StateBackend) -> None:
        await fill(backend, [join_key("app", number) for number in (10, 9, 100, 2**63)])
        found = (await backend.scan_keys(EVENTS, key_prefix("app"))).keys
        assert found == tuple(join_key("app", number) for number in (9, 10, 100, 2**63))

    async def test_a_prefix_meets_nothing_else(self, backend: StateBackend) -> None:
        await fill(backend, ["app/1", "app/2", "app2/1", "ap", "app", "aq"])
        assert (await backend.scan_keys(EVENTS, "app/")).keys == ("app/1", "app/2")
        assert (await backend.scan_keys(EVENTS, "app")).keys == ("app", "app/1", "app/2", "app2/1")

    async def test_a_page_says_whether_there_is_more(self, backend: StateBackend) -> None:
        await fill(backend, ["a", "b", "c"])
        assert (await backend.scan_keys(EVENTS, limit=2)).more
        assert not (await backend.scan_keys(EVENTS, limit=3)).more
        assert not (await backend.scan_keys(EVENTS, after="b", limit=1)).more

    async def test_a_scan_goes_on_after_a_key_that_need_not_exist(self, backend: StateBackend) -> None:
        await fill(backend, ["a", "b", "d"])
        assert (await backend.scan_keys(EVENTS, after="b")).keys == ("d",)
        assert (await backend.scan_keys(EVENTS, after="c")).keys == ("d",)
        assert (await backend.scan_keys(EVENTS, prefix="b", after="a")).keys == ("b",)
        assert (await backend.scan_keys(EVENTS, prefix="b", after="d")).keys == ()

    async def test_all_pages_are_of_the_first_pages_revision(self, backend: StateBackend) -> None:
        await fill(backend, ["a", "b", "c", "d"])
        pages = backend.pages(EVENTS, limit=1)
        first = await pages.__anext__()
        await backend.put(EVENTS, "b", b"changed")
        await backend.delete(EVENTS, "c")
        await backend.put(EVENTS, "bb", b"new")
        rest = [page async for page in pages]
        assert [entry.value for page in (first, *rest) for entry in page.entries] == [b"a", b"b", b"c", b"d"]
        assert {page.revision for page in rest} == {first.revision}

    async def test_scan_all_reads_every_page(self, backend: StateBackend) -> None:
        keys = [join_key("app", number) for number in range(25)]
        revision = await fill(backend, keys)
        page = await backend.scan_all(EVENTS, limit=4)
        assert [entry.key for entry in page.entries] == keys
        assert (page.revision, page.more) == (revision, False)

    async def test_keys_and_entries_agree(self, backend: StateBackend) -> None:
        await fill(backend, ["a", "b", "c"])
        entries = await backend.scan(EVENTS, limit=2)
        keys = await backend.scan_keys(EVENTS, limit=2)
        assert keys.keys == tuple(entry.key for entry in entries.entries)
        assert (keys.revision, keys.more) == (entries.revision, entries.more)

    async def test_values_come_back_as_they_were(self, backend: StateBackend) -> None:
        value = bytes(range(256)) * 4096
        await backend.put(EVENTS, "a", value)
        assert [entry.value for entry in (await backend.scan(EVENTS)).entries] == [value]

    async def test_reading_before_the_history_says_compacted(
        self, backend: StateBackend, compact: Callable[[Revision], Awaitable[None]]
    ) -> None:
        first = await fill(backend, ["a", "b", "c"])
        for number in range(3):
            last = await backend.put(EVENTS, "b", str(number).encode())
        await compact(last)
        with pytest.raises(Compacted) as raised:
            await backend.scan(EVENTS, at=first)
        assert raised.value.compacted_revision == last
        with pytest.raises(Compacted):
            await backend.scan_keys(EVENTS, at=first)
        assert [entry.value for entry in (await backend.scan(EVENTS, at=last)).entries] == [b"a", b"2", b"c"]

    async def test_a_cancellation_comes_through_whenever_it_comes(self, backend: StateBackend) -> None:
        for turns in range(20):
            reading = asyncio.create_task(backend.get(EVENTS, "a"))
            for _ in range(turns):
                await asyncio.sleep(0)
            was_under_way = reading.cancel()
            await asyncio.wait((reading,))
            assert reading.cancelled() is was_under_way, f"after {turns} turns"

    async def test_reading_the_future_is_refused(self, backend: StateBackend) -> None:
        revision = await backend.put(EVENTS, "a", b"1")
        with pytest.raises(InvalidRequest):
            await backend.scan(EVENTS, at=Revision(revision + 1_000_000))

    async def test_another_client_sees_what_was_acknowledged(self, backend: StateBackend, other: StateBackend) -> None:
        for number in range(20):
            value = str(number).encode()
            revision = await backend.put(EVENTS, "a", value)
            reading = await other.get(EVENTS, "a")
            assert reading.entry is not None
            assert (reading.entry.value, reading.entry.revision) == (value, revision)
