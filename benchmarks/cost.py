"""What does the plugin cost a job that gains nothing from it?

Many empty tasks, and many small jobs, with the plugin off and on in turn: the listener's own timer (microseconds per
scheduler event, in the thread of its queue), and the wall time of the job, paired so that the machine's drift cancels.
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


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    tasks, jobs, pairs = (2_000, 50, 1) if wishes.quick else (20_000, 500, 5)
    plain, ours = [], []
    for _ in range(pairs):
        plain.append(_measure(tasks, jobs, attached=False))
        ours.append(_measure(tasks, jobs, attached=True))
    table = Table(title=f"Cost, Spark {pyspark.__version__}, local[2], medians of {pairs} pairs")
    table.add_column("what")
    for heading in ("off", "on", "on / off"):
        table.add_column(heading, justify="right")
    for key, text in (("tasks_s", f"{tasks} empty tasks, s"), ("jobs_s", f"{jobs} small jobs with a shuffle each, s")):
        _add(table, text, [one[key] for one in plain], [one[key] for one in ours])
    console.print(table)
    console.print(f"In the listener's thread: {statistics.median(one['listener_us'] for one in ours):.2f} µs an event.")


def _add(table: Table, text: str, plain: list[float], ours: list[float]) -> None:
    ratio = statistics.median(b / a for a, b in zip(plain, ours, strict=True))
    table.add_row(text, f"{statistics.median(plain):.2f}", f"{statistics.median(ours):.2f}", f"{ratio:.3f}")


def _measure(tasks: int, jobs: int, attached: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="bench-cost-") as folder:
        command = [sys.executable, "-m", "benchmarks.cost_job", folder, str(tasks), str(jobs), str(int(attached))]
        subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        found: dict[str, float] = json.loads((Path(folder) / "result.json").read_text())
        return found
