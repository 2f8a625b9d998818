"""What shuffles weigh, as far as a log was read.

Responsible for which of the bytes that several attempts of a map stage wrote lie on disk. Refuses to know how the sums
of one attempt come about (`sums`), and stages, jobs and facts. Invariant: an output that is written again counts once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.history.sums import Sums


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
