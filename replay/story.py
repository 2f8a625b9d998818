"""The shape of a story, and how it is kept short.

Responsible for the values that `explain` gives and for folding repeats together. Refuses to know where they come from
and how they are shown. Invariant: a line carries the number of the event that it tells, so that it can be looked up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from coordinator.core.ids import ApplicationId, AppShuffle, Sequence, ShuffleId
from coordinator.core.lifecycle import Life

#: Of more lines of one kind than this, the middle ones are only counted.
_SHOWN_OF_A_KIND = 8
_SHOWN_AT_EACH_END = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One event's part in the story. ``times`` counts equal ones that followed at once."""

    sequence: Sequence
    time_ms: int
    because: Sequence
    kind: str
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Chapter:
    """The story of one generation."""

    shuffle_id: ShuffleId
    life: Life
    became: str  #: The same in a word; of what its driver has left to Spark, that.
    bytes: int
    verdict: str  #: What became of it, and why.
    held_by: tuple[str, ...]  #: Why it is still there; empty where it is not.
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """The story of one app shuffle: what is told of all its generations, then of each."""

    application: ApplicationId
    name: str  #: The application's.
    app_shuffle: AppShuffle
    call_site: str
    last_sequence: Sequence  #: Of the last event that was read.
    lines: tuple[Line, ...]
    chapters: tuple[Chapter, ...]


def shortened(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The lines, equal neighbours told once, and no kind told at tiring length."""
    told = _without_repeats(lines)
    of_kind: dict[str, list[Line]] = {}
    for line in told:
        of_kind.setdefault(line.kind, []).append(line)
    tiring = {line for same in of_kind.values() if len(same) > _SHOWN_OF_A_KIND for line in _middle(same)}
    stand_ins = {
        _middle(same)[0]: _stand_in(_middle(same)) for same in of_kind.values() if len(same) > _SHOWN_OF_A_KIND
    }
    return tuple(stand_ins.get(line, line) for line in told if line not in tiring or line in stand_ins)


def _without_repeats(lines: Iterable[Line]) -> list[Line]:
    told: list[Line] = []
    for line in lines:
        if told and (told[-1].kind, told[-1].text) == (line.kind, line.text):
            told[-1] = replace(told[-1], times=told[-1].times + line.times)
        else:
            told.append(line)
    return told


def _middle(same: list[Line]) -> list[Line]:
    return same[_SHOWN_AT_EACH_END:-_SHOWN_AT_EACH_END]


def _stand_in(middle: list[Line]) -> Line:
    last = middle[-1].sequence
    return replace(middle[0], text=f"… {len(middle):,} more of this kind, the last at event {last}", times=1)
