"""Data that go with their fence, before their deletion is asked for.

Responsible for: what is to be freed so, and what came of it until somebody asks.
Refuses to know: how a service frees, and how outcomes travel.
Invariant: what came of it is told once; whoever asks again means it. Nothing is kept for ever: of what nobody asks for,
the oldest is dropped, which only means that it is freed once more when somebody does.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from listener_bridge.shuffle_services.api import Freed, FreeOutcome, Locator

KEPT_MAX = 1_000


@dataclass(frozen=True, slots=True)
class _Announced:
    app_shuffle: int
    outcome: FreeOutcome | None = None  #: None: not freed yet.
    is_awaited: bool = True  #: Somebody will ask what came of it.


class Ahead:
    """One application's. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._announced: dict[Locator, _Announced] = {}

    def announce(self, locator: Locator, app_shuffle: int) -> None:
        """Its deletion follows."""
        with self._lock:
            if len(self._announced) >= KEPT_MAX:
                self._announced.pop(next(iter(self._announced)))
            known = self._announced.get(locator)
            if known is None or not known.is_awaited:
                self._announced[locator] = _Announced(app_shuffle)

    def is_due(self, locator: Locator) -> bool:
        """Whether it is still to be freed: nobody has asked meanwhile, and nobody has freed it."""
        with self._lock:
            known = self._announced.get(locator)
            return known is not None and known.outcome is None

    def keep(self, locator: Locator, outcome: FreeOutcome) -> None:
        """What came of it."""
        with self._lock:
            known = self._announced.get(locator)
            if known is not None and known.is_awaited:
                self._announced[locator] = _Announced(known.app_shuffle, outcome)
            elif known is not None:
                del self._announced[locator]

    def take(self, locator: Locator) -> FreeOutcome | None:
        """Its deletion is asked for: what came of it; None where it is to be done now."""
        with self._lock:
            known = self._announced.pop(locator, None)
            return None if known is None else known.outcome

    def has_done(self, locator: Locator) -> bool:
        """Whether something came of it that nobody was told."""
        with self._lock:
            known = self._announced.get(locator)
            return known is not None and known.outcome is not None

    def forget(self, app_shuffle: int) -> None:
        """Nobody will ask: Spark itself has let the shuffle go."""
        with self._lock:
            self._announced = {name: one for name, one in self._announced.items() if one.app_shuffle != app_shuffle}

    def forget_all(self) -> None:
        """Nobody will ask: whoever announced it has lost its log. What is not freed yet is to go all the same."""
        with self._lock:
            left = {name: one for name, one in self._announced.items() if one.outcome is None}
            self._announced = {name: replace(one, is_awaited=False) for name, one in left.items()}

    def untold_bytes(self) -> int:
        """Gone, and the coordinator does not know."""
        with self._lock:
            return sum(one.outcome.bytes for one in self._announced.values() if isinstance(one.outcome, Freed))
