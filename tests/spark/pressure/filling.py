"""A program that writes more shuffle data than its disk holds, with and without the plugin.

`python -m tests.spark.pressure.filling LOCAL_DIR STORE`: the same rounds in one JVM after the other without the plugin,
under `observe` and under `pressure`; what became of each, as a line of JSON.

Responsible for a program as people write it: each round makes a new shuffle from the one before, and all of them stay
in a list, so that nothing but pressure lets go of one. Refuses to know what a test expects. Invariant: the result says
what every round wrote, and that of the first round is read again at the end.

From a full disk's report to the bytes' end it takes four commits, and rounds of a third of a second beside a store that
takes as long would decide who is first. So under `pressure` each round waits until there is room, as rounds that take
longer would; where pressure does not make it, that wait ends with an error.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import listener_bridge
from coordinator.core import events as e
from tests.support.logs import of, stored
from tests.support.spark import spark_session, wait_for

ROWS = 64
ROW_BYTES = 16_384
ROUNDS = 26
TASKS = 2
HIGH, LOW = 40, 25  #: Of the disk, in percent.
PATIENCE_S = 60.0
NO_SPACE = "No space left on device"


def value(row: int) -> bytes:
    """Bytes that nothing can compress."""
    return random.Random(row).randbytes(ROW_BYTES)


def expected() -> list[int]:
    """What the rounds give, computed without Spark."""
    first = sum(zlib.crc32(value(row)) for row in range(ROWS))
    turned = sum(zlib.crc32(value(row)[::-1]) for row in range(ROWS))
    return [first if number % 2 == 0 else turned for number in range(ROUNDS)] + [first]


def rounds(spark: Any, rest: Callable[[], object]) -> list[int]:
    """A check sum of each round, and once more of the first; `rest` after each."""
    made = spark.sparkContext.parallelize(range(ROWS), TASKS).map(lambda row: (row, value(row))).partitionBy(TASKS)
    kept = [made]
    sums = [_sum(made)]
    for _ in range(ROUNDS - 1):
        rest()
        made = made.map(lambda pair: (pair[0] + 1, pair[1][::-1])).partitionBy(TASKS)
        kept.append(made)
        sums.append(_sum(made))
    rest()
    return [*sums, _sum(kept[0])]


def _sum(rdd: Any) -> int:
    found: int = rdd.map(lambda pair: zlib.crc32(pair[1])).sum()
    return found


@contextmanager
def plugin(spark: Any, policy: str, store: str) -> Iterator[str]:
    """The application's id; empty without a policy."""
    if not policy:
        yield ""
        return
    with listener_bridge.attach(spark, policy=policy, store=store, pressure_high=HIGH, pressure_low=LOW) as attached:
        yield attached.application


def until_there_is_room(local_dir: Path) -> None:
    def has_room() -> bool:
        disk = shutil.disk_usage(local_dir)
        return 100 * disk.used <= HIGH * disk.total

    wait_for(has_room, f"the disk at {HIGH} % or less", PATIENCE_S)


def until_all_is_done(store: str, application: str) -> None:
    """Every generation that was to be fenced is gone, or was refused."""

    def is_done() -> bool:
        log = stored(store, application)
        ended = {event.shuffle_id for event in of(log, e.GenerationDeleted)}
        refused = {event.directive for event in of(log, e.FenceRefused)}
        return all(fence.shuffle_id in ended or fence.directive in refused for fence in of(log, e.FenceRequested))

    wait_for(is_done, "an outcome of every fence", PATIENCE_S)


def run(local_dir: Path, store: str, policy: str) -> dict[str, Any]:
    """What became of the program."""
    with spark_session(local_dir, **{"spark.shuffle.compress": "false"}) as spark, plugin(spark, policy, store) as app:
        try:
            if policy == "pressure":
                sums, death = rounds(spark, lambda: until_there_is_room(local_dir)), ""
                until_all_is_done(store, app)
            else:
                sums, death = rounds(spark, lambda: None), ""
        except Exception as error:  # noqa: BLE001 - py4j's, whatever it is called: it is told
            sums, death = [], NO_SPACE if NO_SPACE in str(error) else str(error)
        return {"policy": policy, "application": app, "sums": sums, "death": death}


if __name__ == "__main__":
    for chosen in ("", "observe", "pressure"):
        print(json.dumps(run(Path(sys.argv[1]), sys.argv[2], chosen)), flush=True)
