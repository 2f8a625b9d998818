"""What would each policy have done to programs as people write them, and what does one run teach for the next?

Each program of `programs/` runs twice, each time in a driver of its own, with the plugin under `observe`: everything is
recorded, nothing deleted. Both logs are first simulated as they were recorded, which must give them again. From the
first run `history` learns; the second is simulated under every policy. So `history` is measured over pairs of runs, and
all policies over the same facts: byte-seconds against Spark alone and against the oracle, premature deletions, and what
they cost. `reachable` goes by the looks that were really taken, `pressure` by a capacity of half of what Spark alone
holds at its peak.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pyspark
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.program_run import Mode, missing_for, programs
from benchmarks.program_run import run as run_program
from coordinator.core.values import Policy, Rule
from replay.learn import learn
from replay.simulate import facts_of, first_difference, simulate, simulate_all
from replay.simulate.summary import Summary, summary_of, total

OBSERVE = Mode("observe", "plugin, observe", "observe")
POLICIES = (
    ("observe", Policy(Rule.REACHABLE, observe=True)),
    ("reachable", Policy(Rule.REACHABLE, observe=False)),
    ("frontier", Policy(Rule.FRONTIER, observe=False)),
    ("delayed (frontier, 5 s)", Policy(Rule.FRONTIER, observe=False, grace_ms=5_000)),
    ("eager", Policy(Rule.EAGER, observe=False)),
    ("history", Policy(Rule.HISTORY, observe=False)),
)
PRESSURE = "pressure (half of alone's peak)", Policy(Rule.PRESSURE, observe=False)


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Runs every program twice and prints the table."""
    scale = wishes.scale or (0.2 if wishes.quick else 1.0)
    found: list[list[Summary]] = []
    for name, path in programs().items():
        if wishes.only and name not in wishes.only:
            continue
        absent = missing_for(path)
        told = f"skipped, {absent}" if absent else _pair(path, scale, found)
        console.print(escape(f"{name}: {told}"))
    runs = max((one.applications for one in total(found)), default=0)
    title = f"Policies over {runs} pairs of runs, scale {scale:g}, Spark {pyspark.__version__}, local[2]"
    console.print(_table(total(found), title))


def _pair(path: Path, scale: float, found: list[list[Summary]]) -> str:
    """Adds what came of one program; tells it."""
    with tempfile.TemporaryDirectory(prefix="bench-policies-") as folder:
        first, second = (run_program(Path(folder) / name, path, OBSERVE, scale) for name in ("first", "second"))
    if failure := first.failure or second.failure:
        return f"FAILED, {failure.splitlines()[0]}"
    for log in (first.log, second.log):
        difference = first_difference(log, simulate(facts_of(log)).log)
        if difference is not None:
            return f"NOT DECIDED AGAIN, {difference}"
    lessons = learn(facts_of(first.log)).lessons
    facts = list(facts_of(second.log))
    outcomes = simulate_all(facts, [policy for _, policy in POLICIES], lessons=lessons)
    summaries = [summary_of(outcome, name) for outcome, (name, _) in zip(outcomes, POLICIES, strict=True)]
    name, policy = PRESSURE
    pressed = simulate(facts, policy, capacity_bytes=outcomes[0].never_peak_bytes // 2, keep_log=False)
    summaries.append(summary_of(pressed, name))
    found.append(summaries)
    return ", ".join(f"{one.policy} {one.deletions} deleted, {one.premature} too early" for one in summaries[1:])


def _table(sums: list[Summary], title: str) -> Table:
    table = Table(title=title)
    for heading in ("policy", "MB·s", "of alone", "of oracle", "deleted", "too early", "recomputed MB", "task s"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    if sums:
        table.add_row("Spark alone", f"{sums[0].never_byte_seconds / 1e6:,.1f}", "1.00")
    for one in sums:
        table.add_row(
            one.policy,
            f"{one.held_byte_seconds / 1e6:,.1f}",
            f"{one.held_byte_seconds / one.never_byte_seconds:.2f}" if one.never_byte_seconds else "",
            f"{one.held_byte_seconds / one.needed_byte_seconds:.2f}" if one.needed_byte_seconds else "",
            str(one.deletions),
            str(one.premature),
            f"{one.recomputed_bytes / 1e6:,.1f}",
            f"{one.recomputed_task_seconds:,.1f}",
        )
    if sums:
        table.add_row("oracle", f"{sums[0].needed_byte_seconds / 1e6:,.1f}", _ratio(sums[0]), "1.00")
    return table


def _ratio(one: Summary) -> str:
    return f"{one.needed_byte_seconds / one.never_byte_seconds:.2f}" if one.never_byte_seconds else ""
