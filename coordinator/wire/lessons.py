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

_NUMBER_MAX = (1 << 53) - 1  #: What every reader of JSON reads alike.
_SHOWN = 40
_NUMBER = (int, "a whole number from 0 on")
_CHOICE = (bool, "true or false")
_TEXT = (str, "text in quotes")
_FIELDS: Mapping[str, tuple[type, str]] = {
    "lineage": _TEXT,
    "call_site": _TEXT,
    "reads": _NUMBER,
    "loops": _CHOICE,
    "late": _CHOICE,
    "seen": _NUMBER,
}


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
    except (ValueError, RecursionError) as error:
        raise Corrupt(place, f"it is no JSON ({error})", "a file that `shufflectl learn` wrote") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Corrupt(place, "it holds no lessons", f'a file with "format": "{FORMAT}"')
    _check_version(found.get("version"), place)
    applications: Any = found.get("applications")
    if "checksum" in found and found["checksum"] != _checksum(applications):
        told = "the checksum; who has edited the file takes its line out"
        raise Corrupt(place, f"its lessons do not fit its checksum {found['checksum']}", told)
    named = _table(applications, f"{place}: applications")
    return {name: _taught(one, f"{place}: application {name!r}") for name, one in named.items()}


def _check_version(version: object, place: str) -> None:
    if type(version) is not int or version < 1:
        raise Corrupt(place, f"its version is {version!r}", f"a number from 1 to {VERSION}")
    if version > VERSION:
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


def _taught(written: Any, place: str) -> Taught:
    """Of what else people have written beside it nothing is told: it says what they like."""
    told = _table(written, place)
    shuffles = told.get("shuffles")
    if not isinstance(shuffles, list):
        raise _refused(place, f"shuffles is {_shown(shuffles)}", "a list in brackets")
    kinds = (_kind(one, f"{place}, shuffle {number}") for number, one in enumerate(shuffles, 1))
    return Taught(_checked(told, "runs", place, *_NUMBER), tuple(kinds))


def _kind(written: Any, place: str) -> Kind:
    """A name that is misspelt would be a lesson that nobody heeds, so no other one may stand here."""
    told = {"loops": False, "late": False, **_table(written, place)}
    if odd := sorted(told.keys() - _FIELDS.keys()):
        raise _refused(place, f"it has a field {odd[0]!r}", f"no others than {', '.join(_FIELDS)}")
    return Kind(**{name: _checked(told, name, place, *kind) for name, kind in _FIELDS.items()})


def _table(written: Any, place: str) -> dict[str, Any]:
    if not isinstance(written, dict):
        raise _refused(place, f"it is {_shown(written)}", "names and values in braces")
    return written


def _checked(told: Mapping[str, Any], name: str, place: str, kind: type, expected: str) -> Any:
    value = told.get(name)
    if type(value) is not kind or _is_broken(value) or (isinstance(value, int) and not 0 <= value <= _NUMBER_MAX):
        raise _refused(place, f"{name} is {_shown(value)}", expected)
    return value


def _is_broken(value: object) -> bool:
    """Half a character is no text."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() != value


def _shown(value: Any) -> str:
    """As the file has it, or as much of it as tells which it is."""
    return "missing" if value is None else json.dumps(value, ensure_ascii=False)[:_SHOWN]


def _refused(place: str, fact: str, expected: str) -> Malformed:
    return Malformed(f"{place}: {fact}", expected, "Correct it, or learn anew.")


def _checksum(applications: Any) -> str:
    told = json.dumps(applications, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")
    return blake2b(told, digest_size=8).hexdigest()
