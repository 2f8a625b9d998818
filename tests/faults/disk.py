"""A shuffle service of one simulated driver, and what its scheduler knows of it.

Responsible for what is written, read, fenced and freed, atomically, as the scheduler's own thread does it. Refuses to
know the coordinator. Invariant: a generation that a stage reads or writes is never fenced, and what is freed stays
gone; each touch of data is in the history, and one that finds nothing is there as `failed`.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from listener_bridge.shuffle_services.api import (
    Busy,
    Capability,
    Failed,
    Fenced,
    FenceOutcome,
    ForgetOutcome,
    Freed,
    FreeOutcome,
    Held,
    Locator,
    NotHeld,
    Superseded,
)
from tests.faults.history import Recorder

SERVICE = "faults"
BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Slowness:
    """How long a fence takes to begin, and a deletion."""

    fence_s: float = 0.0
    free_s: float = 0.0


@dataclass
class Shuffle:
    """One app shuffle: how often it was written, whether Spark knows its outputs, and whether there are data."""

    count: int = 0
    is_known: bool = False
    data: set[int] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    fenced: Fenced | None = None  #: Of the present count.


class Disk:
    """Implements `ShuffleService`; the story calls the rest."""

    def __init__(
        self, who: str, recorder: Recorder, post_marker: Callable[[str], None], slowness: Slowness | None = None
    ) -> None:
        self._who = who
        self._slowness = slowness or Slowness()
        self._recorder = recorder
        self._post_marker = post_marker
        self._lock = threading.Lock()
        self._shuffles: defaultdict[int, Shuffle] = defaultdict(Shuffle)
        self._markers = 0

    # ---- what the scheduler does ----

    def begin_read(self, app_shuffle: int, stage: str) -> bool:
        """A reader is submitted, unless its map stage has to run first."""
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            if shuffle.is_known:
                shuffle.users.add(stage)
            return shuffle.is_known

    def begin_write(self, app_shuffle: int, stage: str) -> None:
        """The map stage is submitted."""
        with self._lock:
            self._shuffles[app_shuffle].users.add(stage)

    def finish_write(self, app_shuffle: int, shuffle_id: int) -> None:
        """Its output is there, as a new generation."""
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            shuffle.count += 1
            shuffle.is_known, shuffle.fenced = True, None
            shuffle.data.add(shuffle.count)
            self._recorder.note(
                self._who, "written", app_shuffle=app_shuffle, count=shuffle.count, shuffle_id=shuffle_id
            )

    def end(self, app_shuffle: int, stage: str) -> None:
        """The stage is over."""
        with self._lock:
            self._shuffles[app_shuffle].users.discard(stage)

    def read(self, app_shuffle: int) -> tuple[int, bool]:
        """Which generation there is, and whether its data are."""
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            return shuffle.count, shuffle.count in shuffle.data

    def lose(self, app_shuffle: int) -> None:
        """A disk breaks: the outputs are gone, and Spark has noticed."""
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            shuffle.is_known = False
            shuffle.data.discard(shuffle.count)
            self._recorder.note(self._who, "lost", app_shuffle=app_shuffle, count=shuffle.count)

    # ---- what the executor of directives does ----

    def probe(self) -> Capability:
        return Capability(SERVICE, True, can_complete_generation_after_loss=False, forget_is_separate=False)

    def holds(self, app_shuffle: int) -> Held | NotHeld:
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            return Held(_locator(app_shuffle, shuffle.count)) if shuffle.is_known else NotHeld("no output")

    def fence(self, app_shuffle: int, timeout_s: float, generation: Locator | None = None) -> FenceOutcome:
        time.sleep(self._slowness.fence_s)
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            if shuffle.users:
                return Busy(tuple(sorted(shuffle.users)))
            if shuffle.fenced is None:
                shuffle.fenced = self._fence(app_shuffle, shuffle)
            return shuffle.fenced

    def _fence(self, app_shuffle: int, shuffle: Shuffle) -> Fenced:
        self._markers += 1
        marker = f"fence-{self._markers}"
        shuffle.is_known = False
        self._recorder.note(self._who, "fenced", app_shuffle=app_shuffle, count=shuffle.count)
        self._post_marker(marker)
        return Fenced(_locator(app_shuffle, shuffle.count), BYTES, marker)

    def free(self, locator: Locator, timeout_s: float) -> FreeOutcome:
        app_shuffle, count = map(int, locator.payload.split("/"))
        time.sleep(self._slowness.free_s)
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            if shuffle.count != count:
                return Superseded(f"generation {shuffle.count}")
            if shuffle.users:
                return Failed("in use")
            freed = count in shuffle.data
            shuffle.data.discard(count)
            self._recorder.note(self._who, "freed", app_shuffle=app_shuffle, count=count)
            return Freed(BYTES if freed else 0)

    def forget(self, locator: Locator, timeout_s: float) -> ForgetOutcome:
        return Freed(0)

    def invalidate(self, locator: Locator, timeout_s: float) -> FenceOutcome:
        app_shuffle, count = map(int, locator.payload.split("/"))
        with self._lock:
            shuffle = self._shuffles[app_shuffle]
            if shuffle.count != count:
                return Superseded(f"generation {shuffle.count}")
        return self.fence(app_shuffle, timeout_s)

    def keeps(self, app_shuffle: int) -> str:
        return ""

    def close(self) -> None:
        """Nothing is open."""


def _locator(app_shuffle: int, count: int) -> Locator:
    return Locator(SERVICE, f"{app_shuffle}/{count}")
