"""One program of our own in a fresh driver, attached or plain, and what was seen of it.

Responsible for starting an unmodified script as `python` (or a notebook, cell by cell) would, and for writing down what
was so when its Spark context stopped. Refuses to measure disks and to compare. Invariant: without ``--policy`` nothing
of the plugin is imported; the program itself is the same in every mode.

    python -m benchmarks.program_job --folder DIR [--policy reachable] [--conf KEY=VALUE] … PROGRAM.py [ARGUMENT …]
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import json
import os
import shlex
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from coordinator.cli import program
from coordinator.demo.disk import look

BY_CELLS = "Run by cells."
_CELL = "# %%"


def main() -> None:
    """Runs the program and writes ``result.json``."""
    wishes = _parse()
    os.environ["PYSPARK_SUBMIT_ARGS"] = _submit(wishes.folder, wishes.conf)
    seen = Seen(wishes.folder)
    _watch_contexts(seen, {"policy": wishes.policy, "store": f"sqlite://{wishes.folder}/coordinator.db"})
    try:
        if BY_CELLS in (ast.get_docstring(ast.parse(wishes.program.read_text())) or ""):
            _start_cells(wishes.program, wishes.arguments)
        else:
            program.start(str(wishes.program), wishes.arguments)
    finally:
        seen.stop_rest()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--policy", default="")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("program", type=Path)
    parser.add_argument("arguments", nargs="*")
    return parser.parse_args()


def _submit(folder: Path, more: list[str]) -> str:
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


# ---- starting ----


def _start_cells(path: Path, arguments: list[str]) -> None:
    """As a notebook does: each cell is code of its own, over one set of names that people may type again."""
    made = ModuleType("__main__")
    sys.modules["__main__"] = made
    sys.argv = [str(path), *arguments]
    sys.ps1 = ">>> "
    for number, source in enumerate(path.read_text().split(_CELL)):
        exec(compile(source, f"<cell {number}>", "exec", dont_inherit=True), made.__dict__)


# ---- what is seen ----


class Seen:
    """What was so when the context stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context: Any = None
        self._attached: Any = None
        self._look_s: list[float] = []
        self._begun = 0.0
        self._is_written = False

    def started(self, context: Any, attached: Any) -> None:
        """A context is there, and attached to where that was wished."""
        self._context, self._attached = context, attached
        if attached is not None:
            time_looks(attached, self._look_s)
        self._begun = time.time()

    def stopping(self, context: Any) -> None:
        """The context is about to stop: the program's last moment."""
        if context is self._context and not self._is_written:
            self._is_written = True
            (self._folder / "result.json").write_text(json.dumps(self._told()))

    def stop_rest(self) -> None:
        """Stop what the program has left running."""
        if self._context is not None and self._context._jsc is not None:
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
            "look_ms": [seconds * 1_000 for seconds in self._look_s],
        }


def _watch_contexts(seen: Seen, wishes: dict[str, str]) -> None:
    from pyspark import SparkContext

    patched: Any = SparkContext
    plain_init, plain_stop = patched.__init__, patched.stop

    @functools.wraps(plain_init)
    def started(context: Any, *arguments: Any, **named: Any) -> None:
        plain_init(context, *arguments, **named)
        context.setLogLevel("ERROR")
        seen.started(context, _attach(context, wishes) if wishes["policy"] else None)

    @functools.wraps(plain_stop)
    def stopped(context: Any) -> None:
        seen.stopping(context)
        plain_stop(context)

    patched.__init__, patched.stop = started, stopped


def _attach(context: Any, wishes: dict[str, str]) -> Any:
    from coordinator.cli.running import _ContextAsSession
    from listener_bridge import attach

    return attach(_ContextAsSession(context), **wishes)  # type: ignore[arg-type]


def time_looks(attached: Any, taken_s: list[float]) -> None:
    """From now on put down how long each look takes."""
    looker = getattr(attached._bridge, "looker", None)
    if looker is not None:
        looker._sight = _Timed(looker._sight, taken_s)


class _Timed:
    """The eyes of a look, with a clock."""

    def __init__(self, sight: Any, taken_s: list[float]) -> None:
        self._sight = sight
        self._taken_s = taken_s

    def read(self) -> Any:
        """A look, timed."""
        begun = time.perf_counter()
        try:
            return self._sight.read()
        finally:
            self._taken_s.append(time.perf_counter() - begun)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sight, name)


if __name__ == "__main__":
    main()
