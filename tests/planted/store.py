"""Mistakes in a store.

Responsible for bugs in the state backend, planted in the one in memory. Refuses to know who uses it. Invariant: the
contract that catches them is the one that every backend is run against.
"""

from __future__ import annotations

from collections.abc import Sequence

from state_backend import memory
from state_backend.errors import Conflict
from state_backend.limits import PAGE_LIMIT
from state_backend.lock import Lock
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.testing import watching
from state_backend.transaction import effects_of
from state_backend.values import Compare, Keyspace, LeaseId, Operation, Page, Present, Revision
from tests.planted.bug import CONTRACT, Patch, bug


@bug(
    "a lease without fencing: the guard says only that somebody holds the lock",
    f"{CONTRACT}::test_a_write_under_the_guard_of_a_lost_lock_is_refused",
)
def lease_without_fencing(patch: Patch) -> None:
    patch.setattr(Lock, "guard", property(lambda self: Present(Keyspace.LOCKS, self._key)))


@bug("compares are not looked at", f"{CONTRACT}::test_an_append_is_won_by_exactly_one")
def compare_nothing(patch: Patch) -> None:
    patch.setattr(memory, "check_compares", lambda compares, stamp_of, revision: None)


@bug("a transaction whose compare fails is done in part", f"{CONTRACT}::test_a_failed_compare_changes_nothing")
def tear_a_transaction(patch: Patch) -> None:
    transact = MemoryStore.transact

    def torn(self: MemoryStore, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        try:
            return transact(self, compares, operations)
        except Conflict:
            some = effects_of((), operations[:1], Revision(self.revision + 1), self.stamp, lambda *place: b"")
            self.commit(some)
            raise

    patch.setattr(MemoryStore, "transact", torn)


@bug("what a lease held stays when the lease is gone", f"{CONTRACT}::test_a_revoked_lease_takes_its_keys_at_once")
def keys_that_outlive_their_lease(patch: Patch) -> None:
    def lax(self: MemoryStore, lease: LeaseId) -> None:
        held = self._leases.pop(lease, None)
        if held is not None:
            held.expiry.cancel()

    patch.setattr(MemoryStore, "revoke", lax)


@bug(
    "the next page of a scan is of the present, not of the first page's revision",
    f"{CONTRACT}::test_all_pages_are_of_the_first_pages_revision",
)
def pages_of_the_present(patch: Patch) -> None:
    scan = MemoryBackend.scan

    async def present(
        self: MemoryBackend,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        return await scan(self, keyspace, prefix, after, limit, None)

    patch.setattr(MemoryBackend, "scan", present)


@bug(
    "a watch loses what was committed together with the first of several commits",
    f"{CONTRACT}::test_every_write_of_every_client_is_told_in_order",
)
def a_watch_that_skips(patch: Patch) -> None:
    commits_from = MemoryStore.commits_from
    patch.setattr(watching, "PATIENCE_SECONDS", 1)  # what never comes is not waited for so long
    patch.setattr(
        MemoryStore,
        "commits_from",
        lambda self, keyspace, prefix, since: iter(list(commits_from(self, keyspace, prefix, since))[-1:]),
    )
