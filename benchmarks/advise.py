"""How fast are Spark history logs read and judged, and does memory grow with them?

Records with all that Spark 4 says in them are repeated: a chain of jobs, most of whose bytes are ends of tasks. One
large log each for one core and for two, through the same `advise` that people call; beside it a bare pass over the same
files that only cuts lines: what the disk and Python allow. Then one log of three sizes: the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from replay.units import size

MEGABYTES = 600
SIZES_MB = (50, 200, 800)
_QUICK = 20
_TASKS = 400  # of each stage

_PEAK = """
import resource, sys
from replay.history.finding import Log, Part
from replay.history.reading import read
run = read(Log("log", (Part(sys.argv[1], 0),)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, len(run.shuffles))
"""


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the tables."""
    part = _QUICK if wishes.quick else 1
    with tempfile.TemporaryDirectory(prefix="bench-advise-") as name:
        folder = Path(name)
        _rates(console, folder / "rates", (MEGABYTES << 20) // part)
        _memory(console, folder / "memory", [(megabytes << 20) // part for megabytes in SIZES_MB])


# ---- how fast --------------------------------------------------------------------------------------------------------


def _rates(console: Console, folder: Path, total_bytes: int) -> None:
    folder.mkdir()
    for log in ("one", "two"):
        make_log(folder / log, total_bytes // 2)
    raw = sum(path.stat().st_size for path in folder.iterdir())
    table = Table("", "raw MB/s", "of one core", title=f"{size(raw)} of log in two files", title_justify="left")
    base = _bare(folder)
    table.add_row("only cutting lines, one core", f"{raw / base / 1e6:.0f}", "")
    one = 0.0
    for cores in (1, 2):
        seconds = _advised(folder, cores)
        one = one or seconds
        table.add_row(f"advise, {cores} core{'s' * (cores > 1)}", f"{raw / seconds / 1e6:.0f}", f"{one / seconds:.2f}")
    console.print(table)


def _bare(folder: Path) -> float:
    began = time.perf_counter()
    for path in folder.iterdir():
        with path.open("rb") as lines:
            for _ in lines:
                pass
    return time.perf_counter() - began


def _advised(folder: Path, cores: int) -> float:
    """Without the start of Spark and of its workers, which a first small job has paid for."""
    from pyspark.sql import SparkSession

    from replay.advise import report

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        warm = folder.parent / f"warm-{cores}"
        warm.mkdir()
        for number in range(cores):
            make_log(warm / str(number), 17 << 20)
        report.make(spark, [str(warm)])
        began = time.perf_counter()
        report.make(spark, [str(folder)])
        return time.perf_counter() - began
    finally:
        spark.stop()


# ---- how large -------------------------------------------------------------------------------------------------------


def _memory(console: Console, folder: Path, sizes: list[int]) -> None:
    folder.mkdir()
    table = Table("raw log", "shuffles", "peak of the process", title="One log, read", title_justify="left")
    for wanted in sizes:
        path = folder / str(wanted)
        make_log(path, wanted, stages=20)
        done = subprocess.run([sys.executable, "-c", _PEAK, str(path)], capture_output=True, text=True, check=True)
        peak, shuffles = map(int, done.stdout.split())
        table.add_row(size(path.stat().st_size), str(shuffles), size(peak))
        path.unlink()
    console.print(table)


# ---- a log -----------------------------------------------------------------------------------------------------------


def make_log(path: Path, raw_bytes: int, stages: int | None = None) -> None:
    """A chain of jobs; with ``stages`` so many stages, whose tasks then fill the size."""
    tasks = _TASKS if stages is None else max(raw_bytes // stages // len(_task(0, 0)), 1)
    with path.open("wb") as log:
        log.write(_line({"Event": "SparkListenerLogStart", "Spark Version": "4.0.1"}))
        start = {"App Name": "made", "App ID": f"made-{path.name}", "Timestamp": _BEGIN_MS, "User": "bench"}
        log.write(_line({"Event": "SparkListenerApplicationStart", **start}))
        number = 0
        while log.tell() < raw_bytes if stages is None else number < stages:
            log.writelines(_job(number, tasks))
            number += 1
        end = {"Event": "SparkListenerApplicationEnd", "Timestamp": _at(number + 1)}
        log.write(_line(end))


_BEGIN_MS = 1_700_000_000_000


def _at(second: float) -> int:
    return _BEGIN_MS + int(1000 * second)


def _job(number: int, tasks: int) -> Iterator[bytes]:
    """A map stage that reads the one before it, as a job of its own."""
    before = _stage(2 * number - 1, number - 1, [], tasks)
    own = _stage(2 * number, number, [2 * number - 1] if number else [], tasks)
    listed = [before, own] if number else [own]
    told = {"Job ID": number, "Submission Time": _at(number), "Stage Infos": listed, "Properties": {}}
    yield _line({"Event": "SparkListenerJobStart", **told})
    yield _line({"Event": "SparkListenerStageSubmitted", "Stage Info": {**own, "Submission Time": _at(number)}})
    task = _task(2 * number, number)
    for _ in range(tasks):
        yield task
    done = {**own, "Submission Time": _at(number), "Completion Time": _at(number + 0.9)}
    yield _line({"Event": "SparkListenerStageCompleted", "Stage Info": done})
    result = {"Job ID": number, "Completion Time": _at(number + 0.9), "Job Result": {"Result": "JobSucceeded"}}
    yield _line({"Event": "SparkListenerJobEnd", **result})


def _stage(number: int, rdd: int, parents: list[int], tasks: int) -> dict[str, object]:
    return {
        "Stage ID": number,
        "Stage Attempt ID": 0,
        "Stage Name": f"map at job.py:{rdd}",
        "Number of Tasks": tasks,
        "RDD Info": [{"RDD ID": rdd, "Name": "MapPartitionsRDD", "Parent IDs": []}],
        "Parent IDs": parents,
    }


def _task(stage: int, second: int) -> bytes:
    """The end of a task, with all that Spark 4 says in it, about 3 kB."""
    counted = [
        {"ID": 30 * stage + n, "Name": f"internal.metrics.{name}", "Update": 12345 + n, "Value": 99999999 + n}
        for n, name in enumerate(_ACCUMULATORS)
    ]
    info = {"Task ID": stage, "Index": 1, "Attempt": 0, "Launch Time": _at(second), "Finish Time": _at(second + 0.8)}
    metrics = {
        "Executor Run Time": 800,
        "Executor CPU Time": 700_000_000,
        "Shuffle Read Metrics": dict.fromkeys(("Remote Bytes Read", "Local Bytes Read", "Total Records Read"), 4096),
        "Shuffle Write Metrics": {
            "Shuffle Bytes Written": 1 << 20,
            "Shuffle Write Time": 5,
            "Shuffle Records Written": 9,
        },
        "Output Metrics": {"Bytes Written": 0, "Records Written": 0},
        "Updated Blocks": [],
    }
    return _line(
        {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Task Type": "ShuffleMapTask",
            "Task End Reason": {"Reason": "Success"},
            "Task Info": {**info, "Failed": False, "Killed": False, "Accumulables": counted},
            "Task Executor Metrics": dict.fromkeys(_EXECUTOR_METRICS, 0),
            "Task Metrics": metrics,
        }
    )


_ACCUMULATORS = (
    "executorDeserializeTime", "executorDeserializeCpuTime", "executorRunTime", "executorCpuTime", "resultSize",
    "jvmGCTime", "resultSerializationTime", "peakExecutionMemory", "shuffle.read.recordsRead",
    "shuffle.write.bytesWritten", "shuffle.write.recordsWritten", "shuffle.write.writeTime", "input.bytesRead",
)  # fmt: skip
_EXECUTOR_METRICS = (
    "JVMHeapMemory", "JVMOffHeapMemory", "OnHeapExecutionMemory", "OffHeapExecutionMemory", "OnHeapStorageMemory",
    "OffHeapStorageMemory", "OnHeapUnifiedMemory", "OffHeapUnifiedMemory", "DirectPoolMemory", "MappedPoolMemory",
    "MinorGCCount", "MinorGCTime", "MajorGCCount", "MajorGCTime", "TotalGCTime",
)  # fmt: skip


def _line(event: dict[str, object]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"
