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
            record = record_of(keyspace, kind, item)
            if isinstance(record, Exception):
                log.error("a record is damaged", error=str(record))
            else:
                yield record


def record_of(keyspace: Keyspace, kind: type[R], item: Entry | Corrupt) -> R | WireError | Corrupt:
    """The record that an entry holds; where it is damaged, the error that says so, given and not raised."""
    if isinstance(item, Corrupt):
        return item
    try:
        return decode(kind, item.value, places.name(keyspace, item.key))
    except WireError as error:
        return error
