"""Schedules of the simulation: many by their seeds, or one again.

Responsible for running them, for figures, and for the shortest story of each that fails. Refuses to know why something
is wrong. Invariant: a seed, or a story as text, is the same schedule each time.

    python -m tests.simulation.run --count 10000          seeds from 0 on
    python -m tests.simulation.run --seconds 3600 --from 1000000
    python -m tests.simulation.run 17 23                  these seeds
    python -m tests.simulation.run --story "plain; make 0 0; go 0 6; kill 1"
"""

from __future__ import annotations

import argparse
import gc
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import structlog

from tests.simulation import schedule
from tests.simulation.draw import drawn
from tests.simulation.schedule import Outcome
from tests.simulation.shrink import RUNS_MAX, shortest
from tests.simulation.story import (
    LEASE_FAULTS,
    LINK_FAULTS,
    READ_FAULTS,
    REFUSALS,
    SCAN_FAULTS,
    WATCH_FAULTS,
    WRITE_FAULTS,
    parsed,
)

#: Schedules that one process runs between two reports.
_AT_ONCE = 100
_FAILURES_SHOWN = 5


@dataclass(slots=True)
class Figures:
    """What many schedules came to."""

    schedules: int = 0
    unharmed: int = 0  #: Schedules in which no fault took effect; they are not counted among the others.
    steps: int = 0
    commits: int = 0
    faults: int = 0
    met: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)  #: Commits of a schedule, in classes.
    failed: list[tuple[int, list[str]]] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        self.schedules += bool(outcome.faults)
        self.unharmed += not outcome.faults
        self.steps += outcome.steps
        self.commits += outcome.commits
        self.faults += outcome.faults
        self.met.update(outcome.met)
        self.lengths[next(bound for bound in LENGTHS if outcome.commits <= bound)] += 1
        if outcome.wrongs:
            self.failed.append((seed, outcome.wrongs))

    def merge(self, other: Figures) -> None:
        self.schedules += other.schedules
        self.unharmed += other.unharmed
        self.steps += other.steps
        self.commits += other.commits
        self.faults += other.faults
        self.met.update(other.met)
        self.lengths.update(other.lengths)
        self.failed += other.failed

    def told(self, took_s: float) -> str:
        """Figures for people."""
        rates = (
            f"{self.schedules / took_s:.0f} schedules/s, {self.steps / took_s:.0f} steps/s, "
            f"{self.commits / took_s:.0f} commits/s, {self.faults / took_s:.0f} faults/s"
        )
        lengths = ", ".join(f"up to {bound}: {self.lengths[bound]}" for bound in LENGTHS[:-1] if self.lengths[bound])
        more = f", more: {self.lengths[LENGTHS[-1]]}" if self.lengths[LENGTHS[-1]] else ""
        counts = f"{self.schedules} schedules with faults, {self.unharmed} without (not counted), {self.steps} steps"
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.met.most_common())
        return "\n".join(
            (
                f"{counts}, {self.commits} commits, {self.faults} faults in {took_s:.1f} s: {rates}",
                f"by their commits: {lengths}{more}",
                f"{len(self.met)} kinds of faults: {kinds}",
                f"{len(self.failed)} failed",
            )
        )


#: Every fault that a story may name, by where it is met.
FAULTS = (WRITE_FAULTS, READ_FAULTS, SCAN_FAULTS, LEASE_FAULTS, WATCH_FAULTS, LINK_FAULTS, REFUSALS)
LENGTHS = (10, 20, 40, 80, 160, 1 << 30)


def run_seed(seed: int) -> Outcome:
    """Runs the schedule of one seed."""
    return schedule.run(drawn(seed))


def run_seeds(seeds: Iterable[int]) -> Figures:
    """Runs many; collects garbage between them, and not within."""
    figures = Figures()
    gc.disable()
    try:
        for number, seed in enumerate(seeds):
            figures.add(seed, run_seed(seed))
            if number % 50 == 0:
                gc.collect(1)
    finally:
        gc.enable()
    return figures


def run_until_failure(seeds: Iterable[int]) -> Figures:
    """Runs one after the other; the first that fails is the last."""
    figures = Figures()
    for seed in seeds:
        figures.add(seed, run_seed(seed))
        if figures.failed:
            break
    return figures


def quiet() -> None:
    """Faults are expected here, and what is logged about them is nobody's reading."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    for name in ("state_backend", "asyncio", "shuffle_lifecycle"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def run_many(first: int, count: int, seconds: float = 0.0, processes: int = 1) -> Figures:
    """``count`` schedules that met a fault, from a seed on, or as many as there is time for."""
    until_s = time.monotonic() + seconds if seconds else float("inf")
    figures = Figures()
    for found in _in_pieces(first, processes):
        figures.merge(found)
        done = figures.schedules >= count if not seconds else time.monotonic() > until_s
        if done or len(figures.failed) >= _FAILURES_SHOWN:
            break
    return figures


def _in_pieces(first: int, processes: int) -> Iterator[Figures]:
    pieces = (range(start, start + _AT_ONCE) for start in range(first, 1 << 62, _AT_ONCE))
    if processes == 1:
        yield from map(run_seeds, pieces)
        return
    with multiprocessing.get_context("fork").Pool(processes, quiet) as pool:
        while True:
            yield from pool.map(run_seeds, [next(pieces) for _ in range(processes)])


def tell_failure(outcome: Outcome, runs_max: int = RUNS_MAX) -> str:
    """A failing schedule, as short as it can be made, and what repeats it."""
    found = shortest(outcome.story, schedule.run, runs_max)
    lines = "\n".join(f"    {wrong}" for wrong in found.wrongs[:5])
    return f"{found.story.told()}\n  is wrong:\n{lines}\n  repeat it with:\n    {found.story.command}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints figures, and every failing schedule with the command that repeats it; gives 1 if something failed."""
    asked = _asked(arguments)
    quiet()
    if asked.plant:
        from tests.planted.planting import plant_for_good

        plant_for_good(asked.plant)
    return _tell_story(asked.story) if asked.story else _tell_seeds(asked)


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs schedules of the simulation.")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--story", help="one schedule, as text")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--every-fault", action="store_true", help="fail unless each kind of fault was met")
    parser.add_argument("--plant", help="with this planted bug (tests/planted)")
    return parser.parse_args(arguments)


def _tell_story(text: str) -> int:
    """Runs one schedule; gives 1 if it is wrong."""
    outcome = schedule.run(parsed(text))
    print(outcome.story.told())
    print("\n".join(["  is wrong:", *(f"    {wrong}" for wrong in outcome.wrongs)]) if outcome.wrongs else "  holds")
    return 1 if outcome.wrongs else 0


def _tell_seeds(asked: argparse.Namespace) -> int:
    """Runs the schedules of many seeds; gives 1 if one failed, or if a fault that was to be met never was."""
    began_s = time.monotonic()
    if asked.seeds:
        figures = run_seeds(asked.seeds)
    else:
        figures = run_many(asked.first, asked.count, asked.seconds, asked.processes)
    print(figures.told(time.monotonic() - began_s))
    for seed, wrongs in figures.failed[:_FAILURES_SHOWN]:
        print(f"\nseed {seed}: {wrongs[0][:300]}")
        print(tell_failure(run_seed(seed)))
    unmet = sorted({fault for faults in FAULTS for fault in faults} - set(figures.met)) if asked.every_fault else []
    if unmet:
        print(f"never met, so nothing was tested by it: {', '.join(unmet)}")
    return 1 if figures.failed or unmet else 0


if __name__ == "__main__":
    sys.exit(main())
