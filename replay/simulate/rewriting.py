"""What a run would have had to write again.

Responsible for the stages that Spark runs where a stage reads what was deleted, which the recorded run did not show
since nothing was deleted in it. Refuses to know policies. Invariant: what is written again stands before its reader,
deepest first, from what is gone up to what the stage reads; what is there is read, not written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from coordinator.core import caches, cuts
from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, StageAttempt, StageId
from coordinator.core.state import Job, State
from replay.simulate.fetching import went_behind


@dataclass(slots=True)
class Rewriter:
    """Finds what is missing, and names stages that were listed and skipped for it."""

    ran: Container[StageId]  #: Stages that ran in the record.
    behind: Container[StageAttempt] = frozenset()  #: Attempts that read behind their caches too, by the record.
    weights: dict[AppShuffle, int] = field(default_factory=dict)  #: Bytes that each held when it was complete last.
    _taken: set[StageId] = field(default_factory=set)  #: Stages that stand for one that would have run.
    _unlisted: int = 0

    @classmethod
    def of(cls, commands: Iterable[c.Command | None]) -> Rewriter:
        """One for the run of which these were all reports."""
        told = list(commands)
        return cls({one.stage.stage for one in told if isinstance(one, c.ReportStageSubmitted)}, went_behind(told))

    def weigh(self, state: State, app_shuffle: AppShuffle, anew_bytes: int | None = None) -> None:
        """It is complete: to write it again takes what all attempts wrote, failed ones too; where the last one has
        written all of it ``anew``, what that wrote."""
        generation = state.current(app_shuffle)
        if generation is not None and generation.complete:
            self.weights[app_shuffle] = anew_bytes or generation.bytes

    def forget(self, app_shuffle: AppShuffle) -> None:
        """Nothing can read it again."""
        self.weights.pop(app_shuffle, None)

    def before(self, state: State, command: c.ReportStageSubmitted) -> Iterator[list[c.Command]]:
        """What has to be done before the stage can run: one list of commands a map stage."""
        reads = command.reads if command.stage in self.behind else caches.direct(command)
        for app_shuffle in missing(state, reads):
            yield list(self._write(state, app_shuffle, command.stage.stage))

    def _write(self, state: State, app_shuffle: AppShuffle, reader: StageId) -> Iterator[c.Command]:
        lineage = state.shuffles[app_shuffle].lineage
        attempt = StageAttempt(self._stage(state, reader), 0)
        name = lineage.call_site or f"app shuffle {app_shuffle}"
        yield c.ReportStageSubmitted(attempt, lineage.reads, app_shuffle, lineage.maps, name)
        yield c.ReportStageCompleted(attempt, shuffle_bytes_written=self.weights.get(app_shuffle, 0))

    def _stage(self, state: State, reader: StageId) -> StageId:
        """One that the reader's job listed and never ran; else a number that no stage has."""
        listing = min((job for job in state.jobs.values() if job.lists(reader)), key=_number, default=None)
        for stage in _listed(listing):
            if stage not in self.ran and stage not in self._taken:
                self._taken.add(stage)
                return stage
        self._unlisted += 1
        return StageId(-self._unlisted)


def _number(job: Job) -> int:
    return job.job


def _listed(job: Job | None) -> Iterator[StageId]:
    for span in job.stages if job is not None else ():
        for number in range(span.first, span.last + 1):
            if job is not None and number != job.final_stage:
                yield StageId(number)


def missing(state: State, reads: Iterable[AppShuffle]) -> list[AppShuffle]:
    """What of these is gone, and what is gone behind it; what is to be written first stands first."""
    found: list[AppShuffle] = []
    seen: set[AppShuffle] = set()
    to_see = [(read, False) for read in reversed(list(reads))]
    while to_see:
        app_shuffle, is_done = to_see.pop()
        if is_done:
            found.append(app_shuffle)
        elif app_shuffle not in seen:
            seen.add(app_shuffle)
            if was_written(state, app_shuffle) and cuts.is_gone(state.current(app_shuffle)):
                to_see.append((app_shuffle, True))
                to_see.extend((read, False) for read in cuts.reads_of(state, app_shuffle))
    return found


def was_written(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether there ever was a generation of it."""
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle is not None and shuffle.current is not None


def is_intact(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether Spark would skip its map stage."""
    generation = state.current(app_shuffle)
    return generation is not None and generation.complete and not cuts.is_gone(generation)
