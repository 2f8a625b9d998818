"""Checks of the store: can it be reached, read, and will it stay so?

Responsible for opening the configured store and for what etcd needs beside us. Refuses to write. Invariant: a store
that does not exist is not made by checking it.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from coordinator.cli.checks.finding import Finding, fail, ok, warn
from coordinator.cli.here import default_store
from coordinator.config import Config
from coordinator.wire.errors import WireError
from coordinator.wire.records import Head, decode
from coordinator.wire.upcast import VERSION
from listener_bridge.mounts import shared_as
from replay.units import count, size, span
from state_backend.address import EtcdAddress, SqliteAddress, file_address, parse_address
from state_backend.api import StateBackend
from state_backend.errors import Compacted, StateBackendError
from state_backend.open import open_backend
from state_backend.values import Keyspace, Revision

_COMPACT = "Run etcd with --auto-compaction-mode=periodic --auto-compaction-retention=1h: we never compact it."
#: So many revisions without a compaction are no accident.
_MANY_REVISIONS = 10_000
_AHEAD_MS = 5_000
#: What SQLite's log of changes may hold before it is written back, many times over.
_ROOM_BYTES = 100_000_000


async def look(config: Config) -> list[Finding]:
    """All that there is to say of the store."""
    try:
        address = parse_address(_named(config))
    except (StateBackendError, OSError) as error:
        return [fail("store", str(error), "Correct `store` in the configuration.")]
    place = [*_shared(address), *_full(address)]
    missing = _missing(address)
    if missing is not None:
        return [*place, ok("store", f"{missing} is not there yet; it is made when it is first needed")]
    try:
        backend = await open_backend(address)
    except StateBackendError as error:
        return [*place, _failed(error)]
    async with backend:
        return [*place, *await _of_backend(backend, address)]


def _failed(error: StateBackendError) -> Finding:
    """The store's errors end with what to do."""
    found, _, advice = str(error).rpartition("; ")
    return fail("store", found or advice, f"{advice[0].upper()}{advice[1:]}. Drivers go on without deleting meanwhile.")


def _named(config: Config) -> str:
    data = file_address(Path(config.serve.data).absolute() / "coordinator.db") if config.serve.data else ""
    return config.store or data or default_store()


def _shared(address: object) -> list[Finding]:
    """SQLite serves the processes of one machine."""
    if not isinstance(address, SqliteAddress) or not (kind := shared_as(address.path)):
        return []
    advice = "SQLite is safe there only while one machine uses the file: name a disk of this machine, or etcd."
    return [warn("store", f"{address.path} lies on {kind}, which other machines share", advice)]


def _full(address: object) -> list[Finding]:
    """A file cannot be written on a disk that is full; etcd's members are asked by themselves."""
    folder = Path(address.path).absolute().parent if isinstance(address, SqliteAddress) else None
    if folder is None or not folder.is_dir() or (free := shutil.disk_usage(folder).free) >= _ROOM_BYTES:
        return []
    advice = "Make room: where nothing can be written nothing is deleted, and jobs go on."
    return [warn("store", f"{folder} has {size(free)} left", advice)]


def _missing(address: object) -> Path | None:
    """The file that is not there yet."""
    path = Path(address.path) if isinstance(address, SqliteAddress) else None
    return path if path is not None and not path.exists() else None


async def _of_backend(backend: StateBackend, address: object) -> list[Finding]:
    try:
        found = [await _records(backend), await _heads(backend)]
        return [*found, await _compaction(backend)] if isinstance(address, EtcdAddress) else found
    except StateBackendError as error:
        return [_failed(error)]


async def _records(backend: StateBackend) -> Finding:
    applications = 0
    async for page in backend.pages(Keyspace.APPLICATIONS):
        applications += len(page.entries)
    return ok("store", f"readable, {count(applications, 'application')}")


async def _heads(backend: StateBackend) -> Finding:
    """Who wrote the logs, and when by whose clock."""
    last_ms, newest = 0, 0
    async for page in backend.pages(Keyspace.HEADS):
        for entry in page.entries:
            try:
                head = decode(Head, entry.value, f"heads/{entry.key}")
            except WireError as error:
                return fail("logs", str(error), "That application is refused, others go on.")
            last_ms, newest = max(last_ms, head.time_ms), max(newest, head.version)
    if newest > VERSION:
        return fail("logs", f"their form has version {newest}, this release reads {VERSION}", "Upgrade this program.")
    ahead_ms = last_ms - int(time.time() * 1_000)
    if ahead_ms > _AHEAD_MS:
        advice = "Some machine's clock is wrong: grace periods there last longer than they should. Use NTP."
        return warn("logs", f"the last event is {span(ahead_ms)} ahead of this machine's clock", advice)
    return ok("logs", f"version {newest or VERSION}")


async def _compaction(backend: StateBackend) -> Finding:
    """Whether anybody compacts etcd, as far as its history tells."""
    now = (await backend.scan_keys(Keyspace.HEADS, limit=1)).revision
    try:
        await backend.scan_keys(Keyspace.HEADS, limit=1, at=Revision(1))
    except Compacted as error:
        return ok("etcd compaction", f"history before revision {error.compacted_revision} is compacted")
    told = f"all of {now:,} revisions are kept"
    if now > _MANY_REVISIONS:
        return warn("etcd compaction", told, _COMPACT)
    return ok("etcd compaction", told, _COMPACT)
