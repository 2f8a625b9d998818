"""Coordinator replicas as processes of their own, which can be killed.

Responsible for: starting one over a store at a port, killing it as a crash does, starting another one in its place.
Refuses to know: who talks to it. Invariant: only processes that it started are ended; all of them are, with the block.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.etcd import free_ports

ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = """
import sys, threading
from coordinator import logs
logs.through_logging()  # what is read from stdout is the address alone
from coordinator.app import start_replica
print(start_replica(sys.argv[1], sys.argv[2]).address, flush=True)
threading.Event().wait()
"""


@dataclass
class ReplicaProcess:
    """One replica after the other, over one store, at one address."""

    store: str
    address: str = field(default_factory=lambda: f"127.0.0.1:{free_ports(1)[0]}")
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it serves."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto")])}
        command = [sys.executable, "-c", _PROGRAM, self.store, self.address]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip(), "the replica did not start"

    def kill(self) -> None:
        """As a crash: no goodbye, nothing drained."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@contextmanager
def replica_process(store: str) -> Iterator[ReplicaProcess]:
    replica = ReplicaProcess(store)
    replica.start()
    try:
        yield replica
    finally:
        replica.kill()
