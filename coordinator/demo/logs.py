"""The log of one application, read from its store.

Responsible for asking the store for all of it. Refuses to know what it says. Invariant: no log is written to.
"""

from __future__ import annotations

import asyncio

from coordinator.app import replica_name
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.open import open_backend


def read_log(store: str, application: str) -> list[Recorded]:
    """Every event of the application, from the store at this address."""
    return asyncio.run(_read(store, ApplicationId(application)))


async def _read(store: str, application: ApplicationId) -> list[Recorded]:
    backend = await open_backend(store)
    try:
        async with Replica(backend, Options(replica=replica_name(), reap=False)) as replica:
            found: list[Recorded] = []
            while page := await replica.events(application, after=found[-1].sequence if found else 0):
                found += page
            return found
    finally:
        await backend.close()
