"""When it is worth it that Python's collector looks for what only cycles hold.

CPython drops an object with the last reference to it. What refers to itself stays until the collector comes by: the
exception of a failed job, whose traceback holds the frames that hold the exception and the RDDs; a function within a
function that calls itself; a step that knows the pipeline that knows the step. The collector comes by after so many new
objects, which a driver that waits for Spark does not make: without us such an RDD keeps its shuffles for hours. (Spark
has the JVM's collector called every half hour, for the same reason: `spark.cleaner.periodicGC.interval`.)

Responsible for: when a collection is asked for, by what nameless handles alone hold.
Refuses to know: what holds them. It may be an attribute or a list, and then nothing is found.
Invariant: collections take at most `SHARE` of one processor's time, beyond what is saved up (`pace`), and where they
find nothing they are asked for ever more seldom; where the program has switched its collector off, or debugs it, there
are none. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping

from listener_bridge.reach.findings import Root
from listener_bridge.reach.pace import Budget

SHARE = 0.005
WAIT_MIN_S = 0.25
WAIT_MAX_S = 300.0


class Cycles:
    """What nameless handles were seen to hold so far, and what collections came to."""

    def __init__(self, much_bytes: int, now_s: float) -> None:
        self._much_bytes = max(1, much_bytes)
        self._budget = Budget(SHARE, now_s)
        self._since_s: float | None = None  # when they were first seen to hold much, or were collected last
        self._wait_s = WAIT_MIN_S

    def are_worth_it(self, now_s: float, roots: Iterable[Root], sizes: Mapping[int, int]) -> bool:
        """Whether a collection is due, after a look that found these roots. `sizes`: app shuffle -> bytes."""
        if nameless_bytes(roots, sizes) < self._much_bytes:
            self._since_s = None
            return False
        if self._since_s is None:
            self._since_s = now_s
        return now_s - self._since_s >= self._wait_s and not self._budget.wait_s(now_s)

    def collected(self, now_s: float, cost_s: float, has_freed: bool) -> None:
        """A collection has ended, which took so much of a processor; whether handles went by it."""
        self._since_s = now_s
        self._wait_s = WAIT_MIN_S if has_freed else min(WAIT_MAX_S, 2 * self._wait_s)
        self._budget.spend(now_s, cost_s)


def nameless_bytes(roots: Iterable[Root], sizes: Mapping[int, int]) -> int:
    """What only roots need that the program has no name for."""
    named: set[int] = set()
    nameless: set[int] = set()
    for root in roots:
        (named if root.has_name else nameless).update(root.needs)
    return sum(sizes.get(shuffle, 0) for shuffle in nameless - named)


def collect() -> None:
    """One full collection, in this thread, as CPython makes them in any: nothing where the program wants none."""
    if gc.isenabled() and not gc.get_debug():
        gc.collect()
