"""A store with a record that fails its checksum.

Responsible for giving neither that record, nor a page or commits that hold it, as SQLite does, and all else. Refuses to
know what the record means. Invariant: its key can be read.
"""

from __future__ import annotations

from typing import Any

from state_backend.errors import Corrupt
from state_backend.following import Stretch
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.values import KeyPage, Keyspace, Page, Reading, Revision, changed_key


class Damaged(MemoryBackend):
    """``damaged``: which record, as `keyspace/key`."""

    def __init__(self, store: MemoryStore, damaged: str) -> None:
        super().__init__(store)
        self.damaged = damaged

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        self._check(keyspace, key)
        return await super().get(keyspace, key)

    async def scan(self, keyspace: Keyspace, *more: Any, **named: Any) -> Page:
        page = await super().scan(keyspace, *more, **named)
        for entry in page.entries:
            self._check(keyspace, entry.key)
        return page

    async def scan_keys(self, keyspace: Keyspace, *more: Any, **named: Any) -> KeyPage:
        return await MemoryBackend(self.store).scan_keys(keyspace, *more, **named)

    async def read_commits(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Stretch:
        stretch = await super().read_commits(keyspace, prefix, from_revision)
        for commit in stretch.commits:
            for change in commit.changes:
                self._check(keyspace, changed_key(change))
        return stretch

    def _check(self, keyspace: Keyspace, key: str) -> None:
        if f"{keyspace.value}/{key}" == self.damaged:
            raise Corrupt("a store", f"the record {self.damaged} fails its checksum")
