"""What does looking at the program cost?

One look, where the program holds many handles over a long lineage of which nothing is computed yet, so that no walk can
stop early: beside the same with a single handle. And the wall time of a program of many small jobs, each with a shuffle
that nothing holds, with the plugin under `reachable` and without, in turn, so that the machine's drift cancels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyspark
from rich.console import Console
from rich.table import Table


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints both tables."""
    _one_look(console, looks=10 if wishes.quick else 100)
    _many_jobs(console, *((300, 1) if wishes.quick else (10_000, 3)))


def _one_look(console: Console, looks: int) -> None:
    few, many = (_measure("handles", handles, rdds, looks) for handles, rdds in ((1, 20), (100, 2_000)))
    table = Table(title=f"One look, ms, Spark {pyspark.__version__}, local[2]")
    for heading in ("handles", "RDDs", "beside", "looks", "processor", "of the first", "wall, median", "wall, p95"):
        table.add_column(heading, justify="left" if heading == "beside" else "right")
    for one in (few, many):
        for title, kind in (("tasks on both processors", "beside_tasks"), ("nothing", "alone")):
            table.add_row(str(one["handles"]), str(one["rdds"]), title, *_look_cells(one[kind], few[kind]))
    console.print(table)


def _look_cells(looks: list[list[float]], first: list[list[float]]) -> tuple[str, ...]:
    """Of looks, each a wall time and a processor time in seconds."""
    wall_s, processor_s = (sorted(look[n] for look in looks) for n in (0, 1))
    ratio = statistics.median(processor_s) / statistics.median(look[1] for look in first)
    late_s = wall_s[min(len(wall_s) - 1, len(wall_s) * 95 // 100)]
    median_s = statistics.median(wall_s)
    return (
        str(len(looks)),
        f"{statistics.median(processor_s) * 1_000:.1f}",
        f"{ratio:.2f}",
        f"{median_s * 1_000:.1f}",
        f"{late_s * 1_000:.1f}",
    )


def _many_jobs(console: Console, jobs: int, pairs: int) -> None:
    plain, ours = [], []
    for _ in range(pairs):
        plain.append(_measure("jobs", jobs, 0))
        ours.append(_measure("jobs", jobs, 1))
    title = f"{jobs:,} small jobs with a shuffle each, Spark {pyspark.__version__}, medians of {pairs} pairs"
    table = Table(title=title)
    for heading in ("off, s", "reachable, s", "on / off", "looks", "share of a processor", "deleted"):
        table.add_column(heading, justify="right")
    table.add_row(
        *(f"{statistics.median(one['wall_s'] for one in runs):.1f}" for runs in (plain, ours)),
        f"{statistics.median(b['wall_s'] / a['wall_s'] for a, b in zip(plain, ours, strict=True)):.3f}",
        f"{statistics.median(len(one['looks']) for one in ours):.0f}",
        f"{statistics.median(sum(look[1] for look in one['looks']) / one['wall_s'] for one in ours):.2%}",
        f"{statistics.median(one['deleted'] for one in ours):.0f}",
    )
    console.print(table)


def _measure(*what: str | int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bench-looks-") as folder:
        command = [sys.executable, "-m", "benchmarks.looks_job", folder, *map(str, what)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        found: dict[str, Any] = json.loads((Path(folder) / "result.json").read_text())
        return found
