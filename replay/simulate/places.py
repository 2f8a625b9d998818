"""Where recorded runs are.

Responsible for finding records below a local place: exported logs, archives, Spark's history logs. Refuses to read more
of a file than its first bytes, but for whose an export is, and for which of several tries at one part of an archive is
whole. Invariant: a log file is part of one record at most, an export of one for each application; an archive's folder
is one record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from coordinator.archive.files import BESIDE, EventsFile, application_of, events_files
from coordinator.archive.tries import furthest
from coordinator.wire.logfile import OURS
from replay.frames.sources.kinds import is_table
from replay.history.finding import Missing, Part, local_parts, shown, sort, without_events
from replay.simulate.recordings import Recording, of_history


def recordings_at(place: str) -> list[Recording] | Missing:
    """Every recorded run at or below a local place."""
    parts, missing = local_parts(place)
    if not parts:
        return missing[0]
    ours = {part for part in parts if _is_ours(part.path)}
    tables = [part for part in parts if _is_table(part.path)]
    archives = _archives(ours)
    archived = {part for files in archives.values() for part in files.values()}
    others = [part for part in parts if part not in ours.union(tables) and not _is_beside(Path(part.path), archives)]
    return [
        *(_of_archive(folder, files) for folder, files in sorted(archives.items())),
        *(Recording(shown(part.path), part.bytes, paths=(part.path,)) for part in parts if part in ours - archived),
        *_of_tables(tables),
        *map(of_history, sort(others)),
        *(Recording(one.place, 0, why_not=one.why) for one in missing + without_events(others)),
    ]


def _is_ours(path: str) -> bool:
    """Whether a file is a log of ours, also one of a newer release: who reads that one says what to do."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(OURS)) == OURS
    except OSError:
        return False


def _is_table(path: str) -> bool:
    """Whether a file is an export. One that is being written still has a name that begins with a dot, and is none."""
    return not Path(path).name.startswith((".", "_")) and is_table(Path(path))


def _of_tables(parts: list[Part]) -> list[Recording]:
    if not parts:
        return []
    try:
        from replay.simulate.exports import recordings_in
    except ImportError:
        return [Recording(shown(part.path), part.bytes, tables=(part.path,)) for part in parts]  # who reads it is told
    return list(recordings_in(parts))


def _archives(ours: Iterable[Part]) -> dict[Path, dict[str, Part]]:
    """The folders of an archive, with their files of events by the archive's own names."""
    found: dict[Path, dict[str, Part]] = {}
    for part in ours:
        path = Path(part.path)
        name = f"{path.parent.name}/{path.name}"
        if events_files([name]):
            found.setdefault(path.parent, {})[name] = part
    return found


def _of_archive(folder: Path, files: dict[str, Part]) -> Recording:
    kept = [files[one.name] for one in _each_event_once(files)]
    return Recording(application_of(folder.name), sum(p.bytes for p in kept), paths=tuple(p.path for p in kept))


def _each_event_once(files: dict[str, Part]) -> Iterator[EventsFile]:
    """The files of an archive's folder that hold its events once.

    Archiving that was interrupted may have begun again with a longer file, and have left a torn one behind.
    """
    reached = 0
    known = sorted(events_files(files), key=lambda one: (one.first, -one.last))
    for _, begun in groupby(known, key=lambda one: one.first):
        file = furthest(begun, lambda name: Path(files[name].path).read_bytes())
        if file is not None and file.last > reached:
            yield file
            reached = file.last


def _is_beside(path: Path, archives: dict[Path, dict[str, Part]]) -> bool:
    return path.parent in archives and path.name.endswith(BESIDE)
