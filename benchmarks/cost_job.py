"""The application that ``cost`` times: empty tasks, small jobs, then queries of seconds; attached or not.

python -m benchmarks.cost_job FOLDER TASKS JOBS QUERIES ATTACHED(0|1)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_ROWS = 3_000_000


def main() -> None:
    folder, (tasks, jobs, queries, attached) = Path(sys.argv[1]), map(int, sys.argv[2:])
    spark = session(folder, {})
    attachment = None
    if attached:
        from listener_bridge import attach

        attachment = attach(spark, policy="frontier", store=f"sqlite://{folder}/coordinator.db")
    spark.sparkContext.parallelize(range(100), 10).count()  # workers are up
    found = {
        "tasks_s": _empty_tasks(spark, tasks),
        "jobs_s": small_jobs(spark, jobs),
        "queries_s": _long(spark, queries),
    }
    if attachment is not None:
        found["listener_median_us"], found["listener_mean_us"] = _listener_us(spark)
        attachment.detach()
    spark.stop()
    (folder / "result.json").write_text(json.dumps(found))


def session(folder: Path, more: dict[str, str]) -> SparkSession:
    """A small local session with its files in one folder."""
    builder = SparkSession.builder.master("local[2]").appName("cost")
    settings = {
        "spark.local.dir": str(folder / "local"),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        **more,
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _empty_tasks(spark: SparkSession, tasks: int) -> float:
    """In the JVM alone: Python workers would hide everything."""
    context = spark.sparkContext
    assert context._jvm is not None
    numbers = context._jvm.java.util.ArrayList()
    for number in range(tasks):
        numbers.add(number)
    java = context._jsc.parallelize(numbers, tasks)
    begun = time.perf_counter()
    java.count()
    return time.perf_counter() - begun


def small_jobs(spark: SparkSession, jobs: int) -> float:
    """A shuffle and a count each, in the JVM."""
    begun = time.perf_counter()
    for _ in range(jobs):
        spark.range(0, 100, 1, 2).rdd._jrdd.rdd().repartition(2, None).count()
    return time.perf_counter() - begun


def _long(spark: SparkSession, queries: int) -> float:
    """Two shuffles each, and some two seconds of computing in the JVM."""
    begun = time.perf_counter()
    for number in range(queries):
        rows = spark.range(0, _ROWS, 1, 4).selectExpr(f"sha2(string(id + {number}), 256) AS text", "id % 1009 AS k")
        sums = rows.groupBy("k").agg({"text": "max"})
        assert sums.repartition(4).where("`max(text)` > '0'").count() == 1_009
    return time.perf_counter() - begun


def _listener_us(spark: SparkSession) -> tuple[float, float]:
    """Median and mean of Spark's timer of what our queue hears; it counts waiting for a processor too."""
    bus = spark.sparkContext._jsc.sc().listenerBus()
    timers: Any = bus.metrics().metricRegistry().getTimers()
    for name in timers.keySet():
        if "FactListener" in name or "shuffleLifecycle" in name:
            taken = timers.get(name).getSnapshot()
            return float(taken.getMedian()) / 1_000, float(taken.getMean()) / 1_000
    raise LookupError(f"no timer of ours on the listener bus, only {list(timers.keySet())}")


if __name__ == "__main__":
    main()
