"""Programs as processes of their own, as a person starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.cli.processes import environment

CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "640m",
    "spark.sql.shuffle.partitions": "4",
}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """The command in this folder, which also takes what Spark and the coordinator write."""
    submit = " ".join(f"--conf {key}={value}" for key, value in CONF.items())
    spark = {"PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    named = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(folder / "local")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment(folder), **spark, **named, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
