"""What the advisor says of one application.

Responsible for the shape of an advice. Refuses to compute. Invariant: units stand last in names; times are milliseconds
since the epoch; ``None`` is "not known" or "never".

A byte-second is one byte held for one second: 1 TB-hour is 3.6e15 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What to do, in one word."""

    REACHABLE = "reachable"
    FRONTIER = "frontier"
    EAGER = "eager"
    DELAYED = "delayed"
    OBSERVE = "observe"  #: There is something to gain, but guessing would cost too much.
    LEAVE = "leave as it is"
    UNKNOWN = "not known"


#: Who held: Spark alone, the rules, and an oracle that lets a shuffle go when its last reader is done.
#: In the order in which people compare them.
SPARK, FRONTIER, EAGER, DELAYED, ORACLE = "spark", "frontier", "eager", "delayed", "oracle"
HOLDERS = (SPARK, FRONTIER, EAGER, DELAYED, ORACLE)


@dataclass(frozen=True, slots=True)
class Figures:
    """One application under one holder."""

    holder: str
    peak_bytes: int
    byte_seconds: float
    deletions: int = 0
    missed: int = 0  #: Deleted too early, and written again.
    recomputed_bytes: int = 0
    recomputed_task_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ShuffleAdvice:
    """One app shuffle. ``idle_ms``: held past its last read; never read, since it was written."""

    app_shuffle: int
    call_site: str
    maps: int
    bytes: int
    task_seconds: float
    written_ms: int | None
    last_read_ms: int | None
    reads: int
    idle_ms: int
    idle_byte_seconds: float
    too_early: tuple[str, ...] = ()  #: Rules that would have deleted it too early.


@dataclass(frozen=True, slots=True)
class Advice:
    """One run of one application."""

    application_id: str
    attempt: str
    name: str
    user: str
    spark_version: str
    is_python: bool
    started_ms: int
    ended_ms: int
    ended: bool
    task_seconds: float
    raw_bytes: int
    place: str
    warnings: tuple[str, ...]
    shuffle_count: int
    written_bytes: int
    figures: tuple[Figures, ...]
    shuffles: tuple[ShuffleAdvice, ...]  #: In a report the heaviest only.
    verdict: Verdict
    reason: str
    gain_byte_seconds: float  #: What the recommended policy would have given back, at least.
    possible_byte_seconds: float  #: What the oracle would have.

    def of(self, holder: str) -> Figures:
        """The figures of one holder."""
        return next(one for one in self.figures if one.holder == holder)

    @property
    def label(self) -> str:
        """What people call it."""
        attempt = f" ({self.attempt})" if self.attempt else ""
        return f"{self.name or self.application_id}{attempt}"
