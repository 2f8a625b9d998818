"""Chapter five: watches.

Responsible for: what `watch` promises. Refuses to know: any backend.
Invariant: in order, without gap, from the revision that was asked for, or `Compacted`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from state_backend.api import Commit, Delete, Keyspace, Move, Put, Removed, Revision, StateBackend, Watch, Written
from state_backend.errors import Compacted
from state_backend.testing.reading import fill

HEADS, LIVE, EXPIRED = Keyspace.HEADS, Keyspace.LIVE, Keyspace.EXPIRED

PATIENCE_SECONDS = 10.0


async def take(watch: Watch, count: int) -> list[Commit]:
    """The next commits, or a failure when they do not come."""
    return [await asyncio.wait_for(watch.__anext__(), PATIENCE_SECONDS) for _ in range(count)]


def keys(commits: list[Commit]) -> list[str]:
    """Which keys were changed, in order; a removal begins with a dash."""
    return [
        change.entry.key if isinstance(change, Written) else f"-{change.key}"
        for commit in commits
        for change in commit.changes
    ]


class WatchingContract:
    async def test_the_past_is_told_and_then_the_present(self, backend: StateBackend) -> None:
        first = await backend.put(LIVE, "a", b"1")
        await backend.put(LIVE, "b", b"2")
        async with backend.watch(LIVE, "", first) as watch:
            assert keys(await take(watch, 2)) == ["a", "b"]
            await backend.put(LIVE, "c", b"3")
            (commit,) = await take(watch, 1)
        (change,) = commit.changes
        assert isinstance(change, Written)
        assert (change.keyspace, change.entry.key, change.entry.value) == (LIVE, "c", b"3")
        assert change.entry.revision == commit.revision

    async def test_from_a_revision_on_and_not_before(self, backend: StateBackend) -> None:
        await backend.put(LIVE, "a", b"1")
        second = await backend.put(LIVE, "b", b"2")
        async with backend.watch(LIVE, "", second) as watch:
            assert keys(await take(watch, 1)) == ["b"]

    async def test_from_a_revision_to_come(self, backend: StateBackend) -> None:
        revision = await backend.put(LIVE, "a", b"1")
        async with backend.watch(LIVE, "", Revision(revision + 2)) as watch:
            await backend.put(LIVE, "b", b"2")
            await backend.put(LIVE, "c", b"3")
            assert keys(await take(watch, 1)) == ["c"]

    async def test_only_the_prefix_and_keyspace(self, backend: StateBackend) -> None:
        first = await fill(backend, ["app/1", "app2/1"], LIVE)
        await fill(backend, ["app/1"], HEADS)
        await fill(backend, ["app/2", "ap"], LIVE)
        async with backend.watch(LIVE, "app/", first) as watch:
            assert keys(await take(watch, 2)) == ["app/1", "app/2"]

    async def test_a_commit_comes_whole(self, backend: StateBackend) -> None:
        first = await fill(backend, ["b", "c", "d"], LIVE)
        operations = (Put(LIVE, "x", b""), Delete(LIVE, "b"), Put(HEADS, "a", b""), Put(LIVE, "a", b""))
        second = await backend.put_txn((), operations)
        async with backend.watch(LIVE, "", first) as watch:
            commits = await take(watch, 2)
        assert [commit.revision for commit in commits] == [first, second]
        assert keys(commits) == ["b", "c", "d", "a", "-b", "x"]

    async def test_removals_are_told(self, backend: StateBackend) -> None:
        read = await backend.put(LIVE, "a", b"1")
        moved = await backend.put_txn((), (Move(LIVE, EXPIRED, "a", read),))
        async with backend.watch(LIVE, "", Revision(read + 1)) as watch:
            assert (await take(watch, 1))[0].changes == (Removed(LIVE, "a", moved),)
        async with backend.watch(EXPIRED, "", Revision(read + 1)) as watch:
            assert keys(await take(watch, 1)) == ["a"]

    async def test_every_write_of_every_client_is_told_in_order(
        self, backend: StateBackend, other: StateBackend
    ) -> None:
        start = await backend.put(LIVE, "start", b"")

        async def write(client: StateBackend, name: str) -> None:
            for number in range(40):
                await client.put(LIVE, f"{name}/{number:02d}", b"")

        async with backend.watch(LIVE, "", Revision(start + 1)) as watch:
            _, commits = await asyncio.gather(asyncio.gather(write(backend, "a"), write(other, "b")), take(watch, 80))
        revisions = [commit.revision for commit in commits]
        assert revisions == sorted(set(revisions))
        told = keys(commits)
        assert [key for key in told if key[0] == "a"] == [f"a/{number:02d}" for number in range(40)]
        assert [key for key in told if key[0] == "b"] == [f"b/{number:02d}" for number in range(40)]

    async def test_a_long_history_is_told_in_order(self, backend: StateBackend) -> None:
        first = await fill(backend, [f"{number:03d}" for number in range(100)], LIVE)
        for turn in range(15):
            last = await backend.put_txn((), [Put(LIVE, f"{number:03d}", bytes([turn])) for number in range(100)])
        async with backend.watch(LIVE, "", first) as watch:
            commits = await take(watch, 16)
            assert watch.revision >= last
        assert [len(commit.changes) for commit in commits] == [100] * 16

    async def test_the_watch_knows_how_far_it_is(self, backend: StateBackend) -> None:
        first = await backend.put(LIVE, "a", b"1")
        second = await backend.put(LIVE, "b", b"2")
        async with backend.watch(LIVE, "", first) as watch:
            assert watch.revision == first - 1
            await take(watch, 1)
            assert first <= watch.revision < second
            await take(watch, 1)
            assert watch.revision >= second

    async def test_several_watches_are_told_the_same(self, backend: StateBackend) -> None:
        start = await backend.put(LIVE, "start", b"")
        watches = [backend.watch(LIVE, "", start) for _ in range(5)]
        await backend.put(LIVE, "a", b"")
        for watch in watches:
            assert keys(await take(watch, 2)) == ["start", "a"]
            await watch.close()

    async def test_a_watch_before_the_history_says_compacted(
        self, backend: StateBackend, compact: Callable[[Revision], Awaitable[None]]
    ) -> None:
        first = await backend.put(LIVE, "a", b"1")
        for number in range(5):
            last = await backend.put(LIVE, "a", str(number).encode())
        await compact(last)
        async with backend.watch(LIVE, "", first) as watch:
            with pytest.raises(Compacted) as raised:
                await take(watch, 1)
        assert raised.value.asked_revision == first
        assert raised.value.compacted_revision >= last
        following = await backend.put(LIVE, "b", b"")
        async with backend.watch(LIVE, "", Revision(last + 1)) as watch:
            assert (await take(watch, 1))[0].revision == following

    async def test_the_history_begins_with_the_commit_up_to_which_it_was_compacted(
        self, backend: StateBackend, compact: Callable[[Revision], Awaitable[None]]
    ) -> None:
        before = await fill(backend, ["a", "b"], LIVE)
        first = await backend.put_txn((), [Delete(LIVE, "a"), Put(LIVE, "c", b"")])
        await backend.put(LIVE, "c", b"again")
        await compact(first)
        for asked in (Revision(before - 1), before):
            async with backend.watch(LIVE, "", asked) as watch:
                with pytest.raises(Compacted) as raised:
                    await take(watch, 1)
            assert raised.value.compacted_revision == first
        async with backend.watch(LIVE, "", first) as watch:
            told, following = await take(watch, 2)
        assert (told.revision, keys([told]), keys([following])) == (first, ["-a", "c"], ["c"])

    async def test_a_reader_that_gives_up_while_the_watch_opens_goes_on_later(self, backend: StateBackend) -> None:
        for turns in range(12):
            written = await backend.put(LIVE, "a", b"%d" % turns)
            async with backend.watch(LIVE, "", written) as watch:
                reading = asyncio.create_task(watch.__anext__())
                for _ in range(turns):
                    await asyncio.sleep(0)
                reading.cancel()
                await asyncio.wait((reading,))
                heard = [] if reading.cancelled() else [reading.result()]
                assert [commit.revision for commit in heard or await take(watch, 1)] == [written], f"{turns} turns"

    async def test_closing_a_watch_ends_its_reader_whenever_it_comes(self, backend: StateBackend) -> None:
        for turns in range(30):
            watch = backend.watch(LIVE, "", Revision(1_000_000_000))
            reading = asyncio.ensure_future(watch.__anext__())
            for _ in range(turns):
                await asyncio.sleep(0)
            await watch.close()
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(reading, PATIENCE_SECONDS)

    async def test_closing_a_watch_ends_its_reader(self, backend: StateBackend) -> None:
        revision = await backend.put(LIVE, "a", b"1")
        watch = backend.watch(LIVE, "", Revision(revision + 1))

        async def read() -> list[Commit]:
            return [commit async for commit in watch]

        reading = asyncio.create_task(read())
        await backend.put(LIVE, "b", b"")
        await take(other := backend.watch(LIVE, "b", revision), 1)
        await other.close()
        await watch.close()
        assert keys(await asyncio.wait_for(reading, PATIENCE_SECONDS)) in (["b"], [])

    async def test_closing_the_backend_ends_its_watches(self, backend: StateBackend) -> None:
        watch = backend.watch(LIVE, "", Revision((await backend.get(LIVE, "a")).revision + 1))
        reading = asyncio.ensure_future(watch.__anext__())
        await asyncio.wait((reading,), timeout=0.05)
        await backend.close()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(reading, PATIENCE_SECONDS)
