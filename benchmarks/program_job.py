"""Inside the driver of one program of our own: attached or plain, and what was so when its Spark context stopped.

Responsible for attaching to the context that the program makes, for writing down what was so at the program's end, and
for playing a notebook. Refuses to measure disks and to compare. Invariant: without a policy nothing of the plugin is
imported; the program itself is the same in every mode, and what is in here stands in no frame while it runs.

    python -m benchmarks.program_job NOTEBOOK.py [ARGUMENT …]      cell by cell; scripts are run by `python` itself
"""

from __future__ import annotations

import ast
import atexit
import dataclasses
import functools
import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from coordinator.demo.disk import look

WISHES = "SHUFFLE_BENCHMARK_PROGRAM"
_BY_CELLS = "Run by cells."
_CELL = "# %%"


def command(program: Path, arguments: Iterable[str]) -> list[str]:
    """How a program is started."""
    by_cells = _BY_CELLS in (ast.get_docstring(ast.parse(program.read_text())) or "")
    return [sys.executable, *(("-m", __name__) if by_cells else ()), str(program), *arguments]


def environment(folder: Path, policy: str, conf: Iterable[str]) -> Mapping[str, str]:
    """What the process of a program is started with."""
    here = Path(__file__).parent
    path = [str(here / "startup"), str(here.parent), str(here.parent / "proto"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        WISHES: json.dumps({"folder": str(folder), "policy": policy}),
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": _submit(folder, conf),
    }


def _submit(folder: Path, more: Iterable[str]) -> str:
    for name in ("local", "events"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.local.dir": str(folder / "local"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **dict(pair.split("=", 1) for pair in more),
    }
    given = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items())
    return f"--master local[2] {given} pyspark-shell"


# ---- in the program's process ----


def watch(wishes: str) -> None:
    """Called before the program begins: its Spark context is attached to, and seen to its end."""
    from pyspark import SparkContext

    wished = json.loads(wishes)
    seen = Seen(Path(wished["folder"]))
    patched: Any = SparkContext
    plain_init, plain_stop = patched.__init__, patched.stop

    @functools.wraps(plain_init)
    def started(context: Any, *arguments: Any, **named: Any) -> None:
        plain_init(context, *arguments, **named)
        context.setLogLevel("ERROR")
        seen.started(context, _attach(context, wished) if wished["policy"] else None)

    @functools.wraps(plain_stop)
    def stopped(context: Any) -> None:
        seen.stopping(context)
        plain_stop(context)

    patched.__init__, patched.stop = started, stopped


def _attach(context: Any, wished: Mapping[str, str]) -> Any:
    from listener_bridge import attach
    from listener_bridge.running.contexts import ContextAsSession

    session: Any = ContextAsSession(context)
    return attach(session, policy=wished["policy"], store=f"sqlite://{wished['folder']}/coordinator.db")


class Seen:
    """What was so when the program's first context stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context: Any = None
        self._attached: Any = None
        self._looks: list[Taken] = []
        self._begun = 0.0
        self._is_written = False

    def started(self, context: Any, attached: Any) -> None:
        """A context is there, and attached to where that was wished."""
        if self._context is not None:
            return
        self._context, self._attached = context, attached
        if attached is not None:
            time_looks(attached, self._looks)
        atexit.register(self._stop)  # of a program that does not stop its context; before the plugin's own end
        self._begun = time.time()

    def stopping(self, context: Any) -> None:
        """The context is about to stop: the program's last moment."""
        if context is self._context and not self._is_written:
            self._is_written = True
            (self._folder / "result.json").write_text(json.dumps(self._told()))

    def _stop(self) -> None:
        if self._context._jsc is not None:
            self._context.stop()

    def _told(self) -> dict[str, Any]:
        ended = time.time()
        attached = self._attached
        return {
            "spark": str(self._context.version),
            "begun": self._begun,
            "ended": ended,
            "left": sorted(look(self._folder / "local").bytes),
            "application": str(attached.application) if attached is not None else "",
            "status": dataclasses.asdict(attached.status()) if attached is not None else {},
            "look_ms": [look.wall_s * 1_000 for look in self._looks],
            "looked_s": sum(look.processor_s for look in self._looks),
        }


class Taken(NamedTuple):
    """What one look took: by the clock, and of a processor (here and in the JVM)."""

    wall_s: float
    processor_s: float


def time_looks(attached: Any, taken: list[Taken]) -> None:
    """From now on put down what each look takes."""
    looker = getattr(attached._bridge, "looker", None)
    if looker is not None:
        looker._sight = _Timed(looker._sight, taken)


class _Timed:
    """The eyes of a look, with a clock."""

    def __init__(self, sight: Any, taken: list[Taken]) -> None:
        self._sight = sight
        self._taken = taken

    def read(self) -> Any:
        """A look, timed."""
        begun_s, used_s = time.perf_counter(), time.thread_time()
        found = self._sight.read()
        self._taken.append(Taken(time.perf_counter() - begun_s, time.thread_time() - used_s + found.jvm_s))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sight, name)


# ---- notebooks ----


def run_cells(path: Path, arguments: list[str]) -> None:
    """As a notebook does: each cell is code of its own, over one set of names that people may type again."""
    made = ModuleType("__main__")
    sys.modules["__main__"] = made
    sys.argv = [str(path), *arguments]
    sys.ps1 = ">>> "
    for number, source in enumerate(path.read_text().split(_CELL)):
        exec(compile(source, f"<cell {number}>", "exec", dont_inherit=True), made.__dict__)


if __name__ == "__main__":
    run_cells(Path(sys.argv[1]), sys.argv[2:])
