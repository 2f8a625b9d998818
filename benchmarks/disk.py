"""How much shuffle data lie on disk, and for how long?

The demo's workloads at full size, each in an application of its own, under: Spark alone; Spark's own clean-up (files
of a finished SQL execution, where the version has it, and a collection of the driver's heap every second); the plugin.
The ideal is that of the same run: each shuffle counts until the last stage that read it has ended.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pyspark
from rich.console import Console
from rich.table import Table

from coordinator.demo import run as runs_of
from coordinator.demo.logs import read_log
from coordinator.demo.run import Run, Workload, ideal
from coordinator.demo.workloads import WORKLOADS

OWN_CLEANUP = (
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled=true",
    "spark.cleaner.periodicGC.interval=1s",
)


POLICIES = ("frontier", "reachable")


def run_all(folder: Path, name: str, megabytes: int) -> dict[str, Run]:
    """One workload under every way to clean up."""
    cleanup = [part for pair in OWN_CLEANUP for part in ("--conf", pair)]
    common = ("--megabytes", str(megabytes), name)
    store = f"sqlite://{folder / 'coordinator.db'}"
    return {
        "Spark alone": runs_of.run(folder / "alone", common),
        "Spark's clean-up": runs_of.run(folder / "cleanup", (*cleanup, *common)),
        **{
            f"plugin, {policy}": runs_of.run(folder / policy, ("--store", store, "--policy", policy, *common))
            for policy in POLICIES
        },
    }


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    megabytes = wishes.megabytes or (40 if wishes.quick else 400)
    table = Table(title=f"Shuffle data on disk, {megabytes} MB a shuffle, Spark {pyspark.__version__}, local[2]")
    for heading in ("workload", "mode"):
        table.add_column(heading)
    for heading in ("wall s", "peak MB", "GB·s", "of alone", "ideal GB·s", "of ideal", "recomputed", "result"):
        table.add_column(heading, justify="right")
    for name in WORKLOADS:
        with tempfile.TemporaryDirectory(prefix="bench-disk-") as folder:
            _add(table, name, run_all(Path(folder), name, megabytes))
    console.print(table)


def _add(table: Table, name: str, runs: dict[str, Run]) -> None:
    alone = runs["Spark alone"]
    for mode, one in runs.items():
        workload, plain = one.workloads[0], alone.workloads[0]
        least, ratio = _ideal(one, workload)
        table.add_row(
            name if one is alone else "",
            mode,
            f"{workload.seconds:.1f}",
            f"{workload.held.peak_bytes / 1e6:.0f}",
            f"{workload.held.byte_seconds / 1e9:.2f}",
            f"{workload.held.byte_seconds / plain.held.byte_seconds:.2f}",
            least,
            ratio,
            str(one.map_stages - alone.map_stages),
            "equal" if workload.value == plain.value else "DIFFERENT",
        )
    table.add_section()


def _ideal(one: Run, workload: Workload) -> tuple[str, str]:
    if not one.application:
        return "", ""
    least = ideal(one, read_log(f"sqlite://{one.folder.parent / 'coordinator.db'}", one.application))[workload.name]
    return f"{least.byte_seconds / 1e9:.2f}", f"{workload.held.byte_seconds / least.byte_seconds:.3f}"
