"""What does the plugin cost a job that gains nothing from it?

Many empty tasks, many small jobs, and queries of seconds, with the plugin off and on in turn: Spark's own timer of our
listener (microseconds per scheduler event, in the thread of its queue), and the wall time of the jobs, paired so that
the machine's drift cancels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark
from rich.console import Console
from rich.table import Table

_TIMES = ("tasks_s", "jobs_s", "queries_s")


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    tasks, jobs, long, pairs = (2_000, 50, 1, 1) if wishes.quick else (20_000, 500, 10, 5)
    plain, ours = [], []
    for _ in range(pairs):
        plain.append(_measure(tasks, jobs, long, attached=False))
        ours.append(_measure(tasks, jobs, long, attached=True))
        console.print("on / off: " + ", ".join(f"{key} {ours[-1][key] / plain[-1][key]:.3f}" for key in _TIMES))
    table = Table(title=f"Cost, Spark {pyspark.__version__}, local[2], medians of {pairs} pairs")
    table.add_column("what")
    for heading in ("off", "on", "on / off"):
        table.add_column(heading, justify="right")
    small, queries = f"{jobs} small jobs with a shuffle each, s", f"{long} queries of seconds, s"
    for key, text in (("tasks_s", f"{tasks} empty tasks, s"), ("jobs_s", small), ("queries_s", queries)):
        _add(table, text, [one[key] for one in plain], [one[key] for one in ours])
    console.print(table)
    median, mean = (statistics.median(one[key] for one in ours) for key in ("listener_median_us", "listener_mean_us"))
    console.print(f"In the listener's thread: {median:.2f} µs an event at the median, {mean:.2f} in the mean.")


def _add(table: Table, text: str, plain: list[float], ours: list[float]) -> None:
    ratio = statistics.median(b / a for a, b in zip(plain, ours, strict=True))
    table.add_row(text, f"{statistics.median(plain):.2f}", f"{statistics.median(ours):.2f}", f"{ratio:.3f}")


def _measure(tasks: int, jobs: int, long: int, attached: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="bench-cost-") as folder:
        numbers = map(str, (tasks, jobs, long, int(attached)))
        command = [sys.executable, "-m", "benchmarks.cost_job", folder, *numbers]
        subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        found: dict[str, float] = json.loads((Path(folder) / "result.json").read_text())
        return found
