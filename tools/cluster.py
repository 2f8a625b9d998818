#!/usr/bin/env python3
"""A cluster to play with: `tools/cluster.py` starts 3 etcd members and 3 replicas on loopback, until Ctrl-C.

Responsible for starting them on free ports, saying where they are and what to type next, and ending them: replicas
first, which drain, then etcd. Refuses to know what they do. Invariant: it ends only processes that it started, and all
of them, also when whoever started it has died (on Linux even when it is killed itself).
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
READY_S = 60.0
STOP_S = 20.0
WATCH_S = 0.5

_ETCD_READY = re.compile("ready to serve client requests")
_PORT_TAKEN = re.compile("address already in use")
_SERVING = re.compile(r"Serving at (\S+) over ")
_PR_SET_PDEATHSIG = 1
_SHUFFLECTL = (sys.executable, "-m", "coordinator.cli.main")


class NotStarted(Exception):  # noqa: N818 - it says what is so
    """A process did not begin to serve; ``said`` is what it printed."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(f"{name} does not serve; it said:\n{said}")
        self.said = said


@dataclass
class Child:
    """One process, and what it says."""

    name: str
    process: subprocess.Popen[str]
    ready: re.Pattern[str]
    log: Path
    found: re.Match[str] | None = None
    heard: threading.Event = field(default_factory=threading.Event)

    def listen(self, stream: IO[str]) -> None:
        """Writes down what it says, and hears when it is ready."""
        with self.log.open("w") as log:
            for line in stream:
                log.write(line)
                log.flush()
                self.found = self.found or self.ready.search(line)
                if self.found:
                    self.heard.set()
        self.heard.set()

    def await_ready(self) -> re.Match[str]:
        self.heard.wait(READY_S)
        if self.found is None:
            self.end(signal.SIGKILL)
            raise NotStarted(self.name, self.log.read_text()[-2_000:])
        return self.found

    def end(self, number: int = signal.SIGTERM) -> None:
        """Tells it to stop, and waits; one that does not is killed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Cluster:
    """All that was started, in the order in which it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: list[Child] = []

    def start(self, name: str, command: Sequence[str | Path], ready: re.Pattern[str], **conf: str) -> Child:
        """In a session of its own: Ctrl-C is for us, who end the children in the right order."""
        process = subprocess.Popen(
            command,
            env={**environment(), **conf},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
        child = Child(name, process, ready, self.folder / f"{name}.log")
        self.children.append(child)
        assert process.stdout is not None
        threading.Thread(target=child.listen, args=(process.stdout,), daemon=True).start()
        return child

    def end(self) -> None:
        """The last one first."""
        while self.children:
            self.children[-1].end()
            self.children.pop()


def environment() -> dict[str, str]:
    """Of a process that runs this checkout."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto")])}


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


# ---- etcd and replicas -----------------------------------------------------------------------------------------------


def start_etcd(cluster: Cluster, size: int, tries: int = 3) -> list[str]:
    """Where the members listen. A port that somebody else took meanwhile is a reason to try others."""
    program = _etcd_bin() / "etcd"
    for left in reversed(range(tries)):
        ports = free_ports(2 * size)
        try:
            for number in range(size):
                command: list[str | Path] = [program, *_member_flags(number, ports, size, cluster.folder)]
                cluster.start(f"etcd-{number + 1}", command, _ETCD_READY)
            for member in cluster.children:
                member.await_ready()
            return [f"127.0.0.1:{port}" for port in ports[:size]]
        except NotStarted as error:
            cluster.end()
            if not left or not _PORT_TAKEN.search(error.said):
                raise
            for number in range(size):
                shutil.rmtree(cluster.folder / f"etcd-{number + 1}", ignore_errors=True)
    raise AssertionError("the last try has raised")


def _member_flags(number: int, ports: Sequence[int], size: int, folder: Path) -> list[str]:
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    client, peer = urls[number], urls[size + number]
    everyone = ",".join(f"etcd-{n + 1}={urls[size + n]}" for n in range(size))
    flags = {
        "name": f"etcd-{number + 1}",
        "data-dir": str(folder / f"etcd-{number + 1}"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": everyone,
        "auto-compaction-mode": "periodic",
        "auto-compaction-retention": "1h",
    }
    return [part for name, value in flags.items() for part in (f"--{name}", value)]


def _etcd_bin() -> Path:
    built = subprocess.run([ROOT / "tools/etcd/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(built.stdout.strip().splitlines()[-1])


def start_replicas(cluster: Cluster, size: int, store: str, token: Mapping[str, str]) -> list[str]:
    """Where the replicas serve. `token`: of who may ask about all applications, and decide."""
    command = [*_SHUFFLECTL, "serve", "--port", "0", "--store", store]
    conf = {"SHUFFLECTL_SERVE__ADMINISTRATORS": token["sha256"]}
    replicas = [cluster.start(f"replica-{number + 1}", command, _SERVING, **conf) for number in range(size)]
    return [replica.await_ready()[1] for replica in replicas]


def new_token() -> dict[str, str]:
    """A token and its hash."""
    made = subprocess.run([*_SHUFFLECTL, "token", "-o", "json"], check=True, stdout=subprocess.PIPE, env=environment())
    token: dict[str, str] = json.loads(made.stdout)
    return token


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


# ---- the whole -------------------------------------------------------------------------------------------------------


def guide(children: Sequence[Child], etcd: Sequence[str], servers: Sequence[str], store: str, token: str) -> str:
    """Where everything is, and what to type next."""
    where = [*etcd, *servers]
    placed = [f"  {c.name:<10} {a:<16} pid {c.process.pid}" for c, a in zip(children, where, strict=True)]
    addresses = ",".join(servers)
    return "\n".join(
        [
            "Serving:",
            *placed,
            "",
            "Try, in another terminal:",
            f"  export SHUFFLECTL_SERVER={addresses} SHUFFLECTL_TOKEN={token}",
            "  .venv/bin/shufflectl replicas",
            f"  .venv/bin/shufflectl demo --on '{store}'",
            f"  .venv/bin/shufflectl run --policy reachable --address {addresses} app.py",
            f"  kill -9 {children[-1].process.pid}   # {_of_replicas(len(servers))}",
            f"  kill -9 {children[0].process.pid}   # {_of_members(len(etcd))}",
            "",
            "Ctrl-C stops it all; nothing is kept.",
        ]
    )


def _of_replicas(size: int) -> str:
    """What follows where one of so many is killed."""
    then = "elsewhere" if size > 1 else "alone, nothing is deleted"
    return f"a replica: its drivers go on {then}"


def _of_members(size: int) -> str:
    needed = size // 2 + 1
    spared = f"{needed} of {size} are enough" if size > needed else "all are needed, nothing is deleted without it"
    return f"a member of etcd: {spared}"


def watch(children: Sequence[Child], parent: int) -> None:
    """Until somebody says stop, or who started us is gone. Says so when a child ends, and goes on."""
    told: set[str] = set()
    while os.getppid() == parent:
        for child in children:
            if child.process.poll() is not None and child.name not in told:
                told.add(child.name)
                print(f"{child.name} has ended ({child.process.returncode}).", flush=True)
        time.sleep(WATCH_S)


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--etcd", type=int, default=3, metavar="N", help="members of etcd (3)")
    parser.add_argument("--replicas", type=int, default=3, metavar="N", help="coordinators (3)")
    chosen = parser.parse_args(arguments)
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _stop)
    with tempfile.TemporaryDirectory(prefix="shuffle-cluster-") as name:
        cluster = Cluster(Path(name))
        try:
            etcd = start_etcd(cluster, chosen.etcd)
            store = f"etcd://{','.join(etcd)}/shuffles"
            token = new_token()
            servers = start_replicas(cluster, chosen.replicas, store, token)
            print(guide(cluster.children, etcd, servers, store, token["token"]), flush=True)
            watch(cluster.children, parent)
        except KeyboardInterrupt:
            print("\nStopping.", flush=True)
        except NotStarted as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            cluster.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
