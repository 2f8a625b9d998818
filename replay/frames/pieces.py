"""What one Spark task reads.

Responsible for naming a stretch of a log so that another process, on another machine, finds it. Refuses to read.
Invariant: pieces of one plan do not overlap, and hold no secret: Spark may show and store them.
"""

from __future__ import annotations

from dataclasses import dataclass

from replay.frames.salvage import Problem


@dataclass(frozen=True, slots=True)
class StorePiece:
    """Events of one application in a store and its archive, both ends included."""

    application: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class LogPiece:
    """A part of a log file, from one segment's beginning to another's."""

    application: str
    path: str
    begin: int  #: Offset of the first segment.
    end: int  #: Offset behind the last one.
    first: int  #: Events before it are not wanted …
    last: int | None  #: … nor those behind it.
    opens_with: int | None = None  #: The first event that stands there.
    goes_on_with: int | None = None  #: The event that follows behind the end, where one does.


@dataclass(frozen=True, slots=True)
class TablePiece:
    """Some batches, or row groups, of an export in Arrow or Parquet."""

    application: str  #: Empty where the file holds it as a column.
    path: str
    parts: tuple[int, ...]
    first: int
    last: int | None
    only: str = ""  #: Of the applications in the column, this one; empty: all.


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that cannot be read at all."""

    application: str
    problem: Problem


Piece = StorePiece | LogPiece | TablePiece | Trouble


def ranges(first: int, last: int, size: int) -> list[tuple[int, int]]:
    """These numbers in ranges of about ``size``, cut where ``size`` says wherever the first one is."""
    found: list[tuple[int, int]] = []
    while first <= last:
        end = min(last, ((first - 1) // size + 1) * size)
        found.append((first, end))
        first = end + 1
    return found
