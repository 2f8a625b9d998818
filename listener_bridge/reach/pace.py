"""When the next look may be taken: pure.

Responsible for: the share of one processor that looks may take, and how soon a look follows what calls for one.
Refuses to know: clocks, threads, and what a look is. Times are seconds of one monotonic clock; costs are seconds of
processor time, so that a look is not charged for the time that it waited.
Invariant: over any stretch looks take at most `SHARE` of one processor's time, and `BURST_S` more.

Where little data could be let go, looks have a smaller share, and the deletions that follow are paid for out of it
too: a program that writes some kilobytes thirty times a second loses more by a deletion than its disk gains. As long as
most of that share is saved up such looks come soon all the same, unless there is hardly anything to let go. And they
need not wait for it when nothing has happened for a moment (`QUIET_S`). Looks that find nothing new are taken ever more
seldom; anything that happens makes them frequent again.
"""

from __future__ import annotations

from enum import Enum

SHARE = 0.02
SHARE_LITTLE = 0.005  #: Where looks can free little.
BURST_S = 0.5  #: The most that is saved up in quiet times, so that what happens seldom is looked at promptly.
IDLE_MIN_S = 0.5
IDLE_MAX_S = 5.0
GATHER_S = 0.005  #: What calls for a look seldom comes alone: a stage's end, its job's, its execution's.
GATHER_LITTLE_S = 0.5  #: Where a look can free little, it waits for more.
ENOUGH_S = 0.4  #: With so much saved up, a look that can free some data does not wait for more of them.
DELETION_S = 0.002  #: What fencing and deleting one shuffle takes of a processor, in driver, coordinator and JVM.
QUIET_S = 1.0  #: Without anything that calls for a look.


class Worth(Enum):
    """What looks could let go."""

    HARDLY_ANY = "hardly any"
    SOME = "some"
    MUCH = "much"


class Budget:
    """A share of a processor's time, saved up so far."""

    def __init__(self, share: float, now_s: float) -> None:
        self._share = share
        self._saved_s = BURST_S
        self._since_s = now_s

    def spend(self, now_s: float, cost_s: float) -> None:
        self._save(now_s)
        self._saved_s -= cost_s

    def wait_s(self, now_s: float) -> float:
        """How long until the budget is no longer overspent."""
        return max(0.0, -self.saved_s(now_s) / self._share)

    def saved_s(self, now_s: float) -> float:
        """Negative: spent ahead."""
        self._save(now_s)
        return self._saved_s

    def _save(self, now_s: float) -> None:
        self._saved_s = min(BURST_S, self._saved_s + (now_s - self._since_s) * self._share)
        self._since_s = now_s


class Pace:
    """One looker's budgets of time."""

    def __init__(self, now_s: float) -> None:
        self._all = Budget(SHARE, now_s)
        self._little = Budget(SHARE_LITTLE, now_s)  # of looks that can free little
        self._is_much = True  # the next look can free much
        self._idle_s = IDLE_MIN_S
        self._last_s = now_s

    def took(self, now_s: float, cost_s: float, was_new: bool) -> None:
        """A look has ended now, after `cost_s`. `was_new`: it changed what is known."""
        self._all.spend(now_s, cost_s)
        if not self._is_much:
            self._little.spend(now_s, cost_s)
        self._last_s = now_s
        self._idle_s = IDLE_MIN_S if was_new else min(IDLE_MAX_S, self._idle_s * 2)

    def let_go(self, now_s: float, shuffles: int) -> None:
        """So many shuffles that took hardly any room were deleted since."""
        self._little.spend(now_s, shuffles * DELETION_S)

    def happened(self) -> None:
        """Something happened that may let a shuffle go."""
        self._idle_s = IDLE_MIN_S

    def wait_s(self, now_s: float, called_s: float | None, worth: Worth, last_s: float) -> float:
        """How long until the next look: soon where one was called for, if the budget allows; else at leisure.

        `called_s`: since when one is called for; `last_s`: when one was called for last.
        """
        self._is_much = worth is Worth.MUCH
        is_seldom = worth is Worth.SOME and self._little.saved_s(now_s) >= ENOUGH_S
        gather_s = GATHER_S if self._is_much or is_seldom else GATHER_LITTLE_S
        due_s = self._last_s + self._idle_s if called_s is None else called_s + gather_s
        little_s = 0.0 if self._is_much else min(self._little.wait_s(now_s), last_s + QUIET_S - now_s)
        return max(self._all.wait_s(now_s), little_s, due_s - now_s, 0.0)
