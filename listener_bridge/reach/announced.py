"""What live jobs have announced to write: pure.

Responsible for: the app shuffles that live jobs list, as the facts tell.
Refuses to know: what of it is there, and what it is written from.
Invariant: of every app shuffle in it the coordinator was told, before anything that is reported later, what its map
stage reads.

So a walk need not go on behind these: the coordinator does, as long as they are not whole. When one is, what lies
behind it can go at once, and not at the next look.
"""

from __future__ import annotations

from collections.abc import Iterable

from listener_bridge.tap.facts import Fact, JobEnded, JobStarted, Snapshot, StageFact


class Announced:
    """One application's live jobs. `hear` and `resync` belong to the tap's thread, `read` to the look's."""

    def __init__(self) -> None:
        self._jobs: dict[int, frozenset[int]] = {}

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""
        if isinstance(fact, JobStarted):
            self._jobs[fact.job_id] = _written(fact.stages)
        elif isinstance(fact, JobEnded):
            self._jobs.pop(fact.job_id, None)

    def resync(self, present: Snapshot) -> None:
        """Facts were lost: these jobs live, and are told anew."""
        self._jobs = {job.job_id: _written(job.stages) for job in present.active_jobs}

    def read(self) -> frozenset[int]:
        """Their app shuffles."""
        return frozenset().union(*tuple(self._jobs.values()))


def _written(stages: Iterable[StageFact]) -> frozenset[int]:
    return frozenset(stage.writes for stage in stages if stage.writes is not None)
