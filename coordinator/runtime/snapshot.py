"""Folded state in the store, so that a log is not folded from its first event for ever.

Responsible for writing a snapshot beside the log, for reading the newest one, and for taking away those that nothing
needs. Refuses to know when one is due. Invariant: a head names a snapshot only after all its parts are in the store,
and a snapshot that cannot be read, that other rules have folded, or that does not give the state whose digest was
written with it, is passed over for the one before it, or for the log, never guessed at.

Segments leave the store only below the last snapshot but one, and only when archived and read back (`archiving`);
`Head.archived_below` is where it is written down.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coordinator import logs
from coordinator.archive.api import ArchiveError
from coordinator.core.digest import digest
from coordinator.core.ids import ApplicationId, Sequence
from coordinator.core.state import State
from coordinator.runtime import places
from coordinator.runtime.aside import Aside
from coordinator.runtime.shelf import Shelf
from coordinator.wire.errors import Corrupt, OtherRules, WireError
from coordinator.wire.records import Head
from coordinator.wire.snapshots import Snapshot, decode_snapshot, encode_snapshot
from state_backend.api import StateBackend
from state_backend.errors import Conflict, OutcomeUnknown
from state_backend.errors import Corrupt as CorruptRecord
from state_backend.values import Absent, Delete, Keyspace, Present, Put

_PRUNE_KEYS = 100

log = logs.logger(__name__)


class Snapshots:
    """One application's snapshots."""

    def __init__(self, backend: StateBackend, application: ApplicationId, aside: Aside[Any]) -> None:
        self._backend = backend
        self._application = application
        self._aside = aside

    async def read(self, head: Head, shelf: Shelf | None = None) -> State | None:
        """The state of the newest snapshot that can be read, also from the archive; None where there is none."""
        for sequence in (head.last_snapshot, head.previous_snapshot):
            if sequence:
                try:
                    return await self._read(sequence)
                except OtherRules as error:
                    log.info("snapshot passed over", application=self._application, why=str(error))
                except (WireError, CorruptRecord) as error:
                    log.error("snapshot passed over", application=self._application, error=str(error))
        return await self._archived(shelf) if shelf is not None and head.archived_below > 1 else None

    async def _archived(self, shelf: Shelf) -> State | None:
        try:
            found = await shelf.snapshot()
            return None if found is None else await self._aside(lambda: checked(found, found.sequence, shelf.where))
        except OtherRules as error:
            log.info("archived snapshot passed over", application=self._application, why=str(error))
            return None
        except (WireError, ArchiveError) as error:
            log.error("archived snapshot passed over", application=self._application, error=str(error))
            return None

    async def parts(self, sequence: Sequence) -> list[bytes]:
        """The sealed parts of a snapshot."""
        page = await self._backend.scan_all(Keyspace.SNAPSHOTS, places.snapshot(self._application, sequence), limit=2)
        return [entry.value for entry in page.entries]

    async def _read(self, sequence: Sequence) -> State:
        prefix = places.snapshot(self._application, sequence)
        parts, place = await self.parts(sequence), f"snapshots/{prefix}"
        state: State = await self._aside(lambda: checked(decode_snapshot(parts, place), sequence, place))
        return state

    async def write(self, state: State) -> int | None:
        """Stores the state, which nobody else may change meanwhile. Gives the number of parts.

        None: another replica is at this very snapshot, the application has left the store, or nobody knows whether a
        part was written.
        """
        sequence = Sequence(state.meta.next_sequence - 1)
        parts: list[bytes] = await self._aside(
            lambda: encode_snapshot(Snapshot(self._application, sequence, state, digest(state)))
        )
        there = Present(Keyspace.HEADS, places.of_application(self._application))
        try:
            for number, value in enumerate(parts):
                key = places.snapshot_part(self._application, sequence, number)
                compares = (there, Absent(Keyspace.SNAPSHOTS, key))
                await self._backend.put_txn(compares, (Put(Keyspace.SNAPSHOTS, key, value),))
        except (Conflict, OutcomeUnknown):
            return None
        return len(parts)

    async def prune(self, head: Head) -> None:
        """Takes away every snapshot that is older than the newest, but for the one before it, and for damaged keys."""
        prefix, last_key, more = places.within_application(self._application), None, True
        while more:
            page = await self._backend.scan_keys(Keyspace.SNAPSHOTS, prefix, last_key, _PRUNE_KEYS)
            gone = [key for key in page.keys if _is_old(places.snapshot_of(key), head)]
            if gone:
                await self._backend.put_txn((), [Delete(Keyspace.SNAPSHOTS, key) for key in gone])
            last_key, more = page.keys[-1] if page.keys else None, page.more


def _is_old(sequence: int | None, head: Head) -> bool:
    return sequence is not None and sequence < head.last_snapshot and sequence != head.previous_snapshot


def named(head: Head, sequence: int, parts: int) -> Head:
    """The head that names a new snapshot."""
    return replace(head, last_snapshot=Sequence(sequence), snapshot_parts=parts, previous_snapshot=head.last_snapshot)


def checked(snapshot: Snapshot, sequence: Sequence, place: str) -> State:
    """Its state, if it is the state that was written. Releases before the digest wrote none: nothing to compare."""
    if snapshot.sequence != sequence or snapshot.state.meta.next_sequence != sequence + 1:
        raise Corrupt(place, f"it is of event {snapshot.sequence}", f"event {sequence}, as the head says")
    found = digest(snapshot.state) if snapshot.digest else ""
    if found != snapshot.digest:
        raise Corrupt(place, f"it gives the state {found}", f"{snapshot.digest}, the digest written with it")
    return snapshot.state
