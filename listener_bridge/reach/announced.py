"""What live jobs have announced to write: pure.

Responsible for: the app shuffles that live jobs list and that were never whole, as the facts tell.
Refuses to know: what of it is there, and what it is written from.
Invariant: for each of these app shuffles the coordinator has been told what its map stage reads, before anything that
is reported later, and does not take it for complete. To leave one out costs only time, until the next look: so after a
gap there is none.

A walk need not go on behind an announced app shuffle: the coordinator does that itself, until it is complete. Then what
lies behind it can go at once, and not only at the next look. One that was complete before is never among them: the
coordinator may take it for complete when Spark knows that it is not, and so the walk has to go on behind it. Nor is one
that Spark has cleaned, until a job lists it again: the coordinator has forgotten it, and the program may still hold it
(`RDD.cleanShuffleDependencies`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from listener_bridge.reach.written import Written
from listener_bridge.tap.facts import EventsDropped, Fact, JobEnded, JobStarted, ShuffleCleaned, Snapshot, StageFact


class Announced:
    """One application's live jobs. Facts come in their order, from any thread; `read` belongs to the look's thread."""

    def __init__(self) -> None:
        self._jobs: dict[int, frozenset[int]] = {}
        self._written = Written()
        self._lock = threading.Lock()

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""
        with self._lock:
            self._written.hear(fact)
            if isinstance(fact, JobStarted):
                self._jobs[fact.job_id] = _listed(fact.stages)
            elif isinstance(fact, ShuffleCleaned):
                self._jobs = {job: listed - {fact.app_shuffle} for job, listed in self._jobs.items()}
            elif isinstance(fact, JobEnded):
                self._jobs.pop(fact.job_id, None)
            elif isinstance(fact, EventsDropped):
                self._jobs.clear()

    def resync(self, present: Snapshot) -> None:
        """What there is now: at the beginning, and after facts were lost."""
        with self._lock:
            self._jobs.clear()
            self._written.known(present)

    def read(self) -> frozenset[int]:
        """The app shuffles that live jobs list and that were never complete."""
        with self._lock:
            listed = frozenset[int]().union(*self._jobs.values())
            return frozenset(each for each in listed if each not in self._written)


def _listed(stages: Iterable[StageFact]) -> frozenset[int]:
    return frozenset(stage.writes for stage in stages if stage.writes is not None)
