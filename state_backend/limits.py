"""The limits that hold on every backend, and the check of a transaction against them.

Responsible for: refusing, before anything is sent, what any backend would refuse. Refuses to know: any backend.
Invariant: what passes here fits into etcd's own default limits, so that moving to etcd never meets a new error.

etcd counts the bytes of the encoded request, in which a key may stand three times (compare, operation, and the read
that names a failed compare); so do we, generously.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from state_backend.errors import Compacted, DuplicateKey, InvalidKey, InvalidRequest, NoSuchLease, TooLarge
from state_backend.exhaustive import assert_never
from state_backend.values import (
    Absent,
    Compare,
    Delete,
    Keyspace,
    LeaseId,
    Move,
    Operation,
    Put,
    Revision,
    RevisionIs,
)

#: Of one transaction: etcd's defaults for `--max-txn-ops`, which holds for each of the two.
COMPARES_MAX = 128
OPERATIONS_MAX = 128
#: Of one transaction: etcd's default for `--max-request-bytes`.
REQUEST_BYTES_MAX = 1_572_864
#: Our own: etcd bounds a key by its request alone.
KEY_BYTES_MAX = 1_024
#: Entries of a page unless its reader says otherwise, and the most that one may ask for.
PAGE_LIMIT = 500
PAGE_LIMIT_MAX = 1_000_000
#: etcd counts revisions and leases in 64 bits with a sign.
REVISION_MAX = 2**63 - 1
LEASE_MAX = 2**63 - 1

#: What each key's compare, operation and read take in the request beside the key and the value.
_ITEM_BYTES = 256
_KEY_COPIES = 3


def check_key(key: str) -> bytes:
    """The key's bytes, or `InvalidKey`."""
    if not key:
        raise InvalidKey(key, "is empty")
    if not key.isprintable():
        raise InvalidKey(key, "has characters that cannot be printed")
    encoded = key.encode()
    if len(encoded) > KEY_BYTES_MAX:
        raise InvalidKey(key, f"has {len(encoded)} bytes, at most {KEY_BYTES_MAX} are allowed")
    return encoded


def check_scan(prefix: str, after: str | None, limit: int) -> None:
    """Refuses what cannot be the prefix of a key, and pages without entries."""
    if prefix:
        check_key(prefix)
    if after:
        check_key(after)
    if not 1 <= limit <= PAGE_LIMIT_MAX:
        raise InvalidRequest(f"the page limit is {limit}", f"1 to {PAGE_LIMIT_MAX}")


def check_read_revision(at: Revision | None, compacted: Revision, present: Revision) -> Revision:
    """The revision to read at: the present one unless an earlier one is asked for, and is still there.

    `compacted`: the last one that is gone.
    """
    check_at(at)
    if at is None:
        return present
    if at <= compacted:
        raise Compacted(at, Revision(compacted + 1))
    if at > present:
        raise InvalidRequest(f"the revision to read at is {at}", f"1 to the store's present {present}")
    return at


def check_at(at: Revision | None) -> None:
    """Refuses to read at what is no revision, which etcd would take for the present."""
    if at is not None and not 1 <= at <= REVISION_MAX:
        raise InvalidRequest(f"the revision to read at is {at}", "1 or more, or none for the present")


def check_watch(prefix: str, from_revision: Revision) -> None:
    """Refuses to start before the beginning, which etcd would take for "now"."""
    check_scan(prefix, None, 1)
    if not 1 <= from_revision <= REVISION_MAX:
        raise InvalidRequest(f"the watch is to start at revision {from_revision}", "1 or more")


def check_ttl(ttl_seconds: float) -> None:
    """Refuses a time to live that is none."""
    if not 0 < ttl_seconds < 1e9:
        raise InvalidRequest(f"the time to live is {ttl_seconds} seconds", "more than 0")


def is_lease(lease: LeaseId) -> bool:
    """Whether any store can have granted it. Zero is how etcd says that there is none."""
    return 1 <= lease <= LEASE_MAX


def check_lease(lease: LeaseId) -> None:
    """Refuses what no store has granted, which none of them would take for the same."""
    if not is_lease(lease):
        raise NoSuchLease(lease)


def moves_compares(operations: Sequence[Operation]) -> Iterator[Compare]:
    """The compares that moves bring along."""
    for operation in operations:
        if isinstance(operation, Move):
            yield RevisionIs(operation.from_keyspace, operation.key, operation.expected_revision)
            yield Absent(operation.to_keyspace, operation.key)


def keys_touched(operation: Operation) -> tuple[tuple[Keyspace, str], ...]:  # noqa: RET503 - the last line raises
    """Every key that the operation changes."""
    if isinstance(operation, Put):
        return ((operation.keyspace, operation.key),)
    if isinstance(operation, Delete):
        return ((operation.keyspace, operation.key),)
    if isinstance(operation, Move):
        return ((operation.from_keyspace, operation.key), (operation.to_keyspace, operation.key))
    assert_never(operation)


def check_transaction(compares: Sequence[Compare], operations: Sequence[Operation]) -> tuple[Compare, ...]:
    """All compares of the transaction, the moves' own included; raises where a limit is passed."""
    if not operations:
        raise InvalidRequest("the transaction has no operation", "at least one")
    every_compare = (*compares, *moves_compares(operations))
    _check_count("compares", len(every_compare), COMPARES_MAX)
    for compare in every_compare:
        _check_meaning(compare)
    touched = [place for operation in operations for place in keys_touched(operation)]
    _check_count("operations", len(touched), OPERATIONS_MAX)
    _check_once_each(touched)
    check_bytes(every_compare, operations)
    for operation in operations:
        if isinstance(operation, Put) and operation.lease is not None:
            check_lease(operation.lease)
    return every_compare


def check_bytes(every_compare: Sequence[Compare], operations: Sequence[Operation]) -> None:
    """Refuses a transaction that is too large; asked again when the values of what is moved are known."""
    keys = [key for operation in operations for _, key in keys_touched(operation)]
    keys += [compare.key for compare in every_compare]
    key_bytes = sum(len(check_key(key)) for key in keys)
    size = _KEY_COPIES * key_bytes + _ITEM_BYTES * len(keys) + sum(map(_value_bytes, operations))
    _check_count("bytes", size, REQUEST_BYTES_MAX)


def _check_count(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(what, size, limit)


def _check_meaning(compare: Compare) -> None:
    """Zero is how etcd counts a missing key; here absence has its own compare."""
    count = getattr(compare, "revision", getattr(compare, "version", 1))
    if not 1 <= count <= REVISION_MAX:
        raise InvalidRequest(f"the compare {compare} names {count}", "1 or more, or the compare Absent")


def _check_once_each(touched: Sequence[tuple[Keyspace, str]]) -> None:
    seen: set[tuple[Keyspace, str]] = set()
    for place in touched:
        if place in seen:
            raise DuplicateKey(*place)
        seen.add(place)


def _value_bytes(operation: Operation) -> int:
    return 0 if isinstance(operation, Delete) else len(operation.value or b"")
