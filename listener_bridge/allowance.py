"""When it is worth being quick: so many a second, and a few that may follow one another without a pause. Pure.

Responsible for: how long what comes next has to wait, and what is much.
Refuses to know: what it is, clocks and threads. Times are seconds of one monotonic clock.
Invariant: over any stretch there are at most one a `pause_s`, and `ahead` + 1 more.
"""

from __future__ import annotations

AHEAD = 4
MUCH_BYTES = 4 << 20  #: Unless somebody says otherwise; where less lies on a disk, little is won by being quick.
HARDLY_ANY = 64  #: Of these are much together. Between the two lies what is worth some haste, as long as it is seldom.


class Allowance:
    """One spender's allowance."""

    def __init__(self, pause_s: float, now_s: float, ahead: int = AHEAD) -> None:
        self._pause_s = pause_s
        self._ahead_s = ahead * pause_s
        self._paid_s = now_s - self._ahead_s  # until when what was spent so far would last

    def wait_s(self, now_s: float) -> float:
        """How long the next one has to wait; 0: not at all."""
        return max(0.0, self._paid_s - now_s)

    def spend(self, now_s: float) -> None:
        """There is one more."""
        self._paid_s = max(self._paid_s, now_s - self._ahead_s) + self._pause_s
