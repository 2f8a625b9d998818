"""What the tasks of each stage attempt did, summed up while a log is read.

Responsible for which attempts have begun and which are over, and for the sums of their tasks: run time, and bytes read,
written and put out. Refuses to know jobs and shuffles, and what lies on disk of what was written (`weights`).
Invariant: a task counts once, in the sums of its own attempt; when the attempt is over, its sums do not change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from coordinator.core.ids import StageAttempt, StageId
from replay.history import records as r
from replay.numbers import Attempts

#: Stage id and attempt, as Spark numbers them. A plain tuple: there is one for every end of a task.
Key: TypeAlias = tuple[int, int]

#: Spark's own sums of a stage, by the names of their accumulators.
_METRICS = {
    "internal.metrics.executorRunTime": "run_ms",
    "internal.metrics.shuffle.write.bytesWritten": "written",
    "internal.metrics.shuffle.read.localBytesRead": "read",
    "internal.metrics.shuffle.read.remoteBytesRead": "read",
    "internal.metrics.output.bytesWritten": "out_bytes",
    "internal.metrics.output.recordsWritten": "out_records",
}


@dataclass(slots=True)
class Sums:
    """Sums over the tasks of one stage attempt that ended well. ``begun``: the attempt's own beginning was told."""

    begun: bool = False
    ends: int = 0
    run_ms: int = 0
    written: int = 0
    read: int = 0
    out_bytes: int = 0
    out_records: int = 0

    def add(self, metrics: r.Metrics) -> int:
        """One more task has ended well; gives its run time in milliseconds."""
        run_ms = max(metrics.run_ms, 0)
        self.ends += 1
        self.run_ms += run_ms
        self.written += written_by(metrics)
        if metrics.shuffle_read is not None:
            self.read += metrics.shuffle_read.remote_bytes + metrics.shuffle_read.local_bytes
        if metrics.output is not None:
            self.out_bytes += metrics.output.bytes
            self.out_records += metrics.output.records
        return run_ms

    def settle(self, tasks: int, accumulables: Iterable[r.Accumulable]) -> bool:
        """The attempt is over, which had so many tasks; gives whether all that they did is known.

        Where ends are missing, the stage's own sums count, which hold what failed tasks did too. Where there are more
        ends than tasks, outputs were lost meanwhile and written again: each task counts once.
        """
        totals = _totals(accumulables) if self.ends < tasks else {}
        for name, total in totals.items():
            setattr(self, name, max(getattr(self, name), total))
        if self.ends > tasks > 0:
            for name in set(_METRICS.values()):
                setattr(self, name, getattr(self, name) * tasks // self.ends)
            self.ends = tasks
        return self.ends >= tasks or bool(totals)


@dataclass(slots=True)
class RunningSums:
    """The sums of the attempts that run, and which attempts are over."""

    _running: dict[Key, Sums] = field(default_factory=dict)  #: From the first line that tells of the attempt.
    _over: Attempts = field(default_factory=Attempts)
    _lacking: set[Key] = field(default_factory=set)  #: Over, and not all that their tasks did is known.

    def of(self, key: Key) -> Sums | None:
        """The sums of an attempt, from its first line on; None: the attempt is over."""
        known = self._running.get(key)
        if known is not None:
            return known
        return None if _attempt(key) in self._over else self._running.setdefault(key, Sums())

    def has_begun(self, key: Key) -> bool:
        """Whether the attempt runs, and its own beginning was told."""
        known = self._running.get(key)
        return known is not None and known.begun

    def end(self, stage: r.Stage) -> Sums | None:
        """The attempt is over: its sums. None: it was over already."""
        key = stage.id, stage.attempt
        sums = self._running.pop(key, None)
        if sums is None:
            return None
        self._over.add(_attempt(key))
        if not sums.settle(stage.tasks, stage.accumulables) and stage.failure is None:
            self._lacking.add(key)
        return sums

    def is_lacking(self, key: Key) -> bool:
        """Whether the attempt ended well, and not all that its tasks did is known."""
        return key in self._lacking

    def unbegun(self) -> Iterator[Sums]:
        """The sums of attempts of which ends of tasks were told, and neither a beginning nor an end."""
        return (sums for sums in self._running.values() if not sums.begun)


def written_by(metrics: r.Metrics) -> int:
    """Bytes of shuffle data that a task wrote."""
    return metrics.shuffle_write.bytes if metrics.shuffle_write is not None else 0


def _totals(accumulables: Iterable[r.Accumulable]) -> Counter[str]:
    """A stage's own sums, by our names of them."""
    found: Counter[str] = Counter()
    for one in accumulables:
        if one.name in _METRICS and isinstance(one.value, int) and 0 <= one.value <= r.MOST:
            found[_METRICS[one.name]] += one.value
    return found


def _attempt(key: Key) -> StageAttempt:
    stage, attempt = key
    return StageAttempt(StageId(stage), attempt)
