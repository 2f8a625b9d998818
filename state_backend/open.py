"""Opening a store by its address.

Responsible for: choosing the store. Refuses to know: how any of them works.
Invariant: a store's machinery is imported only when its address is given.
"""

from __future__ import annotations

from state_backend.address import Address, EtcdAddress, MemoryAddress, SqliteAddress, parse_address
from state_backend.api import StateBackend
from state_backend.exhaustive import assert_never


async def open_backend(address: str | Address) -> StateBackend:  # noqa: RET503 - the last line raises
    """Opens `memory:`, `sqlite:///FILE` or `etcd://…`. Raises `WrongAddress`, and what the store says on opening."""
    parsed = parse_address(address) if isinstance(address, str) else address
    if isinstance(parsed, MemoryAddress):
        return _open_memory()
    if isinstance(parsed, SqliteAddress):
        return await _open_sqlite(parsed)
    if isinstance(parsed, EtcdAddress):
        return await _open_etcd(parsed)
    assert_never(parsed)


def _open_memory() -> StateBackend:
    from state_backend.memory import MemoryBackend

    return MemoryBackend()


async def _open_sqlite(address: SqliteAddress) -> StateBackend:
    from state_backend.sqlite.backend import open_sqlite

    return await open_sqlite(address.path)


async def _open_etcd(address: EtcdAddress) -> StateBackend:
    from state_backend.etcd.backend import open_etcd

    return await open_etcd(address)
