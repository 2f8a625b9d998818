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
    table = Table(title=f"One look, Spark {pyspark.__version__}, local[2]")
    for heading in ("handles", "RDDs", "looks", "median ms", "p95 ms", "of the first"):
        table.add_column(heading, justify="right")
    for one in (few, many):
        median, late = _median_and_late(one["look_ms"])
        ratio = f"{median / _median_and_late(few['look_ms'])[0]:.2f}"
        counts = (str(one[name]) for name in ("handles", "rdds"))
        table.add_row(*counts, str(len(one["look_ms"])), f"{median:.1f}", f"{late:.1f}", ratio)
    console.print(table)


def _median_and_late(look_ms: list[float]) -> tuple[float, float]:
    ordered = sorted(look_ms)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]


def _many_jobs(console: Console, jobs: int, pairs: int) -> None:
    plain, ours = [], []
    for _ in range(pairs):
        plain.append(_measure("jobs", jobs, 0))
        ours.append(_measure("jobs", jobs, 1))
    title = f"{jobs:,} small jobs with a shuffle each, Spark {pyspark.__version__}, medians of {pairs} pairs"
    table = Table(title=title)
    for heading in ("off, s", "reachable, s", "on / off", "looks", "share of time", "deleted"):
        table.add_column(heading, justify="right")
    table.add_row(
        *(f"{statistics.median(one['wall_s'] for one in runs):.1f}" for runs in (plain, ours)),
        f"{statistics.median(b['wall_s'] / a['wall_s'] for a, b in zip(plain, ours, strict=True)):.3f}",
        f"{statistics.median(len(one['look_ms']) for one in ours):.0f}",
        f"{statistics.median(sum(one['look_ms']) / 1_000 / one['wall_s'] for one in ours):.2%}",
        f"{statistics.median(one['deleted'] for one in ours):.0f}",
    )
    console.print(table)


def _measure(*what: str | int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bench-looks-") as folder:
        command = [sys.executable, "-m", "benchmarks.looks_job", folder, *map(str, what)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        found: dict[str, Any] = json.loads((Path(folder) / "result.json").read_text())
        return found
