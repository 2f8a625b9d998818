"""One run of one program in one mode, watched from outside.

Responsible for starting the driver as a process of its own and for reading what came out of it: its result, its disk,
Spark's event log and the coordinator's. Refuses to compare. Invariant: a run that failed is a value that says why.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.program_job import command, environment
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.demo.disk import Held, Sample, Watch, held
from coordinator.demo.ideal import is_map_stage, needed_until, spark_events, stage_times
from coordinator.demo.logs import read_log

FOLDER = Path(__file__).parent / "programs"
SAMPLED_EVERY_S = 0.02
_RUN_LIMIT_S = 180.0
_NOTHING = Held(0, 0.0)
_RESULT = re.compile(r"^result: (.*)$", re.MULTILINE)
_NEEDS = re.compile(r"Needs ([\w., ]+)\.")


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to clean up: conf, and the plugin's policy; empty: no plugin."""

    name: str
    title: str
    policy: str = ""
    conf: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run showed. `failure`: why it did not come to its end; all else is then empty.

    `again`: app shuffles, or the first RDD of map stages where nothing tells them, that were computed once more.
    """

    result: str = ""
    failure: str = ""
    seconds: float = 0.0
    written: int = 0
    deleted: int = 0
    recomputed: int = 0
    seen: Held = _NOTHING
    oracle: Held | None = None
    again: tuple[AppShuffle, ...] = ()
    look_ms: tuple[float, ...] = ()
    looked_s: float = 0.0  #: Of a processor, by all looks together.
    log: tuple[e.Recorded, ...] = ()
    until: Mapping[int, float] = field(default_factory=dict)  #: When each app shuffle was read for the last time.


def programs() -> dict[str, Path]:
    """Every program by its name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


def missing_for(path: Path) -> str:
    """Why a program cannot run here; empty where it can."""
    found = _NEEDS.search(ast.get_docstring(ast.parse(path.read_text())) or "")
    for name in found[1].split(", ") if found else []:
        try:
            importlib.import_module(name)
        except ImportError as error:
            return f"{name} cannot be imported: {error}"
    return ""


def run(folder: Path, path: Path, mode: Mode, scale: float) -> Outcome:
    """Runs a program to its end."""
    folder.mkdir(parents=True)
    given = environment(folder, mode.policy, mode.conf)
    with Watch(folder / "local", SAMPLED_EVERY_S) as watch:
        said, failure = _said(command(path, [str(scale)]), given)
    if not failure and not (folder / "result.json").exists():
        failure = "the program ended without a Spark context"
    if failure:
        return Outcome(failure=failure + "\n" + "\n".join(said.splitlines()[-15:]))
    return _read(folder, said, watch.samples)


def _said(started: Sequence[str], given: Mapping[str, str]) -> tuple[str, str]:
    """What it printed, and why it failed."""
    try:
        done = subprocess.run(
            started,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=given,
            timeout=_RUN_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return (error.output or b"").decode(errors="replace"), f"not at its end after {_RUN_LIMIT_S:.0f} s"
    return done.stdout.decode(errors="replace"), f"exit code {done.returncode}" if done.returncode else ""


def _read(folder: Path, said: str, samples: list[Sample]) -> Outcome:
    found: Mapping[str, Any] = json.loads((folder / "result.json").read_text())
    results = _RESULT.findall(said)
    written, recomputed = map_stages(folder / "events")
    begun, ended, status = found["begun"], found["ended"], found["status"]
    on_disk = {shuffle for sample in samples for shuffle in sample.bytes}
    log = tuple(read_log(f"sqlite://{folder}/coordinator.db", found["application"])) if found["application"] else ()
    until = needed_until(log, stage_times(folder / "events"))
    return Outcome(
        result=results[-1] if results else "",
        failure="" if results else "no line of its result",
        seconds=ended - begun,
        written=written,
        deleted=status["deleted"] if status else len(on_disk - set(found["left"])),
        recomputed=recomputed,
        seen=held(samples, begun, ended, lambda *_: True),
        oracle=held(samples, begun, ended, lambda shuffle, at: at <= until.get(shuffle, 0.0)) if log else None,
        again=_again(log),
        look_ms=tuple(found["look_ms"]),
        looked_s=found["looked_s"],
        log=log,
        until=until,
    )


def map_stages(events: Path) -> tuple[int, int]:
    """Shuffles that were written, and how often one was written again. The stage's RDD stands in for the shuffle."""
    done = Counter(
        event["Stage Info"]["RDD Info"][0]["RDD ID"]
        for event in spark_events(events)
        if is_map_stage(event) and not event["Stage Info"].get("Failure Reason")
    )
    return len(done), done.total() - len(done)


def _again(log: Sequence[e.Recorded]) -> tuple[AppShuffle, ...]:
    """App shuffles that were written again after we had deleted them."""
    shuffle_of: dict[ShuffleId, AppShuffle] = {}
    found: list[AppShuffle] = []
    for recorded in log:
        event = recorded.event
        if isinstance(event, e.GenerationStarted):
            shuffle_of[event.shuffle_id] = event.app_shuffle
        elif isinstance(event, e.PrematureDeletion):
            found.append(shuffle_of[event.shuffle_id])
    return tuple(dict.fromkeys(found))
