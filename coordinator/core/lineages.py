"""Shuffles that one run has in common with another.

Responsible for the name of a shuffle's kind: the call sites of its map stage and of what that was made from. Refuses to
know runs. Invariant: the name is made of call sites alone, so it is the same in every run of the same program, whatever
the numbers of stages and shuffles, partitions and rounds of a loop.

Only so many steps back are told: behind them every round of a loop looks alike, and is one kind.
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
    return _kind(known, app_shuffle, STEPS)


def reads_of(state: State, app_shuffle: AppShuffle) -> int | None:
    """How often shuffles of this kind were read in earlier runs; None: they tell nothing of it."""
    lessons = state.meta.settings.lessons
    return _by_kind(lessons).get(kind_of(lambda one: _told(state, one), app_shuffle)) if lessons else None


def _told(state: State, app_shuffle: AppShuffle) -> Lineage | None:
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle.lineage if shuffle is not None and shuffle.told else None


def _kind(known: Known, app_shuffle: AppShuffle, steps: int) -> str:
    lineage = known(app_shuffle)
    if lineage is None:
        return ""
    behind = sorted({_kind(known, read, steps - 1) for read in lineage.reads}) if steps else []
    return _name(lineage.call_site, tuple(behind))


@lru_cache(maxsize=4_096)
def _name(call_site: str, behind: tuple[str, ...]) -> str:
    return blake2b("\n".join((call_site, *behind)).encode(), digest_size=_DIGEST_BYTES).hexdigest()


@lru_cache(maxsize=64)
def _by_kind(lessons: tuple[Lesson, ...]) -> dict[str, int]:
    return {lesson.lineage: lesson.reads for lesson in lessons}
