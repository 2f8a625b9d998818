"""All applications together: ranked, with what was left out.

Responsible for gathering advice through a Spark session, and for the order in which people read it. Refuses to know how
a report looks. Invariant: every file that was found is in the report, as part of an advice or by name with a reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replay.advise.advice import Advice, Verdict
from replay.advise.judging import GRACE_MS, Judge
from replay.advise.wording import byte_hours
from replay.history.finding import Log
from replay.history.gathering import Read, Refused, find, left_out, spread
from replay.history.joining import whole

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

#: Verdicts that turn the coordinator on.
TURN_ON = frozenset({Verdict.REACHABLE, Verdict.FRONTIER, Verdict.EAGER, Verdict.DELAYED})
#: Shuffles of one application that a report carries; all of them are in the Parquet files.
MOST_SHUFFLES = 200
_LOOK_EVERY_S = 0.2

#: Called now and then with (stored bytes read, all stored bytes).
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. ``advices``: who gives back most comes first."""

    advices: tuple[Advice, ...]
    refused: tuple[Refused, ...]
    grace_ms: int = GRACE_MS

    @property
    def raw_bytes(self) -> int:
        """What was read, unpacked."""
        return sum(advice.raw_bytes for advice in self.advices)

    def held(self, holder: str) -> float:
        """Byte-seconds that all applications would have held."""
        return sum(advice.of(holder).byte_seconds for advice in self.advices)

    @property
    def headline(self) -> str:
        """The one sentence."""
        givers = [advice for advice in self.advices if advice.verdict in TURN_ON]
        if not self.advices:
            return "No application was found."
        if not givers:
            if len(self.advices) == 1:
                return "This application would not give back enough to be worth it."
            return f"None of {len(self.advices):,} applications would give back enough to be worth it."
        gain = sum(advice.gain_byte_seconds for advice in givers)
        who = "This application" if len(givers) == 1 else f"These {len(givers):,} applications"
        possible = sum(advice.possible_byte_seconds for advice in givers)
        least, most = byte_hours(gain), byte_hours(max(possible, gain))
        return f"{who} would give back {least}{f' at least, {most} at most' if least != most else ''}."


def make(
    spark: SparkSession, places: Iterable[str], grace_ms: int = GRACE_MS, progress: Progress | None = None
) -> Report:
    """Reads all logs at these places and gives advice on each."""
    logs, refused = find(spark, places)
    done = spark.sparkContext.accumulator(0)
    judge = Judge(grace_ms)

    def few(run: object) -> Advice:
        return _shortened(judge(run))  # type: ignore[arg-type]

    with telling(progress, done, logs):
        found = spread(spark, logs, few, done).collect() if logs else []
        silent = {log.place for log in logs} - {read.place for read in found}
        found = whole(found, lambda parts: spread(spark, parts, few).collect(), left_out)
    unread = (Refused(place, "it was listed and could not be opened") for place in silent)
    return put_together(found, (*refused, *unread), grace_ms)


def put_together(found: Sequence[Read[Advice]], refused: Iterable[Refused] = (), grace_ms: int = GRACE_MS) -> Report:
    """The report of what became of each log."""
    failed = [Refused(read.place, read.why) for read in found if read.found is None]
    advices = [read.found for read in found if read.found is not None]
    ranked = sorted(advices, key=lambda one: (-one.gain_byte_seconds, -one.possible_byte_seconds, one.label))
    unread = sorted((*refused, *failed), key=lambda one: one.place)
    return Report(tuple(ranked), tuple(unread), grace_ms)


def _shortened(advice: Advice) -> Advice:
    heaviest = sorted(advice.shuffles, key=lambda one: (-one.idle_byte_seconds, -one.bytes, one.app_shuffle))
    return replace(advice, shuffles=tuple(heaviest[:MOST_SHUFFLES]))


@contextmanager
def telling(progress: Progress | None, done: Accumulator[int], logs: Iterable[Log]) -> Iterator[None]:
    """Tells of the progress from a thread of its own, until the work is over."""
    if progress is None:
        yield
        return
    over, total = threading.Event(), sum(log.bytes for log in logs)

    def tell() -> None:
        while not over.wait(_LOOK_EVERY_S):
            progress(done.value, total)

    thread = threading.Thread(target=tell, name="advise-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    progress(total, total)
