"""Servers of somebody else as processes of a test.

Responsible for starting one, what it said, having it hang, and its end; for finding a jar in a built tree.
Refuses to know what it serves. Invariant: it ends only what it started.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def newest(folder: Path, pattern: str) -> Path:
    found = [jar for jar in folder.glob(pattern) if not jar.stem.endswith(("-tests", "-sources", "-javadoc"))]
    if not found:
        raise FileNotFoundError(f"no {pattern} in {folder}; build it, or unpack a distribution that has it")
    return max(found, key=lambda jar: jar.stat().st_mtime)


def files_below(folder: Path) -> dict[Path, int]:
    """Every file by its size; what goes while it is looked for is not there."""
    found: dict[Path, int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            try:
                found[path] = path.stat().st_size
            except FileNotFoundError:
                continue
    return found


@dataclass
class Server:
    """One process."""

    command: Sequence[str]
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It takes connections and answers nobody, until the block ends."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    def end(self, within_s: float) -> None:
        """It is asked to end, and does."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(within_s)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
