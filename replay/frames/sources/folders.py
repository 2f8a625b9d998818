"""Files and folders of exports and archives.

Responsible for finding the files below a path, whatever their form, and for reading no event twice where several files
hold parts of one log. Refuses to know what is in them. Invariant: a file that cannot be read costs itself alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from coordinator.archive.files import BESIDE, application_of, events_files
from replay.frames.options import NotThere, Reading
from replay.frames.pieces import Piece, Trouble
from replay.frames.salvage import Problem
from replay.frames.sources import logs, tables
from replay.frames.sources.kinds import is_table
from replay.frames.sources.logs import LogFile
from replay.frames.sources.tables import Table
from replay.history.finding import reason

_SCHEME = "file:"


def plan(reading: Reading) -> list[Piece]:
    """What there is below the path."""
    there = list(_files(_path(reading)))
    files = [path for path in there if isinstance(path, Path)]
    found: list[Piece] = [Trouble("", closed) for closed in there if isinstance(closed, Problem)]
    surveyed: list[LogFile] = []
    exported: list[Table] = []
    for path in files:
        one = tables.survey(path) if is_table(path) else logs.survey(path, _archived_of(path))
        if isinstance(one, Problem):
            found.append(Trouble("", one))
        elif isinstance(one, Table):
            exported.append(one)
        elif reading.wants(one.application):
            surveyed.append(one)
    reached: dict[str, int] = {}
    found += _of_logs(surveyed, reading, reached)
    if len(files) == 1:
        return [*found, *(piece for table in exported for piece in tables.pieces(table, reading))]
    return [*found, *_of_tables(exported, reading, reached)]


def _path(reading: Reading) -> Path:
    text = reading.url
    if text.startswith(_SCHEME):
        text = "/" + unquote(text.removeprefix(_SCHEME)).lstrip("/")
    path = Path(text)
    if not path.exists():
        raise NotThere(f"there is no {text}", "an export, an archive, or a folder of them", "Check the path; every "
                       "worker has to see it.")  # fmt: skip
    return path


def _files(path: Path) -> Iterator[Path | Problem]:
    """Every file, in the order of names; what begins with . or _ is passed over, as Spark does."""
    try:
        if path.is_fifo() or path.is_socket() or path.is_char_device() or path.is_block_device():
            yield Problem(f"{path} is a pipe, a socket or a device; expected a file")
            return
        entries = None if path.is_file() else sorted(path.iterdir())
    except OSError as error:
        yield Problem(f"{path} cannot be read ({reason(error)})")
        return
    if entries is None:
        yield path
    for entry in entries or ():
        if not entry.name.startswith((".", "_")) and not entry.name.endswith(BESIDE):
            yield from _files(entry)


def _archived_of(path: Path) -> str:
    """Whose log it is, where the file stands in an archive."""
    name = f"{path.parent.name}/{path.name}"
    return application_of(path.parent.name) if events_files([name]) else ""


def _of_tables(exported: list[Table], reading: Reading, reached: dict[str, int]) -> Iterator[Piece]:
    """The pieces of exports, each event once: what an earlier file gives is not taken from a later one.

    ``reached``: by application, the last event that other files have given, log files too. A file that shares no
    application with another one is read as it is.
    """
    spans = {table.path: tables.spans_of(table) for table in exported}
    files_of = Counter(application for found in spans.values() for application in found)
    shared: list[tuple[str, int, int, Table]] = []
    for table in exported:
        found = spans[table.path]
        if any(application in reached or files_of[application] > 1 for application in found):
            shared += [(application, first, last, table) for application, (first, last) in found.items()]
        else:
            yield from tables.pieces(table, reading)
    for application, first, last, table in sorted(shared, key=lambda one: (one[0], one[1], -one[2], one[3].path)):
        before = reached.get(application, 0)
        if last > before:
            if reading.wants(application):
                yield from _missing(application, table.path, before, first, reading)
            yield from tables.pieces(table, reading, application, before)
            reached[application] = last


def _of_logs(surveyed: list[LogFile], reading: Reading, reached: dict[str, int]) -> Iterator[Piece]:
    """One log in several files is read once: what an earlier file has given is not taken from a later one."""
    for log in sorted(surveyed, key=lambda one: (one.application, one.first, -one.last, one.path)):
        yield from (Trouble(log.application, one) for one in log.problems)
        before = reached.get(log.application, 0)
        if log.frames and log.last <= before:
            continue
        yield from _missing(log.application, log.path, before, log.first, reading)
        first, _ = reading.span(before + 1, log.last)
        yield from logs.pieces(log, max(first, log.first), reading.last, reading.partition_events)
        reached[log.application] = log.last


def _missing(application: str, path: str, before: int, begin: int, reading: Reading) -> Iterator[Piece]:
    """What lies between the events that other files hold and the beginning of this one."""
    first, last = reading.span(before + 1, begin - 1)
    if first <= last:
        text = f"events {first} to {last} are missing: no file holds them, {Path(path).name} begins behind them"
        yield Trouble(application, Problem(text, first))
