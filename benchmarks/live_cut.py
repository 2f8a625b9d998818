"""What does the live cut save programs as people write them, and does it ever cost them a recomputation?

Each program of `programs/` in a driver of its own, under: Spark alone; Spark's own clean-up, where the version has one;
the plugin under `frontier` and under `reachable`; on request (`--modes prompt`) under `reachable` with little dealt
with as promptly as much. The oracle is that of the same run: each shuffle counts until the last stage that read it has
ended, which nobody could know at the time. "Recomputed" are map stages that came to their end once more for the same
RDD; in local mode nothing gets lost, so each of them was needless. Whatever was recomputed under `reachable`, where
nothing may be, is told with its story.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pyspark
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.beyond import Cause, beyond, needed_byte_seconds
from benchmarks.disk import OWN_CLEANUP
from benchmarks.program_run import Mode, Outcome, missing_for, programs
from benchmarks.program_run import run as run_program
from coordinator.cli import stories
from replay.explain import explain

ALONE = Mode("alone", "Spark alone")
CLEANUP = Mode("cleanup", "Spark's clean-up", conf=OWN_CLEANUP)
RULES = tuple(Mode(rule, f"plugin, {rule}", rule) for rule in ("frontier", "reachable"))
#: The plugin deals with little as promptly as with much: shuffles of these programs are small.
PROMPT = Mode("prompt", "reachable, promptly", "reachable", ("spark.shuffleLifecycle.prompt.bytes=0",))
MODES = (ALONE, CLEANUP, *RULES, PROMPT)
_HEADINGS = ("result", "written", "deleted", "recomputed", "peak MB", "MB·s", "of alone", "of oracle", "wall s")

Runs = Mapping[str, Outcome]


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Runs every program in every mode and prints the tables."""
    scale = wishes.scale or (0.2 if wishes.quick else 1.0)
    modes = [mode for mode in MODES if mode.name in _wished(wishes)]
    found: dict[str, Runs] = {}
    for name, path in programs().items():
        if wishes.only and name not in wishes.only:
            continue
        absent = missing_for(path)
        if absent:
            console.print(f"{name}: skipped, {absent}")
            continue
        found[name] = _in_every_mode(path, modes, scale)
        console.print(escape(f"{name}: " + ", ".join(_shortly(mode, found[name]) for mode in modes)))
    console.print(_table(found, modes, f"Live cut, scale {scale:g}, Spark {pyspark.__version__}, local[2]"))
    console.print(_looks(found, modes))
    console.print(_beyond(found))
    _say_differences(console, found)
    _say_recomputed(console, found)


def _wished(wishes: argparse.Namespace) -> set[str]:
    can_clean = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1)
    usual = [mode.name for mode in MODES if mode is not PROMPT and (mode is not CLEANUP or can_clean)]
    return {ALONE.name, *(wishes.modes.split(",") if wishes.modes else usual)}


def _in_every_mode(path: Path, modes: Iterable[Mode], scale: float) -> Runs:
    with tempfile.TemporaryDirectory(prefix="bench-live-cut-") as folder:
        return {mode.name: run_program(Path(folder) / mode.name, path, mode, scale) for mode in modes}


def _shortly(mode: Mode, runs: Runs) -> str:
    one = runs[mode.name]
    return f"{mode.name} {_verdict(one, runs)}, {one.deleted} of {one.written} deleted, {one.recomputed} recomputed"


def _verdict(one: Outcome, runs: Runs) -> str:
    if one.failure:
        return "FAILED"
    return "equal" if one.result == runs[ALONE.name].result else "DIFFERENT"


# ---- tables ----


def _table(found: Mapping[str, Runs], modes: Iterable[Mode], title: str) -> Table:
    table = Table(title=title)
    for heading in ("program", "mode"):
        table.add_column(heading)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for name, runs in found.items():
        for mode in modes:
            table.add_row(name if mode is ALONE else "", mode.title, *_cells(runs[mode.name], runs))
        table.add_section()
    for mode in modes:
        table.add_row("all" if mode is ALONE else "", mode.title, *_totals(found.values(), mode))
    return table


def _cells(one: Outcome, runs: Runs) -> tuple[str, ...]:
    oracle = one.oracle.byte_seconds if one.oracle is not None else 0.0
    return (
        _verdict(one, runs),
        *(str(count) for count in (one.written, one.deleted, one.recomputed)),
        f"{one.seen.peak_bytes / 1e6:.1f}",
        f"{one.seen.byte_seconds / 1e6:.1f}",
        _ratio(one.seen.byte_seconds, runs[ALONE.name].seen.byte_seconds),
        _ratio(one.seen.byte_seconds, oracle),
        f"{one.seconds:.1f}",
    )


def _totals(found: Iterable[Runs], mode: Mode) -> tuple[str, ...]:
    whole = [runs for runs in found if not any(one.failure for one in runs.values())]
    ours, plain = [runs[mode.name] for runs in whole], [runs[ALONE.name] for runs in whole]
    area = sum(one.seen.byte_seconds for one in ours)
    equal = sum(_verdict(runs[mode.name], runs) == "equal" for runs in whole)
    return (
        f"{equal} of {len(whole)} equal",
        *(str(sum(getattr(one, name) for one in ours)) for name in ("written", "deleted", "recomputed")),
        f"{sum(one.seen.peak_bytes for one in ours) / 1e6:.1f}",
        f"{area / 1e6:.1f}",
        _ratio(area, sum(one.seen.byte_seconds for one in plain)),
        _ratio(area, sum(one.oracle.byte_seconds for one in ours if one.oracle is not None)),
        f"{sum(one.seconds for one in ours):.1f}",
    )


def _ratio(part: float, whole: float) -> str:
    return f"{part / whole:.2f}" if whole else ""


def _looks(found: Mapping[str, Runs], modes: Iterable[Mode]) -> Table:
    table = Table(title="Looks at the program")
    table.add_column("program")
    table.add_column("mode")
    for heading in ("looks", "median ms", "p95 ms", "share of time", "of a processor"):
        table.add_column(heading, justify="right")
    for mode in modes:
        taken = {name: runs[mode.name] for name, runs in found.items() if runs[mode.name].look_ms}
        for name, one in taken.items():
            table.add_row(name, mode.title, *_look_cells([one]))
        if taken:
            table.add_section()
            table.add_row("all", mode.title, *_look_cells(taken.values()))
    return table


def _look_cells(runs: Collection[Outcome]) -> tuple[str, ...]:
    """A look that waits while tasks compute takes time, and nothing of a processor."""
    ordered = sorted(ms for one in runs for ms in one.look_ms)
    late = ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
    seconds = sum(one.seconds for one in runs)
    shares = (sum(ordered) / 1_000 / seconds, sum(one.looked_s for one in runs) / seconds)
    middle = statistics.median(ordered)
    return str(len(ordered)), f"{middle:.1f}", f"{late:.1f}", *(f"{share:.2%}" for share in shares)


def _beyond(found: Mapping[str, Runs]) -> Table:
    """Under `reachable`, by the log's own bytes: times the disks are watched at are others."""
    table = Table(title="Held after its last read under reachable, MB·s by the log")
    for heading in ("program", "needed", *(cause.value for cause in Cause)):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    ran = {name: runs["reachable"] for name, runs in found.items() if "reachable" in runs}
    rows = {name: beyond(one.log, one.until) for name, one in ran.items()}
    needed = {name: needed_byte_seconds(one.log, one.until) for name, one in ran.items()}
    for name, held in rows.items():
        table.add_row(name, f"{needed[name] / 1e6:.2f}", *(f"{held[cause] / 1e6:.2f}" for cause in Cause))
    table.add_section()
    whole = [f"{sum(held[cause] for held in rows.values()) / 1e6:.2f}" for cause in Cause]
    table.add_row("all", f"{sum(needed.values()) / 1e6:.2f}", *whole)
    return table


# ---- what should not be ----


def _say_differences(console: Console, found: Mapping[str, Runs]) -> None:
    for name, runs in found.items():
        for mode, one in runs.items():
            if one.failure:
                console.print(escape(f"{name} under {mode} failed: {one.failure}"))
            elif one.result != runs[ALONE.name].result:
                console.print(escape(f"{name} under {mode}: {one.result}\n  alone: {runs[ALONE.name].result}"))


def _say_recomputed(console: Console, found: Mapping[str, Runs]) -> None:
    for name, runs in found.items():
        one = runs.get("reachable")
        if one is None or not (one.again or one.recomputed):
            continue
        told = f"the log tells of {len(one.again)} app shuffles missed"
        console.rule(escape(f"{name}: {one.recomputed} recomputed under reachable; {told}"))
        for app_shuffle in one.again:
            stories.show(console, explain(one.log, app_shuffle))
