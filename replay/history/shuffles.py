"""The app shuffles of a run: which stages write them, what they are made of, and what they weigh.

Responsible for whether a stage writes an app shuffle, also where a log tells that late, and then for putting right what
was told of the stage before; for the lineage that was told; and for the weight of each app shuffle.
Refuses to know jobs, and when anything was. Invariant: what a fact says of an app shuffle is what the log told of it
last; lineage is told where it is new or has changed, and only there.

The id of the first RDD of its map stage stands for an app shuffle (`run`).
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle
from coordinator.core.values import Lineage, Outputs
from replay.history import records as r
from replay.history.descriptions import Stage
from replay.history.facts import Facts
from replay.history.run import Written
from replay.history.sums import Sums
from replay.history.weights import Weight


class Shuffles:
    """The app shuffles of one application, as far as its log was read. ``facts``: what was told of stages before."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._weights: dict[AppShuffle, Weight] = {}
        self._told: dict[AppShuffle, Lineage] = {}
        self._undecided: dict[int, Stage] = {}  #: By RDD: final stages that ended without a task.

    # ---- who writes one ----

    def decide(self, stage: Stage, writes: bool) -> None:
        """Now it is known whether a stage writes an app shuffle; what was told of it before that is put right."""
        if stage.writes is not None:
            return
        stage.writes = writes
        if writes:
            self._weigh(stage)
            for place in stage.told_at:
                self._put_right(place, stage)
        stage.told_at.clear()

    def decide_parent(self, stage: Stage) -> None:
        """The stage is another one's parent, so it writes one; so did a final stage of the same RDD without tasks."""
        self.decide(stage, True)
        earlier = self._undecided.pop(stage.rdd, None)
        if earlier is not None:
            self.decide(earlier, True)
            self._weight_of(stage).complete = True

    def leave_undecided(self, stage: Stage) -> None:
        """The last job that listed the stage is over. Without a task nothing has told whether it writes one."""
        if stage.writes is None and stage.lineage.maps == 0:
            self._undecided[stage.rdd] = stage

    def news(self, stages: Iterable[Stage]) -> Iterable[Lineage]:
        """Lineage that was not told before, or has changed."""
        for stage in stages:
            if stage.writes and self._told.get(stage.lineage.app_shuffle) != stage.lineage:
                self._told[stage.lineage.app_shuffle] = stage.lineage
                yield stage.lineage

    def _weigh(self, stage: Stage) -> None:
        weight = self._weights.setdefault(AppShuffle(stage.rdd), Weight())
        weight.call_site, weight.maps = weight.call_site or stage.site, max(weight.maps, stage.lineage.maps)

    def _put_right(self, place: int, stage: Stage) -> None:
        told, shuffle = self._facts[place], AppShuffle(stage.rdd)
        if isinstance(told, c.ReportJobStarted):
            self._told[shuffle] = stage.lineage
            self._facts.put_right(place, writes=shuffle, lineage=(*told.lineage, stage.lineage))
        else:
            self._facts.put_right(place, writes=shuffle)

    # ---- what they weigh ----

    def begin(self, stage: Stage, tasks: int, at_ms: int | None) -> None:
        """An attempt of the stage begins, of so many tasks. Where it writes a complete one again, outputs had gone."""
        weight = self._weight_of(stage) if stage.writes else None
        if weight is not None and weight.complete:
            self._outputs_went(AppShuffle(stage.rdd), weight, tasks, at_ms)
        elif weight is not None:
            self._resume(weight, tasks)

    def end(self, stage: Stage, sums: Sums, succeeded: bool) -> int:
        """An attempt of the stage is over; gives the bytes that are there now and were not before.

        Of a stage that writes no app shuffle: the bytes that its tasks say they wrote.
        """
        if sums.written:
            self.decide(stage, True)
        return self._weight_of(stage).add(sums, succeeded) if stage.writes else sums.written

    def note_end(self, stage: Stage, place: int, written_bytes: int) -> None:
        """Where the fact of that end stands: an attempt that completes what a failed one wrote may put it right."""
        if stage.writes and not self._weight_of(stage).complete:
            self._weight_of(stage).failed[place] = written_bytes

    def add_late(self, stage: Stage, metrics: r.Metrics) -> int:
        """A task has ended well behind the end of its failed attempt; gives its run time in ms, or 0."""
        if not stage.writes or self._weight_of(stage).complete:
            return 0
        return self._weight_of(stage).late.add(metrics)

    def written(self) -> tuple[Written, ...]:
        """All of them, in the order of their ids."""
        return tuple(
            Written(shuffle, weight.call_site, weight.maps, weight.bytes, weight.task_ms)
            for shuffle, weight in sorted(self._weights.items())
        )

    def _outputs_went(self, shuffle: AppShuffle, weight: Weight, tasks: int, at_ms: int | None) -> None:
        """A complete app shuffle is written again by so many tasks: that many of its outputs had gone."""
        left = max(weight.maps - tasks, 0)
        if not left:
            weight.begin_again()
        self._facts.tell(at_ms, c.ReportOutputs((Outputs(shuffle, left, weight.maps),)))

    def _resume(self, weight: Weight, tasks: int) -> None:
        """One more attempt begins on what failed ones left: they are put right to have written no more than that."""
        weight.resume(tasks)
        for place, left in weight.failed.items():
            self._facts.put_right(place, shuffle_bytes_written=left)

    def _weight_of(self, stage: Stage) -> Weight:
        return self._weights[AppShuffle(stage.rdd)]
