"""What shuffle data are on disk, and when.

Responsible for sampling the shuffle files below a folder and for summing samples up. Refuses to know why files come and
go. Invariant: only what was seen is counted; a file that is gone when its size is asked counts nothing.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import TracebackType

_NAME = re.compile(r"^shuffle_(\d+)_\d+_\d+\.(data|index|checksum\.\w+)$")


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes on disk per app shuffle at one moment (seconds since the epoch)."""

    at: float
    bytes: dict[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """What a run held: the peak in bytes, and bytes times seconds."""

    peak_bytes: int
    byte_seconds: float


def look(folder: Path) -> Sample:
    """The shuffle files below a folder, now."""
    found: dict[int, int] = defaultdict(int)
    at = time.time()
    for name, size in _files(str(folder)):
        matched = _NAME.match(name)
        if matched:
            found[int(matched[1])] += size
    return Sample(at, dict(found))


def _files(folder: str) -> Iterator[tuple[str, int]]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                yield entry.name, entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue


@dataclass(slots=True)
class Watch:
    """Looks again and again in a thread of its own, until the block is left."""

    folder: Path
    every_seconds: float = 0.05
    samples: list[Sample] = field(default_factory=list)
    _done: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._run, name="disk-watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(self.every_seconds):
            self.samples.append(look(self.folder))


def held(samples: list[Sample], begun: float, ended: float, counts: Callable[[int, float], bool]) -> Held:
    """Peak and byte-seconds between two moments, of the shuffles that count at a sample's moment."""
    within = [sample for sample in samples if begun <= sample.at <= ended]
    sizes = [
        (sample.at, sum(size for shuffle, size in sample.bytes.items() if counts(shuffle, sample.at)))
        for sample in within
    ]
    area = sum(size * (later - at) for (at, size), (later, _) in pairwise(sizes))
    return Held(max((size for _, size in sizes), default=0), area)


def born(samples: list[Sample], begun: float, ended: float) -> frozenset[int]:
    """App shuffles that were first seen between two moments."""
    before = {shuffle for sample in samples if sample.at < begun for shuffle in sample.bytes}
    during = {shuffle for sample in samples if begun <= sample.at <= ended for shuffle in sample.bytes}
    return frozenset(during - before)
