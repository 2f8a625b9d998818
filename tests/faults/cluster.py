"""Three etcd members and three replicas, as processes, with a network between them that can be told to misbehave.

Responsible for starting, killing, pausing and restarting them by name (`e0`…, `r0`…), and for where they are reached.
Refuses to know what is asked of them, and when something goes wrong. Invariant: only processes that it started are
signalled; all of them are ended with the block.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from coordinator.server.tokens import hash_of
from tests.faults.network import LOOPBACK, STRANGER, Network, Port, Proxy
from tests.faults.release import Release
from tests.support import etcd
from tests.support.etcd import Member, PortTaken

ROOT = Path(__file__).resolve().parents[2]
ADMINISTRATOR = "sees every application of a run"
DRIVERS = "driver"
PREFIX = "faults"
START_S = 60.0
#: Where systems give outgoing connections their ports from 32768 on, as Linux does.
BELOW_EPHEMERAL = range(12_000, 32_000)
#: etcd's own defaults, which is what people run.
HEARTBEAT_MS, ELECTION_MS = 100, 1_000
SERVICE = "shuffle_lifecycle.v1.ShuffleLifecycle"


@dataclass
class Server:
    """One coordinator process after the other, at one port. ``settings``: of `shufflectl serve`, as environment."""

    name: str
    folder: Path
    port: int
    store: str
    advertise: str
    settings: dict[str, str] = field(default_factory=dict)
    host: str = LOOPBACK
    within: tuple[str, ...] = ()  #: What its command begins with (`Network.within`).
    release: Release | None = None  #: None: of the code as it is.
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    _starting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def endpoint(self) -> str:
        """Where a test reaches it, past the network."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def clock(self) -> Path:
        """Where its process reads by how much its clock is off."""
        return self.folder / f"{self.name}.clock"

    def start(self) -> None:
        """Returns at once; `await_serving` waits. One that runs goes on."""
        with self._starting:
            if self.process is None or self.process.poll() is not None:
                self._launch()

    def has_given_up(self) -> bool:
        """It has ended by itself, as it does where it finds no store when it starts."""
        return self.process is not None and (self.process.poll() or 0) > 0

    def _launch(self) -> None:
        self.starts += 1
        history = self.folder / f"replica-{self.name}-{self.starts}.jsonl"
        module = ["replica"] if self.release is None else ["release", self.release.name.lower()]
        command = [*self.within, sys.executable, "-m", f"tests.faults.{module[0]}", *module[1:]]
        command += [str(history), str(self.clock), self.name]
        command += ["serve", "--listen", f"{self.host}:{self.port}", "--log-level", "info"]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self._environment(), stdout=log, stderr=log)

    def await_serving(self, within_s: float = START_S) -> None:
        """Waits until it says of itself that it serves."""
        with grpc.insecure_channel(self.endpoint) as channel:
            grpc.channel_ready_future(channel).result(within_s)
            asked = health_pb2.HealthCheckRequest(service=SERVICE)
            for status in health_pb2_grpc.HealthStub(channel).Watch(asked, timeout=within_s):
                if status.status == health_pb2.HealthCheckResponse.SERVING:
                    return

    def kill(self) -> None:
        """As a crash: no goodbye."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SHUFFLECTL_")}
        mine = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto")]),
            "XDG_CONFIG_HOME": str(self.folder),
            "SHUFFLECTL_STORE": self.store,
            "SHUFFLECTL_SERVE__ADVERTISE": self.advertise,
            "SHUFFLECTL_SERVE__BEYOND_LOOPBACK": str(self.host != LOOPBACK).lower(),
            "SHUFFLECTL_SERVE__ADMINISTRATORS": hash_of(ADMINISTRATOR),
        }
        return {**inherited, **mine, **self.settings}


@dataclass
class Cluster:
    """The processes, by name; and how they reach one another."""

    network: Network
    members: dict[str, Member]
    servers: dict[str, Server]
    addresses: tuple[str, ...]  #: Where drivers reach the replicas, through the network.
    paused: set[str] = field(default_factory=set)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.servers, *self.members)

    def running(self, name: str) -> bool:
        """Whether there is such a process now, paused or not."""
        process = self._process(name)
        return process is not None and process.poll() is None

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.paused.discard(name)
        (self.servers.get(name) or self.members[name]).kill()

    def restart(self, name: str) -> None:
        """On the same data, at the same ports; waits for a replica to serve, and not for a member, which may need
        others."""
        if name in self.members:
            self.members[name].launch()
        else:
            self.servers[name].start()

    def exchange(self, name: str, release: Release) -> None:
        """Kills a replica, and starts one of that release in its place."""
        self.kill(name)
        self.servers[name].release = release
        self.restart(name)

    def upgrade(self) -> None:
        """Nobody is of the older release any more."""
        for name, server in self.servers.items():
            if server.release is Release.OLDER:
                self.exchange(name, Release.NEWER)

    def supervise(self) -> None:
        """Starts again whoever has given up, as a supervisor does."""
        for server in self.servers.values():
            if server.has_given_up():
                server.start()

    def pause(self, name: str) -> None:
        """SIGSTOP."""
        self._signal(name, signal.SIGSTOP)
        self.paused.add(name)

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self._signal(name, signal.SIGCONT)
        self.paused.discard(name)

    def set_clock(self, name: str, off_s: float) -> None:
        """Has a replica's clock be off by so much, from now on."""
        self.servers[name].clock.write_text(str(off_s))

    def leader(self) -> str | None:
        """The member that leads now, as far as one of them says."""
        for name, member in self.members.items():
            if name in self.paused or member.process is None:
                continue
            with suppress(subprocess.SubprocessError, KeyError, ValueError):
                status = self.etcdctl(name, "endpoint", "status", "--write-out", "json", "--command-timeout", "2s")
                told = json.loads(status)[0]["Status"]
                if told["leader"] == told["header"]["member_id"]:
                    return name
        return None

    def etcdctl(self, name: str, *arguments: str) -> str:
        """What etcd's own client hears from this member, past the network."""
        command: list[str | Path] = [
            etcd.etcd_bin() / "etcdctl",
            "--endpoints",
            self.members[name].endpoint,
            *arguments,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=2 * START_S).stdout

    def await_members(self) -> None:
        """Until every member answers a read, which takes a leader, and no space."""
        for name in self.members:
            self.etcdctl(name, "get", "nothing", "--command-timeout", f"{START_S:g}s")

    def revision(self, name: str) -> int:
        """How far the store is, as this member says."""
        status = self.etcdctl(name, "endpoint", "status", "--write-out", "json")
        revision: int = json.loads(status)[0]["Status"]["header"]["revision"]
        return revision

    def make_room(self) -> None:
        """What an operator does when etcd is out of space: compact, defragment every member, disarm the alarm."""
        able = [name for name, member in self.members.items() if member.process is not None and name not in self.paused]
        with suppress(subprocess.CalledProcessError):  # it is compacted already
            self.etcdctl(able[0], "compact", str(self.revision(able[0])))
        for name in able:
            self.etcdctl(name, "defrag", "--command-timeout", f"{START_S:g}s")
        self.etcdctl(able[0], "alarm", "disarm")

    def heal(self) -> None:
        """Every process runs, of the newest release; every byte arrives."""
        self.network.heal_all()
        for server in self.servers.values():
            server.clock.unlink(missing_ok=True)
        for name in tuple(self.paused):
            self.resume(name)
        self.upgrade()
        for name in self.names:
            if not self.running(name):
                self.restart(name)
        self.await_members()
        if "NOSPACE" in self.etcdctl(next(iter(self.members)), "alarm", "list"):
            self.make_room()
        for server in self.servers.values():
            self._await(server)

    def _await(self, server: Server) -> None:
        """A replica may have given up while there was no store to be had; it is started again, as a supervisor does."""
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            if server.process is None or server.process.poll() is not None:
                server.start()
            with suppress(grpc.FutureTimeoutError, grpc.RpcError):
                server.await_serving(5.0)
                return
        raise TimeoutError(f"replica {server.name} does not serve {START_S:g} s after everything was healed")

    def _process(self, name: str) -> subprocess.Popen[str] | subprocess.Popen[bytes] | None:
        return self.servers[name].process if name in self.servers else self.members[name].process

    def _signal(self, name: str, number: signal.Signals) -> None:
        process = self._process(name)
        if process is not None and process.poll() is None:
            os.kill(process.pid, number)


def stable_ports(count: int) -> list[int]:
    """Ports that are free, all different, and that no connection is given while their process is down."""
    found: list[int] = []
    for port in random.sample(BELOW_EPHEMERAL, len(BELOW_EPHEMERAL)):
        with suppress(OSError), socket.create_server((LOOPBACK, port)):
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"{len(found)} of {count} ports are free from {BELOW_EPHEMERAL[0]} to {BELOW_EPHEMERAL[-1]}")


@contextmanager
def running_cluster(
    folder: Path,
    size: int = 3,
    settings: dict[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    direct: bool = False,
    older: Sequence[str] | None = None,
    network: Callable[[], Network] = Proxy,
) -> Iterator[Cluster]:
    """So many members and replicas that serve, ended at the end. ``arguments``: more of etcd's.

    ``older``: the replicas are of two releases, and these are of the older one; None: all are of the code as it is.

    ``direct``: they reach one another without the network in between, for figures.
    """
    cluster = _with_members(folder, size, settings or {}, arguments, direct, network)
    try:
        for name, server in cluster.servers.items():
            if older is not None:
                server.release = Release.OLDER if name in older else Release.NEWER
            server.start()
        for server in cluster.servers.values():
            server.await_serving()
        yield cluster
    finally:
        _end(cluster)


def _with_members(
    folder: Path,
    size: int,
    settings: dict[str, str],
    arguments: tuple[str, ...],
    direct: bool,
    network: Callable[[], Network],
    tries: int = 3,
) -> Cluster:
    """A cluster whose members are ready; at other ports where somebody was faster."""
    for number in range(tries):
        cluster = _lay_out(network(), folder, folder / f"etcd-{number}", size, settings, arguments, direct)
        try:
            for member, heard in [(member, member.launch()) for member in cluster.members.values()]:
                member.await_ready(heard)
            return cluster
        except PortTaken:
            _end(cluster)
    raise RuntimeError(f"somebody else took a port of ours in each of {tries} tries")


def _end(cluster: Cluster) -> None:
    for name in cluster.names:
        cluster.kill(name)
    cluster.network.close()


@contextmanager
def lone_server(folder: Path, store: str, settings: dict[str, str] | None = None) -> Iterator[Server]:
    """One replica over a store of its own."""
    (port,) = stable_ports(1)
    server = Server("r0", folder, port, store, f"{LOOPBACK}:{port}", settings or {})
    server.start()
    try:
        server.await_serving()
        yield server
    finally:
        server.kill()


def _lay_out(
    network: Network,
    folder: Path,
    data: Path,
    size: int,
    settings: dict[str, str],
    arguments: tuple[str, ...],
    direct: bool,
) -> Cluster:
    ports = iter(stable_ports((5 + size) * size))
    members = _members(data, network, [list(islice(ports, 3)) for _ in range(size)], arguments, direct)
    servers = {}
    for number in range(size):
        name = f"r{number}"
        serving, door, *links = islice(ports, 2 + size)
        if direct:
            advertise, ways = f"{LOOPBACK}:{serving}", [member.endpoint for member in members.values()]
        else:
            ways = [
                network.lay(port, Port(name, target, member.client_port))
                for port, (target, member) in zip(links, members.items(), strict=True)
            ]
            advertise = network.lay(door, Port(DRIVERS, name, serving))
            network.open_door(name, serving)
        store = f"etcd://{','.join(ways)}/{PREFIX}"
        place = network.host(name), network.within(name)
        servers[name] = Server(name, folder, serving, store, advertise, settings, *place)
    return Cluster(network, members, servers, tuple(server.advertise for server in servers.values()))


def _members(
    data: Path, network: Network, ports: list[list[int]], arguments: tuple[str, ...], direct: bool
) -> dict[str, Member]:
    """`ports`: of each, for its clients, its peers' way to it through the network, and its peers."""
    ways = {
        f"e{number}": f"{LOOPBACK}:{door}" if direct else network.lay(door, Port(STRANGER, f"e{number}", peer))
        for number, (_, door, peer) in enumerate(ports)
    }
    initial = ",".join(f"{name}=http://{way}" for name, way in ways.items())
    members = {}
    data.mkdir(parents=True)
    for number, (client, door, peer) in enumerate(ports):
        name = f"e{number}"
        listening = door if direct else peer
        host, way = network.host(name), ways[name]
        more: tuple[str, ...] = ("--listen-peer-urls", f"http://{host}:{listening}")
        more += ("--heartbeat-interval", str(HEARTBEAT_MS), "--election-timeout", str(ELECTION_MS))
        place = None, (*more, *arguments), host, network.within(name)
        members[name] = Member(name, data / name, client, int(way.rpartition(":")[2]), initial, *place)
        if not direct:
            network.introduce({member_id(door): name})
            network.open_door(name, client)
    return members


def member_id(peer_port: int, token: str = "etcd-cluster") -> str:
    """How a founding member calls itself: etcd reckons it from its address and the cluster's name."""
    told = f"http://{LOOPBACK}:{peer_port}{token}".encode()
    return f"{int.from_bytes(hashlib.sha1(told).digest()[:8], 'big'):x}"


def tail(file: IO[str], lines: int = 20) -> str:
    """The end of a log, for people."""
    return "".join(file.readlines()[-lines:])
