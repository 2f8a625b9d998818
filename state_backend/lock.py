"""The lock: at most one holder at a time who may write under its guard, over all replicas.

Responsible for: taking, guarding, losing loudly, giving back. Refuses to know: any backend; it is made of the
contract's own lease, transaction and watch.
Invariant: a write whose transaction carries `guard` happens only while this holder's lock entry is in the store; tokens
grow from holder to holder.

A body that runs under the lock is cancelled when the lease is lost. That is a courtesy: a paused process learns of the
loss late, so only the guard makes writes safe.
"""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from types import TracebackType
from typing import TYPE_CHECKING

from state_backend.errors import Compacted, Conflict, LockLost, NoSuchLease, OutcomeUnknown
from state_backend.lease import Lease
from state_backend.values import Absent, Keyspace, Put, Removed, Revision, RevisionIs

if TYPE_CHECKING:
    from state_backend.api import StateBackend

#: Between two tries while the outcome of the first is unknown.
_PAUSE_SECONDS = 0.05
_NOT_RENEWED = "its lease was not renewed in time"


def lock_key(keyspace: Keyspace, key: str) -> str:
    """Where a lock's entry stands in the keyspace `locks`."""
    return f"{keyspace.value}/{key}"


class Lock:
    """One attempt to hold; `async with backend.lock(...) as lock`. Not reentrant, not to be used twice."""

    def __init__(self, backend: StateBackend, keyspace: Keyspace, key: str, ttl_seconds: float) -> None:
        self._backend = backend
        self._key = lock_key(keyspace, key)
        self._ttl_seconds = ttl_seconds
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}".encode()
        self._held: tuple[Lease, Revision] | None = None
        self._guarding: asyncio.Task[None] | None = None
        self._loss: LockLost | None = None

    @property
    def token(self) -> Revision:
        """The fencing token: the revision at which the lock was taken. Raises `LockLost` when not held."""
        return self._holding()[1]

    @property
    def lease(self) -> Lease:
        """The lease that keeps it. Raises `LockLost` when not held."""
        return self._holding()[0]

    @property
    def guard(self) -> RevisionIs:
        """The compare that makes a transaction happen only while we hold. Raises `LockLost` when not held."""
        return RevisionIs(Keyspace.LOCKS, self._key, self.token)

    def check(self) -> None:
        """Raises `LockLost` unless the lock is surely held now."""
        if self._loss is not None:
            raise self._loss
        if self._held is not None and self._held[0].remaining_seconds <= 0:
            raise LockLost(self._key, _NOT_RENEWED)

    def _holding(self) -> tuple[Lease, Revision]:
        self.check()
        if self._held is None:
            raise LockLost(self._key, "it is not held")
        return self._held

    async def __aenter__(self) -> Lock:
        self._held = await self._acquire()
        body = asyncio.current_task()
        assert body is not None
        self._guarding = asyncio.create_task(self._cancel_when_lost(self._held[0], body), name=f"lock {self._key}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held, self._held = self._held, None
        assert held is not None
        assert self._guarding is not None
        self._guarding.cancel()
        if self._loss is None and held[0].remaining_seconds <= 0:  # the body has not waited since: nobody could say so
            self._loss = LockLost(self._key, _NOT_RENEWED)
        if self._loss is not None:
            await held[0].abandon("its lock was lost")
            if kind is asyncio.CancelledError:
                _take_back_cancel()
            raise self._loss from error
        await held[0].revoke()

    async def _cancel_when_lost(self, lease: Lease, body: asyncio.Task[object]) -> None:
        self._loss = LockLost(self._key, str(await lease.wait_lost()))
        body.cancel()

    async def _acquire(self) -> tuple[Lease, Revision]:
        while True:
            lease = await self._backend.grant(self._ttl_seconds)
            try:
                return lease, await self._take(lease)
            except NoSuchLease:
                await lease.abandon("it ran out before the lock was taken")
            except Conflict as conflict:
                await lease.revoke()
                await self._wait_free(conflict.revision)
            except BaseException:
                await lease.revoke()
                raise

    async def _take(self, lease: Lease) -> Revision:
        """One try, repeated while its outcome is unknown: the holder's name tells whether an earlier one was us."""
        holder = b"%s:%x" % (self._holder, lease.id)  # an earlier try's write may come late
        taking = Put(Keyspace.LOCKS, self._key, holder, lease.id)
        while True:
            try:
                return await self._backend.put_txn((Absent(Keyspace.LOCKS, self._key),), (taking,))
            except OutcomeUnknown:
                lease.check()
                await asyncio.sleep(_PAUSE_SECONDS)  # a disk that is full says so at once
            except Conflict:
                entry = (await self._backend.get(Keyspace.LOCKS, self._key)).entry
                if entry is None or entry.value != holder:
                    raise
                return entry.revision

    async def _wait_free(self, seen_revision: Revision) -> None:
        """Waits until the holder that was seen is gone; the watch starts right after it was seen."""
        try:
            async with self._backend.watch(Keyspace.LOCKS, self._key, Revision(seen_revision + 1)) as watch:
                async for commit in watch:
                    if any(isinstance(change, Removed) and change.key == self._key for change in commit.changes):
                        return
        except Compacted:
            return


def _take_back_cancel() -> None:
    """The cancellation was ours, not the caller's: from Python 3.11 on a task counts them."""
    uncancel = getattr(asyncio.current_task(), "uncancel", None)
    if uncancel is not None:
        uncancel()
