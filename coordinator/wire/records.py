"""What stands beside the log in the store: heads, applications, generations, sessions, replicas, refusals.

Responsible for these records as values and as sealed bytes. Refuses to know keyspaces, keys and transactions.
Invariant: a record is read whole, with its seal, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, DirectiveId, Sequence, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation
from coordinator.core.values import (
    Capabilities,
    Deletion,
    Driver,
    Ending,
    Expiry,
    Hold,
    Locator,
    Loss,
    Policy,
    Settings,
    Suspension,
)
from coordinator.wire.errors import Malformed
from coordinator.wire.sealing import seal, unseal
from coordinator.wire.shapes import shape_of

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Head:
    """The compare key of every append. ``last_snapshot`` 0: there is none."""

    next_sequence: Sequence
    time_ms: int = 0
    commit_id: bytes = b""
    last_snapshot: Sequence = Sequence(0)
    snapshot_parts: int = 0
    previous_snapshot: Sequence = Sequence(0)
    archived_below: Sequence = Sequence(0)
    version: int = 0


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """One generation, in the keyspace of its life. Who reads it is not in it."""

    application: ApplicationId
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    life: Life
    sequence: Sequence  #: The event that made it what it is.
    since_ms: int
    started_ms: int = 0
    bytes: int = 0
    locator: Locator = Locator()
    expiry: Expiry | None = None
    hold: Hold | None = None
    due_ms: int = 0
    loss: Loss | None = None
    deletion: Deletion | None = None
    directive: DirectiveId | None = None


@dataclass(frozen=True, slots=True)
class ApplicationRecord:
    """One application: its registration, the policy that is in force, whether deletion is suspended, how it ended."""

    application: ApplicationId
    driver: Driver
    capabilities: Capabilities
    policy: Policy
    settings: Settings
    token_hash: str = ""
    registered_ms: int = 0
    ended_ms: int = 0
    ending: Ending | None = None
    suspended: Suspension | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The driver's last sign of life. ``beats`` counts, so that each heartbeat changes the record."""

    application: ApplicationId
    client: ClientId
    replica: str
    heartbeat_ms: int
    beats: int = 0


@dataclass(frozen=True, slots=True)
class ReplicaRecord:
    """A replica, bound to its lease."""

    replica: str
    address: str
    reads_version: int
    release: str = ""
    started_ms: int = 0
    lease: int = 0
    lease_ms: int = 0


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Refusals of one peer and kind in one minute."""

    peer: str
    kind: str
    minute: int
    count: int
    detail: str = ""


def generation_record(
    application: ApplicationId, generation: Generation, sequence: Sequence, since_ms: int
) -> GenerationRecord:
    """The record of a generation that state still holds."""
    expired = generation.why is not None
    return GenerationRecord(
        application,
        generation.shuffle_id,
        generation.app_shuffle,
        generation.life,
        sequence,
        since_ms,
        generation.started_ms,
        generation.bytes,
        generation.locator,
        expiry=generation.why,
        hold=generation.hold if expired else None,
        due_ms=generation.due_ms,
        directive=generation.directive,
    )


def encode(record: object) -> bytes:
    """The record as it is stored."""
    return seal(shape_of(type(record)).write(record))


def decode(kind: type[R], value: bytes, place: str) -> R:
    """The record that was stored; ``place`` names where, for errors."""
    shape = shape_of(kind)
    try:
        return shape.read(unseal(shape.message, value, place))
    except Malformed as error:
        raise error.at(place) from error
