"""How fast somebody may ask.

Responsible for a rate that may be passed for a moment and not for long. Refuses to know who asks what. Invariant: what
is kept of those who have been quiet for long is nothing, and whatever they ask at once is not too much for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

#: So many seconds' worth may come at once.
_BURST_S = 2.0
_KEPT_MAX = 1_024


class Pace:
    """A rate a second, for each of many."""

    def __init__(self, per_s: int) -> None:
        self.per_s = per_s
        self._debts: dict[Hashable, tuple[float, float]] = {}  #: Who -> how much, and when.

    def wait_s(self, who: Hashable, count: int) -> float:
        """Counts ``count`` more; how long to wait before they are done, 0: not at all."""
        now_s = asyncio.get_running_loop().time()
        debt = self._debt(who, now_s) + count
        if who not in self._debts and len(self._debts) >= _KEPT_MAX:
            self._debts = {key: kept for key, kept in self._debts.items() if self._debt(key, now_s) > 0}
        self._debts[who] = (debt, now_s)
        at_once = max(self.per_s * _BURST_S, count)  # a batch that is larger waits until all else is paid
        return max(0.0, (debt - at_once) / self.per_s)

    def forgive(self, who: Hashable, count: int) -> None:
        """Takes requests back that were counted: they were refused, and do not count."""
        debt, since_s = self._debts[who]
        self._debts[who] = (debt - count, since_s)

    def _debt(self, who: Hashable, now_s: float) -> float:
        debt, since_s = self._debts.get(who, (0.0, now_s))
        return max(0.0, debt - (now_s - since_s) * self.per_s)
