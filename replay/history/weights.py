"""What shuffles weigh, as far as a log was read, by what the tasks of their map stages tell.

Responsible for the sums of a stage attempt's tasks, and for which bytes of several attempts of a map stage lie on disk.
Refuses to know stages, jobs and facts. Invariant: an output that is written again counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from replay.history import records as r

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
    """Of the tasks of one stage attempt that ended well. ``begun``: its own beginning was told too."""

    begun: bool = False
    ends: int = 0
    run_ms: int = 0
    written: int = 0
    read: int = 0
    out_bytes: int = 0
    out_records: int = 0

    def add(self, metrics: r.Metrics) -> int:
        """One more has ended well; answers its run time."""
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
        """The attempt is over, of so many tasks. Whether all that they did is known.

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
class Weight:
    """An app shuffle as it was written so far."""

    call_site: str = ""
    maps: int = 0
    bytes: int = 0
    task_ms: int = 0
    complete: bool = False
    outputs: int = 0  #: How many tasks wrote these bytes.
    failed: dict[int, int] = field(default_factory=dict)  #: Bytes of failed attempts, by the places of their ends.
    late: Sums = field(default_factory=Sums)  #: Of tasks that ended well when their attempt had failed.

    def resume(self, tasks: int) -> None:
        """One more attempt, of so many tasks, begins on what failed ones left: the rest of that is gone."""
        left = max(self.maps - tasks, 0)
        if self.outputs > left:
            self.failed = {place: told * left // self.outputs for place, told in self.failed.items()}
            self.bytes = sum(self.failed.values())
            self.task_ms = self.task_ms * left // self.outputs
            self.outputs = left

    def add(self, sums: Sums, succeeded: bool) -> int:
        """One attempt of its map stage is over; answers the bytes that are there now and were not before.

        A repair of a part puts back what was lost, which was never counted as gone.
        """
        if self.complete:
            return 0
        written = sums.written
        self.task_ms += sums.run_ms
        self.outputs += sums.ends
        if succeeded:
            written += self._take_late()
        self.bytes += written
        self.complete = succeeded
        return written

    def _take_late(self) -> int:
        """What no attempt wrote in its time, tasks of failed ones wrote behind their end; answers the bytes."""
        late, self.late = self.late, Sums()
        outputs = min(late.ends, max(self.maps - self.outputs, 0))
        if not outputs:
            return 0
        self.outputs += outputs
        self.task_ms += late.run_ms * outputs // late.ends
        return late.written * outputs // late.ends

    def begin_again(self) -> None:
        """Nothing of it is left."""
        self.bytes = self.task_ms = self.outputs = 0
        self.failed = {}
        self.late = Sums()
        self.complete = False


def written_by(metrics: r.Metrics) -> int:
    """Of a shuffle."""
    return metrics.shuffle_write.bytes if metrics.shuffle_write is not None else 0


def _totals(accumulables: Iterable[r.Accumulable]) -> Counter[str]:
    """A stage's own sums, by our names of them."""
    found: Counter[str] = Counter()
    for one in accumulables:
        if one.name in _METRICS and isinstance(one.value, int) and 0 <= one.value <= r.MOST:
            found[_METRICS[one.name]] += one.value
    return found
