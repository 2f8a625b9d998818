"""What live jobs have announced to write: pure.

Responsible for: the app shuffles that live jobs list and that were never whole, as the facts tell.
Refuses to know: what of it is there, and what it is written from.
Invariant: of every app shuffle in it the coordinator knows what its map stage reads, before anything that is reported
later, and does not take it for whole. One that is not in it costs a look, nothing else: so after a gap there is none.

So a walk need not go on behind these: the coordinator does, as long as they are not whole. When one is, what lies
behind it can go at once, and not at the next look. Of one that was whole once the coordinator may think that it still
is, where Spark knows better: there the walk goes on. And what Spark has cleaned the coordinator has forgotten, though
the program may hold it still (`RDD.cleanShuffleDependencies`), until a job lists it anew.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from listener_bridge.reach.written import Written
from listener_bridge.tap.facts import EventsDropped, Fact, JobEnded, JobStarted, ShuffleCleaned, Snapshot, StageFact


class Announced:
    """One application's live jobs. Facts come in their order, whoever's thread it is; `read` belongs to the look's."""

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
        """Their app shuffles."""
        with self._lock:
            listed = frozenset[int]().union(*self._jobs.values())
            return frozenset(each for each in listed if each not in self._written)


def _listed(stages: Iterable[StageFact]) -> frozenset[int]:
    return frozenset(stage.writes for stage in stages if stage.writes is not None)
