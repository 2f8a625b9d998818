"""Calling shufflectl in tests, in this process, and the logs and stores that it is asked about.

Responsible for one call and all that comes of it. Refuses to know verbs. Invariant: nothing of the machine's own
configuration is read, and what the call has set up is put back.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from coordinator.cli.main import main
from coordinator.core.commands import RegisterApplication, Request
from coordinator.core.ids import ClientId
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.wire.logfile import write_log
from state_backend.address import file_address
from state_backend.open import open_backend
from tests.unit.replay.logs import Told


@dataclass(frozen=True)
class Called:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Shufflectl:
    """Calls it, with an environment of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))

    def __call__(self, *arguments: object) -> Called:
        self._capsys.readouterr()
        self._monkeypatch.setattr(sys, "argv", ["shufflectl", *map(str, arguments)])
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            structlog.reset_defaults()
        code: Any = ended.value.code
        return Called(int(code or 0), *self._capsys.readouterr())

    def env(self, name: str, value: str) -> None:
        self._monkeypatch.setenv(name, value)


def log_file(path: Path, told: Told) -> Path:
    """The log as `export` writes it."""
    path.write_bytes(b"".join(write_log(told.segments())))
    return path


def store(path: Path, *told: Told) -> str:
    """The same applications in a SQLite store, written by a replica. Gives its address."""
    address = file_address(path)
    asyncio.run(_tell(address, told))
    return address


async def _tell(address: str, told: tuple[Told, ...]) -> None:
    async with await open_backend(address) as backend, Replica(backend, Options(replica="w", reap=False)) as replica:
        for one in told:
            for command in one.said:
                request = Request(ClientId(""), 0, command)
                if isinstance(command, RegisterApplication):
                    await replica.register(request)
                else:
                    await replica.submit(one.application, [request])
