"""How many events a second does replay fold, and in how much memory?

The log of an application whose jobs write a shuffle each, read it, and have it deleted. Three ways: folding events that
are in memory (`fold`), folding a log file as it is decoded, segment by segment, and proving it (`verify`: what must
always hold is checked after every step). Beside them a loop that does nothing but put each event into a table: what
this machine's Python allows today. Memory is what the process holds beyond its start, at the most, over the file; the
second file is eight times as long.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.size_load import APPLICATION, whole
from coordinator.core import commands as c
from coordinator.core.decide import carry_out
from coordinator.core.desk import Desk
from coordinator.core.events import Recorded
from coordinator.core.evolve import fold
from coordinator.core.ids import Sequence
from coordinator.core.proving import Proof
from coordinator.core.state import State, empty, settle
from coordinator.core.values import DirectiveKind, Driver, Policy, Rule
from coordinator.wire.codec import Segment
from coordinator.wire.logfile import read_log, stream_log, write_log

_JOBS, _QUICK = 8_000, 8
_LONGER = 8
_RUNS = 5
_SEGMENT = 100
_BYTES = 1_000_000


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    jobs = _JOBS // _QUICK if wishes.quick else _JOBS
    with tempfile.TemporaryDirectory(prefix="bench-replay-") as folder:
        short, long = Path(folder) / "short.log", Path(folder) / "long.log"
        for path, many in ((short, jobs // _LONGER), (long, jobs)):
            with path.open("wb") as file:
                file.writelines(write_log(told(many)))
        console.print(_table(long))
        console.print(_memory(short, long))


def told(jobs: int) -> Iterator[Segment]:
    """The log of so many jobs, decided by the core, in segments as a busy replica makes them."""
    state = empty()
    held: list[Recorded] = []
    driver = c.RegisterApplication(APPLICATION, Driver(name="large"), policy=Policy(Rule.EAGER, observe=False))
    now_ms = 1_790_000_000_000
    batches: Iterator[list[c.Command]] = itertools.chain([[driver]], (list(whole(job)) for job in range(jobs)))
    for batch in batches:
        while batch:
            now_ms += 20
            desk = Desk.over(state, now_ms)
            for command in batch:
                carry_out(desk, command)
            settle(desk.state, state)
            held += desk.log
            batch = list(_outcomes(state))
        if len(held) >= _SEGMENT:
            yield Segment(held[0].sequence, b"bench", "bench", tuple(held))
            held = []
    if held:
        yield Segment(held[0].sequence, b"bench", "bench", tuple(held))


def _outcomes(state: State) -> Iterator[c.Command]:
    for directive in list(state.directives.values()):
        fence = directive.kind is DirectiveKind.FENCE
        yield c.ReportOutcome(directive.directive, c.Fenced(_BYTES) if fence else c.Freed(_BYTES))
        if not fence:
            yield c.ReportShuffleCleaned(directive.app_shuffle)


def _table(path: Path) -> Table:
    log = [recorded for segment in read_log(path.read_bytes()) for recorded in segment.records]
    table = Table(title=f"Events a second, one core; a log of {len(log):,} events, {path.stat().st_size / 1e6:.1f} MB")
    for heading in ("what", "events/s", "of the bare loop"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    rows = {
        "a bare loop": lambda: _bare(log),
        "fold, events in memory": lambda: fold(empty(), log),
        "decode, from a file": lambda: sum(len(segment.records) for segment in _segments(path)),
        "decode and fold, from a file": lambda: _fold_file(path),
        "decode, fold and prove, from a file": lambda: _prove(path),
    }
    rates = {name: len(log) / _best(run) for name, run in rows.items()}
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{rate / rates['a bare loop']:.3f}")
    return table


def _best(measured: object) -> float:
    """Seconds of the processor, the least of several runs: what others do on the machine is not measured."""
    assert callable(measured)
    found = []
    for _ in range(_RUNS):
        began_s = time.process_time()
        measured()
        found.append(time.process_time() - began_s)
    return min(found)


def _bare(log: list[Recorded]) -> None:
    seen: dict[int, object] = {}
    for number, recorded in enumerate(log):
        seen[number % 64] = (type(recorded), recorded)


def _segments(path: Path) -> Iterator[Segment]:
    with path.open("rb") as file:
        yield from stream_log(file, path.name)


def _fold_file(path: Path) -> Sequence:
    state = empty()
    for segment in _segments(path):
        fold(state, segment.records)
    return state.meta.next_sequence


def _prove(path: Path) -> None:
    proof = Proof()
    for segment in _segments(path):
        for recorded in segment.records:
            proof.take(recorded)
        proof.rest()
    if proof.broken:
        raise RuntimeError(str(proof.broken[0]))


def _memory(short: Path, long: Path) -> Table:
    table = Table(title="Memory over a fold of the file, in a fresh process")
    for heading in ("events", "file MB", "held beyond the start, MB, at the most"):
        table.add_column(heading, justify="right")
    for path in (short, long):
        command = [sys.executable, "-m", "benchmarks.replay", str(path)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        table.add_row(f"{found['events']:,}", f"{path.stat().st_size / 1e6:.1f}", f"{found['grown_kb'] / 1024:.1f}")
    return table


def _peak_kb() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    before_kb = _peak_kb()
    folded = _fold_file(Path(sys.argv[1])) - 1
    print(json.dumps({"events": folded, "grown_kb": _peak_kb() - before_kb}))
