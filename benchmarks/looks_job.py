"""The applications that ``looks`` times.

python -m benchmarks.looks_job FOLDER handles HANDLES RDDS LOOKS
python -m benchmarks.looks_job FOLDER jobs JOBS ATTACHED(0|1)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.cost_job import session, small_jobs
from benchmarks.program_job import time_looks

LOOKS_LIMIT_S = 120.0


def main() -> None:
    folder, question, numbers = Path(sys.argv[1]), sys.argv[2], [int(number) for number in sys.argv[3:]]
    found = _handles(folder, *numbers) if question == "handles" else _jobs(folder, *numbers)
    (folder / "result.json").write_text(json.dumps(found))


def _handles(folder: Path, handles: int, rdds: int, looks: int) -> dict[str, Any]:
    """Small jobs call for looks, while so many handles are held by a list."""
    spark = session(folder, {})
    taken_s: list[float] = []
    with _attached(spark, folder, taken_s):
        held = [_chain(spark, rdds // handles) for _ in range(handles)]
        made = held[-1]._jrdd.id() - held[0]._jrdd.id() + rdds // handles
        until_s = time.monotonic() + LOOKS_LIMIT_S
        while len(taken_s) < looks and time.monotonic() < until_s:
            small_jobs(spark, 1)
    spark.stop()
    return {"handles": len(held), "rdds": made, "look_ms": [seconds * 1_000 for seconds in taken_s]}


def _chain(spark: Any, length: int) -> Any:
    """One RDD, so many RDDs above a source, over one shuffle: none of it is ever computed."""
    rdd = spark.sparkContext.parallelize(range(4), 2).map(lambda n: (n, n)).partitionBy(2)
    source = rdd._jrdd.id()
    while rdd._jrdd.id() - source < length - 5:  # the shuffle itself takes the others
        rdd = rdd.coalesce(2)
    return rdd


def _jobs(folder: Path, jobs: int, attached: int) -> dict[str, Any]:
    spark = session(folder, {})
    taken_s: list[float] = []
    if not attached:
        found: dict[str, Any] = {"wall_s": _timed_jobs(spark, jobs), "look_ms": [], "deleted": 0}
    else:
        with _attached(spark, folder, taken_s) as attachment:
            wall_s = _timed_jobs(spark, jobs)
            found = {"wall_s": wall_s, "look_ms": [s * 1_000 for s in taken_s], "deleted": attachment.status().deleted}
    spark.stop()
    return found


def _timed_jobs(spark: Any, jobs: int) -> float:
    small_jobs(spark, 10)  # what is loaded once is loaded
    return small_jobs(spark, jobs)


def _attached(spark: Any, folder: Path, taken_s: list[float]) -> Any:
    from listener_bridge import attach

    attachment = attach(spark, policy="reachable", store=f"sqlite://{folder}/coordinator.db")
    time_looks(attachment, taken_s)
    return attachment


if __name__ == "__main__":
    main()
