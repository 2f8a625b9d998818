"""`make cluster`: three members, three replicas, and nothing left of them afterwards."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from coordinator.cli.exits import Exit
from tests.integration.cli.processes import PATIENCE_S, ROOT, environment, shufflectl

pytestmark = pytest.mark.etcd

TOOL = (sys.executable, str(ROOT / "tools/cluster.py"))


@dataclass
class Started:
    """The tool, and what it says that it has started."""

    process: subprocess.Popen[str]
    servers: str
    token: str
    children: list[psutil.Process]

    def await_end(self) -> None:
        """Until all of it is gone."""
        _, alive = psutil.wait_procs(self.children, PATIENCE_S)
        assert alive == []


@contextmanager
def cluster(folder: Path, *command: str) -> Iterator[Started]:
    process = subprocess.Popen(command, env=environment(folder), stdout=subprocess.PIPE, text=True)
    started = Started(process, "", "", [])
    try:
        assert process.stdout is not None
        for line in process.stdout:
            started.children += [psutil.Process(int(pid)) for pid in re.findall(r" pid (\d+)$", line.rstrip())]
            if server := re.search(r"SHUFFLECTL_SERVER=(\S+)", line):
                started.servers = server[1]
            if token := re.search(r"SHUFFLECTL_TOKEN=(\S+)", line):
                started.token = token[1]
            if "Ctrl-C stops it all" in line:
                break
        yield started
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        for child in started.children:
            if child.is_running():
                child.kill()


def test_a_cluster_to_play_with(tmp_path: Path) -> None:
    with cluster(tmp_path, *TOOL) as started:
        assert len(started.children) == 6
        asked = ("--server", started.servers, "-o", "json")
        assert shufflectl(tmp_path, "replicas", *asked).code == Exit.REFUSED
        rows = shufflectl(tmp_path, "replicas", *asked, f"--token={started.token}").data
        assert {row["address"] for row in rows} == set(started.servers.split(","))
        started.process.send_signal(signal.SIGINT)
        assert started.process.wait(PATIENCE_S) == 0
        started.await_end()


@pytest.mark.parametrize("who", ["whoever started it", "the tool itself"])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_nothing_is_left_when_somebody_is_killed(tmp_path: Path, who: str) -> None:
    small = [*TOOL, "--etcd", "1", "--replicas", "1"]
    command = ["bash", "-c", '"$@" & wait', "-", *small] if who == "whoever started it" else small
    with cluster(tmp_path, *command) as started:
        assert len(started.children) == 2
        started.process.kill()
        started.await_end()
