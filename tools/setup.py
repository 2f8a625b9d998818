#!/usr/bin/env python3
"""Makes what the other commands need, once: `tools/setup.py java dev spark-3.5 etcd`.

Responsible for targets, things that must be there (a Java, a virtual environment, an etcd), and for a sentence that
helps where one cannot be made. Refuses to know what they are needed for. Invariant: what is there, and was made from
what it would be made from now, is not made again.

Making a target takes a minute, looking whether it is there takes none, so that every command may ask for what it needs.
An environment carries a stamp, the digest of what it was made from; when that changes, pip is run again in the same
environment, which is kept. Several targets are made at the same time: pip waits for the network and for its disk, Go
for the processors.

Runs on the standard library alone, with any Python from 3.10 on: it runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".cache" / "setup"


class SetupError(Exception):
    """What could not be made, why, and what to do about it, in one sentence."""


@dataclass(frozen=True)
class Environment:
    folder: str
    packages: tuple[str, ...]
    newest_python: int | None = None  # the newest minor version that these packages have wheels for

    @property
    def python(self) -> Path:
        return ROOT / self.folder / "bin" / "python"

    @property
    def what(self) -> str:
        return self.packages[0].partition(";")[0]

    @property
    def editable(self) -> bool:
        return "-e" in self.packages


def spark(folder: str, version: str, extra: str) -> Environment:
    return Environment(folder, (f"pyspark=={version}", "-c", "constraints.txt", "-e", f".[{extra}]"))


def newest_spark(folder: str, extra: str) -> Environment:
    """Spark 4.3 asks for Python 3.11."""
    newest, before = "pyspark==4.3.0; python_version >= '3.11'", "pyspark==4.1.4; python_version < '3.11'"
    return Environment(folder, (newest, before, "-c", "constraints.txt", "-e", f".[{extra}]"))


ENVIRONMENTS = {
    "dev": newest_spark(".venv", "dev,etcd3"),
    "spark-3.5": spark(".venvs/spark-3.5", "3.5.8", "test"),
    "spark-4.0": spark(".venvs/spark-4.0", "4.0.5", "test"),
    "spark-4.1": spark(".venvs/spark-4.1", "4.1.4", "test"),
    "python-3.10": replace(newest_spark(".venvs/python-3.10", "dev"), newest_python=10),  # the oldest there is
    # Generated code refuses a protobuf older than its generator's, and it runs in users' drivers.
    "generate": Environment(
        ".venvs/generate",
        ("grpcio-tools==1.62.3", "protobuf==4.25.9", "setuptools==80.9.0"),
        newest_python=12,
    ),
}


def make_environment(name: str) -> None:
    environment = ENVIRONMENTS[name]
    folder = ROOT / environment.folder
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = folder / ".made-from", digest(environment)
        if stamp.exists() and stamp.read_text() == wanted and works(environment.python):
            return
        say(f"{environment.folder}: installing {environment.what}, once; a minute or two")
        started = time.monotonic()
        if not works(environment.python):
            run(name, [find_python(environment), "-m", "venv", environment.folder])
        run(name, [environment.python, "-m", "pip", "install", "--no-input", *environment.packages])
        stamp.write_text(wanted)
        say(f"{environment.folder}: ready after {time.monotonic() - started:.0f} s")


def find_python(environment: Environment) -> str:
    """What the environment is made with. Raises `SetupError` where there is none that will do."""
    arguments = [] if environment.newest_python is None else [str(environment.newest_python)]
    found = subprocess.run([ROOT / "tools/find-python", *arguments], capture_output=True, text=True)
    if found.returncode:
        raise SetupError(found.stderr.strip())
    return found.stdout.strip()


def digest(environment: Environment) -> str:
    """Of what pip is told. The tools' settings in pyproject.toml change nothing that is installed."""
    told = repr(environment.packages)
    if environment.editable:
        told += (ROOT / "constraints.txt").read_text() + (ROOT / "pyproject.toml").read_text().split("\n[tool.ruff")[0]
    return hashlib.sha256(told.encode()).hexdigest()


def works(python: Path) -> bool:
    """False also for an environment whose Python has since been moved or removed."""
    return python.exists() and subprocess.run([python, "-c", "import pip"], capture_output=True).returncode == 0


def make_java() -> None:
    found = subprocess.run([ROOT / "tools/find-java"], capture_output=True, text=True)
    if found.returncode:
        raise SetupError(found.stderr.strip())


def make_etcd() -> None:
    if (ROOT / "tools/etcd/build.sh").exists():
        started = time.monotonic()
        run("etcd", [ROOT / "tools/etcd/build.sh"])
        if (seconds := time.monotonic() - started) > 1:
            say(f"etcd: ready after {seconds:.0f} s")


def run(name: str, command: Sequence[str | Path]) -> None:
    log = LOGS / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode:
        tail = "\n    ".join(log.read_text(errors="replace").splitlines()[-12:])
        raise SetupError(
            f"making {name} failed: `{' '.join(map(str, command))}` exited with {done.returncode}\n    {tail}\n"
            f"all of it is in {log.relative_to(ROOT)}; when that is mended, run the same command again"
        )


def say(line: str) -> None:
    print(f"set-up  {line}", flush=True)


MAKE: dict[str, Callable[[], None]] = {
    "java": make_java,
    "etcd": make_etcd,
    **{name: partial(make_environment, name) for name in ENVIRONMENTS},
}


def main(targets: Sequence[str]) -> int:
    if unknown := [target for target in targets if target not in MAKE]:
        print(f"unknown target '{unknown[0]}'; there are: {', '.join(MAKE)}", file=sys.stderr)
        return 2
    if "java" in targets:  # at once, and before minutes of the rest
        try:
            make_java()
        except SetupError as failed:
            print(failed, file=sys.stderr)
            return 1
    with ThreadPoolExecutor() as pool:
        made = {target: pool.submit(MAKE[target]) for target in targets}
    failures = [error for future in made.values() if (error := future.exception())]
    for error in failures:
        if not isinstance(error, SetupError):
            raise error
        print(error, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
