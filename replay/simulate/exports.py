"""Recorded runs in exports: files in Arrow and Parquet.

Responsible for telling which runs such files hold, and for reading one of them as the log that it was. Refuses to
simulate. Invariant: a run is one recording, in however many files its days are; a file that cannot be read costs its
own line. Needs pyarrow, which not everybody has who simulates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from coordinator.wire.codec import Segment
from coordinator.wire.errors import Corrupt, WireError
from replay.frames.options import reading_of
from replay.frames.pieces import TablePiece
from replay.frames.recorded import recorded_in
from replay.frames.sources import tables
from replay.frames.sources.tables import NoExport, Table
from replay.history.finding import Part, reason, shown
from replay.simulate.recordings import Recording


def recordings_in(parts: Iterable[Part]) -> Iterator[Recording]:
    """Every run in these files, by its application."""
    files: dict[str, list[Part]] = {}
    for part in parts:
        try:
            table = _table(part.path)
        except NoExport as error:
            yield Recording(shown(part.path), 0, why_not=str(error))
            continue
        except WireError:
            yield _unknown(part)
            continue
        held = tables.spans_of(table)
        for application in held:
            files.setdefault(application, []).append(Part(part.path, part.bytes // len(held)))
        if not held:
            yield _unknown(part)
    for application, found in sorted(files.items()):
        paths = tuple(part.path for part in found)
        yield Recording(application, sum(part.bytes for part in found), tables=paths, application=application)


def _unknown(part: Part) -> Recording:
    """A file of which nothing tells whose log it holds: whoever reads it is told why."""
    return Recording(shown(part.path), part.bytes, tables=(part.path,))


def segments_of(paths: Sequence[str], application: str) -> Iterator[Segment | WireError]:
    """A run's log, in batches as they were written; an error where it cannot be read."""
    try:
        for piece in _pieces(paths, application):
            yield from _segments(piece, application)
    except WireError as error:
        yield error
    except tables.UNREADABLE as error:
        yield _unreadable(paths[0] if len(paths) == 1 else application, error)


def _pieces(paths: Sequence[str], application: str) -> Iterator[TablePiece]:
    """The pieces of an application's files, each event once: what an earlier file gives a later one does not."""
    reading = reading_of({"path": paths[0], "application": application})
    opened = [_table(path) for path in paths]
    if not application:
        yield from (piece for table in opened for piece in tables.pieces(table, reading))
        return
    spans = [(*tables.spans_of(table)[application], table) for table in opened]
    after = 0
    for _, last, table in sorted(spans, key=lambda one: (one[0], -one[1])):
        if last > after:
            yield from tables.pieces(table, reading, application, after)
            after = last


def _segments(piece: TablePiece, application: str) -> Iterator[Segment]:
    for batch in tables.read(piece, (application,) if application else (), None):
        records = tuple(recorded_in(batch, piece.path))
        yield Segment(records[0].sequence, b"export", "shufflectl", records)


def _table(path: str) -> Table:
    try:
        return tables.opened(Path(path))
    except WireError:
        raise
    except tables.UNREADABLE as error:
        raise _unreadable(path, error) from error


def _unreadable(place: str, error: Exception) -> Corrupt:
    return Corrupt(place, f"it cannot be read ({reason(error)})", "an export as it was written")
