"""Snapshots: the folded state in parts.

Responsible for cutting state into sealed parts that each fit into a store, and for putting it together again. Refuses
to know where parts are kept. Invariant: parts are put together only if they are all there and of one snapshot, and only
where folding the log here would give that very state; else it is an error, and the log is folded instead.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shuffle_lifecycle.v1 import events_pb2

from coordinator.core.ids import ApplicationId
from coordinator.core.ids import Sequence as Place
from coordinator.core.state import TABLES, State, empty
from coordinator.wire.errors import Corrupt, OtherRules
from coordinator.wire.sealing import seal, unseal
from coordinator.wire.tables import put_rows, rows_of

#: Of the tables' form, and of what events mean: raised by whoever changes the state that a log folds into, as
#: `tests/golden` notices. A replica that goes on from a state of other rules would differ from one that folds the log.
VERSION = 2
#: Rows of one table block: small enough that a part can be cut between blocks.
BLOCK_ROWS = 256
PART_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state after the event ``sequence``. ``digest`` is the whole state's, as the core computes it."""

    application: ApplicationId
    sequence: Place
    state: State
    digest: str = ""


def encode_snapshot(snapshot: Snapshot, part_bytes: int = PART_BYTES) -> list[bytes]:
    """The snapshot's parts, in order; each about ``part_bytes`` at most."""
    groups = list(_groups(_blocks(snapshot.state), part_bytes))
    return [
        seal(
            events_pb2.SnapshotPart(
                application=snapshot.application,
                sequence=snapshot.sequence,
                part=part,
                parts=len(groups),
                version=VERSION,
                digest=snapshot.digest,
                tables=group,
            )
        )
        for part, group in enumerate(groups)
    ]


def decode_snapshot(parts: Sequence[bytes], place: str) -> Snapshot:
    """The snapshot whose parts these are, in order. Raises `OtherRules` where it was folded by such."""
    read = [unseal(events_pb2.SnapshotPart, value, f"{place}, part {part}") for part, value in enumerate(parts)]
    _check_together(read, place)
    state = empty()
    for part in read:
        for table in part.tables:
            put_rows(state, table.name, _rows(table, place))
    first = read[0]
    return Snapshot(ApplicationId(first.application), Place(first.sequence), state, first.digest)


def _blocks(state: State) -> Iterator[Any]:
    for name in ("meta", *TABLES):
        rows = rows_of(state, name)
        for begin in range(0, len(rows), BLOCK_ROWS):
            text = json.dumps(rows[begin : begin + BLOCK_ROWS], separators=(",", ":"))
            yield events_pb2.Table(name=name, rows=zlib.compress(text.encode(), 1))


def _rows(table: Any, place: str) -> Any:
    try:
        return json.loads(zlib.decompress(table.rows))
    except (zlib.error, ValueError) as error:
        raise Corrupt(place, f"the rows of table {table.name!r} cannot be read ({error})", "JSON in zlib") from error


def _groups(blocks: Iterator[Any], part_bytes: int) -> Iterator[list[Any]]:
    group: list[Any] = []
    held = 0
    for block in blocks:
        if group and held + len(block.rows) > part_bytes:
            yield group
            group, held = [], 0
        group.append(block)
        held += len(block.rows)
    yield group


def _check_together(parts: Sequence[Any], place: str) -> None:
    if not parts:
        raise Corrupt(place, "no part of the snapshot is there", "at least one")
    others = {part.version for part in parts} - {VERSION}
    if others:
        raise OtherRules(place, max(others), VERSION)
    first = parts[0]
    if len(parts) != first.parts:
        raise Corrupt(place, f"{len(parts)} parts of the snapshot are there", f"{first.parts}")
    for number, part in enumerate(parts):
        found = (part.application, part.sequence, part.part, part.parts)
        expected = (first.application, first.sequence, number, first.parts)
        if found != expected:
            raise Corrupt(
                f"{place}, part {number}", f"it is {found}", f"{expected} (application, sequence, part, parts)"
            )
