"""What earlier runs of a job teach about its shuffles.

Responsible for counting, over recorded runs, how often shuffles of each kind were read to the end, and for putting runs
of the same job together. Refuses to know files and policies. Invariant: a lesson never says less than what was seen: of
all shuffles of a kind, in all runs, the one that was read most often counts, so that `history` holds for that long. A
stage that failed for good wanted to read, and will in a run in which it does not fail.

What `frontier` would have let go before it was read again is `late`: the run is simulated to know. How often a loop
reads what it reads in every round is not for an earlier run to say: late, that is kept (`loops`). A map stage that
reads again to repair what it wrote is no other reader, as in the core.

Runs are of the same job where their applications have the same name; shuffles are of the same kind where the call sites
of their lineage are the same (`coordinator.core.lineages`). What was late is told once more without numbers of lines,
of the runs in which it was, for one whose program was edited: it is kept there too, and what was not goes as under
`frontier`. A run that has not ended says too little and is left out, and so is one that lacks files or that Spark has
compacted, and one without its start, which says nobody's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator.core import caches
from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, StageAttempt, StageId
from coordinator.core.lineages import kind_of, moved_kind_of, without_line
from coordinator.core.values import Lineage
from coordinator.wire.lessons import Kind, Taught
from replay.history.finding import unread
from replay.history.joining import Copy, Piece
from replay.learn.late import Late
from replay.numbers import Numbers
from replay.simulate.facts import Fact, Timed, as_facts, lineage_in
from replay.simulate.fetching import Readings
from replay.simulate.recordings import Opened, Recording, Run, Unread, kind_of_failure, odd, open_run, whole_runs
from replay.simulate.rewriting import Rewriter

_NOTHING = Taught(0, ())


@dataclass(frozen=True, slots=True)
class Learned:
    """What one recorded run taught; or why nothing."""

    recording: str
    name: str = ""
    taught: Taught = _NOTHING
    why_not: str = ""
    is_damaged: bool = False  #: It is a log of ours, and was not read to its end.
    is_newer: bool = False  #: It is a log of ours that this release cannot read.
    is_no_log: bool = False
    is_missing: bool = False  #: It is a run's, and nobody could read it to its end.
    warnings: tuple[str, ...] = ()
    run: Run | None = None
    facts: int = 0
    piece: Piece | None = None


@dataclass(slots=True)
class _Reads:
    """Listens to one run."""

    lineage: dict[AppShuffle, Lineage] = field(default_factory=dict)
    reads: dict[AppShuffle, int] = field(default_factory=dict)
    readers: dict[AppShuffle, set[str]] = field(default_factory=dict)  #: The lines that have read it.
    loops: set[AppShuffle] = field(default_factory=set)  #: Read again by a line that had read it.
    written: dict[AppShuffle, set[AppShuffle]] = field(default_factory=dict)  #: By map stages that have read it.
    running: dict[StageAttempt, c.ReportStageSubmitted] = field(default_factory=dict)
    readings: Readings = field(default_factory=Readings)
    trying: dict[StageId, c.ReportStageSubmitted] = field(default_factory=dict)  #: None of their attempts ended well.
    well: Numbers = field(default_factory=Numbers)  #: Stages of which one did.

    def hear(self, command: c.Command | None) -> None:
        read = self.readings.hear(command)
        self.lineage.update((told.app_shuffle, told) for told in lineage_in(command))
        if isinstance(command, c.ReportStageSubmitted):
            self.running[command.stage] = command
            if command.stage.stage not in self.well:
                self.trying[command.stage.stage] = command
            if command.writes is not None:
                self.reads.setdefault(command.writes, 0)
        elif isinstance(command, c.ReportStageCompleted):
            stage = self.running.pop(command.stage, None)
            if not command.failure:
                self.well.add(command.stage.stage)
                self.trying.pop(command.stage.stage, None)
            if stage is not None and not command.failure:
                for app_shuffle in read:
                    self._read(app_shuffle, stage)

    def close(self) -> None:
        """The run is over: what a stage wanted that never ended well, it may read to the end in another run."""
        for stage in self.trying.values():
            for app_shuffle in caches.direct(stage):
                self._read(app_shuffle, stage)

    def repairs(self, stage: c.ReportStageSubmitted, app_shuffle: AppShuffle) -> bool:
        """Whether it reads this to write again what was made from it."""
        return stage.writes is not None and stage.writes in self.written.get(app_shuffle, ())

    def _read(self, app_shuffle: AppShuffle, stage: c.ReportStageSubmitted) -> None:
        if self.repairs(stage, app_shuffle):
            return
        self.reads[app_shuffle] = self.reads.get(app_shuffle, 0) + 1
        lines = self.readers.setdefault(app_shuffle, set())
        if stage.name in lines:
            self.loops.add(app_shuffle)
        lines.add(stage.name)
        if stage.writes is not None:
            self.written.setdefault(app_shuffle, set()).add(stage.writes)


def learn(facts: Iterable[Fact | Timed]) -> Taught:
    """What one run teaches."""
    given = as_facts(facts)
    heard = _Reads()
    late = Late(Rewriter.of(fact.command for fact in given), heard.repairs)
    for fact in given:
        late.take(fact)
        heard.hear(fact.command)
    heard.close()
    kinds: dict[str, Kind] = {}
    moved: dict[str, Kind] = {}
    for app_shuffle, reads in heard.reads.items():
        lineage = heard.lineage.get(app_shuffle)
        if lineage is not None:
            seen = Kind("", lineage.call_site, reads, 1, app_shuffle in heard.loops, app_shuffle in late.found)
            _add(kinds, replace(seen, lineage=kind_of(heard.lineage.get, app_shuffle)))
            name = moved_kind_of(heard.lineage.get, app_shuffle)
            _add(moved, replace(seen, lineage=name, call_site=without_line(lineage.call_site)))
    wherever = [kind for name, kind in moved.items() if kind.late and name not in kinds]
    return Taught(1, (*kinds.values(), *wherever))


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
    reads, seen = max(known.reads, more.reads), known.seen + more.seen
    loops, late = known.loops or more.loops, known.late or more.late
    kinds[more.lineage] = Kind(more.lineage, known.call_site, reads, seen, loops, late)


def _place(kind: Kind) -> tuple[str, str]:
    return kind.call_site, kind.lineage


def learned(recording: Recording) -> Learned:
    """What one recorded run taught, wherever it is."""
    try:
        return _learned(recording)
    except (Unread, ValueError, OSError) as error:
        kind = kind_of_failure(error)
        why = unread(error) if isinstance(error, OSError) else str(error)
        return Learned(recording.name, why_not=why, is_missing=not kind["is_no_log"], **kind)
    except Exception as error:  # noqa: BLE001 - one record must never end the run of all
        return Learned(recording.name, why_not=odd("read", error), is_missing=True)


def _learned(recording: Recording) -> Learned:
    run = open_run(recording)
    damage = run.warnings if recording.log is None else ()  # a history log may be of a run that goes on
    found = Learned(recording.name, run.name, is_missing=bool(damage), warnings=damage, piece=run.piece)
    found = replace(found, is_damaged=found.is_missing, why_not=_why_not(recording, run))
    if found.why_not:
        return found
    return replace(found, taught=learn(run.facts), warnings=run.warnings, run=run.run, facts=len(run.facts))


def _why_not(recording: Recording, run: Opened) -> str:
    """Why a run teaches nothing: a read that is not in it would be one too few."""
    lacks = recording.log.lacks if recording.log is not None else ()
    if lacks:
        return f"{'; '.join(lacks)}; reads are missing: left out"
    if not run.ended:
        return "it has not ended, so later reads are not in it: left out"
    return "" if run.name else "it does not say what its application is called: left out"


def all_of(recordings: Sequence[Recording]) -> list[Learned]:
    """What each recording taught, read in this process. History logs that tell parts of one run are read as one."""
    return whole_runs(recordings, lambda some: list(map(learned, some)), _left_out)


def spread(spark: Any, recordings: Sequence[Recording]) -> list[Learned]:
    """As `all_of`, each recording as a task of its own on a Spark session."""

    def carry_out(some: Sequence[Recording]) -> list[Learned]:
        return list(spark.sparkContext.parallelize(list(some), max(1, len(some))).map(learned).collect())

    return whole_runs(recordings, carry_out, _left_out)


def _left_out(copy: Copy) -> Learned:
    return Learned(copy.piece.log.place, why_not=copy.why, is_no_log=True)
