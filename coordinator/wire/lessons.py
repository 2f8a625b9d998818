"""What earlier runs taught, as a file that people can read.

Responsible for reading and writing the file of lessons, by application name. Refuses to know how lessons are learned
and what they are used for. Invariant: what is read is what was written, or an error that says what is wrong; a file of
a newer release is an error, never half understood.

The file is JSON: `format`, `version`, `checksum` (of `applications`; left out by who edits it by hand), and for every
application how many runs were seen and, for every kind of its shuffles, where it is made and how often it was read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from coordinator.core.values import Lesson
from coordinator.wire.bounds import LESSONS_MAX
from coordinator.wire.errors import Corrupt, Malformed, NoFile, TooNew

FORMAT = "shuffle-lifecycle lessons"
VERSION = 1
#: Of one application, that its coordinator takes: they are in the first event of its log and in its state.
KINDS_MAX = LESSONS_MAX


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of shuffle of one application."""

    lineage: str
    call_site: str  #: For people.
    reads: int
    seen: int  #: Shuffles of this kind, in all runs.
    loops: bool = False
    late: bool = False

    @property
    def lesson(self) -> Lesson:
        """Without what is for people."""
        return Lesson(self.lineage, self.reads, self.loops, self.late)


@dataclass(frozen=True, slots=True)
class Taught:
    """What the runs of one application taught."""

    runs: int
    kinds: tuple[Kind, ...]

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """What the core needs of it: of more kinds than an application's record can carry, those seen most."""
        seen_most = sorted(self.kinds, key=lambda kind: -kind.seen)[:KINDS_MAX]
        return tuple(sorted((kind.lesson for kind in seen_most), key=lambda one: one.lineage))


def read_lessons(path: Path) -> dict[str, tuple[Lesson, ...]]:
    """The lessons in a file, by application name."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        kind = NoFile if isinstance(error, OSError) else Malformed
        raise kind(f"{path} cannot be read ({why})", "what `shufflectl learn` writes", "Check the path.") from error
    return {name: taught.lessons for name, taught in parse(text, str(path)).items()}


def text_of(taught: Mapping[str, Taught]) -> str:
    """The file's text."""
    applications = {name: _written(taught[name]) for name in sorted(taught)}
    head = {"format": FORMAT, "version": VERSION, "checksum": _checksum(applications), "applications": applications}
    return json.dumps(head, indent=1, ensure_ascii=False) + "\n"


def parse(text: str, place: str) -> dict[str, Taught]:
    """What a file says."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Corrupt(place, f"it is no JSON ({error})", "a file that `shufflectl learn` wrote") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Corrupt(place, "it holds no lessons", f'a file with "format": "{FORMAT}"')
    _check_version(found.get("version"), place)
    applications: Any = found.get("applications")
    if "checksum" in found and found["checksum"] != _checksum(applications):
        told = "the checksum; who has edited the file takes its line out"
        raise Corrupt(place, f"its lessons do not fit its checksum {found['checksum']}", told)
    try:
        return {str(name): _taught(one) for name, one in applications.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        fact = f"{place}: its lessons make no sense ({error!r})"
        raise Malformed(fact, "what `shufflectl learn` writes", "Learn anew.") from error


def _check_version(version: object, place: str) -> None:
    if not isinstance(version, int):
        raise Corrupt(place, f"its version is {version!r}", f"a number up to {VERSION}")
    if version != VERSION:
        raise TooNew(place, version, VERSION)


def _written(taught: Taught) -> dict[str, Any]:
    kinds: Sequence[Kind] = taught.kinds
    return {
        "runs": taught.runs,
        "shuffles": [
            {
                "lineage": kind.lineage,
                "call_site": kind.call_site,
                "reads": kind.reads,
                "loops": kind.loops,
                "late": kind.late,
                "seen": kind.seen,
            }
            for kind in kinds
        ],
    }


def _taught(written: Mapping[str, Any]) -> Taught:
    kinds = (_kind(**one) for one in written["shuffles"])
    return Taught(int(written["runs"]), tuple(kinds))


def _kind(lineage: str, call_site: str, reads: int, seen: int, loops: bool = False, late: bool = False) -> Kind:
    if reads < 0 or seen < 0:
        raise ValueError(f"{reads} reads of {seen}")
    return Kind(str(lineage), str(call_site), int(reads), int(seen), bool(loops), bool(late))


def _checksum(applications: Any) -> str:
    told = json.dumps(applications, sort_keys=True, ensure_ascii=False).encode()
    return blake2b(told, digest_size=8).hexdigest()
