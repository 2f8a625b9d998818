"""The two runs, one after the other, each watched from outside.

Responsible for starting the application as a process of its own and for putting what was seen next to what came out.
Refuses to know how results are shown. Invariant: both runs are the same command but for the plugin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.core.events import Recorded
from coordinator.demo.disk import Held, Sample, Watch, born, held
from coordinator.demo.ideal import map_stages_run, needed_until, stage_times


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload of one run. ``shuffles``: app shuffles that it made."""

    name: str
    seconds: float
    value: str
    held: Held
    shuffles: frozenset[int]
    begun: float
    ended: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the application."""

    folder: Path
    application: str
    spark: str
    map_stages: int
    workloads: tuple[Workload, ...]
    samples: list[Sample] = field(repr=False)


class RunFailedError(Exception):
    """The application ended badly; the text holds the end of what it printed."""


def run(folder: Path, options: Sequence[str]) -> Run:
    """Runs the application with these options of ``job`` and watches its disk. Raises ``RunFailedError``."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "coordinator.demo.job", "--folder", str(folder.absolute()), *options]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    with Watch(folder / "local") as watch, (folder / "output.txt").open("wb") as output:
        # `-m` looks for packages where it starts: in a folder of our own, not in whatever one a person stands in.
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            check=False,
        )
    if done.returncode != 0:
        said = (folder / "output.txt").read_text(errors="replace").splitlines()
        raise RunFailedError(f"the application ended with exit code {done.returncode}:\n" + "\n".join(said[-25:]))
    return _read(folder, watch.samples)


def _read(folder: Path, samples: list[Sample]) -> Run:
    found = json.loads((folder / "result.json").read_text())
    workloads = tuple(_workload(entry, samples) for entry in found["workloads"])
    stages = map_stages_run(folder / "events")
    return Run(folder, found["application"], found["spark"], stages, workloads, samples)


def _workload(entry: dict[str, float | str], samples: list[Sample]) -> Workload:
    begun, ended = float(entry["begun"]), float(entry["ended"])
    own = born(samples, begun, ended)
    seen = held(samples, begun, ended, lambda shuffle, _: shuffle in own)
    return Workload(str(entry["name"]), ended - begun, str(entry["value"]), seen, own, begun, ended)


def ideal(run_: Run, log: Iterable[Recorded]) -> dict[str, Held]:
    """Per workload, what the same run would have held had each shuffle gone with its last reader."""
    until = needed_until(log, stage_times(run_.folder / "events"))
    return {
        workload.name: held(
            run_.samples,
            workload.begun,
            workload.ended,
            lambda shuffle, at, own=workload.shuffles: shuffle in own and at <= until.get(shuffle, 0.0),  # type: ignore[misc]
        )
        for workload in run_.workloads
    }
