"""The coordinator's core without a coordinator.

Responsible for carrying out commands one after the other on one state, and for the log that comes of it. Refuses to
know where commands come from. Invariant: the log is what a replica would have appended; nothing but `decide` decides.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.decide import carry_out
from coordinator.core.desk import Desk
from coordinator.core.state import State, empty
from coordinator.core.sweep import next_due_ms

#: After these, what is due next may be due at another time.
_TIMED = frozenset(
    {
        e.GenerationExpired,
        e.HoldChanged,
        e.ExpiryTakenBack,
        e.FenceRequested,
        e.FenceRefused,
        e.GenerationLost,
        e.GenerationDeleted,
        e.SweepChanged,
        e.DiskReported,
    }
)


class Core:
    """One application's state, and its log."""

    def __init__(self) -> None:
        self.state: State = empty()
        self.due_ms: int | None = None  #: When time alone would change something.

    def carry_out(self, command: c.Command, now_ms: int) -> list[e.Recorded]:
        """Decides a command; gives its events."""
        desk = self._desk(now_ms)
        carry_out(desk, command)
        self._after(desk.log)
        return desk.log

    def keep(self, event: e.Event, now_ms: int) -> list[e.Recorded]:
        """Takes an event over as it was recorded: one from which nothing follows."""
        desk = self._desk(now_ms)
        desk.turn_page()
        desk.emit(event)
        return desk.log

    def _desk(self, now_ms: int) -> Desk:
        """A desk that writes into the state itself: nobody else decides, so nothing is ever taken back."""
        now_ms = max(now_ms, self.state.meta.time_ms)
        restless = self.due_ms is not None and self.due_ms <= now_ms
        return Desk(self.state, now_ms, concerns_all=restless)

    def _after(self, log: list[e.Recorded]) -> None:
        """Computes when time alone changes something next. While a disk is full, any event may change that."""
        if self.state.meta.full or any(type(recorded.event) in _TIMED for recorded in log):
            self.due_ms = next_due_ms(self.state)
