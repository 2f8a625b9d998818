"""When drivers were heard of last, for who asks.

Responsible for reading signs of life, which `pulse` writes. Refuses to judge how long is too long (`reaping`).
Invariant: it only reads, and what is damaged counts as nothing known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from coordinator.core.ids import ApplicationId
from coordinator.runtime import places
from coordinator.wire.errors import WireError
from coordinator.wire.records import SessionRecord, decode
from state_backend.api import StateBackend
from state_backend.errors import Corrupt
from state_backend.values import Keyspace

_AT_ONCE = 100


async def last(backend: StateBackend, applications: Sequence[ApplicationId]) -> dict[ApplicationId, SessionRecord]:
    """The last sign of life of each that has one; who has ended has none. Raises what the store says."""
    found: dict[ApplicationId, SessionRecord] = {}
    for first in range(0, len(applications), _AT_ONCE):
        some = applications[first : first + _AT_ONCE]
        records = await asyncio.gather(*(_of(backend, application) for application in some))
        found.update({record.application: record for record in records if record is not None})
    return found


async def _of(backend: StateBackend, application: ApplicationId) -> SessionRecord | None:
    key = places.of_application(application)
    try:
        entry = (await backend.get(Keyspace.SESSIONS, key)).entry
        return decode(SessionRecord, entry.value, places.name(Keyspace.SESSIONS, key)) if entry is not None else None
    except (WireError, Corrupt):
        return None
