"""Everything that a keyspace holds, also where some of it is damaged.

Responsible for reading on past a record that the store itself finds damaged, which costs `scan` its whole page, and for
what it takes to write such a record anew. Refuses to know what a record means. Invariant: each entry is given once, in
the order of keys, with an error in the place of each that is damaged; nothing is written over but what was found so.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

from state_backend.api import StateBackend
from state_backend.errors import Conflict, Corrupt
from state_backend.limits import PAGE_LIMIT
from state_backend.values import Absent, Delete, Entry, Keyspace, Stamp

_Item = TypeVar("_Item")
_One = Callable[[StateBackend, Keyspace, str], Awaitable[_Item | None]]


def entries(
    backend: StateBackend, keyspace: Keyspace, prefix: str = "", after: str | None = None, limit: int = PAGE_LIMIT
) -> AsyncGenerator[Entry | Corrupt, None]:
    """Every entry behind a key, read ``limit`` at a time, each page as of its own moment."""
    return _each(backend, keyspace, prefix, after, limit, _entry)


def all_replaceable(backend: StateBackend, keyspace: Keyspace) -> AsyncGenerator[Entry, None]:
    """Every entry, also the damaged ones, as `replaceable` gives them."""
    return _each(backend, keyspace, "", None, PAGE_LIMIT, replaceable)


async def _each(
    backend: StateBackend, keyspace: Keyspace, prefix: str, after: str | None, limit: int, one: _One[_Item]
) -> AsyncGenerator[Entry | _Item, None]:
    """Page by page; where a page cannot be read, each of its entries as ``one`` reads it."""
    more = True
    while more:
        found: Sequence[Entry | _Item]
        try:
            page = await backend.scan(keyspace, prefix, after, limit)
            keys, found, more = [entry.key for entry in page.entries], page.entries, page.more
        except Corrupt:
            there = await backend.scan_keys(keyspace, prefix, after, limit)
            keys, more = list(there.keys), there.more
            found = [read for key in keys if (read := await one(backend, keyspace, key)) is not None]
        for item in found:
            yield item
        after = keys[-1] if keys else after


async def replaceable(backend: StateBackend, keyspace: Keyspace, key: str) -> Entry | None:
    """The entry under the key; a damaged one without its value, to be compared with and written anew."""
    try:
        return (await backend.get(keyspace, key)).entry
    except Corrupt:
        stamp = await _stamp(backend, keyspace, key)
    try:  # what is damaged now, and has this stamp when it is compared with, had it all the time
        return (await backend.get(keyspace, key)).entry
    except Corrupt:
        if stamp is None:
            raise
        return Entry(key, b"", stamp.revision, stamp.create_revision, stamp.version)


async def _stamp(backend: StateBackend, keyspace: Keyspace, key: str) -> Stamp | None:
    """What stands there, told by a conflict, for which no value is read."""
    try:
        await backend.put_txn((Absent(keyspace, key),), (Delete(keyspace, key),))
    except Conflict as conflict:
        return conflict.failed[0].found
    return None


async def _entry(backend: StateBackend, keyspace: Keyspace, key: str) -> Entry | Corrupt | None:
    """None: it has gone since its key was read."""
    try:
        return (await backend.get(keyspace, key)).entry
    except Corrupt as error:
        return error
