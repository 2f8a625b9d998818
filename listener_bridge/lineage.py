"""What is known of stages and app shuffles: the translator's memory.

Responsible for: which app shuffle a stage id writes, while a job lists it; which lineage was told, so that only what is
new or changed is told again; which generation each stage attempt was given to read.
Refuses to know: requests and facts' order.
Invariant: nothing outlives the jobs that list it, or the app shuffle that Spark has let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from shuffle_lifecycle.v1 import common_pb2

from listener_bridge import words
from listener_bridge.tap.facts import StageFact

Attempt = tuple[int, int]


@dataclass(slots=True)
class _Listed:
    """A stage id that some live job lists."""

    writes: int | None
    rdd: int | None  # the last one that it computes
    jobs: set[int] = field(default_factory=set)
    given: dict[tuple[int, int], int] = field(default_factory=dict)  # (attempt, app shuffle) -> shuffle id
    missed: set[tuple[int, int]] = field(default_factory=set)  # (attempt, app shuffle), reported


class Memory:
    """Stages of live jobs, and lineage as it was told."""

    def __init__(self) -> None:
        self._stages: dict[int, _Listed] = {}
        self._jobs: dict[int, tuple[int, ...]] = {}
        self._told: dict[int, common_pb2.Lineage] = {}
        self._ever: set[int] = set()  # of which something was told, lineage or not
        self._first: set[int] = set()  # of these, those of which the last job's lineage was the first
        self._maps: dict[int, int] = {}  # the most map tasks that were ever seen

    def add_job(self, job: int, stages: Iterable[StageFact]) -> list[common_pb2.Lineage]:
        """Learn a job's stages; answers the lineage that was not told before, or has changed."""
        self._first.clear()
        listed = tuple(stages)
        self._jobs[job] = tuple(stage.stage_id for stage in listed)
        for stage in listed:
            self._stages.setdefault(stage.stage_id, _listed(stage)).jobs.add(job)
        return list(self._news(listed))

    def end_job(self, job: int) -> None:
        for stage_id in self._jobs.pop(job, ()):
            listed = self._stages.get(stage_id)
            if listed is not None:
                listed.jobs.discard(job)
                if not listed.jobs:
                    del self._stages[stage_id]

    def reads(self, stage: StageFact) -> list[int]:
        """The app shuffles that a stage reads, ascending: what its parents write."""
        return sorted({parent.writes for parent in self._parents(stage) if parent.writes is not None})

    def behind(self, stage: StageFact) -> list[int]:
        """What of these lies behind persisted RDDs of the stage, ascending: it may take their blocks instead."""
        if not stage.cached_rdd_ids:
            return []
        parents = list(self._parents(stage))
        if any(parent.rdd in stage.rdd_ids for parent in parents):  # the walk has gone past what it reads
            return sorted({parent.writes for parent in parents if parent.writes is not None})
        hidden = (parent for parent in parents if parent.rdd not in stage.direct_rdd_ids)
        return sorted({parent.writes for parent in hidden if parent.writes is not None})

    def _parents(self, stage: StageFact) -> Iterator[_Listed]:
        for parent in stage.parent_stage_ids:
            listed = self._stages.get(parent)
            if listed is not None:
                yield listed

    def give(self, stage: Attempt, app_shuffle: int, shuffle_id: int) -> None:
        """A stage attempt was told which generation to read."""
        listed = self._stages.get(stage[0])
        if listed is not None:
            listed.given[stage[1], app_shuffle] = shuffle_id

    def given(self, stage: Attempt, app_shuffle: int) -> int:
        """The generation that a stage attempt was told to read; 0: none that we know."""
        listed = self._stages.get(stage[0])
        return listed.given.get((stage[1], app_shuffle), 0) if listed is not None else 0

    def first_miss(self, stage: Attempt, app_shuffle: int) -> bool:
        """Whether nobody of this attempt has reported this loss before: its tasks all meet the same one."""
        listed = self._stages.get(stage[0])
        if listed is None:
            return True
        key = (stage[1], app_shuffle)
        is_first = key not in listed.missed
        listed.missed.add(key)
        return is_first

    def is_first(self, app_shuffle: int) -> bool:
        """Whether nobody had told anything of it before the last job, also before what was cleared."""
        return app_shuffle in self._first

    def clean(self, app_shuffle: int) -> None:
        """Spark has let the app shuffle go."""
        self._told.pop(app_shuffle, None)
        self._ever.discard(app_shuffle)
        self._maps.pop(app_shuffle, None)

    def clear(self, maps: Mapping[int, int]) -> None:
        """All jobs and all that was told are to be told anew; `maps`: how many map tasks each app shuffle has.

        All of these count as told: who has read them the coordinator may know from stages alone. What Spark has no
        longer registered is cleaned, and new should it come again.
        """
        self.__init__()  # type: ignore[misc]
        self._ever.update(maps)
        self._maps.update(maps)

    def _news(self, stages: tuple[StageFact, ...]) -> Iterator[common_pb2.Lineage]:
        for stage in stages:
            if stage.writes is not None:
                found = self._lineage(stage, stage.writes)
                if self._told.get(stage.writes) != found:
                    self._told[stage.writes] = found
                    if stage.writes not in self._ever:
                        self._first.add(stage.writes)
                        self._ever.add(stage.writes)
                    yield found

    def _lineage(self, stage: StageFact, writes: int) -> common_pb2.Lineage:
        """A stage that is tried again lists only the tasks that are missing: the most that were ever told are all."""
        self._maps[writes] = max(stage.num_tasks, self._maps.get(writes, 0))
        name = stage.name or stage.call_site
        return common_pb2.Lineage(
            app_shuffle=writes,
            reads=self.reads(stage),
            level=words.level(stage.level),
            barrier=stage.is_barrier,
            maps=self._maps[writes],
            call_site=stage.line or name,  # the name has the program's own line, where PySpark knows it
            stage_name=name if stage.line else "",
        )


def _listed(stage: StageFact) -> _Listed:
    return _Listed(stage.writes, stage.rdd_ids[0] if stage.rdd_ids else None)
