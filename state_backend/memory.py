"""The store in memory: for tests, for tries, and as the plainest statement of what the others do.

Responsible for: the whole contract within one process. Refuses to know: files, other processes.
Invariant: every change goes through `MemoryStore.commit`, which takes one revision and no await.

Several backends may share one `MemoryStore`, as replicas share a store. History is kept for the last commits only;
reading or watching before them raises `Compacted`.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakSet

from state_backend.api import StateBackend
from state_backend.errors import Closed, Compacted, NoSuchLease
from state_backend.following import FollowingWatch, History, Stretch
from state_backend.lease import Lease
from state_backend.limits import (
    PAGE_LIMIT,
    check_key,
    check_read_revision,
    check_scan,
    check_transaction,
    check_ttl,
    check_watch,
)
from state_backend.signal import Signal
from state_backend.transaction import Effect, check_compares, effects_of
from state_backend.values import (
    Change,
    Commit,
    Compare,
    Entry,
    KeyPage,
    Keyspace,
    LeaseId,
    Operation,
    Page,
    Reading,
    Removed,
    Revision,
    Stamp,
    Written,
    changed_key,
)

FIRST_REVISION = Revision(1)
#: Commits that can be read and watched again.
HISTORY_COMMITS = 10_000

_Place = tuple[Keyspace, str]


@dataclass(slots=True)
class _HeldKeys:
    """A lease as the store sees it."""

    ttl_seconds: float
    expiry: asyncio.TimerHandle
    places: set[_Place] = field(default_factory=set)


class MemoryStore:
    """Keys, their versions and the commits that made them."""

    def __init__(self, history_commits: int = HISTORY_COMMITS) -> None:
        self.revision = FIRST_REVISION
        self.compacted_revision = Revision(0)  #: The last one of which nothing can be read.
        self.signal = Signal()
        self._history_commits = history_commits
        self._keys: dict[Keyspace, list[str]] = {keyspace: [] for keyspace in Keyspace}
        self._versions: dict[_Place, list[tuple[Revision, Entry | None]]] = {}
        self._commits: dict[int, tuple[tuple[Keyspace, Change], ...]] = {}
        self._leases: dict[LeaseId, _HeldKeys] = {}
        self._lease_of: dict[_Place, LeaseId] = {}
        self._lease_count = 0

    # ---- reading ----------------------------------------------------------------------------------------------------

    def entry(self, keyspace: Keyspace, key: str, at: Revision | None = None) -> Entry | None:
        """The entry under the key as of a revision, the present one unless told; None where there was none."""
        for revision, entry in reversed(self._versions.get((keyspace, key), ())):
            if at is None or revision <= at:
                return entry
        return None

    def entries(self, keyspace: Keyspace, prefix: str, after: str | None, at: Revision) -> Iterator[Entry]:
        """Lazily, in key order, from the first key that can be meant."""
        keys = self._keys[keyspace]
        start = max(bisect_left(keys, prefix), bisect_right(keys, after) if after else 0)
        for index in range(start, len(keys)):
            if not keys[index].startswith(prefix):
                return
            entry = self.entry(keyspace, keys[index], at)
            if entry is not None:
                yield entry

    def stamp(self, keyspace: Keyspace, key: str) -> Stamp | None:
        """What a compare looks at; None where there is no entry."""
        entry = self.entry(keyspace, key)
        return None if entry is None else entry.stamp

    def value(self, keyspace: Keyspace, key: str) -> bytes:
        """The value of an entry that is there."""
        entry = self.entry(keyspace, key)
        assert entry is not None, "a move is planned only after its compare held"
        return entry.value

    def commits_from(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Iterator[Commit]:
        """The commits from this revision on that change a key under the prefix, in order; changes in key order."""
        for revision in range(from_revision, self.revision + 1):
            changes = (change for space, change in self._commits.get(revision, ()) if space is keyspace)
            wanted = [change for change in changes if changed_key(change).startswith(prefix)]
            if wanted:
                yield Commit(Revision(revision), tuple(sorted(wanted, key=changed_key)))

    # ---- writing ----------------------------------------------------------------------------------------------------

    def transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        """All operations in one commit if all compares hold; gives its revision. Raises `Conflict`, `NoSuchLease`."""
        check_compares(compares, self.stamp, self.revision)
        effects = effects_of(compares, operations, Revision(self.revision + 1), self.stamp, self.value)
        for effect in effects:
            if effect.lease is not None and effect.lease not in self._leases:
                raise NoSuchLease(effect.lease)
        return self.commit(effects)

    def commit(self, effects: Sequence[Effect]) -> Revision:
        """Makes one commit of these effects, and tells who watches; without any gives the present revision."""
        if not effects:
            return self.revision
        self.revision = Revision(self.revision + 1)
        self._commits[self.revision] = tuple((effect.keyspace, self._apply(effect)) for effect in effects)
        self.compact(Revision(self.revision - self._history_commits))
        self.signal.tell()
        return self.revision

    def compact(self, revision: Revision) -> None:
        """Forgets the commits before this revision, as etcd does; what is current at it stays readable."""
        for gone in range(self.compacted_revision + 1, revision):
            for keyspace, change in self._commits.pop(gone, ()):
                self._forget_versions(keyspace, changed_key(change), revision)
        self.compacted_revision = Revision(max(revision - 1, self.compacted_revision))

    def _apply(self, effect: Effect) -> Change:
        place = (effect.keyspace, effect.key)
        if place not in self._versions:
            insort(self._keys[effect.keyspace], effect.key)
        self._versions.setdefault(place, []).append((self.revision, effect.entry))
        self._bind(place, effect.lease)
        if effect.entry is None:
            return Removed(effect.keyspace, effect.key, self.revision)
        return Written(effect.keyspace, effect.entry)

    def _forget_versions(self, keyspace: Keyspace, key: str, through: Revision) -> None:
        versions = self._versions.get((keyspace, key), [])
        while len(versions) > 1 and versions[1][0] <= through:
            del versions[0]
        if versions and versions[0][0] <= through and versions[0][1] is None:
            del versions[0]
        if not versions and self._versions.pop((keyspace, key), None) is not None:
            keys = self._keys[keyspace]
            del keys[bisect_left(keys, key)]

    # ---- leases -----------------------------------------------------------------------------------------------------

    def grant(self, ttl_seconds: float) -> LeaseId:
        """A lease that ends by itself after `ttl_seconds`, with its keys, unless it is renewed."""
        self._lease_count += 1
        lease = LeaseId(self._lease_count)
        self._leases[lease] = _HeldKeys(ttl_seconds, self._expiry(lease, ttl_seconds))
        return lease

    def renew(self, lease: LeaseId) -> None:
        """Gives the lease its whole time again. Raises `NoSuchLease`."""
        if lease not in self._leases:
            raise NoSuchLease(lease)
        held = self._leases[lease]
        held.expiry.cancel()
        held.expiry = self._expiry(lease, held.ttl_seconds)

    def revoke(self, lease: LeaseId) -> None:
        """Ends the lease and removes its keys in one commit; one that is gone is left so."""
        held = self._leases.pop(lease, None)
        if held is not None:
            held.expiry.cancel()
            self.commit([Effect(*place, None) for place in sorted(held.places, key=lambda place: place[1])])

    def _expiry(self, lease: LeaseId, ttl_seconds: float) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(ttl_seconds, self.revoke, lease)

    def _bind(self, place: _Place, lease: LeaseId | None) -> None:
        before = self._lease_of.pop(place, None)
        if before is not None and before in self._leases:
            self._leases[before].places.discard(place)
        if lease is not None:
            self._lease_of[place] = lease
            self._leases[lease].places.add(place)


class MemoryBackend(StateBackend, History):
    """One client of a `MemoryStore`, its own unless one is given to share."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self._watches: WeakSet[FollowingWatch] = WeakSet()
        self._leases: list[Lease] = []
        self._closed = False

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        self._check_open()
        check_key(key)
        return Reading(self.store.entry(keyspace, key), self.store.revision)

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        self._check_open()
        check_scan(prefix, after, limit)
        revision = check_read_revision(at, self.store.compacted_revision, self.store.revision)
        entries: list[Entry] = []
        for entry in self.store.entries(keyspace, prefix, after, revision):
            if len(entries) == limit:
                return Page(tuple(entries), revision, more=True)
            entries.append(entry)
        return Page(tuple(entries), revision, more=False)

    async def scan_keys(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> KeyPage:
        page = await self.scan(keyspace, prefix, after, limit, at)
        return KeyPage(tuple(entry.key for entry in page.entries), page.revision, page.more)

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        self._check_open()
        return self.store.transact(check_transaction(compares, operations), operations)

    async def grant(self, ttl_seconds: float) -> Lease:
        self._check_open()
        check_ttl(ttl_seconds)
        granted_seconds = asyncio.get_running_loop().time()
        self._leases = [lease for lease in self._leases if lease.remaining_seconds > 0]
        self._leases.append(Lease(self, self.store.grant(ttl_seconds), ttl_seconds, granted_seconds))
        return self._leases[-1]

    async def renew_lease(self, lease: LeaseId) -> None:
        self._check_open()
        self.store.renew(lease)

    async def revoke_lease(self, lease: LeaseId) -> None:
        self._check_open()
        self.store.revoke(lease)

    def watch(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> FollowingWatch:
        self._check_open()
        check_watch(prefix, from_revision)
        watch = FollowingWatch(self, self.store.signal, keyspace, prefix, from_revision)
        self._watches.add(watch)
        return watch

    async def read_commits(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Stretch:
        if from_revision <= self.store.compacted_revision:
            raise Compacted(from_revision, Revision(self.store.compacted_revision + 1))
        return Stretch(tuple(self.store.commits_from(keyspace, prefix, from_revision)), self.store.revision)

    async def close(self) -> None:
        self._closed = True
        for watch in tuple(self._watches):
            await watch.close()
        for lease in self._leases:
            await lease.abandon("its backend was closed")

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("memory:")
