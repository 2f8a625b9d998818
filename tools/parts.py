#!/usr/bin/env python3
"""The test run in parts: `tools/parts.py` runs what `make test` runs, `tools/parts.py spark-3.5` one part of it.

Responsible for what is run, in which environment, for how long at most, and for what came of it in a few lines. Refuses
to know tests, but by their markers. Invariant: every test belongs to exactly one part, and a part that ran none has
failed: a suite that skips itself proves nothing.

Of the markers `spark` needs a real Spark, `etcd` a real etcd, `faults` a cluster whose processes are harmed, `remote` a
remote shuffle service's client; tests without one need none of them. `slow` ones are left to --all, which also runs the
Spark versions between the oldest and the newest, and on each of them what is otherwise run on the `newest` alone.

A part that fails does not stop the others, so that one run tells everything. A part whose folder does not exist is
passed over, and so is one that wants what the environment does not name, or a Python that is not there.

What a part prints is shown as it comes and kept in .cache/parts/.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import setup
from setup import ROOT

LOGS = ROOT / ".cache" / "parts"
SET_UP = "set-up"
# Of drivers' Java. One compiler alone gets 48 MB for code, a fifth of the default, and one test process' Java,
# which lives through all of its sessions, fills them: queries fail from then on ("Out of space in CodeCache").
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
LIMIT = 30 * 60  # seconds; a part that hangs shall not take the others with it
LIMIT_SLOW = 3 * 60 * 60  # the same with the slow tests
SUMMARY = re.compile(r"^=+ .*\bin [\d.]+s.* =+$")  # pytest's last line: ==== 12 passed, 1 skipped in 3.21s ====


@dataclass(frozen=True)
class Part:
    name: str
    what: str
    needs: tuple[str, ...] = ("dev",)  # targets of tools/setup.py; the first is the environment that it runs in
    commands: tuple[tuple[str, ...], ...] = ()
    tests: str | None = None  # pytest's -m
    folders: tuple[str, ...] = ("tests",)  # it is passed over when none of them exists
    only_all: bool = False
    without: str = ""  # a marker whose tests are left to --all
    wants: str = ""  # an environment variable without which it is passed over
    is_optional: bool = False  # passed over where there is no Python for its environment
    workers: int = 1  # processes that share the files of tests; what harms a cluster has the machine to itself

    @property
    def python(self) -> Path:
        return setup.ENVIRONMENTS[self.needs[0]].python


def spark(name: str, environment: str, only_all: bool = False, without: str = "") -> Part:
    what = f"real jobs on {setup.ENVIRONMENTS[environment].what}"
    needs = (environment, "java", "etcd")
    folders = ("tests/spark",)
    return Part(name, what, needs, tests="spark", folders=folders, only_all=only_all, without=without, workers=2)


CHECKS = ("lint", "types", "imports", "check-generated", "check-docs")

WITHOUT_SERVICES = "not spark and not etcd and not faults and not remote"

SIMULATION = ("-m", "tests.simulation.run", "--count", "8000", "--from", "150", "--every-fault")

PARTS = (
    Part(
        "checks",
        "lint, types, import directions, generated files",
        needs=("dev", "generate"),
        commands=tuple(("make", "--no-print-directory", check) for check in CHECKS),
    ),
    Part(
        "tests",
        "everything that needs neither a Spark nor an etcd",
        tests=WITHOUT_SERVICES,
        workers=2,
    ),
    Part(
        "simulation",
        "schedules of faults on a virtual clock; more: make simulate",
        commands=((str(setup.ENVIRONMENTS["dev"].python), *SIMULATION),),
        folders=("tests/simulation",),
    ),
    Part(
        "etcd",
        "contract and integration on real etcd",
        needs=("dev", "etcd"),
        tests="etcd and not spark and not faults",
        folders=("tests/contract", "tests/integration"),
        workers=2,
    ),
    Part(
        "faults",
        "real faults on real processes, a few minutes; hours: make faults SECONDS=…",
        needs=("dev", "etcd"),
        tests="faults and not spark",
        folders=("tests/faults",),
    ),
    spark("spark-newest", "dev"),
    spark("spark-3.5", "spark-3.5", without="newest"),
    spark("spark-4.0", "spark-4.0", only_all=True),
    spark("spark-4.1", "spark-4.1", only_all=True),
    Part(
        "python-3.10",
        "everything that needs neither a Spark nor an etcd, on the oldest Python",
        needs=("python-3.10",),
        tests=WITHOUT_SERVICES,
        only_all=True,
        is_optional=True,
        workers=2,
    ),
    Part(
        "remote",
        "shuffles on a real Celeborn, which CELEBORN_HOME names (docs/remote-shuffle.md)",
        needs=("spark-3.5", "java"),
        tests="remote",
        folders=("tests/remote",),
        only_all=True,
        wants="CELEBORN_HOME",
    ),
)


@dataclass
class Outcome:
    name: str
    verdict: str  # "ok", "passed over", or what went wrong
    seconds: float = 0.0
    summaries: list[str] = field(default_factory=list)  # pytest's own last line

    @property
    def failed(self) -> bool:
        return self.verdict not in {"ok", "passed over"}


def is_possible(part: Part) -> bool:
    """Whether there is what it does not have to have."""
    if part.wants and part.wants not in os.environ:
        return False
    try:
        return not part.is_optional or bool(setup.find_python(setup.ENVIRONMENTS[part.needs[0]]))
    except setup.SetupError:
        return False


def run_part(part: Part, slow: bool) -> Outcome:
    if not any((ROOT / folder).exists() for folder in part.folders) or not is_possible(part):
        return Outcome(part.name, "passed over")
    print(f"\n──── {part.name}: {part.what}", flush=True)
    started = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{part.name}.log"
    log.write_text("")
    found = environment(part, slow)
    limit = LIMIT_SLOW if slow else LIMIT
    problems = [problem for command in commands(part, slow) if (problem := run_command(command, found, log, limit))]
    summaries = [line for line in log.read_text(errors="replace").splitlines() if SUMMARY.match(line)]
    if part.tests and not problems and not any(" passed" in line for line in summaries):
        problems.append("ran no test")
    return Outcome(part.name, "; ".join(problems) or "ok", time.monotonic() - started, summaries)


def commands(part: Part, slow: bool) -> Iterator[Sequence[str]]:
    yield from part.commands
    if part.tests:
        left_out = "".join(f" and not {marker}" for marker in ("slow", part.without) if marker)
        markers = part.tests if slow else part.tests + left_out
        shared = ("-n", str(part.workers), "--dist", "loadfile") if part.workers > 1 else ()
        yield (str(part.python), "-m", "pytest", "tests", "-m", markers, "--color=no", "--durations=25", *shared)


def environment(part: Part, slow: bool) -> dict[str, str]:
    """Spark starts its Java and its Python workers from these; nothing else of the caller's is changed.

    A test's driver lives for seconds, which it would spend on compiling: 52 s instead of 83 for two files of tests side
    by side. With the slow tests it is started as everybody's is.
    """
    found = {"PYSPARK_PYTHON": str(part.python)}
    if not slow and "SPARK_SUBMIT_OPTS" not in os.environ:
        found["SPARK_SUBMIT_OPTS"] = SHORT_LIVED
    if java := subprocess.run([ROOT / "tools/find-java"], capture_output=True, text=True).stdout.strip():
        found["JAVA_HOME"] = java
    return {"SPARK_LOCAL_IP": "127.0.0.1", **os.environ, **found}


def run_command(command: Sequence[str], environment: dict[str, str], log: Path, limit: int) -> str | None:
    """Says what went wrong. Output goes through a file, not a pipe: a process that was left behind cannot hold us."""
    with log.open("ab") as output:
        start = output.tell()
        try:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError as missing:
            return f"{missing.filename} does not exist, its set-up failed"
    try:
        show(process, log, start, time.monotonic() + limit)
    finally:  # the command itself if it took too long, or does not hear the Ctrl-C that ends us; what it left behind
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return None if process.returncode == 0 else explained(command, process.returncode, limit)


def show(process: subprocess.Popen[bytes], log: Path, start: int, deadline: float) -> None:
    """Prints what it says from this place of its log on, until it ends or its time is over."""
    with log.open(errors="replace") as lines:
        lines.seek(start)
        ended = False
        while not ended:
            ended = process.poll() is not None or time.monotonic() > deadline
            for line in lines:
                print(line, end="", flush=True)
            time.sleep(0 if ended else 0.1)


def explained(command: Sequence[str], status: int, limit: int) -> str:
    if status == -signal.SIGKILL:
        return f"was killed, by the limit of {limit // 60} minutes or for want of memory"
    if "pytest" in command:
        meaning = {1: "tests failed", 2: "could not collect the tests", 5: "ran no test"}
        return meaning.get(status, f"pytest exited with {status}")
    return f"{command[-1]} failed"


def set_up(parts: Sequence[Part]) -> Outcome:
    started = time.monotonic()
    print(f"──── {SET_UP}", flush=True)
    needed = dict.fromkeys(target for part in parts if is_possible(part) for target in part.needs)
    failed = setup.main(list(needed))
    return Outcome(SET_UP, "failed" if failed else "ok", time.monotonic() - started)


def report(outcomes: Sequence[Outcome]) -> None:
    print("\n──── summary\n")
    for outcome in outcomes:
        print(f"  {outcome.name:14}{outcome.seconds:7.0f} s  {outcome.verdict}")
    print(f"  {'all':14}{sum(outcome.seconds for outcome in outcomes):7.0f} s\n")
    for outcome in outcomes:
        for line in outcome.summaries:
            print(f"{outcome.name}:\n{line}")
    failed = [outcome.name for outcome in outcomes if outcome.failed]
    again = [name for name in failed if name != SET_UP]
    if again:
        print(f"\nfailed: {', '.join(failed)}; one part again: tools/parts.py {again[-1]}; its output: .cache/parts/")
    elif failed:
        print(f"\nfailed: {SET_UP}; what it said stands above")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(part.name for part in PARTS))
    parser.add_argument("--all", action="store_true", help="slow tests and every Spark version too")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that what we started ends with us
    if unknown := set(asked.parts) - {part.name for part in PARTS}:
        parser.error(f"no part '{unknown.pop()}'; there are: {', '.join(part.name for part in PARTS)}")
    chosen = [part for part in PARTS if (part.name in asked.parts if asked.parts else asked.all or not part.only_all)]
    outcomes = [set_up(chosen)]
    outcomes += [run_part(part, slow=asked.all) for part in chosen]
    report(outcomes)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
