"""When time alone has something to do for one application.

Responsible for the next moment at which a tick may change something, and for not ticking in vain. Refuses to know who
shall tick, and what a tick does. Invariant: a tick that has changed nothing is not tried again before something else
has changed.
"""

from __future__ import annotations

from coordinator.core.state import State
from coordinator.core.sweep import next_due_ms
from coordinator.runtime.clock import EventTime

_AT_LEAST_S = 0.001


class Due:
    """Asked with the application's present state, which may become another object."""

    def __init__(self, time: EventTime, state: State) -> None:
        self._time = time
        self._at_ms = next_due_ms(state)
        self._idle: tuple[int, int | None] = (0, None)  #: Where a tick has changed nothing.

    def changed(self, state: State) -> None:
        """Something has happened that may bring forward, or put off, what is due next."""
        self._at_ms = next_due_ms(state)

    def is_now(self, state: State) -> bool:
        """Whether a tick may change something."""
        return self._at_ms is not None and self._at_ms <= self._time.now_ms() and not self._is_idle(state)

    def within_s(self, state: State) -> float | None:
        """How long to wait for it; None where there is nothing to wait for."""
        if self._at_ms is None or self._is_idle(state):
            return None
        return max(_AT_LEAST_S, (self._at_ms - self._time.now_ms()) / 1000)

    def note_idle(self, state: State) -> None:
        """A tick has changed nothing, and will not before something else does."""
        self._idle = (state.meta.next_sequence, self._at_ms)

    def _is_idle(self, state: State) -> bool:
        return self._idle == (state.meta.next_sequence, self._at_ms)
