"""Shuffles that one run has in common with another.

Responsible for the name of a shuffle's kind: what Spark itself calls its map stage, and what that was made from.
Refuses to know runs. Invariant: the name is made of call sites alone, so it is the same in every run of the same
program, whatever the numbers of stages and shuffles, partitions and rounds of a loop.

A line is known by the name of its file and not by its folder: a cluster puts a program into another one for each run.
Which lines a shuffle was made from counts, and not how often: so all rounds of a loop but the first are one kind, and
a run of many rounds is understood by what a run of few has taught.

Who edits a program moves its lines, and each kind behind them is another one. So there is a second name, without
numbers of lines, for what is to be kept wherever it has moved to; the first one goes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from coordinator.core.ids import AppShuffle
from coordinator.core.state import State
from coordinator.core.values import Lesson, Lineage

#: Steps back up the lineage.
STEPS = 3
_DIGEST_BYTES = 8

#: Where lineage is looked up; None: nobody has told it.
Known = Callable[[AppShuffle], Lineage | None]


def kind_of(known: Known, app_shuffle: AppShuffle) -> str:
    """The name of its kind; empty where its lineage is not known."""
    return _kind(known, app_shuffle, _line)


def moved_kind_of(known: Known, app_shuffle: AppShuffle) -> str:
    """The name of its kind wherever its lines have moved to in their files."""
    return _kind(known, app_shuffle, _file)


def _kind(known: Known, app_shuffle: AppShuffle, name: Callable[[Lineage], str]) -> str:
    lineage = known(app_shuffle)
    if lineage is None:
        return ""
    behind: set[str] = set()
    nearest = lineage.reads
    for _ in range(STEPS):
        told = [one for one in map(known, nearest) if one is not None]
        behind.update(map(name, told))
        nearest = tuple({read for one in told for read in one.reads})
    return _name(name(lineage), len(lineage.reads), tuple(sorted(behind)))


def lesson_of(state: State, app_shuffle: AppShuffle) -> Lesson | None:
    """What earlier runs tell of shuffles of this kind; None: nothing. Lessons that name folders hold in these."""
    lessons = _by_kind(state.meta.settings.lessons)
    names = (_line, _sparks_name, _file) if lessons else ()
    kinds = (_kind(lambda one: _told(state, one), app_shuffle, name) for name in names)
    return next((lessons[kind] for kind in kinds if kind in lessons), None)


def _told(state: State, app_shuffle: AppShuffle) -> Lineage | None:
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle.lineage if shuffle is not None and shuffle.told else None


def _sparks_name(lineage: Lineage) -> str:
    """Spark's own, also where the program's line is known: a history log of Spark's has no other."""
    return lineage.stage_name or lineage.call_site


def _line(lineage: Lineage) -> str:
    """The same without the folder of its file."""
    return _without_folder(_sparks_name(lineage))


def _file(lineage: Lineage) -> str:
    """The same without the number of the line either: `groupByKey at job.py`."""
    return without_line(_line(lineage))


def without_line(name: str) -> str:
    """A line's name without its number; what names no line, as it is."""
    place, _, number = name.rpartition(":")
    return place if " at " in place and number.isdecimal() else name


@lru_cache(maxsize=4_096)
def _without_folder(name: str) -> str:
    """Of `groupByKey at /tmp/spark-7d1e/job.py:12`."""
    what, at, place = name.partition(" at ")
    file = place.replace("\\", "/").rpartition("/")[2]
    return f"{what}{at}{file}" if file.rpartition(":")[2].isdecimal() else name


@lru_cache(maxsize=4_096)
def _name(call_site: str, inputs: int, behind: tuple[str, ...]) -> str:
    told = "\n".join((call_site, str(inputs), *behind))
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


@lru_cache(maxsize=64)
def _by_kind(lessons: tuple[Lesson, ...]) -> dict[str, Lesson]:
    return {lesson.lineage: lesson for lesson in lessons}
