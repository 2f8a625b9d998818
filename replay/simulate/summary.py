"""Policies side by side.

Responsible for the figures of one run under one policy, small enough to travel, and for their sums over runs. Refuses
to show them. Invariant: sums of sums are sums; peaks are of single runs, and the largest is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from replay.simulate.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy's figures over one run, or over several. Bounds are the same for every policy."""

    policy: str
    applications: int
    held_byte_seconds: float
    needed_byte_seconds: float  #: The oracle's.
    never_byte_seconds: float  #: Spark's alone.
    peak_bytes: int  #: The largest of a single run.
    written_bytes: int
    deletions: int
    premature: int
    recomputed_bytes: int
    recomputed_task_seconds: float
    facts: int
    looked_at: int  #: Applications whose record holds looks; of the others `reachable` can say nothing.

    @property
    def saved_byte_seconds(self) -> float:
        """Byte-seconds that Spark alone would have held, less those that were held."""
        return self.never_byte_seconds - self.held_byte_seconds


def summary_of(outcome: Outcome, policy: str) -> Summary:
    """The figures of one run."""
    return Summary(
        policy,
        1,
        outcome.held_byte_seconds,
        outcome.needed_byte_seconds,
        outcome.never_byte_seconds,
        outcome.peak_bytes,
        outcome.written_bytes,
        outcome.deletions,
        outcome.premature,
        outcome.recomputed_bytes,
        outcome.recomputed_task_seconds,
        outcome.facts,
        int(outcome.looks > 0),
    )


def total(runs: Iterable[Sequence[Summary]]) -> list[Summary]:
    """One sum for each policy, over all runs. Every run has figures for the same policies, in the same order."""
    return [reduce(_both, of_one) for of_one in zip(*runs, strict=True)]


def _both(one: Summary, other: Summary) -> Summary:
    return Summary(
        one.policy,
        one.applications + other.applications,
        one.held_byte_seconds + other.held_byte_seconds,
        one.needed_byte_seconds + other.needed_byte_seconds,
        one.never_byte_seconds + other.never_byte_seconds,
        max(one.peak_bytes, other.peak_bytes),
        one.written_bytes + other.written_bytes,
        one.deletions + other.deletions,
        one.premature + other.premature,
        one.recomputed_bytes + other.recomputed_bytes,
        one.recomputed_task_seconds + other.recomputed_task_seconds,
        one.facts + other.facts,
        one.looked_at + other.looked_at,
    )
