"""Exports in Arrow and Parquet.

Responsible for planning by row groups and batches, and for giving them back as the frame's batches. Refuses to know
logs. Invariant: what was exported is given back equal; a file that is no export of ours is a problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from coordinator.wire.errors import Malformed, TooNew, WireError
from replay.frames.batches import SCHEMA
from replay.frames.columns import VERSION
from replay.frames.options import Reading
from replay.frames.pieces import TablePiece
from replay.frames.salvage import Problem
from replay.frames.sources.kinds import is_parquet
from replay.history.finding import reason

VERSION_KEY = b"shuffle_lifecycle.frame"
APPLICATION = "application="  #: A folder of the Parquet export, and what it holds.
#: What pyarrow raises of a file that it cannot read.
UNREADABLE = (pa.ArrowException, OSError, ValueError)


class NoExport(Malformed):
    """A file of somebody else's."""


@dataclass(frozen=True, slots=True)
class Table:
    """What planning knows of a file. ``parts``: rows of each row group or batch."""

    path: str
    application: str  #: Empty where it is a column of the file.
    parts: tuple[int, ...]


def survey(path: Path) -> Table | Problem:
    """The parts of an export."""
    try:
        return opened(path)
    except WireError as error:
        return Problem(str(error))
    except UNREADABLE as error:
        return Problem(f"{path} cannot be read ({reason(error)})")


def opened(path: Path) -> Table:
    """The parts of an export. Raises `NoExport`, `TooNew`, `Malformed`, and whatever is `UNREADABLE`."""
    schema, parts = _parquet_parts(path) if is_parquet(path) else _arrow_parts(path)
    _check_form(path, schema)
    return Table(str(path), _application_of(path), parts)


def _parquet_parts(path: Path) -> tuple[pa.Schema, tuple[int, ...]]:
    with pq.ParquetFile(path) as file:
        return file.schema_arrow, tuple(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))


def _arrow_parts(path: Path) -> tuple[pa.Schema, tuple[int, ...]]:
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        return file.schema, tuple(file.get_batch(i).num_rows for i in range(file.num_record_batches))


def spans_of(table: Table) -> dict[str, tuple[int, int]]:
    """The first and the last event of each application. None where its rows cannot be read: who reads them says so."""
    try:
        rows = _columns(table.path, ["sequence"] if table.application else ["application", "sequence"])
    except UNREADABLE:
        return {}
    if table.application:
        rows = rows.append_column("application", pa.array([table.application] * rows.num_rows, pa.string()))
    found = rows.group_by("application").aggregate([("sequence", "min"), ("sequence", "max")]).to_pylist()
    known = (one for one in found if one["application"] and one["sequence_max"] is not None)
    return {one["application"]: (one["sequence_min"], one["sequence_max"]) for one in known}


def _columns(path: str, names: list[str]) -> pa.Table:
    if is_parquet(Path(path)):
        return pq.ParquetFile(path).read(columns=names)
    with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
        return file.read_all().select(names).combine_chunks()


def _check_form(path: Path, schema: pa.Schema) -> None:
    version = (schema.metadata or {}).get(VERSION_KEY)
    if version is None or not version.isdigit():
        raise NoExport(f"{path} is no export of a log", "a file that `shufflectl export` wrote", "Take it away.")
    if int(version) > VERSION:
        raise TooNew(str(path), int(version), VERSION)
    if "application" not in schema.names and not _application_of(path):
        told = f"{path} lies outside the folder that says whose it is", f"{APPLICATION}… above it, as it was exported"
        raise Malformed(*told, "Give the whole export, or put the file back.")


def _application_of(path: Path) -> str:
    folder = next((part for part in path.parts if part.startswith(APPLICATION)), "")
    return unquote(folder.removeprefix(APPLICATION))


def pieces(table: Table, reading: Reading, only: str = "", after: int = 0) -> Iterator[TablePiece]:
    """The file in parts of about as many rows as were asked for; ``only`` one application's, behind ``after``."""
    if table.application and not reading.wants(table.application):
        return
    first = max(reading.first, after + 1)
    held: list[int] = []
    rows = 0
    for number, count in enumerate(table.parts):
        held.append(number)
        rows += count
        if rows >= reading.partition_events or number == len(table.parts) - 1:
            yield TablePiece(table.application, table.path, tuple(held), first, reading.last, only)
            held, rows = [], 0


def read(piece: TablePiece, applications: Sequence[str], kinds: Set[str] | None) -> Iterator[pa.RecordBatch]:
    """The rows of the piece that are wanted."""
    for found in _parts(piece):
        batch = _in_form(found, piece.application)
        wanted = _wanted(batch, piece, applications, kinds)
        chosen = batch.filter(wanted) if wanted is not None else batch
        if chosen.num_rows:
            yield chosen


def _parts(piece: TablePiece) -> Iterator[pa.RecordBatch]:
    if is_parquet(Path(piece.path)):
        with pq.ParquetFile(piece.path) as file:
            yield from file.iter_batches(row_groups=list(piece.parts))
        return
    with pa.memory_map(piece.path) as source, pa.ipc.open_file(source) as opened:
        for number in piece.parts:
            yield opened.get_batch(number)


def _in_form(found: pa.RecordBatch, application: str) -> pa.RecordBatch:
    """All columns in their order; one that an earlier release did not write is null."""
    arrays = [_column(found, field, application) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _column(found: pa.RecordBatch, field: pa.Field, application: str) -> pa.Array:
    if field.name == "application" and application:
        return pa.array([application] * found.num_rows, field.type)
    place = found.schema.get_field_index(field.name)
    return found.column(place).cast(field.type) if place >= 0 else pa.nulls(found.num_rows, field.type)


def _wanted(
    batch: pa.RecordBatch, piece: TablePiece, applications: Sequence[str], kinds: Set[str] | None
) -> pa.Array | None:
    chosen: list[Any] = []
    sequence = batch.column(SCHEMA.get_field_index("sequence"))
    if piece.first > 1:
        chosen.append(pc.greater_equal(sequence, piece.first))
    if piece.last is not None:
        chosen.append(pc.less_equal(sequence, piece.last))
    if piece.only and not piece.application:
        chosen.append(_is_in(batch, "application", [piece.only]))
    if applications and not piece.application:
        chosen.append(_is_in(batch, "application", applications))
    if kinds is not None:
        chosen.append(_is_in(batch, "kind", sorted(kinds)))
    if not chosen:
        return None
    wanted = chosen[0]
    for one in chosen[1:]:
        wanted = pc.and_(wanted, one)
    return wanted


def _is_in(batch: pa.RecordBatch, column: str, values: Sequence[str]) -> pa.Array:
    return pc.is_in(batch.column(SCHEMA.get_field_index(column)), value_set=pa.array(values, pa.string()))
