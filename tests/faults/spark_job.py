"""A real PySpark application among the simulated ones: `… -m tests.faults.spark_job FOLDER ADDRESSES SECONDS SEED`.

Responsible for jobs of many shapes under `eager`, which deletes too early, and for comparing each result with what the
same job gave without the plugin. Refuses to know what happens to replicas and the store. Invariant: the last line that
it prints is JSON: how many jobs ran, what was wrong, and how much was deleted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from listener_bridge import attach
from tests.spark.chaos.driving import Driving, undisturbed
from tests.spark.chaos.workloads import SETTINGS
from tests.support.spark import start_session

PREMATURE = 1_000_000


def main() -> None:
    """Runs for so long."""
    folder, addresses, seconds, seed = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    spark = start_session(folder / "spark", **SETTINGS)
    expected = undisturbed(spark)
    print("running", flush=True)
    with attach(spark, policy="eager", address=addresses, budget_premature=PREMATURE) as attachment:
        driving = Driving(spark, expected, seed, lambda: False, seconds)
        driving.run()
        status = attachment.status()
    spark.stop()
    told = {"application": attachment.application, "jobs": driving.runs.total(), "wrong": driving.wrong}
    print(json.dumps({**told, "deleted": status.deleted, "fenced": status.fenced}), flush=True)


if __name__ == "__main__":
    main()
