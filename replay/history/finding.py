"""Where the logs are: which files make one log.

Responsible for sorting the files below some places into logs: single files, rolling directories, roll-over folders.
Refuses to open a file. Invariant: every file that was found is part of exactly one log, or is one of Spark's and
Hadoop's own side files, which hold no events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import glob
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST = 5  #: Missing files that are named.


@dataclass(frozen=True, slots=True)
class Part:
    """One file; ``bytes`` as it is stored."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Log:
    """The files of one log, in their order. ``name`` is the application's id and attempt, as far as names tell.

    ``joined``: they are logs of their own, which tell parts of one run. ``lacks``: what of a rolling directory is not
    there any more; jobs are missing then.
    """

    name: str
    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    joined: bool = False
    lacks: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of all its files, as they are stored."""
        return sum(part.bytes for part in self.parts)

    @property
    def place(self) -> str:
        """What people are shown: the file, or the folder of several; of joined ones the first file."""
        first = shown(self.parts[0].path)
        return first if len(self.parts) == 1 or self.joined else first.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Missing:
    """A place where nothing was found, and why."""

    place: str
    why: str


def shown(path: str) -> str:
    """A path as people read it and files hold it: `caf\\xe9.log` where the name is not UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def is_url(place: str) -> bool:
    """Whether a place is for the Spark session to read: any scheme but file."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", place)) and not place.startswith("file:")


def local_path(place: str) -> Path:
    """The path of a place on this machine."""
    return Path(unquote(urlsplit(place).path)) if place.startswith("file:") else Path(place)


def is_pattern(place: str) -> bool:
    """Whether a place that is not there may name several, as a shell does it, and Hadoop: `/logs/app-2026*`."""
    return bool(re.search(r"[*?\[{]", place))


def local_parts(place: str) -> tuple[list[Part], list[Missing]]:
    """Every file at or below a local place, and what there could not be looked into."""
    root = local_path(place)
    is_one = not is_pattern(place) or os.path.exists(root)  # noqa: PTH110 - Path's raises where it may not look
    named = [str(root)] if is_one else _named(str(root))
    if not named:
        return [], [Missing(place, "nothing is called so; expected files or directories of Spark history logs")]
    found, missing = zip(*(_below(Path(one), place if len(named) == 1 else one) for one in named), strict=True)
    return list(chain.from_iterable(found)), list(chain.from_iterable(missing))


def _named(pattern: str) -> list[str]:
    """The paths that match a pattern, each once."""
    return sorted({path for one in _alternatives(pattern) for path in glob(one, recursive=True)})  # noqa: PTH207


def _alternatives(pattern: str) -> list[str]:
    """The patterns that a pattern with braces stands for: `{a,b}` is either, as in a shell; `glob` knows no braces."""
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern]
    before, behind = pattern[: found.start()], pattern[found.end() :]
    return [one for word in found[1].split(",") for one in _alternatives(f"{before}{word}{behind}")]


def _below(root: Path, place: str) -> tuple[list[Part], list[Missing]]:
    """``place``: what it is called where something is wrong with it."""
    try:
        if not root.exists() and root.is_symlink():
            return [], [Missing(place, "it is a link that leads nowhere; expected a file or a directory")]
        if not root.exists():
            return [], [Missing(place, "it is not there; expected a file or a directory of Spark history logs")]
        is_folder = root.is_dir()
    except OSError as error:
        return [], [_unread(place, error)]
    missing: list[Missing] = []
    found = list(_there(sorted(_files(root, missing)) if is_folder else [root], missing))
    if not found and not missing:
        missing.append(Missing(place, "it holds no file; expected Spark history logs"))
    return found, missing


def _files(root: Path, missing: list[Missing]) -> Iterator[Path]:
    def closed(error: OSError) -> None:
        missing.append(_unread(str(error.filename), error))

    for folder, _, names in os.walk(root, onerror=closed):
        yield from (Path(folder, name) for name in names)


def _there(files: Iterable[Path], missing: list[Missing]) -> Iterator[Part]:
    """The files that are there, with their sizes. In a directory in use some are renamed or deleted meanwhile."""
    for path in files:
        try:
            if path.is_file():
                yield Part(str(path.absolute()), path.stat().st_size)
            elif path.exists() or path.is_symlink():
                what = "a link that leads nowhere" if not path.exists() else "no file but a pipe, a socket or a device"
                missing.append(Missing(shown(str(path)), f"it is {what}; expected a file"))
        except FileNotFoundError:
            pass
        except OSError as error:
            missing.append(_unread(str(path), error))


def _unread(place: str, error: OSError) -> Missing:
    return Missing(shown(place), unread(error, "a file or a directory that may be"))


def unread(error: Exception, expected: str = "a file that may be") -> str:
    """What is told of a file that the system does not let us read: in its words, without its numbers."""
    return f"it cannot be read ({reason(error)}); expected {expected}"


def reason(error: Exception) -> str:
    """Why a file cannot be read: the system's words for the error's number, where it has one, else its own text."""
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else " ".join(str(error).split())


def sort(parts: Iterable[Part]) -> list[Log]:
    """The logs that these files make up, in the order of their names; a file that was named twice counts once."""
    folders: dict[tuple[str, str], list[Part]] = {}
    for part in {part.path: part for part in parts}.values():
        path = PurePosixPath(part.path)
        if not _is_aside(path.name):
            folders.setdefault((str(path.parent), _together(path)), []).append(part)
    return [log for (_, name), found in sorted(folders.items()) for log in _logs(shown(name), found)]


def without_events(parts: Iterable[Part]) -> list[Missing]:
    """Rolling directories in which only Spark's status file is left: the run was there, its events are not."""
    names: dict[str, list[str]] = {}
    for part in parts:
        path = PurePosixPath(part.path)
        names.setdefault(str(path.parent), []).append(path.name)
    why = "it holds Spark's appstatus file and no events; expected events_1_… beside it"
    return [
        Missing(shown(folder), why)
        for folder, found in sorted(names.items())
        if any(name.startswith("appstatus_") for name in found) and all(map(_is_aside, found))
    ]


def _is_aside(name: str) -> bool:
    """Whether it is a side file of Hadoop's or Spark's. So is an unfinished compaction: its sources are still there."""
    return name.startswith((".", "_", "appstatus_")) or name.endswith(".compact.inprogress")


_ROLLED = re.compile(r"events_([1-9]\d*)_(.+?)((?:\.(?:lz4|lzf|snappy|zstd|zst|gz))?)((?:\.compact)?)$")
_ROLLED_OVER = re.compile(r"eventlog(?:-(\d{4}-\d\d-\d\d--\d\d-\d\d))?(?:\.(?:gz|zst|zstd|lz4))?$")
_ENDINGS = re.compile(r"(?:\.(?:inprogress|lz4|lzf|snappy|zstd|zst|gz|compact|json|log|txt))+$")


def _together(path: PurePosixPath) -> str:
    """What the files of one log have in common beside their folder."""
    rolled = _ROLLED.match(path.name)
    if rolled:
        return _ENDINGS.sub("", rolled[2])
    if _ROLLED_OVER.match(path.name):
        return path.parent.name or path.name
    return path.name


def _logs(name: str, parts: list[Part]) -> Iterator[Log]:
    first = PurePosixPath(parts[0].path).name
    if _ROLLED.match(first):
        yield _rolled(name, parts)
    elif _ROLLED_OVER.match(first) and len(parts) > 1:
        yield Log(name, tuple(sorted(parts, key=_rolled_over)))
    else:
        yield from (Log(_ENDINGS.sub("", name), (part,)) for part in parts)


def _rolled(name: str, parts: list[Part]) -> Log:
    """A rolling directory: what a compacted file stands for is left out."""
    compact = max((_number(part) for part in parts if _is_compact(part)), default=0)
    kept = [
        part for part in parts if (_number(part), not _is_compact(part)) == (compact, False) or _number(part) > compact
    ]
    lacks = tuple(_lacks(sorted({*map(_number, kept)}), compact))
    return Log(name, tuple(sorted(kept, key=_number)), lacks=lacks)


def _lacks(there: list[int], compact: int) -> Iterator[str]:
    """What is not in a rolling directory. Numbers rise from 1, or from that of the compacted file."""
    missing = [n for last, next_ in pairwise([(compact or 1) - 1, *there]) for n in range(last + 1, next_)[:_MOST]]
    if missing:
        yield f"of its rolled files number {', '.join(map(str, missing[:_MOST]))} is missing"
    if compact:
        yield "Spark has compacted it: jobs that had ended by then are not in it, so its figures are too low"


def _number(part: Part) -> int:
    match = _ROLLED.match(PurePosixPath(part.path).name)
    return int(match[1]) if match else 0


def _is_compact(part: Part) -> bool:
    return part.path.endswith(".compact")


def _rolled_over(part: Part) -> tuple[bool, str]:
    """The place of a rolled-over file: dated ones in their order, then the one without a date, which is the last."""
    match = _ROLLED_OVER.match(PurePosixPath(part.path).name)
    dated = match[1] if match else None
    return (dated is None, dated or "")
