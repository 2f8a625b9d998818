"""What earlier runs of a job teach about its shuffles.

Responsible for counting, over recorded runs, how often shuffles of each kind were read to the end, and for putting runs
of the same job together. Refuses to know files and policies. Invariant: a lesson never says less than what was seen: of
all shuffles of a kind, in all runs, the one that was read most often counts, so that `history` holds for that long.

Runs are of the same job where their applications have the same name; shuffles are of the same kind where the call sites
of their lineage are the same (`coordinator.core.lineages`). A run that has not ended says too little and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, StageAttempt
from coordinator.core.lineages import kind_of
from coordinator.core.values import Lineage
from coordinator.wire.lessons import Kind, Taught
from replay.simulate.facts import Fact, Timed, as_facts
from replay.simulate.recordings import Recording, Unread, open_run

_NOTHING = Taught(0, ())


@dataclass(frozen=True, slots=True)
class Learned:
    """What one recorded run taught; or why nothing."""

    recording: str
    name: str = ""
    taught: Taught = _NOTHING
    why_not: str = ""


@dataclass(slots=True)
class _Reads:
    """Listens to one run."""

    lineage: dict[AppShuffle, Lineage] = field(default_factory=dict)
    reads: dict[AppShuffle, int] = field(default_factory=dict)
    running: dict[StageAttempt, tuple[AppShuffle, ...]] = field(default_factory=dict)

    def hear(self, command: c.Command | None) -> None:
        if isinstance(command, c.ReportJobStarted):
            self.lineage.update((told.app_shuffle, told) for told in command.lineage)
        elif isinstance(command, c.ReportStageSubmitted):
            self.running[command.stage] = command.reads
            if command.writes is not None:
                self.reads.setdefault(command.writes, 0)
        elif isinstance(command, c.ReportStageCompleted):
            for read in () if command.failure else self.running.pop(command.stage, ()):
                self.reads[read] = self.reads.get(read, 0) + 1


def learn(facts: Iterable[Fact | Timed]) -> Taught:
    """What one run teaches."""
    heard = _Reads()
    for fact in as_facts(facts):
        heard.hear(fact.command)
    kinds: dict[str, Kind] = {}
    for app_shuffle, reads in heard.reads.items():
        lineage = heard.lineage.get(app_shuffle)
        if lineage is not None:
            kind = kind_of(heard.lineage.get, app_shuffle)
            _add(kinds, Kind(kind, lineage.call_site, reads, 1))
    return Taught(1, tuple(kinds.values()))


def together(runs: Iterable[Learned]) -> dict[str, Taught]:
    """What all runs taught, by application name."""
    found: dict[str, dict[str, Kind]] = {}
    counted: dict[str, int] = {}
    for run in runs:
        if not run.why_not:
            counted[run.name] = counted.get(run.name, 0) + run.taught.runs
            kinds = found.setdefault(run.name, {})
            for kind in run.taught.kinds:
                _add(kinds, kind)
    return {name: Taught(counted[name], tuple(sorted(kinds.values(), key=_place))) for name, kinds in found.items()}


def _add(kinds: dict[str, Kind], more: Kind) -> None:
    known = kinds.get(more.lineage, Kind(more.lineage, more.call_site, 0, 0))
    kinds[more.lineage] = Kind(more.lineage, known.call_site, max(known.reads, more.reads), known.seen + more.seen)


def _place(kind: Kind) -> tuple[str, str]:
    return kind.call_site, kind.lineage


def learned(recording: Recording) -> Learned:
    """What one recorded run taught, wherever it is."""
    try:
        run = open_run(recording)
    except (Unread, ValueError, OSError) as error:
        return Learned(recording.name, why_not=str(error))
    if not run.ended:
        return Learned(recording.name, run.name, why_not="it has not ended, so later reads are not in it: left out")
    return Learned(recording.name, run.name, learn(run.facts))


def spread(spark: Any, recordings: Sequence[Recording]) -> list[Learned]:
    """Each as a task of its own on a Spark session."""
    tasks = spark.sparkContext.parallelize(list(recordings), max(1, len(recordings)))
    return list(tasks.map(learned).collect())
