"""One replica's way to the store, with what may happen on it.

Responsible for the time that a call takes and for every error that a store may give, where a story says so. Refuses to
chance. Invariant: an error that says that nothing happened comes from a call that did nothing; a write whose outcome is
open was applied, is applied later as the very same transaction, or never, as the story says; calls of each kind are
counted by themselves, so that a fault is met by the call that it names.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from state_backend.api import StateBackend
from state_backend.errors import (
    Compacted,
    Conflict,
    Corrupt,
    Denied,
    NoSpace,
    NoSuchLease,
    OutcomeUnknown,
    StateBackendError,
    TooLarge,
    Unavailable,
)
from state_backend.lease import Lease
from state_backend.limits import PAGE_LIMIT, check_transaction
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.transaction import place
from state_backend.values import (
    Commit,
    Compare,
    FailedCompare,
    KeyPage,
    Keyspace,
    LeaseId,
    Operation,
    Page,
    Put,
    Reading,
    Revision,
)
from state_backend.watch import Watch

WHERE = "a store far away"
_KINDS = {
    Keyspace.EVENTS: "commit",
    Keyspace.SESSIONS: "beat",
    Keyspace.SNAPSHOTS: "snapshot",
    Keyspace.HEADS: "snapshot",
}

#: What a call of this kind, at this place in the count, meets.
Plan = dict[tuple[str, int], str]


class Uplink(StateBackend):
    """A memory store, seen from afar."""

    def __init__(self, store: MemoryStore, plan: Plan, write_s: float, dies: Callable[[], None]) -> None:
        self._store = store
        self._inner = MemoryBackend(store)
        self._plan = plan
        self._write_s = write_s
        self._dies = dies
        self._counts: Counter[str] = Counter()
        self._late: dict[asyncio.TimerHandle, Callable[[], None]] = {}
        self.weather = ""  #: What every call meets, until it is fair again.
        self.calls = 0
        self.met: Counter[str] = Counter()

    def heal(self) -> None:
        """From now on everything works; what was late has arrived."""
        self._plan, self.weather = {}, ""
        for timer, apply in list(self._late.items()):
            timer.cancel()
            apply()

    def _meets(self, kind: str) -> str:
        number = self._counts[kind]
        self._counts[kind] = number + 1
        self.calls += 1
        return self._plan.get((kind, number), "") or self.weather

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        await self._before_read("head" if keyspace is Keyspace.HEADS else "read")
        return await self._inner.get(keyspace, key)

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        await self._before_read("log" if keyspace is Keyspace.EVENTS else "read", at)
        return await self._inner.scan(keyspace, prefix, after, limit, at)

    async def scan_keys(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> KeyPage:
        await self._before_read("log" if keyspace is Keyspace.EVENTS else "read", at)
        return await self._inner.scan_keys(keyspace, prefix, after, limit, at)

    async def _before_read(self, kind: str, at: Revision | None = None) -> None:
        fault = self._meets(kind)
        if not fault or (fault == "compacted" and at is None) or fault in _OF_WRITES:
            return
        self.met[fault] += 1
        if fault == "compacted" and at is not None:
            raise Compacted(at, Revision(at + 1))
        await self._pass(fault)
        if fault in _OF_READS:
            raise _error(fault)
        if fault in ("answer-lost", "request-lost"):  # a read that is not answered was as good as refused
            raise Unavailable(WHERE, "no answer came")

    async def _pass(self, fault: str) -> None:
        """The time that a slow call takes longer; a caller that dies in it never comes back."""
        if fault.startswith("slow-"):
            await asyncio.sleep(_ms_of(fault) / 1000)
        if fault == "dies-before":
            await self._die()

    async def _die(self) -> None:
        self._dies()
        await asyncio.get_running_loop().create_future()

    # ---- writing ----------------------------------------------------------------------------------------------------

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        every_compare = check_transaction(compares, operations)
        fault = self._meets(_kind_of(operations))
        await asyncio.sleep(self._write_s)
        if not fault:
            return await self._inner.put_txn(compares, operations)
        self.met[fault] += 1
        await self._pass(fault)
        if fault in _ERRORS:
            raise _error(fault)
        if fault == "overtaken":
            raise self._conflict(every_compare)
        if fault.startswith("late-"):
            self._apply_later(_ms_of(fault) / 1000, compares, operations)
        if fault not in ("answer-lost", "dies-after") and not fault.startswith("slow-"):
            raise OutcomeUnknown("a transaction", f"it met {fault}")
        revision = await self._inner.put_txn(compares, operations)
        if fault == "dies-after":
            await self._die()
        if fault == "answer-lost":
            raise OutcomeUnknown("a transaction", "its answer was lost")
        return revision

    def _apply_later(self, seconds: float, compares: Sequence[Compare], operations: Sequence[Operation]) -> None:
        """It is on its way, and arrives whoever is alive by then."""

        def apply() -> None:
            self._late.pop(timer, None)
            try:
                self._store.transact(check_transaction(compares, operations), operations)
            except StateBackendError:
                return  # nobody is there to hear it

        timer = asyncio.get_running_loop().call_later(seconds, apply)
        self._late[timer] = apply

    def _conflict(self, compares: Sequence[Compare]) -> Conflict:
        """As if somebody had been faster each time; what is read next may well be what was expected."""
        failed = [FailedCompare(compare, self._store.stamp(*place(compare))) for compare in compares]
        return Conflict(tuple(failed), self._store.revision)

    # ---- leases and watches -----------------------------------------------------------------------------------------

    async def grant(self, ttl_seconds: float) -> Lease:
        await self._before_lease()
        lease = await self._inner.grant(ttl_seconds)
        lease._keeper = self  # its renewals go this way too
        return lease

    async def renew_lease(self, lease: LeaseId) -> None:
        if await self._before_lease() == "gone":
            self._store.revoke(lease)
            raise NoSuchLease(lease)
        await self._inner.renew_lease(lease)

    async def revoke_lease(self, lease: LeaseId) -> None:
        await self._before_lease()
        await self._inner.revoke_lease(lease)

    async def _before_lease(self) -> str:
        fault = self._meets("lease")
        if fault and fault not in _OF_WRITES:
            self.met[fault] += 1
        await self._pass(fault)
        if fault in ("answer-lost", "request-lost"):
            raise OutcomeUnknown("a lease's call", "no answer came")
        if fault in ("unavailable", "denied"):
            raise _error(fault)
        return fault

    def watch(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Watch:
        return _UncertainWatch(self._inner.watch(keyspace, prefix, from_revision), self._next_watch_fault)

    def _next_watch_fault(self) -> str:
        fault = self._meets("watch")
        if fault not in ("compacted", "unavailable", "denied"):
            return ""
        self.met[fault] += 1
        return fault

    async def close(self) -> None:
        await self._inner.close()


class _UncertainWatch(Watch):
    """A watch that ends where the story says so."""

    def __init__(self, inner: Watch, meets: Callable[[], str]) -> None:
        self._inner = inner
        self._meets = meets

    @property
    def revision(self) -> Revision:
        return self._inner.revision

    async def __anext__(self) -> Commit:
        commit = await self._inner.__anext__()
        fault = self._meets()
        if fault == "compacted":
            raise Compacted(commit.revision, Revision(commit.revision + 1))
        if fault:
            raise _error(fault)
        return commit

    async def close(self) -> None:
        await self._inner.close()


def _kind_of(operations: Sequence[Operation]) -> str:
    """What a write is for: the log, a sign of life, a snapshot, or the house."""
    written = {operation.keyspace for operation in operations if isinstance(operation, Put)}
    return next((kind for keyspace, kind in _KINDS.items() if keyspace in written), "house")


def _ms_of(fault: str) -> int:
    return int(fault.rpartition("-")[2])


_ERRORS: dict[str, Callable[[], StateBackendError]] = {
    "unavailable": lambda: Unavailable(WHERE, "it is away"),
    "no-space": lambda: NoSpace(WHERE, "it is full"),
    "denied": lambda: Denied(WHERE, "its token has run out"),
    "too-large": lambda: TooLarge("bytes", 2_000_000, 1_572_864),
    "corrupt": lambda: Corrupt(WHERE, "a page does not read back"),
}


def _error(fault: str) -> StateBackendError:
    return _ERRORS[fault]()


_OF_READS = frozenset({"unavailable", "denied", "corrupt"})
_OF_WRITES = frozenset({"no-space", "too-large"})
