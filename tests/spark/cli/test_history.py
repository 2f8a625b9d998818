"""Policy `history`, live: what the first run missed, the second one keeps, and it deletes the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.processes import COMMAND, shufflectl
from tests.spark.cli.conftest import run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400), pytest.mark.newest, pytest.mark.slow]

#: Comes back to `first`, which Spark numbers last, when a rule that does not see its name has let it go; where none
#: does, after some jobs.
PROGRAM = """
import os
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").appName("nightly").getOrCreate()
sc = spark.sparkContext
sc.setLogLevel("ERROR")
local = Path(os.environ["SPARK_LOCAL_DIRS"])
first = sc.parallelize(range(1000), 2).map(lambda n: (n % 10, n)).partitionBy(2)
second = first.mapValues(lambda n: n + 1).partitionBy(3)
third = second.mapValues(lambda n: n * 2).partitionBy(2)
print(sorted(third.collect())[-2:])
for _ in range(40):
    if not list(local.rglob("shuffle_2_*.data")):
        break
    sc.parallelize([1], 1).count()
print(sorted(first.mapValues(lambda n: n - 1).groupByKey(2).mapValues(sum).collect()))
"""


def rows(folder: Path, store: str, *verb: str) -> Any:
    asked = shufflectl(folder, *verb, "--store", store, "-o", "json")
    assert asked.code == 0, asked.err
    return asked.data


def test_what_one_run_missed_the_next_one_keeps(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    stores = [f"sqlite://{tmp_path}/{name}.db" for name in ("first", "second")]
    guessed = run(tmp_path, *COMMAND, "run", "--policy", "frontier", "--store", stores[0], "app.py")
    assert guessed.returncode == 0, guessed.stderr
    assert len(rows(tmp_path, stores[0], "premature", "-")) == 1
    (application,) = rows(tmp_path, stores[0], "apps")
    taught = shufflectl(
        tmp_path, "learn", application["application"], "--store", stores[0], "-o", tmp_path / "lessons.json"
    )
    assert taught.code == 0, taught.err
    lessons = ("--conf", f"spark.shuffleLifecycle.history={tmp_path}/lessons.json")
    knowing = run(tmp_path, *COMMAND, "run", "--policy", "history", *lessons, "--store", stores[1], "app.py")
    assert (knowing.returncode, knowing.stdout) == (0, guessed.stdout), knowing.stderr
    assert rows(tmp_path, stores[1], "premature", "-") == []
    deleted = [row["event"] for row in rows(tmp_path, stores[1], "events", "-") if row["kind"] == "GenerationDeleted"]
    assert [event["cause"] for event in deleted].count("policy") == 2, deleted
