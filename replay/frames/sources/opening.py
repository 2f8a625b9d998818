"""From what was asked to batches.

Responsible for choosing the kind of source, for planning and for reading one piece. Refuses to know Spark. Invariant:
planning reads no event but where it must to know whose log a file is; a piece is read anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

import pyarrow as pa

from replay.frames.batches import batches
from replay.frames.options import Reading
from replay.frames.pieces import LogPiece, Piece, StorePiece, TablePiece
from replay.frames.salvage import Found
from replay.frames.sources import folders, logs, stores, tables


def plan(reading: Reading) -> list[Piece]:
    """The pieces, each for one task."""
    return stores.plan(reading) if reading.is_store else folders.plan(reading)


def read(reading: Reading, piece: Piece, kinds: Set[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of a piece. ``kinds``: only these kinds of events are needed."""
    if isinstance(piece, TablePiece):
        return tables.read(piece, reading.applications, kinds)
    return batches(piece.application, _found(reading, piece), reading.mode, kinds)


def _found(reading: Reading, piece: Piece) -> Iterator[Found]:
    if isinstance(piece, StorePiece):
        return stores.read(reading, piece)
    if isinstance(piece, LogPiece):
        return logs.read(piece)
    assert not isinstance(piece, TablePiece)
    return iter((piece.problem,) if reading.tells(piece.problem) else ())
