"""How full the disks are that hold shuffle data, as far as the driver's machine can see them.

Responsible for: measuring the directories that it is given, a disk only once however many of them it holds, and telling
what has changed by so much that somebody may decide otherwise.
Refuses to know: what is done about it, and which directories there are (`plugin`).
Invariant: measuring asks the file system for two numbers and touches nothing else; a directory that is gone is left
out, and its disk is told as gone where no other one names it; at most one report a disk and poll, and none where
nothing has changed.

A file system that fills within seconds has to be seen in time, so it is asked often, which costs microseconds; it is
told when it passes a watermark, when it has changed by `STEP_PERCENT`, and after every deletion of ours, since the
coordinator counts on what it has freed. What is gone and was not told yet counts as there until it is: the coordinator
will subtract it itself. What goes, or is told, while a disk is measured counts as gone: a disk that seems emptier than
it is for one poll costs nothing, one that seems fuller costs a shuffle that did not have to go.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger("shuffle_lifecycle")

POLL_S = 0.1
STEP_PERCENT = 2
PAUSE_S = 1.0  # between two reports of a disk that has passed no watermark
AGAIN_S = 60.0  # a disk above the low watermark is told again: what was told may have been lost on its way
AFTER_A_DELETION = 2  # polls: the first may have come before its outcome was told


@dataclass(frozen=True, slots=True)
class Usage:
    """A disk, named by the first of its directories."""

    disk: str
    used_bytes: int
    free_bytes: int

    @property
    def percent(self) -> float:
        return 100 * self.used_bytes / max(1, self.used_bytes + self.free_bytes)


def measure(directories: Iterable[str]) -> list[Usage]:
    """Each disk once."""
    found: dict[int, Usage] = {}
    for directory in directories:
        try:
            device, told = Path(directory).stat().st_dev, os.statvfs(directory)
        except OSError:
            continue
        used, free = told.f_blocks - told.f_bfree, told.f_bavail
        found.setdefault(device, Usage(directory, used * told.f_frsize, free * told.f_frsize))
    return list(found.values())


def with_untold(measured: Sequence[Usage], untold_bytes: int) -> list[Usage]:
    """The measurements as if ``untold_bytes`` were still there, strewn evenly over the disks.

    They were freed, and the coordinator does not know yet; it subtracts them in the same way when it hears of it.
    """
    share = untold_bytes // max(1, len(measured))
    return [Usage(one.disk, one.used_bytes + share, max(0, one.free_bytes - share)) for one in measured]


@dataclass(frozen=True, slots=True)
class Watermarks:
    """How far a disk is used, in percent: full from ``high`` on, until it is down at ``low``."""

    high: int
    low: int


@dataclass(frozen=True, slots=True)
class _Told:
    usage: Usage
    at_s: float
    is_full: bool


class Telling:
    """Which measurements are told. Pure: the time comes in."""

    def __init__(self, watermarks: Watermarks) -> None:
        self._watermarks = watermarks
        self._told: dict[str, _Told] = {}

    def due(self, measured: Iterable[Usage], now_s: float, is_forced: bool = False) -> list[Usage]:
        """The measurements that are to be told now; they count as told. ``now_s``: monotonic seconds.

        What is not there any more is told once, as holding nothing: a disk that was full would stay so.
        """
        there = {usage.disk: usage for usage in measured}
        due = [one for one in there.values() if is_forced or self._is_due(one, self._told.get(one.disk), now_s)]
        for usage in due:
            self._told[usage.disk] = _Told(usage, now_s, self._is_full(usage))
        gone = [disk for disk in self._told if disk not in there]
        for disk in gone:
            del self._told[disk]
        return [*due, *(Usage(disk, 0, 0) for disk in gone)]

    def forget(self) -> None:
        """Nobody knows any more what was told."""
        self._told.clear()

    def _is_due(self, usage: Usage, told: _Told | None, now_s: float) -> bool:
        if told is None or self._is_full(usage) is not told.is_full:
            return True
        waited_s = now_s - told.at_s
        if usage.percent > self._watermarks.low and waited_s >= AGAIN_S:
            return True
        return abs(usage.percent - told.usage.percent) >= STEP_PERCENT and waited_s >= PAUSE_S

    def _is_full(self, usage: Usage) -> bool:
        told = self._told.get(usage.disk)
        was_full = told is not None and told.is_full
        return usage.percent >= (self._watermarks.low if was_full else self._watermarks.high)


class Watch:
    """Measures in a thread of its own, for as long as it is not stopped."""

    def __init__(self, directories: Sequence[str], watermarks: Watermarks) -> None:
        self.tell: Callable[[Usage], None] = lambda _: None
        self.deletions: Callable[[], int] = lambda: 0  #: How many there were of ours.
        self.untold_bytes: Callable[[], int] = lambda: 0  #: Gone by us, and the coordinator does not know.
        self._directories = tuple(directories)
        self._telling = Telling(watermarks)
        self._is_to_forget = False
        self._seen = 0
        self._polls_forced = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shuffle-lifecycle-disks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin_again(self) -> None:
        """A coordinator that knows nothing of what was told."""
        self._is_to_forget = True

    def stop(self, timeout_s: float) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stopped.wait(POLL_S):
            try:
                self._look()
            except Exception:
                log.exception("the disks are not watched any more: policy pressure goes by what was told last")
                return

    def _look(self) -> None:
        if self._is_to_forget:
            self._is_to_forget = False
            self._telling.forget()
        if (deletions := self.deletions()) != self._seen:
            self._seen, self._polls_forced = deletions, AFTER_A_DELETION
        before = self.untold_bytes()
        measured = measure(self._directories)
        measured = with_untold(measured, min(before, self.untold_bytes()))
        for usage in self._telling.due(measured, time.monotonic(), self._polls_forced > 0):
            self.tell(usage)
        self._polls_forced = max(0, self._polls_forced - 1)
