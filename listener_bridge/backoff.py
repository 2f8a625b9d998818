"""How long to wait before trying again.

Responsible for: pauses that double, with chance in them so that drivers do not come back all at once.
Refuses to know: what is tried.
Invariant: a pause is never longer than the limit, and the first one is short; the program's own random numbers, which
it may have seeded, are as without us.
"""

from __future__ import annotations

import random

FIRST_S = 0.1
LIMIT_S = 10.0

_CHANCE = random.Random()


class BackOff:
    """One sequence of failures."""

    def __init__(self) -> None:
        self._failures = 0

    def next_s(self) -> float:
        """The next pause, in seconds: between half and all of what doubles from `FIRST_S` up to `LIMIT_S`."""
        whole_s: float = min(LIMIT_S, FIRST_S * 2 ** min(self._failures, 16))
        self._failures += 1
        return whole_s * _CHANCE.uniform(0.5, 1.0)

    def reset(self) -> None:
        """It has worked."""
        self._failures = 0
