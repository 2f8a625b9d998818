"""Verbs that take `--master` on a cluster whose executors are processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.replay import told
from benchmarks.size_load import APPLICATION
from coordinator.wire.logfile import write_log
from tests.support.standalone import free_port, standalone

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
_JOBS = 20


def test_report_reads_a_log_in_executors_of_a_standalone_cluster(tmp_path: Path) -> None:
    log = tmp_path / "chain.log"
    log.write_bytes(b"".join(write_log(told(_JOBS))))
    shufflectl = Path(sys.executable).with_name("shufflectl")
    with standalone(tmp_path, free_port()) as master:
        command = [str(shufflectl), "--log", str(log), "-o", "json", "report", "--all", "--master", master]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (weighed,) = json.loads(done.stdout)["applications"]
    assert (weighed["application"], weighed["generations"]) == (APPLICATION, _JOBS)
