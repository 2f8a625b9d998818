"""One run: a cluster, drivers, a schedule of faults, and the verdict.

    python -m tests.faults.run --seconds 60                 a new seed, printed
    python -m tests.faults.run --seconds 60 --seed 7        that schedule again
    python -m tests.faults.run --seconds 60 --only PAUSE_LEADER --only CUT

Responsible for the order of things: start, harm, heal, rest, read, check, end. Refuses to judge (`checker`). Invariant:
the seed and the schedule are printed before anything happens; histories and logs stay in the folder when it fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from shuffle_lifecycle.v1 import common_pb2, service_pb2, service_pb2_grpc

from tests.faults import checker, history, namespaces, store
from tests.faults.cluster import ADMINISTRATOR, DRIVERS, ROOT, Cluster, running_cluster
from tests.faults.disk import Slowness
from tests.faults.history import Recorder
from tests.faults.namespaces import Namespaces
from tests.faults.nemesis import DriverProcesses, Nemesis
from tests.faults.network import Network, Proxy
from tests.faults.schedule import REPLICAS, Fault, Kind, schedule

DONE_S = 90.0
#: Shorter than people would choose: so that a run sees them pass.
SILENCE_S, HEARTBEAT_S, LEASE_S = 20.0, 2.0, 5.0
SETTINGS = {
    "SHUFFLECTL_SERVE__SILENCE_S": str(SILENCE_S),
    "SHUFFLECTL_SERVE__HEARTBEAT_S": str(HEARTBEAT_S),
    "SHUFFLECTL_SERVE__LEASE_S": str(LEASE_S),
    "SHUFFLECTL_SERVE__SNAPSHOT_EVERY_EVENTS": "200",
}
#: What delays a fence by itself, and must end by itself.
WAITING = (common_pb2.HOLD_NONE, common_pb2.HOLD_GRACE, common_pb2.HOLD_BACKOFF)
#: Room for the logs of so long, and no more: so that it can be filled.
QUOTA_BYTES, QUOTA_BYTES_A_SECOND = 64 << 20, 256 << 10


def etcd_arguments(seconds: float) -> tuple[str, ...]:
    """Members that forget their history soon, as they should in production, and can run out of space."""
    quota = int(QUOTA_BYTES + seconds * QUOTA_BYTES_A_SECOND)
    compaction = ("--auto-compaction-mode", "revision", "--auto-compaction-retention", "2000")
    return ("--quota-backend-bytes", str(quota), "--snapshot-count", "2000", *compaction)


@dataclass(eq=False)
class DriverProcess:
    """One process of drivers."""

    process: subprocess.Popen[str]
    applications: list[str]
    history: Path

    def say(self, what: str) -> str:
        """Tells it, and waits for what it says to that."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@dataclass
class Drivers(DriverProcesses):
    """All processes of drivers. One that is killed is replaced by a new one, with new applications."""

    folder: Path
    addresses: Sequence[str]
    seed: int
    each: int
    pace_s: float
    slowness: Slowness = field(default_factory=Slowness)
    newer: bool = False  #: They tell what an older release does not know.
    within: Sequence[str] = ()  #: What the command begins with (`Network.within`).
    running: list[DriverProcess] = field(default_factory=list)
    started: int = 0

    def start(self) -> DriverProcess:
        """One more process."""
        self.started += 1
        path = self.folder / f"drivers-{self.started}.jsonl"
        command = [*self.within, sys.executable, "-m", "tests.faults.drivers", "--history", str(path)]
        command += ["--addresses", ",".join(self.addresses), "--applications", str(self.each)]
        command += ["--seed", str(self.seed * 100 + self.started), "--pace-s", str(self.pace_s)]
        command += ["--fence-s", str(self.slowness.fence_s), "--free-s", str(self.slowness.free_s)]
        command += ["--newer"] if self.newer else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto")])}
        with (self.folder / f"drivers-{self.started}.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert process.stdout is not None
        one = DriverProcess(process, process.stdout.readline().split(), path)
        self.running.append(one)
        return one

    def applications(self) -> list[str]:
        return [name for one in self.running for name in one.applications]

    def kill_one(self) -> list[str]:
        killed = self.kill_first()
        self.start()
        return killed.applications

    def kill_first(self) -> DriverProcess:
        """Without a new one in its place."""
        killed = self.running.pop(0)
        killed.process.kill()
        killed.process.wait()
        return killed

    def pause_one(self) -> tuple[list[str], Callable[[], None]]:
        paused = self.running[-1]
        os.kill(paused.process.pid, signal.SIGSTOP)
        return paused.applications, lambda: os.kill(paused.process.pid, signal.SIGCONT)

    def rest(self) -> list[str]:
        """Has all of them finish what they tell; what is wrong with it."""
        return [f"{one.applications}: not all was answered" for one in self.running if one.say("rest") != "resting"]

    def end(self) -> None:
        """Ends all in order."""
        for one in self.running:
            one.say("end")
            one.process.wait(30)

    def kill(self) -> None:
        """Ends what is left."""
        for one in self.running:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()


class SparkJob:
    """One real application, in a process of its own."""

    def __init__(self, folder: Path, cluster: Cluster, seconds: float, seed: int) -> None:
        """Returns when it has begun to be harmed."""
        (folder / "spark").mkdir()
        command = [*cluster.network.within(DRIVERS), sys.executable, "-m", "tests.faults.spark_job"]
        command += [str(folder), ",".join(cluster.addresses)]
        command += [str(seconds), str(seed)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto")])}
        with (folder / "spark.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self._say("running")

    def _say(self, expected: str) -> None:
        assert self.process.stdout is not None
        said = self.process.stdout.readline().strip()
        if said != expected:
            raise RuntimeError(f"the Spark application said {said!r}, expected {expected!r}; see spark.log")

    def end(self) -> tuple[list[str], int]:
        """What was wrong, and how many jobs it ran."""
        said, _ = self.process.communicate(timeout=DONE_S)
        if self.process.returncode or not said.strip():
            return [f"spark: the application ended with {self.process.returncode}; see spark.log"], 0
        told = json.loads(said.strip().splitlines()[-1])
        return [f"spark: {wrong}" for wrong in told["wrong"]], told["jobs"]

    def kill(self) -> None:
        """If it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@dataclass
class Verdict:
    """How a run went."""

    wrong: list[str]
    counts: dict[str, int]


def run(
    folder: Path,
    seed: int,
    faults: Sequence[Fault],
    seconds: float,
    processes: int = 2,
    each: int = 5,
    with_spark: bool = False,
    older: Sequence[str] = (),
    network: Callable[[], Network] = Proxy,
) -> Verdict:
    """The whole of it. ``older``: replicas that are of the older release, until all is healed."""
    recorder = Recorder(folder / "nemesis.jsonl")
    two = bool(older) or any(fault.kind is Kind.OLDER_REPLICA for fault in faults)
    releases = older if two else None
    with (
        running_cluster(folder, 3, SETTINGS, etcd_arguments(seconds), older=releases, network=network) as cluster,
        _drivers(folder, cluster, seed, each, two) as drivers,
        _spark(folder, cluster, seconds if with_spark else 0.0, seed) as spark,
    ):
        for _ in range(processes):
            drivers.start()
        nemesis = Nemesis(cluster, recorder, drivers)
        harm(nemesis, faults, seconds)
        cluster.heal()
        wrong, jobs = spark.end() if spark is not None else ([], 0)
        wrong += drivers.rest()
        wrong += await_done(cluster, drivers)
        found = checker.check(store.of_etcd(cluster), history.read(folder.glob("*.jsonl")))
        wrong += found.wrong
        drivers.end()
        wrong += left_behind(cluster, set(drivers.applications()))
        counts = {**found.counts, "faults": len(faults) - len(nemesis.failures)}
        return Verdict(wrong, {**counts, "jobs of Spark": jobs} if spark is not None else counts)


@contextmanager
def _drivers(folder: Path, cluster: Cluster, seed: int, each: int, newer: bool) -> Iterator[Drivers]:
    drivers = Drivers(
        folder, cluster.addresses, seed, each, pace_s=0.2, newer=newer, within=cluster.network.within(DRIVERS)
    )
    try:
        yield drivers
    finally:
        drivers.kill()


@contextmanager
def _spark(folder: Path, cluster: Cluster, seconds: float, seed: int) -> Iterator[SparkJob | None]:
    if not seconds:
        yield None
        return
    job = SparkJob(folder, cluster, seconds, seed)
    try:
        yield job
    finally:
        job.kill()


def harm(nemesis: Nemesis, faults: Sequence[Fault], seconds: float) -> None:
    """Carries out the schedule, by the clock."""
    began_s = time.monotonic()
    for fault in faults:
        time.sleep(max(0.0, began_s + fault.at_s - time.monotonic()))
        nemesis.begin(fault)
    nemesis.join()
    time.sleep(max(0.0, began_s + seconds - time.monotonic()))


def await_done(cluster: Cluster, drivers: Drivers) -> list[str]:
    """Until every directive has its outcome, and what is let go and only waits for its time is deleted."""
    deadline_s = time.monotonic() + DONE_S
    left: dict[str, int] = {}
    with grpc.insecure_channel(next(iter(cluster.servers.values())).endpoint) as channel:
        stub = service_pb2_grpc.ShuffleLifecycleStub(channel)
        while time.monotonic() < deadline_s:
            left = {name: count for name in drivers.applications() if (count := _outstanding(stub, name))}
            if not left:
                return []
            time.sleep(0.2)
    return [
        f"fence: {name} has {count} directives or fences to come after {DONE_S:g} s" for name, count in left.items()
    ]


def _outstanding(stub: service_pb2_grpc.ShuffleLifecycleStub, name: str) -> int:
    """How many directives and fences wait; an application that nobody can be asked about counts as one."""
    caller = service_pb2.Caller(application=name, token=ADMINISTRATOR)
    expired = service_pb2.ListShufflesRequest(caller=caller, lives=[common_pb2.LIFE_EXPIRED], page_size=1_000)
    try:
        reply = stub.ListDirectives(service_pb2.ListDirectivesRequest(caller=caller), timeout=10, wait_for_ready=True)
        shuffles = stub.ListShuffles(expired, timeout=10).shuffles
        return len(reply.directives) + sum(shuffle.hold in WAITING for shuffle in shuffles)
    except grpc.RpcError:
        return 1


def left_behind(cluster: Cluster, ended: set[str], within_s: float = 30.0) -> list[str]:
    """What applications that have ended leave in the store: their logs, and nothing that waits."""
    deadline_s = time.monotonic() + within_s
    while True:
        keys = [key for key in store.of_etcd(cluster) if key.split("/")[0] in ("live", "expired", "fenced", "sessions")]
        left = [key for key in keys if key.split("/")[1] in ended]
        if not left or time.monotonic() > deadline_s:
            return [f"left behind: {key}" for key in left[:5]]
        time.sleep(0.2)


def end_in_order() -> None:
    """SIGTERM ends this process as Ctrl-C does, and with it all that it started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def network_of(asked: str | None) -> type[Network]:
    """The one that was asked for; else namespaces, where they can be made."""
    why_not = namespaces.why_not() if asked != "proxy" else ""
    if why_not and asked:
        raise SystemExit(f"{why_not}; expected root on Linux, with ip, nsenter and /dev/net/tun; or ask for the proxy")
    if why_not:
        print(f"{why_not}: a TCP proxy in their place")
    return Proxy if asked == "proxy" or why_not else Namespaces


def main() -> int:
    """Prints the seed, the schedule and the verdict; gives 1 if something is wrong."""
    end_in_order()
    asked = _asked()
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(1 << 30)
    faults = schedule(seed, asked.seconds, tuple(Kind[name] for name in asked.only) if asked.only else tuple(Kind))
    network = network_of(asked.network)
    print(_command(asked, seed, network))
    print("\n".join(map(str, faults)), flush=True)
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    verdict = run(folder, seed, faults, asked.seconds, asked.processes, asked.each, asked.spark, asked.older, network)
    for name, count in sorted(verdict.counts.items()):
        print(f"{count:10,}  {name}")
    print("\n".join(verdict.wrong) or "nothing is wrong")
    print(f"histories and logs: {folder}")
    return 1 if verdict.wrong else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Real processes, real faults, and a checker.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--only", action="append", choices=[kind.name for kind in Kind], help="this kind of fault alone"
    )
    parser.add_argument("--processes", type=int, default=2, help="processes of drivers")
    parser.add_argument("--each", type=int, default=5, help="drivers in each of them")
    parser.add_argument("--spark", action="store_true", help="a real PySpark application among them")
    parser.add_argument(
        "--network", choices=("namespaces", "proxy"), default=None, help="namespaces where they can be made, else proxy"
    )
    parser.add_argument(
        "--older", action="append", default=[], choices=REPLICAS, help="of the older release until the end"
    )
    parser.add_argument("--folder", type=Path, default=None, help="where histories and logs are kept")
    return parser.parse_args()


def _command(asked: argparse.Namespace, seed: int, network: type[Network]) -> str:
    """What repeats this run."""
    only = "".join(f" --only {name}" for name in asked.only or ()) + "".join(f" --older {r}" for r in asked.older)
    what = f"--seconds {asked.seconds:g} --seed {seed}{only} --network {network.__name__.lower()}"
    drivers = f"--processes {asked.processes} --each {asked.each}{' --spark' if asked.spark else ''}"
    return f"python -m tests.faults.run {what} {drivers}"


if __name__ == "__main__":
    sys.exit(main())
