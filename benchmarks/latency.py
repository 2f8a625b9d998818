"""How long from the event that frees a shuffle until its files are gone?

A loop frees a shuffle a round. From Spark's own event log: when the stage that read it last completed. From the
coordinator's log: when the fence was asked for, when it was done, when the files were gone. Beside it, as a baseline of
the same run: how long such a stage takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyspark
from rich.console import Console
from rich.table import Table

from coordinator.core import events as e
from coordinator.core.ids import ShuffleId, StageAttempt, StageId
from coordinator.demo.ideal import spark_events
from coordinator.demo.logs import read_log


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    rounds, megabytes = (10, 4) if wishes.quick else (60, 10)
    with tempfile.TemporaryDirectory(prefix="bench-latency-") as name:
        folder = Path(name)
        (folder / "events").mkdir()
        command = [sys.executable, "-m", "benchmarks.latency_job", name, str(rounds), str(megabytes)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        found = json.loads((folder / "result.json").read_text())
        rows = _rows(read_log(f"sqlite://{folder}/coordinator.db", found["application"]), folder / "events")
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


def _rows(log: Iterable[e.Recorded], events: Path) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {
        "reader's stage submitted … completed (baseline)": [],
        "completed in Spark … recorded": [],
        "recorded … fenced": [],
        "fenced … files gone": [],
        "completed in Spark … files gone": [],
    }
    stages = _stages(events)
    freed: dict[ShuffleId, tuple[float, float, float]] = {}
    fenced: dict[ShuffleId, float] = {}
    by: dict[int, StageAttempt] = {}
    for recorded in log:
        event, at = recorded.event, float(recorded.time_ms)
        if isinstance(event, e.StageCompleted):
            by[recorded.sequence] = event.stage
        elif isinstance(event, e.GenerationExpired) and recorded.because in by:
            freed[event.shuffle_id] = (*stages[by[recorded.because]], at)
        elif isinstance(event, e.GenerationFenced):
            fenced[event.shuffle_id] = at
        elif isinstance(event, e.GenerationDeleted) and event.shuffle_id in freed and event.directive is not None:
            submitted, completed, told = freed[event.shuffle_id]
            gone = (completed - submitted, told - completed, fenced[event.shuffle_id] - told)
            for values, value in zip(
                took.values(), (*gone, at - fenced[event.shuffle_id], at - completed), strict=True
            ):
                values.append(value)
    return took


def _stages(events: Path) -> dict[StageAttempt, tuple[float, float]]:
    """When Spark submitted and completed each stage attempt, in ms since the epoch."""
    return {
        StageAttempt(StageId(info["Stage ID"]), info["Stage Attempt ID"]): (
            float(info["Submission Time"]),
            float(info["Completion Time"]),
        )
        for event in spark_events(events)
        if event.get("Event") == "SparkListenerStageCompleted"
        for info in (event["Stage Info"],)
    }
