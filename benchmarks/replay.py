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
from collections.abc import Callable, Iterator
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
from coordinator.wire.codec import Segment, decode_segment, encode_segment
from coordinator.wire.logfile import stream_salvage, write_log

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


#: What one segment costs: folded, decoded, …; made anew for each run.
Piece = Callable[[int], object]


def _table(path: Path) -> Table:
    segments = list(_segments(path))
    sealed = [encode_segment(segment) for segment in segments]
    events = sum(len(segment.records) for segment in segments)
    table = Table(title=f"Events a second, one core; a log of {events:,} events, {path.stat().st_size / 1e6:.1f} MB")
    for heading in ("what", "events/s", "of the bare loop"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    rows: dict[str, Callable[[], Piece]] = {
        "a bare loop": lambda: _bare(segments),
        "fold, events in memory": lambda: _fold(segments),
        "decode": lambda: lambda i: decode_segment(sealed[i], "bench"),
        "decode and fold": lambda: _decode_and_fold(sealed),
        "fold and prove": lambda: _prove(segments),
    }
    rates = {name: events / _least(make, len(segments)) for name, make in rows.items()}
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{rate / rates['a bare loop']:.4f}")
    return table


def _least(make: Callable[[], Piece], pieces: int) -> float:
    """Seconds of all pieces, each at its best of several runs."""
    best = [float("inf")] * pieces
    for _ in range(_RUNS):
        piece = make()
        for number in range(pieces):
            began_s = time.perf_counter()
            piece(number)
            best[number] = min(best[number], time.perf_counter() - began_s)
    return sum(best)


def _bare(segments: list[Segment]) -> Piece:
    seen: dict[int, object] = {}

    def run(number: int) -> None:
        for recorded in segments[number].records:
            seen[recorded.sequence % 64] = (type(recorded), recorded)

    return run


def _fold(segments: list[Segment]) -> Piece:
    state = empty()
    return lambda number: fold(state, segments[number].records)


def _decode_and_fold(sealed: list[bytes]) -> Piece:
    state = empty()
    return lambda number: fold(state, decode_segment(sealed[number], "bench").records)


def _prove(segments: list[Segment]) -> Piece:
    proof = Proof()

    def run(number: int) -> None:
        for recorded in segments[number].records:
            proof.take(recorded)
        proof.rest()
        if proof.broken:
            raise RuntimeError(str(proof.broken[0]))

    return run


def _segments(path: Path) -> Iterator[Segment]:
    with path.open("rb") as file:
        yield from (found for found in stream_salvage(file, path.name) if isinstance(found, Segment))


def _fold_file(path: Path) -> Sequence:
    state = empty()
    for segment in _segments(path):
        fold(state, segment.records)
    return state.meta.next_sequence


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
