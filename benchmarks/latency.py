"""How long from the event that frees a shuffle until its files are gone?

A loop frees a shuffle a round. From Spark's own event log: when the stage that read it last completed. From the disk,
looked at every 5 ms: when the files were gone. From the coordinator's log: when it heard of each step. Beside it, as a
baseline of the same run: how long such a stage takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyspark
from rich.console import Console
from rich.table import Table

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.demo.disk import Sample, Watch
from coordinator.demo.ideal import StageTimes, stage_times
from coordinator.demo.logs import read_log


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    rounds, megabytes = (10, 4) if wishes.quick else (60, 10)
    with tempfile.TemporaryDirectory(prefix="bench-latency-") as name:
        folder = Path(name)
        (folder / "events").mkdir()
        command = [sys.executable, "-m", "benchmarks.latency_job", name, str(rounds), str(megabytes)]
        with Watch(folder / "local", every_seconds=0.005) as disk:
            subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        found = json.loads((folder / "result.json").read_text())
        log = list(read_log(f"sqlite://{folder}/coordinator.db", found["application"]))
        rows = _rows(_freed(log, stage_times(folder / "events")), _gone_ms(disk.samples))
    table = Table(
        title=f"{rounds} shuffles of {megabytes} MB freed in a loop, ms, Spark {pyspark.__version__}, local[2]"
    )
    table.add_column("from … to")
    for heading in ("median", "p95", "max"):
        table.add_column(heading, justify="right")
    for what, values in rows.items():
        table.add_row(what, *(f"{value:.0f}" for value in _spread(values)))
    console.print(table)
    console.print(f"Fence in the driver: median {found['fence_median_ms']:.1f} ms; busy {found['busy']} times.")


def _spread(values: list[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1]


@dataclass(slots=True)
class _Freed:
    """A shuffle that a stage's end has freed; milliseconds since the epoch."""

    submitted: float
    completed: float
    recorded: float
    fenced: float = 0.0
    deleted: float = 0.0


def _freed(log: Iterable[e.Recorded], stages: StageTimes) -> dict[AppShuffle, _Freed]:
    """What went because a stage ended; what goes with the application is left out."""
    by: dict[int, StageAttempt] = {}
    names: dict[ShuffleId, AppShuffle] = {}
    found: dict[ShuffleId, _Freed] = {}
    for recorded in log:
        event, at = recorded.event, float(recorded.time_ms)
        if isinstance(event, e.StageCompleted):
            by[recorded.sequence] = event.stage
        elif isinstance(event, e.GenerationStarted):
            names[event.shuffle_id] = event.app_shuffle
        elif isinstance(event, e.GenerationExpired) and recorded.because in by:
            found[event.shuffle_id] = _Freed(*stages[by[recorded.because]], at)
        elif isinstance(event, e.GenerationFenced) and event.shuffle_id in found:
            found[event.shuffle_id].fenced = at
        elif isinstance(event, e.GenerationDeleted) and event.shuffle_id in found and event.directive is not None:
            found[event.shuffle_id].deleted = at
    return {names[shuffle_id]: freed for shuffle_id, freed in found.items() if freed.deleted}


def _gone_ms(samples: Sequence[Sample]) -> dict[AppShuffle, float]:
    """When the last file of each shuffle was first not seen any more, of those that went while somebody looked."""
    return {
        AppShuffle(shuffle): now.at * 1_000
        for before, now in pairwise(samples)
        for shuffle in before.bytes.keys() - now.bytes.keys()
    }


def _rows(freed: dict[AppShuffle, _Freed], gone: dict[AppShuffle, float]) -> dict[str, list[float]]:
    seen = [(one, gone[shuffle]) for shuffle, one in freed.items() if shuffle in gone]
    return {
        "reader's stage submitted … completed (baseline)": [one.completed - one.submitted for one, _ in seen],
        "completed in Spark … recorded": [one.recorded - one.completed for one, _ in seen],
        "recorded … its fence recorded": [one.fenced - one.recorded for one, _ in seen],
        "completed in Spark … files gone": [at - one.completed for one, at in seen],
        "completed in Spark … recorded as gone": [one.deleted - one.completed for one, _ in seen],
    }
