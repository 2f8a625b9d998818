"""Real etcd for tests.

Responsible for: members as processes on free loopback ports, in folders of the caller's. Refuses to know: what is
stored. Invariant: it ends and signals only processes that it started, and waits for what a member says, never for time.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO

from state_backend.etcd.cluster import Deadlines

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30.0

#: For tests that are not about time: a member whose disk takes seconds for once has answered all the same.
PATIENT = Deadlines(request_seconds=20.0, give_up_seconds=60.0, impatient_seconds=20.0)

_READY = "ready to serve client requests"
_PORT_TAKEN = "address already in use"


class PortTaken(Exception):  # noqa: N818 - it is no error, only a reason to try other ports
    """Somebody else took the port between our finding it free and etcd's asking for it."""


@lru_cache(maxsize=1)
def etcd_bin() -> Path:
    """The folder with `etcd` and `etcdctl`; built once, which takes minutes."""
    built = subprocess.run([ROOT / "tools/etcd/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(built.stdout.strip().splitlines()[-1])


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files for a member that wants its clients to show a certificate."""

    ca: Path
    cert: Path
    key: Path


@dataclass
class Member:
    """One etcd process. It can be frozen, killed and started again on the same data."""

    name: str
    folder: Path
    client_port: int
    peer_port: int
    initial_cluster: str
    tls: Tls | None = None
    arguments: tuple[str, ...] = ()
    host: str = "127.0.0.1"  #: Where it listens.
    within: tuple[str, ...] = ()  #: What its command begins with, where it runs in a network of its own.
    process: subprocess.Popen[str] | None = None
    said: list[str] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        """Where a test reaches it."""
        return f"127.0.0.1:{self.client_port}"

    def launch(self) -> threading.Event:
        """Starts the process; the event is set when it is ready, or has ended."""
        heard = threading.Event()
        self.said.clear()
        self.process = subprocess.Popen(self._command(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert self.process.stderr is not None
        threading.Thread(target=self._listen, args=(self.process.stderr, heard), daemon=True).start()
        return heard

    def start(self) -> None:
        self.await_ready(self.launch())

    def await_ready(self, heard: threading.Event) -> None:
        if not heard.wait(START_SECONDS):
            self.kill()
            raise TimeoutError(f"etcd {self.name} was not ready in {START_SECONDS:g} s; it said:\n{self._tail()}")
        if not any(_READY in line for line in self.said):
            self.kill()
            if any(_PORT_TAKEN in line for line in self.said):
                raise PortTaken(self.endpoint)
            raise RuntimeError(f"etcd {self.name} did not start; it said:\n{self._tail()}")

    def kill(self) -> None:
        """As a crash: no goodbye."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """All its threads have stopped when this returns."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def thaw(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def _listen(self, stream: IO[str], heard: threading.Event) -> None:
        for line in stream:
            self.said.append(line)
            if _READY in line:
                heard.set()
        heard.set()

    def _tail(self) -> str:
        return "".join(self.said[-20:])

    def _command(self) -> list[str | Path]:
        scheme = "http" if self.tls is None else "https"
        client, peer = f"{scheme}://{self.host}:{self.client_port}", f"http://{self.host}:{self.peer_port}"
        command: list[str | Path] = [*self.within, etcd_bin() / "etcd", "--name", self.name, "--data-dir", self.folder]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += [
            "--initial-cluster",
            self.initial_cluster,
            "--heartbeat-interval",
            "50",
            "--election-timeout",
            "500",
        ]
        if self.tls is not None:
            command += ["--cert-file", self.tls.cert, "--key-file", self.tls.key]
            command += ["--trusted-ca-file", self.tls.ca, "--client-cert-auth"]
        return [*command, *self.arguments]


@dataclass(frozen=True)
class Cluster:
    """Members that know each other."""

    members: tuple[Member, ...]

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.endpoint for member in self.members)

    def etcdctl(self, *arguments: str, user: str | None = None) -> str:
        """What etcd's own client says; raises where it fails."""
        member = self.members[0]
        command: list[str | Path] = [etcd_bin() / "etcdctl", "--endpoints", ",".join(self.endpoints)]
        if user is not None:
            command += ["--user", user]
        if member.tls is not None:
            command += ["--cacert", member.tls.ca, "--cert", member.tls.cert, "--key", member.tls.key]
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True, timeout=30)
        return done.stdout

    def leader(self) -> Member:
        """The member that leads now."""
        for member in self.members:
            status = Cluster((member,)).etcdctl("endpoint", "status", "--write-out", "fields")
            fields = dict(line.split(" : ", 1) for line in status.splitlines() if " : " in line)
            if fields['"MemberID"'] == fields['"Leader"']:
                return member
        raise RuntimeError("the cluster has no leader")


@contextmanager
def running_etcd(
    folder: Path, size: int = 1, tls: Tls | None = None, arguments: tuple[str, ...] = ()
) -> Iterator[Cluster]:
    """A cluster of so many members, ended at the end."""
    cluster = _start(folder, size, tls, arguments)
    try:
        yield cluster
    finally:
        for member in cluster.members:
            member.kill()


def _start(folder: Path, size: int, tls: Tls | None, arguments: tuple[str, ...], tries: int = 3) -> Cluster:
    for number in range(tries):
        cluster = _lay_out(folder / f"try-{number}", size, tls, arguments)
        try:
            for member, heard in [(member, member.launch()) for member in cluster.members]:
                member.await_ready(heard)
            return cluster
        except PortTaken:
            for member in cluster.members:
                member.kill()
    raise PortTaken(f"no free ports in {tries} tries")


def _lay_out(folder: Path, size: int, tls: Tls | None, arguments: tuple[str, ...]) -> Cluster:
    folder.mkdir(parents=True)
    ports = free_ports(2 * size)
    names = [f"member-{number}" for number in range(size)]
    peers = ports[size:]
    initial = ",".join(f"{name}=http://127.0.0.1:{port}" for name, port in zip(names, peers, strict=True))
    placed = zip(names, ports[:size], peers, strict=True)
    return Cluster(
        tuple(Member(name, folder / name, client, peer, initial, tls, arguments) for name, client, peer in placed)
    )


def free_ports(count: int) -> Sequence[int]:
    """Ports that were free a moment ago, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
