"""The application that ``latency`` times: a loop that frees a shuffle a round.

python -m benchmarks.latency_job FOLDER ROUNDS MEGABYTES
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.cost_job import session
from coordinator.demo.workloads import grow
from listener_bridge import attach


def main() -> None:
    folder, rounds, megabytes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (folder / "events").as_uri()}
    spark = session(folder, {**logged, "spark.diskStore.subDirectories": "1"})  # so that a look at the disk is cheap
    with attach(spark, policy="frontier", store=f"sqlite://{folder}/coordinator.db") as attached:
        grow(spark, megabytes, rounds)
        status = attached.status()
    spark.stop()
    found = {"application": attached.application, "fence_median_ms": status.fence_median_ms, "busy": status.busy}
    (folder / "result.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
