"""Who serves over this store, and how many drivers are with each.

Responsible for joining what replicas say of themselves with what drivers' signs of life say of them. Refuses to decide
who is alive: the store does, by leases. Invariant: a replica is listed as long as its lease lives, and after that only
while a driver's last session was there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from coordinator import logs
from coordinator.runtime import places
from coordinator.runtime.api import Peer
from coordinator.wire.errors import WireError
from coordinator.wire.records import ReplicaRecord, SessionRecord, decode
from state_backend import salvage
from state_backend.api import StateBackend
from state_backend.errors import Corrupt
from state_backend.values import Entry, Keyspace

log = logs.logger(__name__)


async def registered(backend: StateBackend) -> list[ReplicaRecord]:
    """Those that are alive; raises what the store says."""
    there = [entry async for entry in salvage.entries(backend, Keyspace.REPLICAS)]
    return [record for entry in there if (record := _replica(entry)) is not None]


async def roll_call(backend: StateBackend) -> list[Peer]:
    """Replicas that are alive with their sessions, then those that are gone and still have some."""
    alive = await registered(backend)
    held: Counter[str] = Counter()
    async for entry in salvage.entries(backend, Keyspace.SESSIONS):
        held.update(record.replica for record in (_session(entry),) if record is not None)
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


def others(records: Iterable[ReplicaRecord], replica: str) -> tuple[ReplicaRecord, ...]:
    """All but this one."""
    return tuple(record for record in records if record.replica != replica)


def _replica(entry: Entry | Corrupt) -> ReplicaRecord | None:
    try:
        if isinstance(entry, Corrupt):
            raise entry
        return decode(ReplicaRecord, entry.value, places.name(Keyspace.REPLICAS, entry.key))
    except (WireError, Corrupt) as error:
        log.warning("a replica's record is damaged", error=str(error))
        return None


def _session(entry: Entry | Corrupt) -> SessionRecord | None:
    try:
        if isinstance(entry, Corrupt):
            raise entry
        return decode(SessionRecord, entry.value, places.name(Keyspace.SESSIONS, entry.key))
    except (WireError, Corrupt) as error:
        log.warning("a sign of life is damaged", error=str(error))
        return None
