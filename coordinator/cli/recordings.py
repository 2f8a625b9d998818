"""Recorded runs as people name them: what `simulate` and `learn` go through.

Responsible for finding what a name means (a file, a folder, an application of the source), for whether Spark is worth
its start, and for what is said of a record that could not be read. Refuses to know what is made of the runs. Invariant:
a record that was named twice is gone through once, and one that is missing among several costs a line.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, failure
from coordinator.cli.finding import find, is_on_disk, nothing_said
from coordinator.cli.here import Here, default_store
from coordinator.cli.sources.api import Source
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.wire.codec import Segment
from coordinator.wire.logfile import write_log
from replay.history.finding import Missing, is_url
from replay.simulate.places import recordings_at
from replay.simulate.recordings import Recording
from state_backend.address import SqliteAddress, parse_address

_SEGMENT_EVENTS = 500  # of a log that is read from a source, in one piece
#: Below this it takes longer to start a session than to go through the runs.
_WORTH_A_SESSION_BYTES = 64_000_000
Logs = Annotated[
    list[str] | None,
    typer.Argument(metavar="LOGS", help="Exported logs, Spark history logs, folders of them, applications."),
]
Master = Annotated[str, typer.Option("--master", help="Spark master to spread over; 'none': here. Default: by size.")]


# ---- what is named ---------------------------------------------------------------------------------------------------


async def recordings_of(here: Here, logs: Sequence[str]) -> list[Recording]:
    """Everything that was named, once; where nothing was, all applications of the source."""
    if "" in logs:
        raise nothing_said("the name of a log", "a path, or an application")
    found = [recording for named in logs for recording in await _found(here, named, is_alone=len(logs) == 1)]
    if not logs:
        found = await _applications(here)
    found = list(dict.fromkeys(found))
    if not found:
        told = "Name exported logs, Spark history logs, or a --store."
        raise failure(Exit.NOT_FOUND, "there is no recorded run", "at least one", told)
    return found


async def _found(here: Here, named: str, is_alone: bool) -> list[Recording]:
    """A path, where there is one of this name; else an application of the source. Of several one may be missing."""
    if _is_no_path(named):
        _check_source(here, named)
        return [await _application(here, named)]
    if is_url(named):
        told = f"{named} is a URL, and records are read from a disk"
        raise failure(Exit.USAGE, told, "a path", "Copy or mount them; `advise` reads Spark's logs at a URL.")
    found = recordings_at(named)
    if isinstance(found, Missing):
        fact, expected = found.why.partition("; expected ")[0], "a log, or a folder of logs"
        if not is_alone:
            return [Recording(named, 0, why_not=f"{fact}; expected {expected}")]
        raise failure(Exit.NOT_FOUND, f"{named}: {fact}", expected, "Check the path.")
    return found


def _is_no_path(named: str) -> bool:
    return not is_on_disk(named) and not named.startswith("file:") and "/" not in named


def _check_source(here: Here, named: str) -> None:
    """Who mistypes a file's name, and has named no source, hears of the file."""
    if not here.chosen()[1] and not _default_file().exists():
        raise failure(
            Exit.NOT_FOUND,
            f"{named}: there is no such file, and no store where an application could have that name",
            "a log, or a folder of logs",
            "Check the path, or name a source with --store, --server or --log.",
        )


def _default_file() -> Path:
    address = parse_address(default_store())
    return address.path if isinstance(address, SqliteAddress) else Path()


async def _application(here: Here, named: str) -> Recording:
    """One application of the source that was chosen."""
    async with here.source() as source:
        return await _recording(source, await find(source, named))


async def _applications(here: Here) -> list[Recording]:
    """All of them."""
    async with here.source() as source:
        return [await _recording(source, ApplicationId(told.application)) for told in await source.applications()]


async def _recording(source: Source, application: ApplicationId) -> Recording:
    log = [recorded async for recorded in source.events(application)]
    content = b"".join(write_log(_segments(log)))
    return Recording(application, len(content), content=content)


def _segments(log: Sequence[Recorded]) -> list[Segment]:
    """The log as far as it has no gap: it can be folded only so far."""
    whole = [recorded for place, recorded in enumerate(log, 1) if recorded.sequence == place]
    pieces = (whole[at : at + _SEGMENT_EVENTS] for at in range(0, len(whole), _SEGMENT_EVENTS))
    return [Segment(piece[0].sequence, b"simulate", "shufflectl", tuple(piece)) for piece in pieces]


# ---- where it is gone through ----------------------------------------------------------------------------------------


def session(verb: str, master: str) -> AbstractContextManager[Any]:
    """A Spark session for one call."""
    from coordinator.cli.spark import spark_session

    return spark_session(verb, master or "local[*]")


def is_spread(recordings: Sequence[Recording], master: str) -> bool:
    """Whether Spark goes through the runs: where its master is named, or there is much to read."""
    if master == "none" or len(recordings) < 2:
        return False
    if importlib.util.find_spec("pyspark") is None:
        if master:
            told = "Install pyspark, or leave out --master."
            raise failure(Exit.USAGE, f"--master {master} needs pyspark", "pyspark in this Python", told)
        return False
    return bool(master) or sum(recording.bytes for recording in recordings) >= _WORTH_A_SESSION_BYTES


# ---- what could not be read ------------------------------------------------------------------------------------------


def remark(recording: str, told: str) -> None:
    """Says on stderr what is wrong with a record, and names it once."""
    output.remark(told if told.startswith(recording) else f"{recording}: {told}")


class _Unread(Protocol):
    @property
    def is_damaged(self) -> bool: ...
    @property
    def is_newer(self) -> bool: ...


def code_of_none(found: Sequence[_Unread]) -> Exit:
    """The exit code where nothing could be read of any record: missing, damaged, or of a newer release."""
    damaged = [one for one in found if one.is_damaged]
    if not damaged:
        return Exit.NOT_FOUND
    return Exit.NEWER if all(one.is_newer for one in damaged) else Exit.DAMAGED
