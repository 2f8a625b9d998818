"""A program as people write it: steps are methods, and what they make are attributes of one object."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.processes import COMMAND, shufflectl
from tests.spark.cli.conftest import run

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(240)]

PROGRAM = """
import time
from pathlib import Path
from pyspark.sql import SparkSession

class Job:
    def __init__(self, spark):
        self.sc = spark.sparkContext
        self.folder = Path("local")
        self.counted = 0

    def load(self):
        self.raw = self.sc.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3)
        self.counted += self.raw.count()

    def clean(self):
        self.made = self.raw.mapPartitions(lambda rows: ((key, value + 1) for key, value in rows)).partitionBy(3)
        self.counted += self.made.count()

    def wait(self):
        until = time.monotonic() + 60
        while time.monotonic() < until and any(self.folder.rglob("shuffle_0_*.data")):
            self.made.count()
        return not any(self.folder.rglob("shuffle_0_*.data"))

    def run(self):
        self.load()
        self.clean()
        gone = self.wait()
        return gone, self.made.values().sum()

job = Job(SparkSession.builder.getOrCreate())
print(*job.run(), any(job.folder.rglob("shuffle_1_*.data")))
"""


def test_what_an_attribute_holds_goes_when_no_method_reads_it_again(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    store = f"sqlite://{tmp_path}/log.db"
    asked = (*COMMAND, "run", "--policy", "reachable", "--store", store, "app.py")
    ran = run(tmp_path, *asked)
    assert (ran.returncode, ran.stdout) == (0, f"True {sum(range(400)) + 400} True\n"), ran.stderr
    assert shufflectl(tmp_path, "premature", "--store", store, "-", "-o", "json").data == []
