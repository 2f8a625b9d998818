"""What does the plugin cost a job that gains nothing from it?

One driver does a piece of work without the plugin and the same with it, in turns: attached before the piece, let go
after it, each time with another piece before it that is not timed. Two JVMs of one program differ by several percent
for as long as they live; one does not differ from itself. Told of each: the wall time, and the processor time of the
driver's Python and its JVM, until a moment after it. And Spark's own timer of our listener, microseconds per scheduler
event in the thread of its queue. Once with tasks on both processors, once with a processor left to the driver, as where
executors run on other machines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from rich.console import Console
from rich.table import Table

POLICY = "reachable"
RATIOS = ("wall_s", "processor_s")


@dataclass(frozen=True)
class Work:
    """One kind of work, in pieces of so many."""

    kind: str
    count: int
    text: str
    turns: int


PIECES = (
    Work("tasks", 1_000, "1,000 empty tasks", 8),
    Work("jobs", 25, "25 small jobs with a shuffle each", 8),
    Work("jobs", 300, "300 small jobs with a shuffle each", 3),
    Work("queries", 1, "a query of a second or two", 8),
)
QUICK = (Work("tasks", 200, "200 empty tasks", 2), Work("jobs", 5, "5 small jobs", 2), Work("queries", 1, "a query", 2))


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    pieces = QUICK if wishes.quick else PIECES
    table = Table(title=f"On / off, Spark {pyspark.__version__}, {POLICY}, in turns in one driver")
    for heading in ("what", "tasks on", "turns", "wall time (quartiles)", "processor time (quartiles)"):
        table.add_column(heading)
    listener_us: list[tuple[float, float]] = []
    for master in ("local[2]", "local[1]"):
        with Driver(master) as driver:
            for work in pieces:
                driver.turns(work, 1)  # not counted: what is new is compiled
                turns = driver.turns(work, work.turns)
                ratios = (_middle([turn.ratio(what) for turn in turns]) for what in RATIOS)
                table.add_row(work.text, master, str(work.turns), *ratios)
            listener_us += [turn.listener_us for turn in turns]
    console.print(table)
    median, mean = (statistics.median(one) for one in zip(*listener_us, strict=True))
    console.print(f"In the listener's thread: {median:.2f} µs an event at the median, {mean:.2f} in the mean.")


def _middle(ratios: list[float]) -> str:
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


@dataclass(frozen=True)
class Turn:
    """The same piece of work without the plugin and with it."""

    off: dict[str, float]
    on: dict[str, float]

    def ratio(self, what: str) -> float:
        return self.on[what] / self.off[what]

    @property
    def listener_us(self) -> tuple[float, float]:
        """Median and mean of an event."""
        return self.on["median_us"], self.on["mean_us"]


class Driver:
    """One application that does pieces of work when it is asked."""

    def __init__(self, master: str) -> None:
        self._master = master

    def __enter__(self) -> Driver:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-cost-")
        command = [sys.executable, "-m", "benchmarks.cost_job", self._folder.name, self._master, POLICY]
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

    def turns(self, work: Work, count: int) -> list[Turn]:
        """Each begins with the other one."""
        return [self._turn(work, ("off", "on") if n % 2 else ("on", "off")) for n in range(count)]

    def _turn(self, work: Work, order: tuple[str, str]) -> Turn:
        return Turn(**{mode: self._ask(work, mode) for mode in order})

    def _ask(self, work: Work, mode: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{work.kind} {work.count} {mode}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the driver has ended: {Path(self._errors.name).read_text()[-2_000:]}")
        found: dict[str, Any] = json.loads(answer)
        return found
