"""How much do a remote shuffle service's disks hold, and for how long?

The demo's chain and loop on real Celeborn and Uniffle servers on this machine (`CELEBORN_HOME`, `UNIFFLE_HOME`: a
distribution or a built tree; without them it says so), each in an application of its own, under: the service alone,
which frees when the driver's heap is collected or the application ends; the same, collecting every second; the plugin.
The ideal is that of the same run: each shuffle counts until the last stage that read it has ended. "Gone after" is what
lay between that end and the moment when its files were no longer seen on any server's disk.

Servers bind to all interfaces, so this process moves into a network of its own (root, or `unshare -rn`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from rich.console import Console
from rich.table import Table

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.demo import run as runs_of
from coordinator.demo.disk import Held, Sample, held
from coordinator.demo.ideal import StageTimes, needed_until, stage_times
from coordinator.demo.logs import read_log
from tests.support.celeborn import running_celeborn
from tests.support.uniffle import running_uniffle

WORKLOADS = ("chain", "loop")
COLLECT = ("--conf", "spark.cleaner.periodicGC.interval=1s")
_SAMPLED_EVERY_S = 0.02

Files = Callable[[], Mapping[Path, int]]


@dataclass(frozen=True, slots=True)
class Service:
    """A running service. `number_of`: what its layout calls the shuffle of a file, and of which application."""

    name: str
    conf: Mapping[str, str]
    files: Files
    number_of: Callable[[Path], tuple[str, int]]
    is_app_shuffle: bool  #: Whether that number is Spark's own.


@dataclass(frozen=True, slots=True)
class Outcome:
    """One application: what it gave, what it held, and what it could have held."""

    value: str
    seconds: float
    map_stages: int
    seen: Held
    ideal: Held | None = None
    gone_after_ms: tuple[float, ...] = ()


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints a table a service."""
    megabytes = wishes.megabytes or (20 if wishes.quick else 200)
    for home, start in (("CELEBORN_HOME", _celeborn), ("UNIFFLE_HOME", _uniffle)):
        if home not in os.environ:
            console.print(f"skipped: {home} is not set; a directory with a built or unpacked distribution")
            continue
        with tempfile.TemporaryDirectory(prefix="bench-remote-") as folder, start(Path(folder) / "servers") as service:
            _measure(console, Path(folder), service, megabytes)


def _measure(console: Console, folder: Path, service: Service, megabytes: int) -> None:
    title = f"{service.name}'s disks, {megabytes} MB a shuffle, Spark {pyspark.__version__}, local[2]"
    table = Table("workload", "mode", title=title)
    for heading in ("wall s", "peak MB", "GB·s", "of alone", "of ideal", "gone after, ms", "recomputed", "result"):
        table.add_column(heading, justify="right")
    for name in WORKLOADS:
        runs = _in_every_mode(folder / name, service, ("--megabytes", str(megabytes), name))
        for mode, one in runs.items():
            table.add_row(name if mode == "alone" else "", mode, *_cells(one, runs["alone"]))
        table.add_section()
    console.print(table)


def _in_every_mode(folder: Path, service: Service, workload: tuple[str, ...]) -> dict[str, Outcome]:
    conf = [part for key, value in service.conf.items() for part in ("--conf", f"{key}={value}")]
    store = f"sqlite://{folder}/coordinator.db"
    modes = {"alone": (), "collecting": COLLECT, "plugin": ("--store", store, "--policy", "reachable")}
    return {
        mode: _watched(folder / mode, service, (*conf, *options, *workload), store if mode == "plugin" else "")
        for mode, options in modes.items()
    }


def _cells(one: Outcome, alone: Outcome) -> Iterator[str]:
    yield f"{one.seconds:.1f}"
    yield f"{one.seen.peak_bytes / 1e6:.0f}"
    yield f"{one.seen.byte_seconds / 1e9:.2f}"
    yield f"{one.seen.byte_seconds / alone.seen.byte_seconds:.2f}"
    yield f"{one.seen.byte_seconds / one.ideal.byte_seconds:.3f}" if one.ideal else ""
    yield f"{statistics.median(one.gone_after_ms):.0f}, {max(one.gone_after_ms):.0f}" if one.gone_after_ms else ""
    yield str(one.map_stages - alone.map_stages)
    yield "equal" if one.value == alone.value else "DIFFERENT"


# ---- one application ----


def _watched(folder: Path, service: Service, options: tuple[str, ...], store: str) -> Outcome:
    with _watch(service) as samples:
        done = runs_of.run(folder, options)
    [workload] = done.workloads
    within = workload.begun, workload.ended
    seen = held(samples, *within, lambda *_: True)
    found = Outcome(workload.value, workload.seconds, done.map_stages, seen)
    if not store:
        return found
    log = tuple(read_log(store, done.application))
    until = _until(log, stage_times(folder / "events"), samples, service)
    least = held(samples, *within, lambda number, at: at <= until.get(number, 0.0))
    gone = tuple(_gone_after_ms(samples, until, _deleted(log, samples, service), workload.ended))
    return Outcome(found.value, found.seconds, found.map_stages, seen, least, gone)


@contextmanager
def _watch(service: Service) -> Iterator[list[Sample]]:
    """What new applications have on the servers' disks, by the service's number, until the block is left."""
    old = {service.number_of(path)[0] for path in service.files()}
    samples: list[Sample] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(_SAMPLED_EVERY_S):
            sizes: dict[int, int] = defaultdict(int)
            at = time.time()
            for path, size in service.files().items():
                application, number = service.number_of(path)
                if application not in old:
                    sizes[number] += size
            samples.append(Sample(at, dict(sizes)))

    watching = threading.Thread(target=look, name="disk-watch", daemon=True)
    watching.start()
    try:
        yield samples
    finally:
        done.set()
        watching.join()


def _numbers(log: Iterable[Recorded], samples: Iterable[Sample], service: Service) -> dict[int, int]:
    """App shuffle -> the service's number. Both count up as generations begin to be written, one after the other."""
    begun = list(dict.fromkeys(x.event.app_shuffle for x in log if isinstance(x.event, e.GenerationStarted)))
    if service.is_app_shuffle:
        return {shuffle: shuffle for shuffle in begun}
    numbers = sorted({number for sample in samples for number in sample.bytes})
    return dict(zip(begun, numbers, strict=True))  # one each, as nothing was recomputed


def _until(log: tuple[Recorded, ...], times: StageTimes, samples: list[Sample], service: Service) -> dict[int, float]:
    numbers = _numbers(log, samples, service)
    return {numbers[shuffle]: at for shuffle, at in needed_until(log, times).items()}


def _deleted(log: tuple[Recorded, ...], samples: list[Sample], service: Service) -> set[int]:
    numbers = _numbers(log, samples, service)
    shuffle_of = {x.event.shuffle_id: x.event.app_shuffle for x in log if isinstance(x.event, e.GenerationStarted)}
    ours = (x.event for x in log if isinstance(x.event, e.GenerationFenced))
    return {numbers[shuffle_of[event.shuffle_id]] for event in ours}


def _gone_after_ms(
    samples: Iterable[Sample], until: Mapping[int, float], deleted: set[int], ended: float
) -> Iterator[float]:
    """Those that were seen to be gone while the workload still ran."""
    last: dict[int, float] = {}
    for sample in samples:
        last.update(dict.fromkeys(sample.bytes, sample.at))
    for number in sorted(deleted):
        if last[number] < ended:
            yield max(0.0, last[number] - until[number]) * 1_000


# ---- the services ----


@contextmanager
def _celeborn(folder: Path) -> Iterator[Service]:
    major, minor = map(int, pyspark.__version__.split(".")[:2])
    folder.mkdir(parents=True)
    with running_celeborn(folder) as cluster:
        conf = cluster.conf((major, minor))
        yield Service("Celeborn", conf, cluster.files, lambda path: (path.parts[-3], int(path.parts[-2])), False)


@contextmanager
def _uniffle(folder: Path) -> Iterator[Service]:
    folder.mkdir(parents=True)
    with running_uniffle(folder, servers=6, server_heap="1500m") as cluster:
        conf = cluster.conf()
        yield Service("Uniffle", conf, cluster.files, lambda path: (path.parts[-4], int(path.parts[-3])), True)
