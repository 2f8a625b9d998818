"""A backend that fails when it is told to.

Responsible for: putting the faults of real stores in front of any backend, by a schedule. Refuses to know: chance; a
seeded schedule is made by `random_faults` and is a plain value.
Invariant: the same calls under the same schedule meet the same faults, and an `OutcomeUnknown` that was applied late
was applied as the very same transaction.

Writes and reads are counted apart, each from zero; a fault names the call that it meets. A late write is applied by
`apply_late`, or before the `applied_before`-th later write, whichever comes first.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from state_backend.api import StateBackend
from state_backend.errors import Compacted, Conflict, OutcomeUnknown, StateBackendError, Unavailable
from state_backend.lease import Lease
from state_backend.limits import PAGE_LIMIT, check_transaction
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
    Reading,
    Revision,
)
from state_backend.watch import Watch

WHERE = "a store with faults"


@dataclass(frozen=True, slots=True)
class Refused:
    """`Unavailable`; nothing happens."""


@dataclass(frozen=True, slots=True)
class AnswerLost:
    """`OutcomeUnknown`, and it was applied."""


@dataclass(frozen=True, slots=True)
class RequestLost:
    """`OutcomeUnknown`, and it never will be applied."""


@dataclass(frozen=True, slots=True)
class Late:
    """`OutcomeUnknown`; it is applied just before so many later writes have been made (1: before the next one)."""

    applied_before: int = 1


@dataclass(frozen=True, slots=True)
class Overtaken:
    """`Conflict` with every compare, as if another replica had been faster each time."""


Fault = Refused | AnswerLost | RequestLost | Late | Overtaken


@dataclass(frozen=True, slots=True)
class Faults:
    """Which write and which read meets what; after how many commits a watch says `Compacted`."""

    writes: Mapping[int, Fault] = field(default_factory=dict)
    reads: frozenset[int] = frozenset()
    watch_commits: int | None = None


def random_faults(seed: int, calls: int, share: float) -> Faults:
    """A schedule for so many calls, a share of which fails; the same for the same seed."""
    chance = random.Random(seed)
    kinds: Sequence[Fault] = (Refused(), AnswerLost(), RequestLost(), Late(1), Late(3))
    writes = {number: chance.choice(kinds) for number in range(calls) if chance.random() < share}
    return Faults(writes, frozenset(number for number in range(calls) if chance.random() < share))


@dataclass(slots=True)
class _LateWrite:
    due: int
    compares: Sequence[Compare]
    operations: Sequence[Operation]


class FaultyBackend(StateBackend):
    """Any backend, with faults in front. Closing it closes the one behind."""

    def __init__(self, inner: StateBackend, faults: Faults) -> None:
        self.inner = inner
        self._faults = faults
        self._writes = 0
        self._reads = 0
        self._late: list[_LateWrite] = []

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        self._count_read()
        return await self.inner.get(keyspace, key)

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        self._count_read()
        return await self.inner.scan(keyspace, prefix, after, limit, at)

    async def scan_keys(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> KeyPage:
        self._count_read()
        return await self.inner.scan_keys(keyspace, prefix, after, limit, at)

    def _count_read(self) -> None:
        number, self._reads = self._reads, self._reads + 1
        if number in self._faults.reads:
            raise Unavailable(WHERE, f"read {number} is to fail")

    # ---- writing ----------------------------------------------------------------------------------------------------

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        every_compare = check_transaction(compares, operations)
        number, self._writes = self._writes, self._writes + 1
        await self._apply_due(number)
        fault = self._faults.writes.get(number)
        if fault is None:
            return await self.inner.put_txn(compares, operations)
        if isinstance(fault, Refused):
            raise Unavailable(WHERE, f"write {number} is to be refused")
        if isinstance(fault, Overtaken):
            raise await self._conflict(every_compare)
        if isinstance(fault, AnswerLost):
            await self._apply(compares, operations)
        if isinstance(fault, Late):
            self._late.append(_LateWrite(number + fault.applied_before, compares, operations))
        raise OutcomeUnknown(f"write {number}", f"it is to meet {fault}")

    async def apply_late(self) -> None:
        """Applies now what was to be applied later."""
        late, self._late = self._late, []
        for write in late:
            await self._apply(write.compares, write.operations)

    async def _apply_due(self, number: int) -> None:
        due = [write for write in self._late if write.due <= number]
        self._late = [write for write in self._late if write.due > number]
        for write in due:
            await self._apply(write.compares, write.operations)

    async def _apply(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> None:
        """Whatever comes of it, nobody is there to hear it."""
        try:
            await self.inner.put_txn(compares, operations)
        except StateBackendError:
            return

    async def _conflict(self, compares: Sequence[Compare]) -> Conflict:
        """The compares with what is truly there: the caller's next read may well find them true."""
        revision = (await self.inner.get(Keyspace.HEADS, "faults")).revision
        failed = []
        for compare in compares:
            entry = (await self.inner.get(*place(compare))).entry
            failed.append(FailedCompare(compare, None if entry is None else entry.stamp))
        return Conflict(tuple(failed), revision)

    # ---- leases and watches -----------------------------------------------------------------------------------------

    async def grant(self, ttl_seconds: float) -> Lease:
        return await self.inner.grant(ttl_seconds)

    async def renew_lease(self, lease: LeaseId) -> None:
        await self.inner.renew_lease(lease)

    async def revoke_lease(self, lease: LeaseId) -> None:
        await self.inner.revoke_lease(lease)

    def watch(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Watch:
        inner = self.inner.watch(keyspace, prefix, from_revision)
        return inner if self._faults.watch_commits is None else FaultyWatch(inner, self._faults.watch_commits)

    async def close(self) -> None:
        await self.inner.close()


class FaultyWatch(Watch):
    """Says `Compacted` after so many commits."""

    def __init__(self, inner: Watch, commits: int) -> None:
        self._inner = inner
        self._left = commits

    @property
    def revision(self) -> Revision:
        return self._inner.revision

    async def __anext__(self) -> Commit:
        if self._left <= 0:
            asked = Revision(self._inner.revision + 1)
            raise Compacted(asked, Revision(asked + 1))
        commit = await self._inner.__anext__()  # who gives up waiting has been told nothing
        self._left -= 1
        return commit

    async def close(self) -> None:
        await self._inner.close()
