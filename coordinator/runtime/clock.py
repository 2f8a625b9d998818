"""The clock of a replica.

Responsible for the three things that a replica asks of time: what people call it, how much of it has passed, and to
wait. Refuses to know what is done with it. Invariant: whatever in the runtime waits for time, waits by its event loop's
clock, so a loop with a virtual clock runs a replica through an hour in a moment, the same way each time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from state_backend.waiting import within

#: Between two tries: the first pause, which doubles with each failure, and the longest.
_PAUSE_S, _PAUSE_MAX_S = 0.01, 1.0


class Clock:
    """Wall time from the machine, or from whoever gives another one; all else from the running event loop."""

    def __init__(self, wall_s: Callable[[], float] = time.time) -> None:
        self._wall_s = wall_s

    def wall_ms(self) -> int:
        """Milliseconds since the epoch. May jump; event time does not."""
        return int(self._wall_s() * 1000)

    def monotonic_s(self) -> float:
        """Seconds since some moment; never runs backwards."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Waits; for retries only, where there is no condition to wait for."""
        await asyncio.sleep(seconds)


class EventTime:
    """One application's event time: the wall's, or the last event's and what has passed since, where that is later.

    So a clock that was ahead for a moment, here or on another replica, holds up nothing that is due later.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_ms = 0
        self._last_s = clock.monotonic_s()

    def heard(self, time_ms: int) -> None:
        """The log's last event has this time."""
        if time_ms != self._last_ms:
            self._last_ms, self._last_s = time_ms, self._clock.monotonic_s()

    def now_ms(self) -> int:
        """Milliseconds since the epoch; never earlier than the last event."""
        passed_ms = int((self._clock.monotonic_s() - self._last_s) * 1000)
        return max(self._clock.wall_ms(), self._last_ms + passed_ms)


def back_off_s(failures: int) -> float:
    """How many seconds to pause after so many failures in a row: doubles, from a hundredth of a second up to one."""
    return float(min(_PAUSE_S * 2 ** min(failures, 16), _PAUSE_MAX_S))


async def wait_event(event: asyncio.Event, seconds: float | None) -> None:
    """Waits until the event is set, or so many seconds have passed."""
    if seconds is None:
        await event.wait()
        return
    if event.is_set() or seconds <= 0:
        return
    try:
        await within(seconds, event.wait())
    except asyncio.TimeoutError:
        return
