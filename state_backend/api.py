"""The contract of a state backend: an ordered, revisioned, transactional map that replicas share.

Responsible for: the promises. Refuses to know: where the bytes are, what they mean, who asks.
Invariant: every backend gives the same answers, the same errors and the same limits to the same calls; the shipped
suite in `state_backend.testing` runs unchanged on all of them.

The methods stand in the order of what they promise: reads, writes, both at once, holding something, being told.
Writes are durable when they return. Reads see every write that returned before the read began, whoever made it
(linearizable), unless an older revision is asked for. Every method may raise `Unavailable`, `Denied`, `Closed`,
`InvalidKey` and `Corrupt`; every write also `OutcomeUnknown`, `NoSpace` and `TooLarge`. What else, each one says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TypeVar

from state_backend.lease import Lease, LeaseKeeper
from state_backend.limits import PAGE_LIMIT
from state_backend.lock import Lock
from state_backend.values import (
    Absent,
    Change,
    Commit,
    Compare,
    Delete,
    Entry,
    FailedCompare,
    KeyPage,
    Keyspace,
    LeaseId,
    Move,
    Operation,
    Page,
    Present,
    Put,
    Reading,
    Removed,
    Revision,
    RevisionIs,
    Stamp,
    VersionIs,
    Written,
)
from state_backend.watch import Watch

__all__ = [
    "Absent",
    "Change",
    "Commit",
    "Compare",
    "Delete",
    "Entry",
    "FailedCompare",
    "KeyPage",
    "Keyspace",
    "Lease",
    "LeaseId",
    "Lock",
    "Move",
    "Operation",
    "Page",
    "Present",
    "Put",
    "Reading",
    "Removed",
    "Revision",
    "RevisionIs",
    "Stamp",
    "StateBackend",
    "VersionIs",
    "Watch",
    "Written",
]

_Backend = TypeVar("_Backend", bound="StateBackend")


class StateBackend(LeaseKeeper, ABC):
    """One open store. Safe for use by many tasks of one event loop; close it once, or use it with `async with`."""

    # ---- reading: sees everything that was acknowledged before ------------------------------------------------------

    @abstractmethod
    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        """The entry under the key, or None for a missing one, with the store's revision."""

    @abstractmethod
    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        """At most `limit` entries whose key begins with `prefix` and is greater than `after`, in key order.

        `at` reads an earlier revision, for the next pages of one scan. Raises `Compacted` when it is gone.
        """

    @abstractmethod
    async def scan_keys(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> KeyPage:
        """Like `scan`, without the values."""

    async def pages(self, keyspace: Keyspace, prefix: str = "", limit: int = PAGE_LIMIT) -> AsyncIterator[Page]:
        """All pages, each as of the first one's revision. Raises `Compacted` when it takes too long: start again."""
        page = await self.scan(keyspace, prefix, limit=limit)
        yield page
        while page.more:
            page = await self.scan(keyspace, prefix, page.entries[-1].key, limit, page.revision)
            yield page

    async def scan_all(self, keyspace: Keyspace, prefix: str = "", limit: int = PAGE_LIMIT) -> Page:
        """All pages as one, read `limit` entries at a time at one revision. Raises `Compacted` as `pages` does."""
        pages = [page async for page in self.pages(keyspace, prefix, limit)]
        entries = tuple(entry for page in pages for entry in page.entries)
        return Page(entries, pages[0].revision, more=False)

    # ---- writing one key --------------------------------------------------------------------------------------------

    async def put(self, keyspace: Keyspace, key: str, value: bytes, lease: LeaseId | None = None) -> Revision:
        """Writes the value whatever was there, and gives the commit's revision. Raises `NoSuchLease`."""
        return await self.put_txn((), (Put(keyspace, key, value, lease),))

    async def delete(self, keyspace: Keyspace, key: str) -> Revision:
        """Removes the key, and gives the store's revision after it. A missing key is no error and no new revision."""
        return await self.put_txn((), (Delete(keyspace, key),))

    # ---- all or nothing ---------------------------------------------------------------------------------------------

    @abstractmethod
    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        """Does all operations in one commit if all compares hold, and gives its revision.

        At most one operation a key, 128 compares, 128 operations and 1.5 MiB (`state_backend.limits`). Raises
        `Conflict`, which names every compare that failed, `DuplicateKey`, `NoSuchLease`, and `InvalidRequest` for no
        operation at all. A commit that changes nothing gives the present revision.
        """

    async def mv(
        self,
        from_keyspace: Keyspace,
        to_keyspace: Keyspace,
        key: str,
        expected_revision: Revision,
        value: bytes | None = None,
    ) -> Revision:
        """Moves the key to another keyspace, with its value or a new one.

        Raises `Conflict` when the source is not at `expected_revision` (changed or gone), or the destination exists.
        """
        return await self.put_txn((), (Move(from_keyspace, to_keyspace, key, expected_revision, value),))

    # ---- holding something while alive ------------------------------------------------------------------------------

    @abstractmethod
    async def grant(self, ttl_seconds: float) -> Lease:
        """A lease that is renewed in the background until it is revoked, lost, or the backend is closed.

        Keys put with it go at most about `ttl_seconds` (and the store's own tick) after its holder has died.
        """

    def lock(self, keyspace: Keyspace, key: str, ttl_seconds: float) -> Lock:
        """A lock, taken by `async with` (which waits for it) and kept by a lease.

        `lock.token` grows from holder to holder. When the lease is lost the body is cancelled and the `with`
        statement raises `LockLost`. Writes under it belong in a transaction with `lock.guard` among its compares.
        """
        return Lock(self, keyspace, key, ttl_seconds)

    # ---- being told -------------------------------------------------------------------------------------------------

    @abstractmethod
    def watch(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Watch:
        """Every commit from `from_revision` on that changes a key under the prefix, in order, none missing.

        `async for commit in watch`; survives reconnects; raises `Compacted` where the history is gone. After a read,
        watch from its revision + 1. Close it, or use it with `async with`.
        """

    # ---- the end ----------------------------------------------------------------------------------------------------

    @abstractmethod
    async def close(self) -> None:
        """Ends watches, stops renewing leases (they run out), lets go of files and connections. May be repeated."""

    async def __aenter__(self: _Backend) -> _Backend:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
