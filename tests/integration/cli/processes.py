"""shufflectl as processes: one that serves, and others that ask it.

Responsible for starting, waiting for what a process says, and ending it. Refuses to know verbs. Invariant: it ends only
processes that it started, and waits for a condition, never for time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from shuffle_lifecycle.v1 import service_pb2 as pb
from shuffle_lifecycle.v1 import service_pb2_grpc

from coordinator.core.commands import Command, RegisterApplication, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.server.tokens import hash_of
from coordinator.wire.messages import request_to_message
from coordinator.wire.shapes import shape_of
from tests.unit.replay.logs import Told

ROOT = Path(__file__).resolve().parents[3]
COMMAND = (sys.executable, "-m", "coordinator.cli.main")
PATIENCE_S = 60
TOKEN = "of the administrator of a test"
_ADMINISTRATOR = {"SHUFFLECTL_SERVE__ADMINISTRATORS": hash_of(TOKEN), "SHUFFLECTL_TOKEN": TOKEN}


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


#: For the web, and away: what reaches coordinators and etcd goes past it.
_PROXY = {**dict.fromkeys(("http_proxy", "https_proxy", "grpc_proxy"), "http://127.0.0.1:1"), "no_proxy": ""}


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the machine's own configuration."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SHUFFLECTL_")}
    path = os.pathsep.join([str(ROOT), str(ROOT / "proto")])
    return {
        **inherited,
        "PYTHONPATH": path,
        "XDG_CONFIG_HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
        **_PROXY,
        **_ADMINISTRATOR,
    }


def shufflectl(folder: Path, *arguments: object) -> Ended:
    """One call, to its end."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(
        command, env=environment(folder), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """One call that goes on. It hears Ctrl-C, also where a shell runs the tests in the background, which ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


@dataclass(frozen=True)
class Serving:
    """A coordinator that serves."""

    address: str
    process: subprocess.Popen[str]

    def end(self) -> Ended:
        """SIGTERM, and what it said."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ended(self.process.returncode, out, err)


@contextmanager
def serving(folder: Path, store: str, *arguments: object) -> Iterator[Serving]:
    """`shufflectl serve` on a free port, ended at the end."""
    process = start(folder, "serve", "--port", 0, "--store", store, *arguments)
    try:
        yield Serving(_address(process), process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate(timeout=PATIENCE_S)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.match(r"Serving at (\S+) over ", line)
    if found is None:
        raise RuntimeError(f"it does not serve; it said: {line}{process.communicate(timeout=PATIENCE_S)[1]}")
    return found[1]


def tell(address: str, told: Told) -> str:
    """Tells the coordinator all that the application did; gives the application's token."""
    return asyncio.run(_tell(address, told.application, told.said, ""))


def tell_more(address: str, application: ApplicationId, *commands: Command, token: str = TOKEN) -> None:
    """Tells it a little more."""
    asyncio.run(_tell(address, application, list(commands), token))


async def _tell(address: str, application: ApplicationId, said: list[Command], token: str) -> str:
    async with grpc.aio.insecure_channel(address) as channel:
        stub: Any = service_pb2_grpc.ShuffleLifecycleStub(channel)
        for command in said:
            caller = pb.Caller(application=application, token=token)
            if isinstance(command, RegisterApplication):
                message = shape_of(RegisterApplication).write(command)
                registered = await stub.RegisterApplication(pb.RegisterApplicationCall(caller=caller, command=message))
                token = registered.token or token
            else:
                request = request_to_message(Request(ClientId(""), 0, command))
                reply = await stub.Submit(pb.SubmitCall(caller=caller, requests=[request]))
                assert not reply.answers[0].HasField("rejection"), reply
    return token
