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
from benchmarks.program_job import Taken, time_looks

LOOKS_LIMIT_S = 120.0
_REST_S = 2.0  # what the last jobs have left to do is done
_PAUSE_S = 0.02  # between looks, as there always is one


def main() -> None:
    folder, question, numbers = Path(sys.argv[1]), sys.argv[2], [int(number) for number in sys.argv[3:]]
    found = _handles(folder, *numbers) if question == "handles" else _jobs(folder, *numbers)
    (folder / "result.json").write_text(json.dumps(found))


def _handles(folder: Path, handles: int, rdds: int, looks: int) -> dict[str, Any]:
    """Small jobs call for looks, while so many handles are held by a list; then as many where nothing else runs."""
    spark = session(folder, {})
    taken: list[Taken] = []
    with _attached(spark, folder, taken) as attachment:
        held = [_chain(spark, rdds // handles) for _ in range(handles)]
        made = held[-1]._jrdd.id() - held[0]._jrdd.id() + rdds // handles
        until_s = time.monotonic() + LOOKS_LIMIT_S
        while len(taken) < looks and time.monotonic() < until_s:
            small_jobs(spark, 1)
        beside_tasks, alone = list(taken), _looks_alone(attachment, looks)
    spark.stop()
    return {"handles": len(held), "rdds": made, "beside_tasks": beside_tasks, "alone": alone}


def _looks_alone(attachment: Any, looks: int) -> list[Taken]:
    """With the eyes of the looks that the jobs have called for, a while after their last job."""
    taken: list[Taken] = []
    time_looks(attachment, taken)
    time.sleep(_REST_S)
    for _ in range(looks):
        attachment._bridge.looker._sight.read()
        time.sleep(_PAUSE_S)
    return taken[-looks:]


def _chain(spark: Any, length: int) -> Any:
    """One RDD, so many RDDs above a source, over one shuffle: none of it is ever computed."""
    rdd = spark.sparkContext.parallelize(range(4), 2).map(lambda n: (n, n)).partitionBy(2)
    source = rdd._jrdd.id()
    while rdd._jrdd.id() - source < length - 5:  # the shuffle itself takes the others
        rdd = rdd.coalesce(2)
    return rdd


def _jobs(folder: Path, jobs: int, attached: int) -> dict[str, Any]:
    spark = session(folder, {})
    looks: list[Taken] = []
    if not attached:
        found: dict[str, Any] = {"wall_s": _timed_jobs(spark, jobs), "looks": [], "deleted": 0}
    else:
        with _attached(spark, folder, looks) as attachment:
            wall_s = _timed_jobs(spark, jobs)
            found = {"wall_s": wall_s, "looks": list(looks), "deleted": attachment.status().deleted}
    spark.stop()
    return found


def _timed_jobs(spark: Any, jobs: int) -> float:
    small_jobs(spark, 10)  # what is loaded once is loaded
    return small_jobs(spark, jobs)


def _attached(spark: Any, folder: Path, taken: list[Taken]) -> Any:
    from listener_bridge import attach

    attachment = attach(spark, policy="reachable", store=f"sqlite://{folder}/coordinator.db")
    time_looks(attachment, taken)
    return attachment


if __name__ == "__main__":
    main()
