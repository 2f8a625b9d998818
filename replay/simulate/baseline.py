"""The two bounds of every policy: what Spark alone holds, and what an oracle would have held.

Responsible for both. Spark alone keeps a shuffle until its own cleaner, or the end of the application, takes it; the
oracle deletes it when its last reader has completed. A policy that has nothing written again lies between them; one
that deletes too early may hold less than the oracle, and pays for that by writing again. Refuses to know generations.
Invariant: both are read from what was reported, and not from what was decided: they are the same for every policy.

If a run wrote a shuffle again because its own policy had deleted it, that counts as one life: without the deletion
nobody would have written it again, or read anything for that.

When a map stage ends, what it read and what it wrote are on disk together, and the log has one time for both. So for
the peak what comes within a millisecond counts before what goes in it. A shuffle that nobody reads counts at the moment
when it was written: no run holds less than that.
"""

# Every row of a table takes what the table hands it.
# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from coordinator.core import caches
from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, StageAttempt
from replay.simulate.facts import Fact, lineage_in
from replay.simulate.fetching import Readings, Submitted
from replay.units import left


@dataclass(slots=True)
class _Lived:
    """One life of an app shuffle on disk.

    ``steps``: times in ms, and the bytes held from each on. ``available``: how many outputs are left; None: all.
    """

    steps: list[tuple[int, int]]
    last_used_ms: int
    whole_bytes: int | None  #: Its bytes when it was complete last; None: it never was.
    available: int | None = None

    @property
    def bytes(self) -> int:
        return self.steps[-1][1]

    def spans(self, until_ms: int) -> Iterator[tuple[int, int, int]]:
        """Spans that follow one another: from when, until when, how many bytes. The last one ends at ``until_ms``."""
        for (since_ms, held), (next_ms, _) in pairwise([*self.steps, (until_ms, 0)]):
            if since_ms <= until_ms:
                yield since_ms, min(next_ms, until_ms), held


@dataclass(slots=True)
class Bound:
    """What one of the bounds held: bytes over time, handed over life by life."""

    byte_ms: int = 0
    _come: dict[int, int] = field(default_factory=dict)  #: Bytes by the millisecond in which they came.
    _go: dict[int, int] = field(default_factory=dict)

    def hold(self, life: Iterable[tuple[int, int, int]]) -> None:
        """All spans of one life: from when, until when, how many bytes."""
        held = ends_ms = 0
        for from_ms, until_ms, held_bytes in life:
            self.byte_ms += (until_ms - from_ms) * held_bytes
            self._change(from_ms, held_bytes - held)
            held, ends_ms = held_bytes, until_ms
        self._change(ends_ms, -held)

    def _change(self, at_ms: int, more: int) -> None:
        side = self._come if more > 0 else self._go
        side[at_ms] = side.get(at_ms, 0) + more

    @property
    def byte_seconds(self) -> float:
        return self.byte_ms / 1000

    @property
    def peak_bytes(self) -> int:
        held = peak = 0
        for at_ms in sorted({*self._come, *self._go}):
            held += self._come.get(at_ms, 0)
            peak = max(peak, held)
            held += self._go.get(at_ms, 0)
        return peak


@dataclass(slots=True)
class Baseline:
    """Adds up both bounds of a run, fact by fact."""

    never: Bound = field(default_factory=Bound)  #: Spark alone.
    oracle: Bound = field(default_factory=Bound)
    _lives: dict[AppShuffle, _Lived] = field(default_factory=dict)
    _readings: Readings = field(default_factory=Readings)
    _again: set[StageAttempt] = field(default_factory=set)
    _maps: dict[AppShuffle, int] = field(default_factory=dict)
    _ended: bool = False

    def hear(self, fact: Fact) -> None:
        """The next fact."""
        self._maps.update((lineage.app_shuffle, lineage.maps) for lineage in lineage_in(fact.command))
        rule = _HEARD.get(type(fact.command))
        if rule is not None:
            rule(self, fact, fact.command)
        else:
            self._readings.hear(fact.command)

    def close(self, now_ms: int) -> None:
        """The record has ended. If the run has not, its attempts read on, at least what is not cached for them."""
        for stage in () if self._ended else self._readings.reading_on():
            self._use(stage, caches.direct(stage), now_ms)
        for app_shuffle in list(self._lives):
            self._end(app_shuffle, now_ms)

    def _submitted(self, fact: Fact, command: c.ReportStageSubmitted) -> None:
        self._readings.submitted(command)
        if fact.again:
            self._again.add(command.stage)
        elif command.writes is not None and 0 < self._maps.get(command.writes, 0) <= command.tasks:
            self._end(command.writes, fact.time_ms)  # all of it is written anew

    def _completed(self, fact: Fact, command: c.ReportStageCompleted) -> None:
        stage = self._readings.running.get(command.stage)
        if stage is None:
            return
        read = self._readings.over(command) or ()
        if self._use(stage, read, fact.time_ms) and stage.writes is not None:
            self._write(stage.writes, command.shuffle_bytes_written, fact.time_ms, not command.failure)

    def _use(self, stage: Submitted, read: Iterable[AppShuffle], now_ms: int) -> bool:
        """Notes that an attempt has read these until now. False: without a recorded deletion it would not have run."""
        if stage.stage in self._again and stage.writes in self._lives:
            return False
        for app_shuffle in read:
            if app_shuffle in self._lives:
                self._lives[app_shuffle].last_used_ms = now_ms
        return True

    def _write(self, app_shuffle: AppShuffle, written_bytes: int, now_ms: int, whole: bool) -> None:
        """Adds what an attempt wrote; also a failed one, whose outputs the attempt that completes them needs."""
        known = self._lives.get(app_shuffle)
        if known is None:
            self._lives[app_shuffle] = _Lived([(now_ms, written_bytes)], now_ms, written_bytes if whole else None)
            return
        repaired = known.bytes + written_bytes
        if whole:
            repaired = repaired if written_bytes else max(repaired, known.whole_bytes or 0)  # as in the ledger
            known.last_used_ms = now_ms if known.whole_bytes is None else known.last_used_ms
            known.whole_bytes, known.available = repaired, None
        known.steps.append((now_ms, repaired))

    def _outputs(self, fact: Fact, command: c.ReportOutputs) -> None:
        for told in command.outputs:
            known = self._lives.get(told.app_shuffle)
            before = told.total if known is None or known.available is None else known.available
            if told.available == 0:
                self._end(told.app_shuffle, fact.time_ms)
            elif known is not None and told.available < before:
                known.steps.append((fact.time_ms, left(known.bytes, told.available, before)))
                known.available = told.available

    def _cleaned(self, fact: Fact, command: c.ReportShuffleCleaned) -> None:
        self._end(command.app_shuffle, fact.time_ms)

    def _over(self, fact: Fact, command: c.EndApplication) -> None:
        self._ended = True

    def _end(self, app_shuffle: AppShuffle, now_ms: int) -> None:
        known = self._lives.pop(app_shuffle, None)
        if known is not None:
            self.never.hold(known.spans(now_ms))
            self.oracle.hold(known.spans(known.last_used_ms))


@dataclass(slots=True)
class Costs:
    """How long it took to write each app shuffle: its tasks' run time; if that was not measured, wall time by slots.

    Of an app shuffle that was written again as a whole the last time counts: the first one may have waited for workers
    to start. ``slots``: how many tasks can run at once; with 1 the result is a lower bound.
    """

    slots: int = 1
    task_ms: dict[AppShuffle, int] = field(default_factory=dict)
    _failed_ms: dict[AppShuffle, int] = field(default_factory=dict)  #: Of failed attempts, whose outputs are left.
    _maps: dict[AppShuffle, int] = field(default_factory=dict)  #: Tasks that write all of it.
    _running: dict[StageAttempt, tuple[int, c.ReportStageSubmitted]] = field(default_factory=dict)

    def hear(self, facts: Iterable[Fact]) -> None:
        """The facts of a run, in order; may be called again with those that follow."""
        for fact in facts:
            command = fact.command
            if isinstance(command, c.ReportStageSubmitted) and command.writes is not None:
                self._running[command.stage] = fact.time_ms, command
            elif isinstance(command, c.ReportStageCompleted):
                self._over(fact.time_ms, command)

    def _over(self, now_ms: int, command: c.ReportStageCompleted) -> None:
        began_ms, stage = self._running.pop(command.stage, (0, None))
        if stage is None or stage.writes is None:
            return
        maps = self._maps[stage.writes] = max(stage.tasks, self._maps.get(stage.writes, 0))
        if stage.tasks == maps:  # all is written anew: of failed attempts nothing was left
            self._failed_ms.pop(stage.writes, None)
        if command.failure:
            self._failed_ms[stage.writes] = self._failed_ms.get(stage.writes, 0) + command.task_ms
        else:
            guess_ms = (now_ms - began_ms) * max(1, min(self.slots, stage.tasks))
            took_ms = (command.task_ms or guess_ms) + self._failed_ms.pop(stage.writes, 0)
            known_ms = self.task_ms.get(stage.writes, 0) if stage.tasks < maps else 0  # a repair is no measure
            self.task_ms[stage.writes] = max(took_ms, known_ms)


_HEARD: dict[type, Any] = {
    c.ReportStageSubmitted: Baseline._submitted,  # noqa: SLF001 - the class's own table
    c.ReportStageCompleted: Baseline._completed,  # noqa: SLF001
    c.ReportOutputs: Baseline._outputs,  # noqa: SLF001
    c.ReportShuffleCleaned: Baseline._cleaned,  # noqa: SLF001
    c.EndApplication: Baseline._over,  # noqa: SLF001
}
