"""Chapter four: leases and locks.

Responsible for: what `grant` and `lock` promise. Refuses to know: any backend.
Invariant: what is held by a lease goes with it, and its holder is told.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from state_backend.api import Keyspace, Put, Removed, Revision, StateBackend
from state_backend.errors import Closed, Conflict, LeaseLost, LockLost
from state_backend.testing.writing import value_of

REPLICAS, LOCKS, HEADS = Keyspace.REPLICAS, Keyspace.LOCKS, Keyspace.HEADS


async def removal_of(backend: StateBackend, key: str, from_revision: Revision) -> Removed:
    """Waits until the key among the replicas is removed."""
    async with backend.watch(REPLICAS, key, from_revision) as watch:
        async for commit in watch:
            for change in commit.changes:
                if isinstance(change, Removed):
                    return change
    raise AssertionError("the watch ended")


class HoldingContract:
    ttl_seconds: float

    async def test_a_leased_key_stays_while_the_lease_is_renewed(self, backend: StateBackend) -> None:
        async with await backend.grant(self.ttl_seconds) as lease:
            await backend.put(REPLICAS, "a", b"here", lease.id)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lease.wait_lost(), 2.5 * self.ttl_seconds)
            lease.check()
            assert await value_of(backend, REPLICAS, "a") == b"here"

    async def test_a_revoked_lease_takes_its_keys_at_once(self, backend: StateBackend) -> None:
        lease = await backend.grant(60)
        put = await backend.put_txn((), [Put(REPLICAS, key, b"", lease.id) for key in ("a", "b")])
        await backend.put(REPLICAS, "c", b"")
        await lease.revoke()
        assert (await backend.scan_keys(REPLICAS)).keys == ("c",)
        with pytest.raises(LeaseLost):
            lease.check()
        await asyncio.wait_for(removal_of(backend, "b", Revision(put + 1)), 5)

    async def test_an_abandoned_lease_runs_out(self, backend: StateBackend, other: StateBackend) -> None:
        lease = await backend.grant(self.ttl_seconds)
        put = await backend.put(REPLICAS, "a", b"here", lease.id)
        began = time.monotonic()
        await lease.abandon("its holder is gone")
        removed = await asyncio.wait_for(removal_of(other, "a", Revision(put + 1)), self.ttl_seconds + 10)
        assert time.monotonic() - began > 0.3 * self.ttl_seconds
        assert removed.revision > put
        assert await value_of(backend, REPLICAS, "a") is None

    async def test_a_put_without_lease_lets_go_of_the_key(self, backend: StateBackend) -> None:
        lease = await backend.grant(60)
        await backend.put(REPLICAS, "a", b"leased", lease.id)
        await backend.put(REPLICAS, "a", b"free")
        await lease.revoke()
        assert await value_of(backend, REPLICAS, "a") == b"free"

    async def test_a_lease_that_the_store_lost_is_told(self, backend: StateBackend) -> None:
        lease = await backend.grant(self.ttl_seconds)
        await backend.revoke_lease(lease.id)
        error = await asyncio.wait_for(lease.wait_lost(), self.ttl_seconds + 5)
        assert isinstance(error, LeaseLost)
        assert lease.remaining_seconds == 0

    async def test_closing_gives_leases_up(self, backend: StateBackend) -> None:
        lease = await backend.grant(60)
        await backend.close()
        with pytest.raises(LeaseLost):
            lease.check()

    async def test_a_lease_that_is_granted_while_the_backend_closes_is_given_up(self, backend: StateBackend) -> None:
        granting = asyncio.ensure_future(backend.grant(60))
        await asyncio.sleep(0)
        await backend.close()
        try:
            lease = await granting
        except Closed:
            return
        with pytest.raises(LeaseLost):
            lease.check()

    async def test_a_lock_has_one_holder(self, backend: StateBackend, other: StateBackend) -> None:
        inside: list[int] = []
        tokens: list[Revision] = []

        async def work(client: StateBackend, number: int) -> None:
            async with client.lock(HEADS, "archive", 10) as lock:
                inside.append(number)
                assert inside == [number]
                tokens.append(lock.token)
                await client.put_txn((lock.guard,), (Put(HEADS, "archive", b""),))
                inside.remove(number)

        await asyncio.gather(*(work((backend, other)[number % 2], number) for number in range(6)))
        assert tokens == sorted(set(tokens))
        assert (await backend.scan(LOCKS)).entries == ()

    async def test_locks_of_other_keys_do_not_wait(self, backend: StateBackend) -> None:
        async with backend.lock(HEADS, "a", 10), backend.lock(HEADS, "b", 10), backend.lock(REPLICAS, "a", 10):
            assert len((await backend.scan_keys(LOCKS)).keys) == 3

    async def test_waiting_for_a_lock_can_be_given_up(self, backend: StateBackend, other: StateBackend) -> None:
        async with backend.lock(HEADS, "a", 10):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(other.lock(HEADS, "a", 10).__aenter__(), 0.3)
        async with other.lock(HEADS, "a", 10) as lock:
            lock.check()

    async def test_a_lost_lock_cancels_its_holder_and_says_so(self, backend: StateBackend, other: StateBackend) -> None:
        async def hold() -> None:
            async with backend.lock(HEADS, "a", self.ttl_seconds) as lock:
                await other.revoke_lease(lock.lease.id)
                await asyncio.Event().wait()

        with pytest.raises(LockLost):
            await asyncio.wait_for(hold(), self.ttl_seconds + 10)

    async def test_a_lock_that_was_lost_in_a_pause_says_so_at_the_end(self, backend: StateBackend) -> None:
        async def pause() -> None:
            async with backend.lock(HEADS, "a", self.ttl_seconds) as lock:
                over = time.monotonic() + lock.lease.ttl_seconds
                while time.monotonic() <= over:  # nothing of ours runs meanwhile, as where a process is stopped
                    pass

        with pytest.raises(LockLost):
            await pause()

    async def test_a_write_under_the_guard_of_a_lost_lock_is_refused(
        self, backend: StateBackend, other: StateBackend
    ) -> None:
        async with backend.lock(HEADS, "a", 60) as lock:
            guard = lock.guard
        async with other.lock(HEADS, "a", 60) as later:
            assert later.token > guard.revision
            with pytest.raises(Conflict):
                await backend.put_txn((guard,), (Put(HEADS, "x", b"late"),))
        assert await value_of(backend, HEADS, "x") is None

    async def test_a_body_that_fails_gives_the_lock_back(self, backend: StateBackend) -> None:
        with pytest.raises(ZeroDivisionError):
            async with backend.lock(HEADS, "a", 60):
                _ = 1 // 0
        assert (await backend.scan(LOCKS)).entries == ()
