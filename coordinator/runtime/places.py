"""Where things stand in the store.

Responsible for the keys of the runtime's records, and for the names of their places in errors. Refuses to know their
content. Invariant: keys of one application share its prefix, and segments sort by their first sequence number.
"""

from __future__ import annotations

from coordinator.core.ids import ApplicationId
from coordinator.core.lifecycle import Life
from state_backend.keys import first_number_of, join_key, key_prefix, split_key
from state_backend.values import Keyspace

#: Where the record of a generation stands; tombstones are kept as ranges.
OF_LIFE: dict[Life, Keyspace] = {
    Life.WRITING: Keyspace.LIVE,
    Life.READABLE: Keyspace.LIVE,
    Life.PARTIAL: Keyspace.LIVE,
    Life.FENCING: Keyspace.LIVE,
    Life.EXPIRED: Keyspace.EXPIRED,
    Life.FENCED: Keyspace.FENCED,
    Life.DELETED: Keyspace.DELETED,
    Life.LOST: Keyspace.LOST,
}


def of_application(application: ApplicationId) -> str:
    """The key of all records of which an application has one: head, registration, session, ranges of tombstones."""
    return join_key(application)


def within_application(application: ApplicationId) -> str:
    """The prefix of all records of which it has many."""
    return key_prefix(application)


def application_of(key: str) -> ApplicationId:
    """Whose record it is."""
    return ApplicationId(split_key(key)[0])


def segment(application: ApplicationId, first_sequence: int) -> str:
    """The key of the segment that begins with this event."""
    return join_key(application, first_sequence)


def first_sequence_of(key: str) -> int | None:
    """Which event a segment begins with; None: the key is damaged."""
    return first_number_of(key, 1)


def begins_by(key: str, sequence: int) -> bool:
    """Whether a segment begins with this event or an earlier one; of a damaged key no."""
    begins = first_sequence_of(key)
    return begins is not None and begins <= sequence


def generation(application: ApplicationId, shuffle_id: int) -> str:
    """The key of a generation's record."""
    return join_key(application, shuffle_id)


def snapshot(application: ApplicationId, sequence: int) -> str:
    """The prefix of a snapshot's parts."""
    return key_prefix(application, sequence)


def snapshot_part(application: ApplicationId, sequence: int, part: int) -> str:
    """The key of one part of a snapshot."""
    return join_key(application, sequence, part)


def snapshot_of(key: str) -> int | None:
    """Which event the snapshot is of whose part this is; None: the key is damaged."""
    return first_number_of(key, 2)


def name(keyspace: Keyspace, key: str) -> str:
    """The place as errors call it."""
    return f"{keyspace.value}/{key}"
