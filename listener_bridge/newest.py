"""The newest generation of each app shuffle that this driver was told of.

Responsible for: the newest shuffle id that a directive, or the answer to a writer, has named; and which app shuffles
Spark's cleaner has let go.
Refuses to know: what a directive asks for, and whether the data of a generation are there.
Invariant: a directive for a generation that is older than the newest known one is `Superseded`. Of an app shuffle that
was cleaned nothing is noted any more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from listener_bridge.shuffle_services.api import Superseded
from listener_bridge.words import Directive

CLEANED_MAX = 4_096  # app shuffles that Spark has cleaned are remembered: directives for them end within seconds


class Newest:
    """One application's. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, int] = {}  # app shuffle -> shuffle id
        self._cleaned: OrderedDict[int, None] = OrderedDict()  # app shuffles, in the order in which Spark let them go

    def note(self, app_shuffle: int, shuffle_id: int) -> None:
        """A generation that somebody has named; an older one than the newest known changes nothing."""
        with self._lock:
            if app_shuffle not in self._cleaned:
                self._known[app_shuffle] = max(shuffle_id, self._known.get(app_shuffle, 0))

    def superseded(self, directive: Directive) -> Superseded | None:
        """The outcome of a directive whose generation is older than the newest known one; None: it is not."""
        newest = self._known.get(directive.app_shuffle, 0)
        if newest <= directive.shuffle_id:
            return None
        return Superseded(f"generation {newest} of app shuffle {directive.app_shuffle}")

    def clean(self, app_shuffle: int) -> None:
        """Spark's cleaner has let the app shuffle go."""
        with self._lock:
            self._cleaned[app_shuffle] = None
            if len(self._cleaned) > CLEANED_MAX:
                self._cleaned.popitem(last=False)
            self._known.pop(app_shuffle, None)

    def is_cleaned(self, app_shuffle: int) -> bool:
        """Whether Spark's cleaner has let it go, as far as that is remembered."""
        return app_shuffle in self._cleaned

    def forget_all(self) -> None:
        """The coordinator has lost its log: shuffle ids of the new one are others. What was cleaned stays so."""
        with self._lock:
            self._known.clear()
