"""What a run would have had to write again.

Responsible for the map stages that Spark would have run because a stage reads what was deleted; the recorded run does
not show them, since there it was not deleted. Refuses to know policies. Invariant: what is written again comes before
its reader, the deepest inputs first; what is there is read, and not written again.
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
    """Finds what has to be written again, and gives each writing the id of a stage that was listed and skipped."""

    ran: Container[StageId]  #: Stages that ran in the record.
    behind: Container[StageAttempt] = frozenset()  #: Attempts that read behind their caches too, by the record.
    weights: dict[AppShuffle, int] = field(default_factory=dict)  #: Bytes that each held when it was complete last.
    _taken: set[StageId] = field(default_factory=set)  #: Skipped stages whose ids stand for one that would have run.
    _unlisted: int = 0  #: How many had to be given an id that no stage has.

    @classmethod
    def of(cls, commands: Iterable[c.Command | None]) -> Rewriter:
        """The rewriter for a run, made from all commands of it."""
        told = list(commands)
        return cls({one.stage.stage for one in told if isinstance(one, c.ReportStageSubmitted)}, went_behind(told))

    def weigh(self, state: State, app_shuffle: AppShuffle, anew_bytes: int | None = None) -> None:
        """Notes how many bytes it takes to write a complete app shuffle again: what all its attempts wrote, failed ones
        too; or ``anew_bytes``, if its last attempt has written all of it anew."""
        generation = state.current(app_shuffle)
        if generation is not None and generation.complete:
            self.weights[app_shuffle] = anew_bytes or generation.bytes

    def forget(self, app_shuffle: AppShuffle) -> None:
        """Spark has cleaned it: nothing can read it again."""
        self.weights.pop(app_shuffle, None)

    def before(self, state: State, command: c.ReportStageSubmitted) -> Iterator[list[c.Command]]:
        """What has to be reported before the stage: for each app shuffle that is written again, a list of commands."""
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
        """The id of a stage that the reader's job listed and that never ran; else a number that no stage has."""
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
    """Which of ``reads`` are gone, and what is gone behind them, in the order in which all that has to be written."""
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
    """Whether there ever was a generation of the app shuffle."""
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle is not None and shuffle.current is not None


def is_intact(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether the app shuffle is complete and there, so that Spark would skip its map stage."""
    generation = state.current(app_shuffle)
    return generation is not None and generation.complete and not cuts.is_gone(generation)
