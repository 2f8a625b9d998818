"""Who was refused outside any application's log.

Responsible for failed authentications and unknown applications: one record a peer, kind and minute, counted. Refuses to
know who may do what. Invariant: nobody fills the store, or this replica, by being refused: records and what waits to be
written are bounded, the oldest goes first.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from coordinator import logs
from coordinator.runtime.clock import Clock
from coordinator.runtime.options import Options
from coordinator.wire.errors import WireError
from coordinator.wire.records import AuditRecord, decode, encode
from state_backend.api import StateBackend
from state_backend.errors import Conflict, StateBackendError
from state_backend.keys import join_key
from state_backend.values import Absent, Compare, Delete, Entry, Keyspace, Put, RevisionIs
from state_backend.waiting import within

#: Peers and kinds that wait to be written; the rest is counted under `OTHERS`.
PENDING_MAX = 1_000
OTHERS = "others"
WRITE_EVERY_S = 1.0
CLOSING_S = 1.0  #: A replica that stops waits no longer for the store to take them.
_TEXT_MAX = 100
_MINUTE_MS = 60_000
_PRUNE_KEYS = 100

log = logs.logger(__name__)

Kind = tuple[int, str, str]  #: Minute, peer, kind. The minute stands first, so that the oldest key is the first.


class Audit:
    """Refusals, gathered here and written once a second."""

    def __init__(self, backend: StateBackend, options: Options, clock: Clock) -> None:
        self._backend = backend
        self._options = options
        self._clock = clock
        self._counts: Counter[Kind] = Counter()
        self._details: dict[Kind, str] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, peer: str, kind: str, detail: str) -> None:
        """Counts a refusal; it is written down soon."""
        place = (self._clock.wall_ms() // _MINUTE_MS, _text(peer), _text(kind))
        if place not in self._counts and len(self._counts) >= PENDING_MAX:
            place = (place[0], OTHERS, place[2])
        self._counts[place] += 1
        self._details[place] = _text(detail)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon(), name="audit")

    async def flush(self) -> None:
        """Writes what was gathered. What the store refuses is told to the log, and not kept.

        Whoever is cancelled leaves what it has not come to.
        """
        for place in list(self._counts):
            count, detail = self._counts.pop(place), self._details.pop(place)
            try:
                await self._add(place, count, detail)
            except StateBackendError as error:
                log.warning("refusals not written", error=str(error), peer=place[1], kind=place[2], count=count)
        await self._prune()

    async def close(self) -> None:
        """Writes what is left, if the store takes it in time."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait((self._writing,))
        if self._counts:
            try:
                await within(CLOSING_S, self.flush())
            except asyncio.TimeoutError:
                log.warning("refusals not written", error=f"the store did not take them in {CLOSING_S:g} s")

    async def _write_soon(self) -> None:
        while self._counts:
            await self._clock.sleep(WRITE_EVERY_S)
            await self.flush()

    async def _add(self, place: Kind, count: int, detail: str) -> None:
        minute, peer, kind = place
        key = join_key(minute, peer, kind)
        while True:
            entry = (await self._backend.get(Keyspace.AUDIT, key)).entry
            record = AuditRecord(peer, kind, minute, count + _counted(entry), detail)
            try:
                await self._backend.put_txn((_unchanged(key, entry),), (Put(Keyspace.AUDIT, key, encode(record)),))
                return
            except Conflict:
                continue

    async def _prune(self) -> None:
        """Drops the oldest records beyond the bound, a piece at a time, until there are none."""
        try:
            while surplus := await self._surplus():
                await self._backend.put_txn((), [Delete(Keyspace.AUDIT, key) for key in surplus])
        except StateBackendError as error:
            log.warning("old refusals not dropped", error=str(error))

    async def _surplus(self) -> tuple[str, ...]:
        most = self._options.audit_records_max
        page = await self._backend.scan_keys(Keyspace.AUDIT, limit=most + _PRUNE_KEYS)
        return page.keys[: max(0, len(page.keys) - most)]


def _unchanged(key: str, entry: Entry | None) -> Compare:
    return Absent(Keyspace.AUDIT, key) if entry is None else RevisionIs(Keyspace.AUDIT, key, entry.revision)


def _counted(entry: Entry | None) -> int:
    if entry is None:
        return 0
    try:
        return decode(AuditRecord, entry.value, f"audit/{entry.key}").count
    except WireError:
        return 0


def _text(text: str) -> str:
    """What a stranger says, cut, and safe to be part of a key."""
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text[:_TEXT_MAX]) or "-"
