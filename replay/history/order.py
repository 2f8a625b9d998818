"""Lines that stand where Spark writes none.

Responsible for counting what a log tells in another order than Spark does (lines that were sorted, parts that were put
together the wrong way round) and what only such a log or one with missing lines holds, and for bringing the facts of it
into the order of their times. Refuses to know what a fact means. Invariant: what could not be counted is told with its
number, and no log is brought into another order because a clock was set.

Spark writes beginnings and ends of jobs and stages from one thread, which reads the clock as it does so. In 19 public
logs of Spark 1.4 to 4.1 none was earlier than one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from coordinator.core import commands as c
from replay.history.clock import JITTER_MS, LATE_MS
from replay.history.roots import Persisted
from replay.history.run import Fact
from replay.units import count, size, span

T = TypeVar("T")


@dataclass(slots=True)
class Order:
    """How often each sign of another order was met so far."""

    before_start: int = 0  #: Jobs and stages before the start of the application.
    behind_end: int = 0  #: The same behind its end.
    jobless: int = 0  #: Attempts of stages that no job had listed.
    unbegun: int = 0  #: Ends of jobs that had not begun.
    again: int = 0  #: Lines of attempts that had begun, or were over.
    late_ends: int = 0  #: Ends of tasks behind their stage's, which had lacked them; or of stages of which is no more.
    late_bytes: int = 0  #: What those had written.
    back: int = 0  #: Beginnings and ends with a time before that of a line above.
    back_ms: int = 0

    def hear(self, time_ms: int | None, now_ms: int) -> None:
        """A job or a stage begins or ends."""
        late_ms = now_ms - time_ms if time_ms and time_ms > 0 else 0
        if JITTER_MS < late_ms <= LATE_MS:  # the clock tells of more
            self.back, self.back_ms = self.back + 1, max(self.back_ms, late_ms)

    def miss(self, ends: int, written: int) -> None:
        """Notes ends of tasks that count nowhere, and the bytes that those tasks had written."""
        self.late_ends, self.late_bytes = self.late_ends + ends, self.late_bytes + written

    @property
    def is_odd(self) -> bool:
        """Whether lines stand in another order; a clock that was set makes none of this."""
        return any(getattr(self, one.name) for one in _ODD)

    def doubts(self, begun: bool) -> list[str]:
        """Sentences about the order of the log, for who reads what was made of it.

        ``begun``: the log holds the start of the application. Without it, lines are known to be missing, and signs that
        only say so are left out.
        """
        told = [self._uncounted()] if self.late_ends else []
        odd = [_said(getattr(self, one.name), one) for one in _ODD if getattr(self, one.name) and (begun or one.always)]
        if self.back:
            odd.append(f"{count(self.back, 'time')} earlier than above, by up to {span(self.back_ms)}")
        if odd:
            told.append(
                f"lines of it are missing or stand in another order than Spark writes them ({'; '.join(odd)}): "
                "what was held and read, and when, is doubtful"
            )
        return told

    def _uncounted(self) -> str:
        return (
            f"{count(self.late_ends, 'end')} of tasks, with {size(self.late_bytes)} written, stand behind the end of "
            "their stage, or it tells of no such stage: not counted"
        )


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    one: str
    many: str
    always: bool = True  #: False: a log whose head is elsewhere holds such lines too.


_ODD = (
    _Kind("before_start", "job or stage before its start", "jobs and stages before its start"),
    _Kind("behind_end", "job or stage behind its end", "jobs and stages behind its end"),
    _Kind("jobless", "stage that no job before had listed", "stages that no job before had listed", always=False),
    _Kind("unbegun", "end of a job that had not begun", "ends of jobs that had not begun", always=False),
    _Kind("again", "stage told again", "stages told again"),
)


def by_time(facts: Sequence[Fact], times_ms: Sequence[int], persisted: Persisted) -> tuple[list[Fact], Persisted]:
    """The facts in the order of these times, and the persisted RDDs, moved to where they came and went among them."""
    order = sorted(range(len(facts)), key=times_ms.__getitem__)
    place = {was: now for now, was in enumerate(order)}
    found = [(times_ms[was], facts[was][1]) for was in order]
    _tell_lineage(found)
    came = _moved(persisted.came, lambda at: place.get(at, len(order)))  # with the stage that names it
    went = _moved(persisted.went, lambda at: place.get(at - 1, -1) + 1)  # behind what was told last
    return found, replace(persisted, came=came, went=went)


def _tell_lineage(facts: list[Fact]) -> None:
    """Moves all lineage to the first job: it was told by the job whose line came first, which may be a later one."""
    jobs = [(at, job) for at, (_, job) in enumerate(facts) if isinstance(job, c.ReportJobStarted)]
    lineage = {told.app_shuffle: told for _, job in reversed(jobs) for told in reversed(job.lineage)}
    for at, first in jobs[:1]:
        facts[at] = facts[at][0], replace(first, lineage=tuple(lineage[one] for one in sorted(lineage)))


def _moved(rdds: dict[int, list[T]], to: Callable[[int], int]) -> dict[int, list[T]]:
    found: dict[int, list[T]] = {}
    for at, those in rdds.items():
        found.setdefault(to(at), []).extend(those)
    return found


def _said(number: int, kind: _Kind) -> str:
    return count(number, kind.one, kind.many)
