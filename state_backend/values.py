"""The values that cross the state backend's contract.

Responsible for: the words of the contract, as frozen values. Refuses to know: how any backend stores them.
Invariant: a value is complete when it is made; nothing here changes afterwards, and missing (`None`) is never empty
(`b""`).

Keys are text, ordered by code point, which is the order of their UTF-8 bytes on every backend. `keys.join_key` makes
them from parts. Revisions count the commits of the whole store: a commit that changes something takes the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NewType

Revision = NewType("Revision", int)
LeaseId = NewType("LeaseId", int)


class Keyspace(Enum):
    """The folders of the store; every key lives in exactly one."""

    APPLICATIONS = "applications"
    SESSIONS = "sessions"
    HEADS = "heads"
    EVENTS = "events"
    SNAPSHOTS = "snapshots"
    LIVE = "live"
    EXPIRED = "expired"
    FENCED = "fenced"
    DELETED = "deleted"
    LOST = "lost"
    REPLICAS = "replicas"
    LOCKS = "locks"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value. `version` counts the writes since the key was created (1 is the first)."""

    key: str
    value: bytes
    revision: Revision
    create_revision: Revision
    version: int

    @property
    def stamp(self) -> Stamp:
        """The entry without its value."""
        return Stamp(self.revision, self.create_revision, self.version)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a compare looks at: an entry without its value."""

    revision: Revision
    create_revision: Revision
    version: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What `get` saw: the entry, or None where the key is missing, and the store's revision at that moment."""

    entry: Entry | None
    revision: Revision


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in key order, all as they were at `revision`. `more` says that the next page is not empty."""

    entries: tuple[Entry, ...]
    revision: Revision
    more: bool


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Like `Page`, keys only."""

    keys: tuple[str, ...]
    revision: Revision
    more: bool


# ---- compares: what must hold for a transaction to happen ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RevisionIs:
    """The key exists and was last written at exactly this revision."""

    keyspace: Keyspace
    key: str
    revision: Revision


@dataclass(frozen=True, slots=True)
class VersionIs:
    """The key exists and was written exactly this many times since it was created (1 or more)."""

    keyspace: Keyspace
    key: str
    version: int


@dataclass(frozen=True, slots=True)
class Absent:
    """The key does not exist."""

    keyspace: Keyspace
    key: str


@dataclass(frozen=True, slots=True)
class Present:
    """The key exists, with whatever value."""

    keyspace: Keyspace
    key: str


Compare = RevisionIs | VersionIs | Absent | Present


@dataclass(frozen=True, slots=True)
class FailedCompare:
    """A compare that did not hold, and what was there instead (None: no such key)."""

    compare: Compare
    found: Stamp | None


# ---- operations: what a transaction does -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Put:
    """Writes the value. With a lease the key goes when the lease does; without, an earlier lease lets it go."""

    keyspace: Keyspace
    key: str
    value: bytes
    lease: LeaseId | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes the key; a missing key is left missing."""

    keyspace: Keyspace
    key: str


@dataclass(frozen=True, slots=True)
class Move:
    """Takes the key from one keyspace to another, with its value or a new one.

    Carries its own compares: the source is at `expected_revision`, the destination is absent. At the destination the
    entry is a new one (version 1). Counts as two compares and two operations, and touches both keys. With a `value`
    etcd needs one round trip, without one it must read the source first.
    """

    from_keyspace: Keyspace
    to_keyspace: Keyspace
    key: str
    expected_revision: Revision
    value: bytes | None = None


Operation = Put | Delete | Move


# ---- changes: what a watch tells -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A key was created or written again."""

    keyspace: Keyspace
    entry: Entry


@dataclass(frozen=True, slots=True)
class Removed:
    """A key was deleted, moved away, or went with its lease."""

    keyspace: Keyspace
    key: str
    revision: Revision


Change = Written | Removed


def changed_key(change: Change) -> str:
    """The key that a change is about."""
    return change.entry.key if isinstance(change, Written) else change.key


@dataclass(frozen=True, slots=True)
class Commit:
    """All that one commit changed under a watch; never empty, never split. In key order."""

    revision: Revision
    changes: tuple[Change, ...]
