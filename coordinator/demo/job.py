"""The application: runs workloads in one Spark session and writes down what came out and when.

Responsible for one run. Refuses to measure disks (another process does) and to compare. Invariant: without ``--store``
nothing of the plugin is imported; this is then plain PySpark.

    python -m coordinator.demo.job --folder DIR [--store URL --policy reachable] [--megabytes N] [--conf KEY=VALUE] …
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coordinator.demo.workloads import WORKLOADS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main() -> None:
    wishes = _parse()
    spark = _session(wishes)
    with _plugin(spark, wishes) as attached:
        results = [_run(spark, name, wishes.megabytes) for name in wishes.workloads]
    found = {
        "application": str(attached.application) if attached is not None else "",
        "spark": spark.version,
        "workloads": results,
    }
    spark.stop()
    (wishes.folder / "result.json").write_text(json.dumps(found))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--store", default="")
    parser.add_argument("--address", default="")
    parser.add_argument("--policy", default="reachable")
    parser.add_argument("--megabytes", type=int, default=60)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    return parser.parse_args()


def _session(wishes: argparse.Namespace) -> SparkSession:
    from pyspark.sql import SparkSession

    for folder in ("local", "events"):
        (wishes.folder / folder).mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.local.dir": str(wishes.folder / "local"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (wishes.folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(wishes.folder / "warehouse"),
        **dict(pair.split("=", 1) for pair in wishes.conf),
    }
    builder = SparkSession.builder.master(wishes.master).appName("shuffle-demo")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _plugin(spark: SparkSession, wishes: argparse.Namespace) -> AbstractContextManager[Any]:
    if not wishes.store and not wishes.address:
        return nullcontext()
    from listener_bridge import attach

    where = {"store": wishes.store} if wishes.store else {"address": wishes.address}
    return cast("AbstractContextManager[Any]", attach(spark, policy=wishes.policy, **where))


def _run(spark: SparkSession, name: str, megabytes: int) -> dict[str, Any]:
    begun = time.time()
    value = WORKLOADS[name](spark, megabytes)
    return {"name": name, "begun": begun, "ended": time.time(), "value": value}


if __name__ == "__main__":
    main()
