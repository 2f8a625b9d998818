"""Who serves over this store, and how many drivers are with each.

Responsible for joining what replicas say of themselves with what drivers' signs of life say of them. Refuses to decide
who is alive: the store does, by leases. Invariant: a replica is listed as long as its lease lives, and after that only
while a driver's last session was there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from coordinator.runtime.api import Peer
from coordinator.runtime.listing import records
from coordinator.wire.records import ReplicaRecord, SessionRecord
from state_backend.api import StateBackend
from state_backend.values import Keyspace


async def registered(backend: StateBackend) -> list[ReplicaRecord]:
    """Those that are alive; raises what the store says."""
    return [record async for record in records(backend, Keyspace.REPLICAS, ReplicaRecord)]


async def roll_call(backend: StateBackend) -> list[Peer]:
    """Replicas that are alive with their sessions, then those that are gone and still have some."""
    alive = await registered(backend)
    held: Counter[str] = Counter()
    async for session in records(backend, Keyspace.SESSIONS, SessionRecord):
        held[session.replica] += 1
    gone = sorted(set(held) - {record.replica for record in alive} - {""})
    return [
        *(peer(record, held[record.replica]) for record in alive),
        *(Peer(name, "", 0, sessions=held[name], gone=True) for name in gone),
    ]


def peer(record: ReplicaRecord, sessions: int = 0) -> Peer:
    """A replica as it is asked about."""
    return Peer(
        record.replica,
        record.address,
        record.reads_version,
        record.release,
        record.started_ms,
        record.lease,
        record.lease_ms,
        sessions,
    )


def others(known: Iterable[ReplicaRecord], replica: str) -> tuple[ReplicaRecord, ...]:
    """All but this one."""
    return tuple(record for record in known if record.replica != replica)
