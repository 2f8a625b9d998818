"""The application that ``cost`` times: empty tasks, small jobs and queries, a piece at a time, as it is asked.

python -m benchmarks.cost_job FOLDER MASTER POLICY; then lines ``KIND COUNT on`` or ``KIND COUNT off`` on standard
input, each answered by a line of JSON. With ``on`` the plugin is attached for that piece, and for one before it that is
not timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from listener_bridge import attach

_ROWS = 3_000_000
_REST_S = 1.5  # what the plugin does after a piece belongs to it, and must not lie in the next one
_WAITED_S = 30.0  # for all facts to be confirmed, before a piece


def main() -> None:
    folder, master, policy = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    spark = session(folder, {"spark.master": master})
    spark.sparkContext.parallelize(range(100), 10).count()  # workers are up
    for line in sys.stdin:
        kind, count, mode = line.split()
        with plugin(spark, folder, policy if mode == "on" else ""):
            _KINDS[kind](spark, int(count))  # what is new of ours is compiled
            taken = _timed(kind, spark, int(count))
            print(json.dumps(taken | (_listener_us(spark) if mode == "on" else {})), flush=True)
    spark.stop()


@contextmanager
def plugin(spark: SparkSession, folder: Path, policy: str) -> Iterator[None]:
    """Attached, if there is a policy, and with nothing left to tell of the time before."""
    if not policy:
        yield
        return
    with attach(spark, policy=policy, store=f"sqlite://{folder}/coordinator.db") as attachment:
        spark.range(1).count()  # after a late start nothing is let go until what ran then has ended
        end = time.monotonic() + _WAITED_S
        while attachment.status().unanswered and time.monotonic() < end:
            time.sleep(0.05)
        yield


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


def _timed(kind: str, spark: SparkSession, count: int) -> dict[str, float]:
    processor_s = _processor_s(spark)
    wall_s = _KINDS[kind](spark, count)
    time.sleep(_REST_S)
    return {"wall_s": wall_s, "processor_s": _processor_s(spark) - processor_s}


def _processor_s(spark: SparkSession) -> float:
    """Of this process and its JVM; not a number where the system has no /proc to tell it."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return sum(map(_used_s, (os.getpid(), int(jvm.java.lang.ProcessHandle.current().pid()))))


def _used_s(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def _queries(spark: SparkSession, queries: int) -> float:
    """Two shuffles each, and some two seconds of computing in the JVM."""
    begun = time.perf_counter()
    for number in range(queries):
        rows = spark.range(0, _ROWS, 1, 4).selectExpr(f"sha2(string(id + {number}), 256) AS text", "id % 1009 AS k")
        sums = rows.groupBy("k").agg({"text": "max"})
        assert sums.repartition(4).where("`max(text)` > '0'").count() == 1_009
    return time.perf_counter() - begun


_KINDS: dict[str, Callable[[SparkSession, int], float]] = {
    "tasks": _empty_tasks,
    "jobs": small_jobs,
    "queries": _queries,
}


def _listener_us(spark: SparkSession) -> dict[str, float]:
    """Median and mean of Spark's timer of what our queue hears; it counts waiting for a processor too."""
    bus = spark.sparkContext._jsc.sc().listenerBus()
    timers: Any = bus.metrics().metricRegistry().getTimers()
    for name in timers.keySet():
        if "FactListener" in name or "shuffleLifecycle" in name:
            taken = timers.get(name).getSnapshot()
            return {"median_us": float(taken.getMedian()) / 1_000, "mean_us": float(taken.getMean()) / 1_000}
    raise LookupError(f"no timer of ours on the listener bus, only {list(timers.keySet())}")


if __name__ == "__main__":
    main()
