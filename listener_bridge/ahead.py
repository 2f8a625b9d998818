"""Data that are freed right behind their fence, before the coordinator asks for their deletion.

Responsible for: which generations are to be freed so, and what came of it until their deletion is asked for.
Refuses to know: how a service frees, and how outcomes travel.
Invariant: what came of it is given out once: a deletion that is asked for again is carried out. Nothing is kept for
ever: of what nobody asks for the oldest is dropped, and is merely freed once more when somebody does.
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
        """It is fenced, and its deletion will be asked for: its data may go now."""
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
        """It was freed, or that has failed: kept until its deletion is asked for, where somebody will."""
        with self._lock:
            known = self._announced.get(locator)
            if known is not None and known.is_awaited:
                self._announced[locator] = _Announced(known.app_shuffle, outcome)
            elif known is not None:
                del self._announced[locator]

    def take(self, locator: Locator) -> FreeOutcome | None:
        """Its deletion is asked for: what came of it; None where it was not freed ahead, and is to be freed now."""
        with self._lock:
            known = self._announced.pop(locator, None)
            return None if known is None else known.outcome

    def has_done(self, locator: Locator) -> bool:
        """Whether it was freed ahead, or that has failed, and nobody has asked for its deletion yet."""
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
        """Bytes that were freed ahead and that the coordinator counts as there, since it has not asked for them yet."""
        with self._lock:
            return sum(one.outcome.bytes for one in self._announced.values() if isinstance(one.outcome, Freed))
