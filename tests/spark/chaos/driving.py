"""Jobs in several threads while their shuffles are deleted under them.

Responsible for: which workload runs next in which thread, comparing every result, and stopping at the first wrong one.
Refuses to know: who deletes, and how.
Invariant: a thread draws from its own chance only, so a seed gives each thread the same jobs; every run is compared.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.spark.chaos.workloads import WORKLOADS, Job, Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREADS = 2
HELD = 6  # jobs that a thread keeps, to run them again


def undisturbed(spark: SparkSession) -> dict[str, Result]:
    """What each workload gives when nothing is deleted."""
    return {workload.__name__: workload(spark)() for workload in WORKLOADS}


@dataclass
class Driving:
    """Runs until `enough` says so, a result is wrong, a job fails, or the time is up."""

    spark: SparkSession
    expected: dict[str, Result]
    seed: int
    enough: Callable[[], bool]
    within_s: float
    runs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def run(self) -> None:
        began = time.monotonic()
        threads = [threading.Thread(target=self._run, args=(n, began), name=f"driving-{n}") for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - began

    def _run(self, number: int, began: float) -> None:
        drawn = random.Random(f"{self.seed} {number}")
        held: list[tuple[str, Job]] = []
        while not (self.enough() or self.wrong or time.monotonic() - began > self.within_s):
            if not held or drawn.random() < 0.5:
                workload = drawn.choice(WORKLOADS)
                held = [*held[-HELD + 1 :], (workload.__name__, workload(self.spark))]
                self._compare(*held[-1])
            else:
                self._compare(*drawn.choice(held))

    def _compare(self, name: str, job: Job) -> None:
        try:
            found = job()
        except Exception as error:  # noqa: BLE001 - a job that fails is a finding like a wrong result
            self.wrong.append(f"{name} failed: {type(error).__name__}: {str(error)[:3000]}")
            return
        self.runs[name] += 1
        if found != self.expected[name]:
            self.wrong.append(f"{name} gave {found!r}, expected {self.expected[name]!r}")
