"""Records of a keyspace, as they are listed.

Responsible for reading on past a record that is damaged, and for telling it to the log. Refuses to know what they are
asked for. Invariant: each whole record is given once, in the order of keys, and no other keeps it from being given.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from coordinator import logs
from coordinator.runtime import places
from coordinator.wire.errors import WireError
from coordinator.wire.records import decode
from state_backend import salvage
from state_backend.api import StateBackend
from state_backend.errors import Corrupt
from state_backend.limits import PAGE_LIMIT
from state_backend.values import Entry, Keyspace

R = TypeVar("R")

log = logs.logger(__name__)


async def records(
    backend: StateBackend, keyspace: Keyspace, kind: type[R], after: str | None = None, limit: int = PAGE_LIMIT
) -> AsyncGenerator[R, None]:
    """Every whole one behind a key, read ``limit`` at a time, each page as of its own moment."""
    async with aclosing(salvage.entries(backend, keyspace, "", after, limit)) as there:
        async for item in there:
            record = _whole(keyspace, kind, item)
            if record is not None:
                yield record


def _whole(keyspace: Keyspace, kind: type[R], item: Entry | Corrupt) -> R | None:
    try:
        if isinstance(item, Corrupt):
            raise item
        return decode(kind, item.value, places.name(keyspace, item.key))
    except (WireError, Corrupt) as error:
        log.error("a record is damaged", error=str(error))
        return None
