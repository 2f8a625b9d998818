"""Drivers that come and go for hours, with faults now and then; what it costs is drawn over time.

    python -m tests.faults.soak --seconds 3600 --drivers 200 --report soak.html

Responsible for ending and killing processes of drivers and starting others in their place, for samples of memory, file
descriptors, the store's size and latency, and for a page that shows them. Refuses to judge what drivers were answered
(`run`). Invariant: at the end nothing of any driver that is gone is in the store and the archive has all of their logs,
each of which can be proven, or it says what is not so.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from shuffle_lifecycle.v1 import service_pb2

from tests.faults import store
from tests.faults.cluster import Cluster, running_cluster
from tests.faults.driver import Driver
from tests.faults.history import Recorder
from tests.faults.nemesis import Nemesis
from tests.faults.run import SETTINGS, SILENCE_S, Drivers, end_in_order, etcd_arguments, harm
from tests.faults.schedule import Kind, schedule

EVERY_S = 5.0
CALM_S = (15.0, 60.0)  #: Between two faults.
EACH = 20
MIB = 1 << 20
#: What has ended leaves the store after a minute, as it does after days in production.
RETENTION_S, ARCHIVE_EVERY_S = 60.0, 10.0
#: Of so many archived logs every step is proven.
PROVEN = 20
#: The churn kills drivers by itself; and what a clock that is an hour ahead has dated leaves an hour later.
NOT_HERE = (Kind.KILL_DRIVERS, Kind.PAUSE_DRIVERS, Kind.FILL, Kind.CLOCK, Kind.OLDER_REPLICA)
KINDS = tuple(kind for kind in Kind if kind not in NOT_HERE)

Series = dict[str, list[tuple[float, float]]]


@dataclass
class Samples:
    """Curves by chart and name: (seconds since the beginning, value)."""

    began_s: float = field(default_factory=time.monotonic)
    charts: defaultdict[str, Series] = field(default_factory=lambda: defaultdict(dict))

    def add(self, chart: str, name: str, value: float) -> None:
        self.charts[chart].setdefault(name, []).append((time.monotonic() - self.began_s, value))


class Sampler:
    """Looks every few seconds, in a thread of its own, until it is closed."""

    def __init__(self, cluster: Cluster, drivers: Drivers, folder: Path) -> None:
        self.samples = Samples()
        self._cluster = cluster
        self._drivers = drivers
        self._probe = Driver("probe", cluster.addresses, Recorder(folder / "probe.jsonl"), 1, 1.0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        self._probe.start_quiet()
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._probe.end()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self._cluster.supervise()
            for name, server in self._cluster.servers.items():
                if server.process is not None:
                    self._look_at(name, server.process.pid)
            self._look_at_store()
            self._ask()
            self.samples.add("drivers", "alive", len(self._drivers.applications()))

    def _look_at(self, name: str, pid: int) -> None:
        try:
            process = psutil.Process(pid)
            self.samples.add("memory of replicas, MiB", name, process.memory_info().rss / MIB)
            self.samples.add("file descriptors of replicas", name, process.num_fds())
        except psutil.Error:
            return  # it was just killed

    def _look_at_store(self) -> None:
        for name in self._cluster.members:
            try:
                told = self._cluster.etcdctl(name, "endpoint", "status", "-w", "json", "--command-timeout", "1s")
            except Exception:  # noqa: BLE001 - a member that does not answer has no size
                continue
            status = json.loads(told)[0]["Status"]
            self.samples.add("etcd in use, MiB", name, status["dbSizeInUse"] / MIB)
            self.samples.add("etcd's file, MiB", name, status["dbSize"] / MIB)

    def _ask(self) -> None:
        asked_s = time.monotonic()
        self._probe.ask(register_client=service_pb2.RegisterClient(client="probe"))
        self.samples.add("latency of one request, ms", "probe", (time.monotonic() - asked_s) * 1_000)


class Churn:
    """Ends the oldest process of drivers, in order or by SIGKILL, and starts a new one; again and again."""

    def __init__(self, drivers: Drivers, every_s: float, seed: int) -> None:
        self.gone: set[str] = set()
        self._drivers = drivers
        self._every_s = every_s
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="churn", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self.gone |= set(self._drivers.running[0].applications)
            if self._chance.random() < 0.5:
                self._drivers.kill_first()
            else:
                ended = self._drivers.running.pop(0)
                ended.say("end")
                ended.process.wait()
            self._drivers.start()


def soak(folder: Path, seconds: float, drivers: int, seed: int) -> tuple[Samples, list[str], int]:
    """The samples, what is wrong, and how many drivers have come and gone."""
    recorder = Recorder(folder / "nemesis.jsonl")
    with running_cluster(folder, settings=settings(folder), arguments=etcd_arguments(seconds)) as cluster:
        running = Drivers(folder, cluster.addresses, seed, min(EACH, drivers), pace_s=5.0)
        sampler = Sampler(cluster, running, folder)
        churn = Churn(running, max(5.0, 10 * EVERY_S * EACH / drivers), seed)
        try:
            for _ in range(max(1, drivers // EACH)):
                running.start()
            sampler.start()
            churn.start()
            harm(Nemesis(cluster, recorder, running), schedule(seed, seconds, KINDS, CALM_S), seconds)
            churn.close()
            cluster.heal()
            sampler.close()  # the curves end as they began: under load
            gone = churn.gone | set(running.applications())
            running.end()
            wrong = left_in_store(cluster, gone, 5 * SILENCE_S + RETENTION_S + 20 * ARCHIVE_EVERY_S)
            wrong += unproven(folder, gone, seed)
        finally:
            running.kill()
        return sampler.samples, wrong, len(gone)


def settings(folder: Path) -> dict[str, str]:
    """What has ended moves to an archive and leaves the store."""
    return {
        **SETTINGS,
        "SHUFFLECTL_ARCHIVE": str(folder / "archive"),
        "SHUFFLECTL_SERVE__ARCHIVE_EVERY_S": str(ARCHIVE_EVERY_S),
        "SHUFFLECTL_SERVE__RETENTION_S": str(RETENTION_S),
    }


def left_in_store(cluster: Cluster, gone: set[str], within_s: float) -> list[str]:
    """Any key of an application that has ended, when there was time enough to take it out."""
    deadline_s = time.monotonic() + within_s
    while True:
        try:
            left = [key for key in store.keys_of_etcd(cluster) if gone & set(key.split("/"))]
        except subprocess.SubprocessError as error:
            left = [f"nobody knows: {error}"]
        if not left or time.monotonic() > deadline_s:
            return [f"left in the store: {key}" for key in left[:5]]
        time.sleep(1)


def unproven(folder: Path, gone: set[str], seed: int) -> list[str]:
    """Applications whose log the archive has not; and of some, what `shufflectl verify` says against theirs."""
    archived = {path.name for path in (folder / "archive").glob("*") if path.is_dir()}
    wrong = [f"not in the archive: {application}" for application in sorted(gone - archived)[:5]]
    for application in random.Random(seed).sample(sorted(gone & archived), min(PROVEN, len(gone & archived))):
        command = [sys.executable, "-m", "coordinator.cli.main", "--archive", str(folder / "archive")]
        done = subprocess.run([*command, "verify", application], capture_output=True, text=True, timeout=300)
        if done.returncode:
            wrong.append(f"verify {application} ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    return wrong


# ---- the page --------------------------------------------------------------------------------------------------------

_COLOURS = ("#1b6ca8", "#c8553d", "#588157")
_WIDTH, _HEIGHT = 900, 160


def page(samples: Samples, told: Sequence[str]) -> str:
    """Everything on one page, without anything from elsewhere."""
    charts = "".join(_chart(name, series) for name, series in samples.charts.items())
    lines = "".join(f"<p>{line}</p>" for line in told)
    style = "body{font:14px sans-serif;margin:2em}svg{border-left:1px solid #999;border-bottom:1px solid #999}"
    return f"<!doctype html><meta charset=utf-8><title>Soak</title><style>{style}</style><h1>Soak</h1>{lines}{charts}"


def _chart(name: str, series: Mapping[str, list[tuple[float, float]]]) -> str:
    most = max((value for points in series.values() for _, value in points), default=1.0) or 1.0
    end_s = max((at for points in series.values() for at, _ in points), default=1.0)
    curves, legend = "", ""
    for colour, (one, points) in zip(_COLOURS * 3, series.items(), strict=False):
        path = " ".join(f"{at / end_s * _WIDTH:.1f},{_HEIGHT - value / most * _HEIGHT:.1f}" for at, value in points)
        curves += f'<polyline points="{path}" fill="none" stroke="{colour}"/>'
        legend += f' <span style="color:{colour}">{one}</span>'
    head = f"<h3>{name} (0 to {most:,.0f}; {end_s / 60:.0f} minutes){legend}</h3>"
    return f'{head}<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">{curves}</svg>'


def summary(samples: Samples) -> list[str]:
    """The first and the last tenth of each curve, as medians."""
    told = []
    for chart, series in samples.charts.items():
        for name, points in series.items():
            tenth = max(1, len(points) // 10)
            first = statistics.median(value for _, value in points[:tenth])
            last = statistics.median(value for _, value in points[-tenth:])
            told.append(f"{chart}, {name}: {first:,.1f} at first, {last:,.1f} at last")
    return told


def main() -> int:
    """Prints what it found, writes the page; 1 if something is left behind."""
    end_in_order()
    parser = argparse.ArgumentParser(description="Drivers that come and go, and what that costs over time.")
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--drivers", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path, default=Path("soak.html"))
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    samples, wrong, gone = soak(folder, asked.seconds, asked.drivers, asked.seed)
    told = [f"{gone} drivers came and went in {asked.seconds:,.0f} s", *(wrong or ["nothing was left behind"])]
    told += summary(samples)
    asked.report.write_text(page(samples, told))
    print("\n".join([*told, f"drawn: {asked.report}; histories and logs: {folder}"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
