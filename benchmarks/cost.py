"""What does the plugin cost a job that gains nothing from it?

Two drivers run side by side, one with the plugin and one without, and take turns: a piece of work in the one while
the other waits, then the same in the other. Both are warm, and what the machine does meanwhile hits both. Told of each:
the wall time, and the processor time of the driver's Python and its JVM, until a moment after it. And Spark's own timer
of our listener, microseconds per scheduler event in the thread of its queue.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from rich.console import Console
from rich.table import Table

POLICY = "reachable"


@dataclass(frozen=True)
class Work:
    """One kind of work, in pieces of so many."""

    kind: str
    count: int
    text: str


PIECES = (
    Work("tasks", 1_000, "1,000 empty tasks"),
    Work("jobs", 25, "25 small jobs with a shuffle each"),
    Work("queries", 1, "a query of two seconds"),
)
QUICK = (Work("tasks", 200, "200 empty tasks"), Work("jobs", 5, "5 small jobs"), Work("queries", 1, "a query"))


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    pieces, drivers, rounds, warm = (QUICK, 1, 2, 1) if wishes.quick else (PIECES, 3, 12, 6)
    ratios: dict[str, list[tuple[float, float]]] = {work.kind: [] for work in pieces}
    listener_us: list[tuple[float, float]] = []
    for _ in range(drivers):
        with Pair() as pair:
            for work in pieces:
                pair.rounds(work, warm)
                ratios[work.kind] += (found := pair.rounds(work, rounds))
                wall, processor = (_middle([turn[n] for turn in found]) for n in (0, 1))
                console.print(f"on / off, {work.text}: wall {wall}, processor {processor}")
            listener_us.append(pair.listener_us())
    table = Table(title=f"On / off, Spark {pyspark.__version__}, local[2], {POLICY}, {drivers} pairs of {rounds} turns")
    for heading in ("what", "wall time (quartiles)", "processor time (quartiles)"):
        table.add_column(heading)
    for work in pieces:
        table.add_row(work.text, *(_middle([turn[n] for turn in ratios[work.kind]]) for n in (0, 1)))
    console.print(table)
    median, mean = (statistics.median(one) for one in zip(*listener_us, strict=True))
    console.print(f"In the listener's thread: {median:.2f} µs an event at the median, {mean:.2f} in the mean.")


def _middle(ratios: list[float]) -> str:
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


class Pair:
    """A driver without the plugin and one with it."""

    def __enter__(self) -> Pair:
        with ExitStack() as opened:
            self._plain, self._ours = (opened.enter_context(Driver(policy)) for policy in ("", POLICY))
            self._closing = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def rounds(self, work: Work, count: int) -> list[tuple[float, float]]:
        """So many turns; of each, on / off in wall time and in processor time."""
        return [self._turn(work, first_is_plain=bool(n % 2)) for n in range(count)]

    def _turn(self, work: Work, first_is_plain: bool) -> tuple[float, float]:
        order = (self._plain, self._ours) if first_is_plain else (self._ours, self._plain)
        taken = {driver: driver.ask(work.kind, work.count) for driver in order}
        off, on = taken[self._plain], taken[self._ours]
        return on["wall_s"] / off["wall_s"], on["processor_s"] / off["processor_s"]

    def listener_us(self) -> tuple[float, float]:
        """Median and mean of an event."""
        found = self._ours.ask("listener", 0)
        return found["median_us"], found["mean_us"]


class Driver:
    """One application that does pieces of work when it is asked."""

    def __init__(self, policy: str) -> None:
        self._policy = policy

    def __enter__(self) -> Driver:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-cost-")
        command = [sys.executable, "-m", "benchmarks.cost_job", self._folder.name, self._policy]
        self._errors = (Path(self._folder.name) / "stderr").open("w")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._errors.close()
        self._folder.cleanup()

    def ask(self, kind: str, count: int) -> dict[str, Any]:
        """What the piece took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{kind} {count}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the driver has ended: {Path(self._errors.name).read_text()[-2_000:]}")
        found: dict[str, Any] = json.loads(answer)
        return found
