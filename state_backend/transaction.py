"""What a transaction means, for the stores that carry it out themselves.

Responsible for: judging compares and turning operations into effects. Refuses to know: where entries are kept.
Invariant: pure; the same compares and operations over the same entries give the same effects, as etcd's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from state_backend.errors import Conflict
from state_backend.exhaustive import assert_never
from state_backend.limits import check_bytes
from state_backend.values import (
    Absent,
    Compare,
    Delete,
    Entry,
    FailedCompare,
    Keyspace,
    LeaseId,
    Move,
    Operation,
    Present,
    Put,
    Revision,
    RevisionIs,
    Stamp,
    VersionIs,
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What one key is after the commit: an entry with its lease, or nothing."""

    keyspace: Keyspace
    key: str
    entry: Entry | None
    lease: LeaseId | None = None


StampOf = Callable[[Keyspace, str], Stamp | None]
ValueOf = Callable[[Keyspace, str], bytes]


def check_compares(compares: Sequence[Compare], stamp_of: StampOf, revision: Revision) -> None:
    """Raises `Conflict` with every compare that does not hold."""
    failed = [FailedCompare(each, found) for each in compares if not holds(each, found := stamp_of(*place(each)))]
    if failed:
        raise Conflict(tuple(failed), revision)


def place(compare: Compare) -> tuple[Keyspace, str]:
    """The key that a compare looks at."""
    return compare.keyspace, compare.key


def holds(compare: Compare, found: Stamp | None) -> bool:  # noqa: RET503 - the last line raises
    """Whether a compare is true of what was found."""
    if isinstance(compare, Absent):
        return found is None
    if isinstance(compare, Present):
        return found is not None
    if isinstance(compare, RevisionIs):
        return found is not None and found.revision == compare.revision
    if isinstance(compare, VersionIs):
        return found is not None and found.version == compare.version
    assert_never(compare)


def effects_of(
    compares: Sequence[Compare],
    operations: Sequence[Operation],
    revision: Revision,
    stamp_of: StampOf,
    value_of: ValueOf,
) -> list[Effect]:
    """What the operations do at this revision; a delete of a missing key does nothing. Raises `TooLarge`.

    `compares`: all that hold, which count with what is moved.
    """
    operations = _filled(compares, operations, value_of)
    effects: list[Effect] = []
    for operation in operations:
        if isinstance(operation, Put):
            stamp = stamp_of(operation.keyspace, operation.key)
            effects.append(_written(operation, revision, stamp))
        elif isinstance(operation, Delete):
            if stamp_of(operation.keyspace, operation.key) is not None:
                effects.append(Effect(operation.keyspace, operation.key, None))
        elif isinstance(operation, Move):
            effects.extend(_moved(operation, revision))
        else:
            assert_never(operation)
    return effects


def _written(put: Put, revision: Revision, stamp: Stamp | None) -> Effect:
    created, version = (revision, 1) if stamp is None else (stamp.create_revision, stamp.version + 1)
    return Effect(put.keyspace, put.key, Entry(put.key, bytes(put.value), revision, created, version), put.lease)


def _filled(compares: Sequence[Compare], operations: Sequence[Operation], value_of: ValueOf) -> Sequence[Operation]:
    """Moves that keep their value, with it: it counts as all others do."""
    if not any(isinstance(each, Move) and each.value is None for each in operations):
        return operations
    filled = [
        replace(each, value=value_of(each.from_keyspace, each.key))
        if isinstance(each, Move) and each.value is None
        else each
        for each in operations
    ]
    check_bytes(compares, filled)
    return filled


def _moved(move: Move, revision: Revision) -> tuple[Effect, Effect]:
    value = bytes(move.value or b"")
    return (
        Effect(move.from_keyspace, move.key, None),
        Effect(move.to_keyspace, move.key, Entry(move.key, value, revision, revision, 1)),
    )
