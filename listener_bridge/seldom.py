"""What would be said again and again, said now and then.

Responsible for: whether a line is said, and how many of its kind were not since the last one.
Refuses to know: where lines go, clocks and threads. Times are seconds of one monotonic clock.
Invariant: of one kind a few lines follow one another, then at most one a `PAUSE_S`; what is kept does not grow with
what is said.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

AT_ONCE = 3  #: They may name different things.
PAUSE_S = 60.0
KINDS_MAX = 100


@dataclass(slots=True)
class _Kind:
    said_s: float
    at_once: int = 0
    unsaid: int = 0


class Seldom:
    """One place where lines are said. Not for several threads at once."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[str, _Kind] = OrderedDict()

    def left_out(self, kind: str, now_s: float) -> int | None:
        """How many lines of this kind were left out since the last one; None: this one is, too."""
        known = self._kinds.get(kind)
        if known is None or now_s - known.said_s >= PAUSE_S:
            self._kinds[kind] = _Kind(now_s, at_once=1)
            self._kinds.move_to_end(kind)
            if len(self._kinds) > KINDS_MAX:
                self._kinds.popitem(last=False)
            return known.unsaid if known is not None else 0
        if known.at_once < AT_ONCE:
            known.at_once += 1
            return 0
        known.unsaid += 1
        return None


def and_more(left_out: int) -> str:
    """What is said of them behind the line."""
    return f" ({left_out} more since the last such line)" if left_out else ""
