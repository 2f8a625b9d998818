"""The contract on a SQLite file.

Responsible for: one open store, its watches and leases. Refuses to know: statements (`records`) and threads (`worker`).
Invariant: revisions are taken inside the write transaction, so several processes on one file share one sequence.

Leases run by the machine's wall clock, which the processes of one file share. Whoever works on the file takes away
what has run out. Other processes' commits are noticed by SQLite's data version, looked at a few times a second, more
often while others commit, and only while something is watched.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from state_backend.api import StateBackend
from state_backend.errors import Closed, Compacted, NoSuchLease, StateBackendError
from state_backend.following import FollowingWatch, History, Stretch
from state_backend.lease import Lease
from state_backend.limits import (
    PAGE_LIMIT,
    check_key,
    check_lease,
    check_read_revision,
    check_scan,
    check_transaction,
    check_ttl,
    check_watch,
    is_lease,
)
from state_backend.signal import Signal
from state_backend.sqlite.file import connect, unmoved
from state_backend.sqlite.records import Records
from state_backend.sqlite.worker import Worker
from state_backend.threads import Threads
from state_backend.transaction import Effect, check_compares, effects_of
from state_backend.values import Compare, KeyPage, Keyspace, LeaseId, Operation, Page, Reading, Revision
from state_backend.waiting import within

#: Commits that can be read and watched again; what is older goes when there are `_COMPACT_EVERY_COMMITS` more.
HISTORY_COMMITS = 10_000
#: Between two looks for what other processes have committed: after one has, and when none does.
LOOK_SECONDS_MIN, LOOK_SECONDS_MAX = 0.02, 0.25

_COMPACT_EVERY_COMMITS = 1_000
#: Changes that a watch reads at once; the commit that the last of them belongs to is read to its end.
_WATCH_CHANGES = 500

_Result = TypeVar("_Result")


async def open_sqlite(path: Path, history_commits: int = HISTORY_COMMITS) -> SqliteBackend:
    """Opens or creates the file. Raises `NotAStore`, `NewerStore`, `Corrupt`, `Unavailable`."""
    connection = await Threads(1, f"sqlite {path}")(lambda: connect(path))
    return SqliteBackend(connection, path, history_commits)


class SqliteBackend(StateBackend, History):
    """One open file; `open_sqlite` makes it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, history_commits: int) -> None:
        self.path = path
        self._connection = connection
        self._records = Records(connection, str(path))
        self._history_commits = history_commits
        self._signal = Signal()
        self._worker = Worker(connection, str(path), self._signal.tell, unmoved(path))
        self._watches: WeakSet[FollowingWatch] = WeakSet()
        self._leases: list[Lease] = []
        self._looking: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        check_key(key)
        return await self._read(lambda: Reading(self._records.entry(keyspace, key), self._records.revisions()[0]))

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        check_scan(prefix, after, limit)

        def read() -> Page:
            present, compacted = self._records.revisions()
            revision = check_read_revision(at, compacted, present)
            entries = self._records.entries(keyspace, prefix, after, limit + 1, at)
            return Page(tuple(entries[:limit]), revision, len(entries) > limit)

        return await self._read(read)

    async def scan_keys(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> KeyPage:
        check_scan(prefix, after, limit)

        def read() -> KeyPage:
            present, compacted = self._records.revisions()
            revision = check_read_revision(at, compacted, present)
            keys = self._records.keys(keyspace, prefix, after, limit + 1, at)
            return KeyPage(tuple(keys[:limit]), revision, len(keys) > limit)

        return await self._read(read)

    # ---- writing ----------------------------------------------------------------------------------------------------

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        every_compare = check_transaction(compares, operations)

        def transact() -> Revision:
            self._take_expired()
            present, _ = self._records.revisions()
            check_compares(every_compare, self._records.stamp, present)
            next_revision = Revision(present + 1)
            effects = effects_of(every_compare, operations, next_revision, self._records.stamp, self._records.value)
            self._check_leases(effects)
            return self._commit(effects)

        return await self._worker.write(f"a transaction of {len(operations)} operations", transact)

    async def compact(self, revision: Revision) -> None:
        """Forgets history before this revision; the store does it by itself as commits come."""
        await self._worker.write(f"the compaction before {revision}", lambda: self._records.compact(revision))

    # ---- leases -----------------------------------------------------------------------------------------------------

    async def grant(self, ttl_seconds: float) -> Lease:
        check_ttl(ttl_seconds)
        granted_seconds = asyncio.get_running_loop().time()
        lease = await self._worker.write("a grant", lambda: self._records.grant(ttl_seconds, time.time()))
        self._leases = [lease for lease in self._leases if lease.remaining_seconds > 0]
        self._leases.append(granted := Lease(self, LeaseId(lease), ttl_seconds, granted_seconds))
        if self._closed.is_set():
            await granted.abandon("its backend was closed")
        return granted

    async def renew_lease(self, lease: LeaseId) -> None:
        check_lease(lease)

        def renew() -> None:
            self._take_expired()
            if not self._records.renew(lease, time.time()):
                raise NoSuchLease(lease)

        await self._worker.write("a renewal", renew)

    async def revoke_lease(self, lease: LeaseId) -> None:
        if not is_lease(lease):
            return
        await self._worker.write("a revocation", lambda: self._commit(self._records.end_lease(lease)))

    # ---- watching ---------------------------------------------------------------------------------------------------

    def watch(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> FollowingWatch:
        if self._closed.is_set():
            raise Closed(str(self.path))
        check_watch(prefix, from_revision)
        watch = FollowingWatch(self, self._signal, keyspace, prefix, from_revision)
        self._watches.add(watch)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name=f"look at {self.path}")
        return watch

    async def read_commits(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Stretch:
        def read() -> Stretch:
            present, compacted = self._records.revisions()
            if from_revision <= compacted:
                raise Compacted(from_revision, Revision(compacted + 1))
            commits = tuple(self._records.commits(keyspace, prefix, from_revision, _WATCH_CHANGES))
            cut = sum(len(commit.changes) for commit in commits) >= _WATCH_CHANGES
            return Stretch(commits, commits[-1].revision if cut else present)

        return await self._worker.read(read)

    async def close(self) -> None:
        self._closed.set()
        for watch in tuple(self._watches):
            await watch.close()
        for lease in self._leases:
            await lease.abandon("its backend was closed")
        if self._looking is not None:
            await asyncio.wait((self._looking,))
        await self._worker.stop()

    async def _look(self) -> None:
        """Notices what other processes committed, and what ran out; a reader that is woken meets errors itself."""
        seen, pause_seconds = 0, LOOK_SECONDS_MIN
        while self._signal.has_listeners and not self._closed.is_set():
            before = seen
            with suppress(StateBackendError):
                seen = await self._read(self._data_version)
            pause_seconds = min(2 * pause_seconds, LOOK_SECONDS_MAX)
            if seen != before:
                self._signal.tell()
                pause_seconds = LOOK_SECONDS_MIN
            with suppress(asyncio.TimeoutError):
                await within(pause_seconds, self._closed.wait())

    async def _read(self, run: Callable[[], _Result]) -> _Result:
        """Reads; where a lease had run out, once more without its keys, unless the store takes no write now."""
        expired, result = await self._worker.read(lambda: (self._records.expired_leases(time.time()), run()))
        if not expired:
            return result
        try:
            await self._worker.write("the end of expired leases", self._take_expired)
        except StateBackendError:
            return result
        return await self._worker.read(run)

    # ---- in the worker's thread -------------------------------------------------------------------------------------

    def _data_version(self) -> int:
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version

    def _commit(self, effects: Sequence[Effect]) -> Revision:
        present, compacted = self._records.revisions()
        if not effects:
            return present
        revision = Revision(present + 1)
        self._records.write(effects, revision)
        self._records.set_revision(revision)
        if revision - compacted >= self._history_commits + _COMPACT_EVERY_COMMITS:
            self._records.compact(Revision(revision - self._history_commits))
        return revision

    def _take_expired(self) -> None:
        for lease in self._records.expired_leases(time.time()):
            self._commit(self._records.end_lease(lease))

    def _check_leases(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if effect.lease is not None and not self._records.has_lease(effect.lease):
                raise NoSuchLease(effect.lease)
