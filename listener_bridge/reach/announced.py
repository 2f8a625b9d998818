"""What live jobs have announced to write: pure.

Responsible for: the app shuffles that live jobs list, as the facts tell.
Refuses to know: what of it is there, and what it is written from.
Invariant: of every app shuffle in it the coordinator was told what its map stage reads, before anything that is
reported later. One that is not in it costs a look, nothing else: so after a gap there is none.

So a walk need not go on behind these: the coordinator does, as long as they are not whole. When one is, what lies
behind it can go at once, and not at the next look.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from listener_bridge.tap.facts import EventsDropped, Fact, JobEnded, JobStarted, StageFact


class Announced:
    """One application's live jobs. Facts come in their order, whoever's thread it is; `read` belongs to the look's."""

    def __init__(self) -> None:
        self._jobs: dict[int, frozenset[int]] = {}
        self._lock = threading.Lock()

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""
        with self._lock:
            if isinstance(fact, JobStarted):
                self._jobs[fact.job_id] = _written(fact.stages)
            elif isinstance(fact, JobEnded):
                self._jobs.pop(fact.job_id, None)
            elif isinstance(fact, EventsDropped):
                self._jobs.clear()

    def resync(self) -> None:
        """Facts were lost."""
        with self._lock:
            self._jobs.clear()

    def read(self) -> frozenset[int]:
        """Their app shuffles."""
        with self._lock:
            return frozenset().union(*self._jobs.values())


def _written(stages: Iterable[StageFact]) -> frozenset[int]:
    return frozenset(stage.writes for stage in stages if stage.writes is not None)
