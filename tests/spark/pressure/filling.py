"""A program that writes more shuffle data than its disk holds, with and without the plugin.

`python -m tests.spark.pressure.filling LOCAL_DIR STORE`: the same rounds in one JVM after the other without the plugin,
under `observe` and under `pressure`; what became of each, as a line of JSON.

Responsible for a program as people write it: each round makes a new shuffle from the one before, and all of them stay
in a list, so that nothing but pressure lets go of one. Refuses to know what a test expects. Invariant: the result says
what every round wrote, and that of the first round is read again at the end.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import listener_bridge
from tests.support.spark import spark_session

ROWS = 64
ROW_BYTES = 16_384
ROUNDS = 26
TASKS = 2
#: Of the disk, in percent. From the high watermark to a full disk it takes ten rounds, so that a store that takes half
#: a second a commit does not decide what becomes of the program.
HIGH, LOW = 40, 25
NO_SPACE = "No space left on device"


def value(row: int) -> bytes:
    """Bytes that nothing can compress."""
    return random.Random(row).randbytes(ROW_BYTES)


def expected() -> list[int]:
    """What the rounds give, computed without Spark."""
    first = sum(zlib.crc32(value(row)) for row in range(ROWS))
    turned = sum(zlib.crc32(value(row)[::-1]) for row in range(ROWS))
    return [first if number % 2 == 0 else turned for number in range(ROUNDS)] + [first]


def rounds(spark: Any) -> list[int]:
    """A check sum of each round, and once more of the first."""
    made = spark.sparkContext.parallelize(range(ROWS), TASKS).map(lambda row: (row, value(row))).partitionBy(TASKS)
    kept = [made]
    sums = [_sum(made)]
    for _ in range(ROUNDS - 1):
        made = made.map(lambda pair: (pair[0] + 1, pair[1][::-1])).partitionBy(TASKS)
        kept.append(made)
        sums.append(_sum(made))
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


def run(local_dir: Path, store: str, policy: str) -> dict[str, Any]:
    """What became of the program."""
    with spark_session(local_dir, **{"spark.shuffle.compress": "false"}) as spark, plugin(spark, policy, store) as app:
        try:
            sums, death = rounds(spark), ""
        except Exception as error:  # noqa: BLE001 - py4j's, whatever it is called: it is told
            sums, death = [], NO_SPACE if NO_SPACE in str(error) else str(error)
        return {"policy": policy, "application": app, "sums": sums, "death": death}


if __name__ == "__main__":
    for chosen in ("", "observe", "pressure"):
        print(json.dumps(run(Path(sys.argv[1]), sys.argv[2], chosen)), flush=True)
