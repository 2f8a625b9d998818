"""The verb that writes logs to files: `export`.

Responsible for the three forms: a log file, which --log reads; Arrow and Parquet, which everybody reads. Refuses to
change a log. Invariant: a file is there with all that could be read, or not at all; what is there already is written
over only where that is asked for.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, failure
from coordinator.cli.finding import check_named, find
from coordinator.cli.here import Here
from coordinator.cli.looking import All, Applications
from coordinator.cli.sources.api import Source
from coordinator.cli.targets import check_folder, check_replaced, draft_of, tidied_up, writing
from coordinator.cli.verb import COMMON, SERVER, verb
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.wire.codec import Segment
from coordinator.wire.logfile import write_log
from replay.units import count

_SEGMENT_EVENTS = 50  # so many are lost with the last byte of a file
_BATCH_EVENTS = 10_000
LOG, ARROW, PARQUET = FORMATS = ("log", "arrow", "parquet")


class Writer(Protocol):
    """Takes the events of one application after the other, each in order."""

    written: int

    def write(self, application: str, records: Sequence[Recorded]) -> None:
        """Adds events."""

    def finish(self) -> None:
        """All is written."""

    def give_up(self) -> None:
        """Leaves nothing behind."""


def export(
    here: Here,
    to: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="The file; of Parquet, the folder.")],
    apps: Applications = None,
    form: Annotated[str, typer.Option("--format", help="log, arrow or parquet.")] = LOG,
    whole: All = False,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there.")] = False,
) -> Any:
    """Writes logs to a file that --log reads, or as Arrow or Parquet, by application and day, which everybody reads."""
    named = apps or []
    is_log = here.chosen()[0] == "log"
    _check(named, form, whole, is_log)
    if form == PARQUET:
        check_folder(str(to), (), force)
        return _export(here, named, to, to, form)
    return _export(here, named, to, check_replaced(to, force, sources=(here.chosen()[1],)), form)


def _check(named: Sequence[str], form: str, whole: bool, is_log: bool) -> None:
    if form not in FORMATS:
        raise failure(Exit.USAGE, f"the format is {form!r}", f"one of {', '.join(FORMATS)}", "Choose one.")
    check_named(named, whole, is_log)
    if form == LOG and not whole and not is_log:
        _check_one(len(set(named)))


def _check_one(applications: int) -> None:
    if applications != 1:
        told = f"{count(applications, 'application')}, and a log file holds one"
        raise failure(Exit.USAGE, told, "one that is named", "Choose one, or --format parquet.")


async def _export(here: Here, named: Sequence[str], to: Path, place: Path, form: str) -> None:
    """To a place, of which a person hears as ``to``."""
    async with here.source() as source:
        with tidied_up():
            written = await _written(source, named, to, place, form)
        output.say(f"{count(written, 'event')} written to {to}.")


async def _written(source: Source, named: Sequence[str], to: Path, place: Path, form: str) -> int:
    with writing(to):
        writer = _writer(place, form)
    try:
        applications = dict.fromkeys([await find(source, one) for one in named] or await _all(source))
        if form == LOG:
            _check_one(len(applications))
        for application in applications:
            async for records in _batches(source.events(application)):
                with writing(to):
                    writer.write(application, records)
        with writing(to):
            writer.finish()
    except BaseException:
        writer.give_up()
        raise
    return writer.written


async def _all(source: Source) -> list[ApplicationId]:
    return [ApplicationId(one.application) for one in await source.applications()]


async def _batches(events: AsyncIterator[Recorded]) -> AsyncIterator[list[Recorded]]:
    held: list[Recorded] = []
    async for recorded in events:
        held.append(recorded)
        if len(held) == _BATCH_EVENTS:
            yield held
            held = []
    if held:
        yield held


def _writer(to: Path, form: str) -> Writer:
    if form == LOG:
        return LogFile(to)
    try:
        from replay.frames.writing import ArrowFile, ParquetFolder
    except ImportError as error:
        raise failure(
            Exit.FAILED,
            f"pyarrow cannot be imported ({error})",
            f"it, to write {form}",
            "pip install '.[frames]' in a clone.",
        ) from error
    return ParquetFolder(to) if form == PARQUET else ArrowFile(to)


class LogFile:
    """One application's log, in pieces of equal length, up to the first event that is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = draft_of(path)
        self._file = self._draft.open("wb")
        self._file.writelines(write_log(()))
        self._held: list[Recorded] = []
        self._last = 0
        self._is_cut = False
        self.written = 0  #: Events.

    def write(self, application: str, records: Sequence[Recorded]) -> None:  # noqa: ARG002 - a file holds one
        """Adds events; those behind a gap are left out."""
        for recorded in records:
            self._is_cut = self._is_cut or (self.written > 0 and recorded.sequence != self._last + 1)
            if self._is_cut:
                return
            self._held.append(recorded)
            self._last, self.written = recorded.sequence, self.written + 1
            if len(self._held) == _SEGMENT_EVENTS:
                self._flush()

    def _flush(self) -> None:
        if self._held:
            self._file.writelines(list(write_log((_segment(self._held),)))[1:])
            self._held = []

    def finish(self) -> None:
        """All is written, and on the disk."""
        self._flush()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._path)

    def give_up(self) -> None:
        """Leaves nothing behind: least of all on a disk that is full, where closing fails too."""
        with suppress(OSError):
            self._file.close()
        self._draft.unlink(missing_ok=True)


def _segment(records: list[Recorded]) -> Segment:
    return Segment(records[0].sequence, f"export/{records[0].sequence}".encode(), "shufflectl export", tuple(records))


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=(*SERVER, "store", "log", "archive", *COMMON))(export)
