"""How long does a driver wait for its next answer when its replica, or the etcd leader, is killed?

Three etcd members with etcd's own time-outs, three replicas, all of them processes; twenty simulated drivers as load;
and one driver that asks all the time through its session, and whose replica is killed, under it, again and again. The
wait is from the kill to the first answer to a question asked after it. A killed process is back before the next kill.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from shuffle_lifecycle.v1 import service_pb2

if TYPE_CHECKING:
    from tests.faults.cluster import Cluster
    from tests.faults.driver import Driver

_REPLICA_KILLS, _LEADER_KILLS = 50, 10
_QUICK_KILLS = 2
_LOAD_DRIVERS = 20
_PACE_S = 10.0
_SETTLED_S = 1.0
_PATIENCE_S = 60.0


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    replicas, leaders = (_QUICK_KILLS, _QUICK_KILLS) if wishes.quick else (_REPLICA_KILLS, _LEADER_KILLS)
    table = Table(title=f"Seconds from a SIGKILL to the next answer, {_LOAD_DRIVERS} other drivers at work")
    for heading in ("killed", "times", "median", "p95", "max", "answers/s before"):
        table.add_column(heading, justify="left" if heading == "killed" else "right")
    with tempfile.TemporaryDirectory(prefix="bench-failover-") as folder, _world(Path(folder)) as (cluster, asker):
        _row(table, "the session's replica", asker, replicas, lambda: _replica_of(cluster, asker), cluster)
        _row(table, "the etcd leader", asker, leaders, lambda: _leader_of(cluster), cluster)
    console.print(table)


@dataclass
class Asker:
    """Asks one question after the other, and keeps when each was asked and answered."""

    driver: Driver
    answered: list[tuple[float, float]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, name="asker", daemon=True).start()

    def _run(self) -> None:
        while not self.over.is_set():
            asked_s = time.monotonic()
            self.driver.ask(register_client=service_pb2.RegisterClient(client="asker"))
            self.answered.append((asked_s, time.monotonic()))

    def rate(self, since_s: float) -> float:
        return sum(end_s >= since_s for _, end_s in self.answered) / max(0.001, time.monotonic() - since_s)

    def await_answer(self, asked_after_s: float) -> float:
        """When the first answer to a question asked after that moment came."""
        deadline_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline_s:
            found = [end_s for asked_s, end_s in self.answered[-1_000:] if asked_s >= asked_after_s]
            if found:
                return found[0]
            time.sleep(0.001)
        raise TimeoutError(f"no answer within {_PATIENCE_S:g} s")


@contextmanager
def _world(folder: Path) -> Iterator[tuple[Cluster, Asker]]:
    from tests.faults.cluster import running_cluster
    from tests.faults.driver import Driver
    from tests.faults.history import Recorder
    from tests.faults.run import Drivers

    with running_cluster(folder, direct=True) as cluster:
        load = Drivers(folder, cluster.addresses, seed=1, each=_LOAD_DRIVERS, pace_s=_PACE_S)
        recorder = Recorder(folder / "asker.jsonl")
        asker = Asker(Driver("asker", cluster.addresses, recorder, seed=1, pace_s=1.0))
        try:
            load.start()
            asker.driver.start_quiet()
            asker.start()
            yield cluster, asker
        finally:
            asker.over.set()
            asker.driver.end()
            load.kill()


def _row(table: Table, what: str, asker: Asker, kills: int, target: Callable[[], str], cluster: Cluster) -> None:
    settled_s = time.monotonic()
    time.sleep(_SETTLED_S)
    rate = asker.rate(settled_s)
    waits = sorted(_kill_once(asker, cluster, target()) for _ in range(kills))
    p95 = waits[min(len(waits) - 1, int(0.95 * len(waits)))]
    cells = (len(waits), f"{statistics.median(waits):.3f}", f"{p95:.3f}", f"{waits[-1]:.3f}", f"{rate:.0f}")
    table.add_row(what, *map(str, cells))


def _kill_once(asker: Asker, cluster: Cluster, name: str) -> float:
    killed_s = time.monotonic()
    cluster.kill(name)
    wait_s = asker.await_answer(time.monotonic()) - killed_s
    cluster.heal()
    cluster.await_members()
    settled_s = time.monotonic()
    asker.await_answer(settled_s)
    time.sleep(_SETTLED_S)
    return wait_s


def _replica_of(cluster: Cluster, asker: Asker) -> str:
    """Which replica holds the asker's session now."""
    address = asker.driver.address
    return next(name for name, server in cluster.servers.items() if address.endswith(f":{server.port}"))


def _leader_of(cluster: Cluster) -> str:
    leader = cluster.leader()
    if leader is None:
        raise RuntimeError("etcd has no leader; expected one before the next kill")
    return leader
