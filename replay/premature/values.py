"""Premature deletions, as their reader is told of them.

Responsible for the values, and for what a change costs in words. Refuses to know how they were found. Invariant: a
value says by itself what it is of.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.core.ids import AppShuffle, Sequence, ShuffleId
from replay.units import count, size


@dataclass(frozen=True, slots=True)
class Cause:
    """One event of the chain."""

    sequence: Sequence
    time_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that keeps the shuffle. ``extra_byte_seconds``: what more the whole run would have held, told the same
    facts with and without it: with the same simulated driver, so that only the change makes the difference."""

    change: str
    extra_byte_seconds: float
    others_missed: int  #: Premature deletions that are left, of other shuffles.


@dataclass(frozen=True, slots=True)
class Premature:
    """One premature deletion."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    policy: str  #: That let it go.
    sequence: Sequence  #: Where it was missed.
    time_ms: int
    missed_by: str
    chain: tuple[Cause, ...]
    recomputed_bytes: int
    #: None where nobody measured it: then wall time of the stage that wrote it, times the tasks that ran at a time.
    recomputed_task_seconds: float | None
    advice: tuple[Advice, ...]  #: The least first; empty where nothing that was tried keeps it.
    is_tried: bool = True  #: A pin and graces of its own were tried; false: only of others, which took longer to write.


def worth(advice: Advice) -> str:
    """What a change costs, in words."""
    more = advice.extra_byte_seconds
    held = f"holds {size(round(abs(more)))}·s {'more' if more >= 0 else 'less'}"
    left = f"{count(advice.others_missed, 'other')} {'is' if advice.others_missed == 1 else 'are'} still missed"
    return held + (f"; {left}" if advice.others_missed else "")
