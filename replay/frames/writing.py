"""Exports in Arrow and Parquet.

Responsible for files that are whole or not there, and for their names. Refuses to know where events come from; needs
pyarrow, and no Spark. Invariant: what is written reads back as the same rows, by our own reader and by whoever reads
Arrow or Parquet.

    FILE                                                            Arrow: the IPC file format, all columns
    FOLDER/application=<id>/day=<YYYY-MM-DD>/events-<first>.parquet Parquet: `application` and `day` are the folders
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from coordinator.core.events import Recorded
from replay.frames.batches import SCHEMA, batches
from replay.frames.columns import VERSION
from replay.frames.sources.tables import APPLICATION, VERSION_KEY

#: What Hive, and Spark with it, calls a partition whose value is not known.
UNKNOWN = "__HIVE_DEFAULT_PARTITION__"
DIGITS = 20
_DAY_MS = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_ALL = SCHEMA.with_metadata({VERSION_KEY: str(VERSION).encode()})
_IN_FOLDERS = _ALL.remove(_ALL.get_field_index("application"))


class ArrowFile:
    """One file; it has its name when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = _draft(path)
        try:
            self._writer = pa.ipc.new_file(str(self._draft), _ALL)
        except OSError:
            self._draft.unlink(missing_ok=True)
            raise
        self.written = 0  #: Events.

    def write(self, application: str, records: Sequence[Recorded]) -> None:
        """Adds events of an application."""
        for batch in batches(application, records, rows=max(1, len(records))):
            self._writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=_ALL))
        self.written += len(records)

    def finish(self) -> None:
        """All is written."""
        self._writer.close()
        self._draft.replace(self._path)

    def give_up(self) -> None:
        """Leaves nothing behind: least of all on a disk that is full, where closing fails too."""
        with suppress(OSError):
            self._writer.close()
        self._draft.unlink(missing_ok=True)


class ParquetFolder:
    """A folder of files, one for each day of each application."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_new = not folder.exists()
        self._day: Path | None = None
        self._drafts: dict[Path, Path] = {}
        self._writer: pq.ParquetWriter | None = None
        self.written = 0  #: Events.

    def write(self, application: str, records: Sequence[Recorded]) -> None:
        """Adds events of an application; in order, as its log has them."""
        for day, of_day in itertools.groupby(records, day_of):
            self._write(application, day, list(of_day))
        self.written += len(records)

    def _write(self, application: str, day: str, records: list[Recorded]) -> None:
        folder = self._folder / application_folder(application) / f"day={day}"
        if folder != self._day or self._writer is None:
            self._begin(folder, records[0].sequence)
        assert self._writer is not None
        for batch in batches(application, records, rows=len(records)):
            columns = [batch.column(field.name) for field in _IN_FOLDERS]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_IN_FOLDERS))

    def _begin(self, folder: Path, first: int) -> None:
        self._end()
        self._day = folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"events-{first:0{DIGITS}d}.parquet"
        self._drafts[path] = _draft(path)
        self._writer = pq.ParquetWriter(self._drafts[path], _IN_FOLDERS)

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def finish(self) -> None:
        """All is written: the files get their names, those of an earlier export of the same application go."""
        self._end()
        for path, draft in self._drafts.items():
            draft.replace(path)
        for folder in {path.parent.parent for path in self._drafts}:
            for old in set(folder.glob("day=*/*.parquet")) - self._drafts.keys():
                old.unlink()

    def give_up(self) -> None:
        """Leaves nothing behind: least of all on a disk that is full, where closing fails too."""
        with suppress(OSError):
            self._end()
        for draft in self._drafts.values():
            draft.unlink(missing_ok=True)
        for folder in sorted({above for draft in self._drafts for above in self._made_for(draft)}, reverse=True):
            with suppress(OSError):  # something is in it
                folder.rmdir()

    def _made_for(self, path: Path) -> Iterator[Path]:
        """Folders that are there for this file's sake, if nothing else is in them."""
        yield from (path.parent, path.parent.parent)
        if self._is_new:
            yield self._folder


def application_folder(application: str) -> str:
    """The application's folder: no id can name a place outside it."""
    return APPLICATION + quote(application, safe="").replace(".", "%2E")


def day_of(recorded: Recorded) -> str:
    """The day, UTC, of an event."""
    try:
        return f"{_EPOCH + timedelta(days=recorded.time_ms // _DAY_MS):%Y-%m-%d}"
    except OverflowError:  # a damaged or made-up time
        return UNKNOWN


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")
