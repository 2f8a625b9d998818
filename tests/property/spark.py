"""A small Spark: a scheduler, a map output tracker, a cleaner and a driver that answers directives.

Responsible for doing what Spark does, as far as the core can tell, and for telling it in facts that arrive later than
they happen. Refuses to know the core. Invariant: it never reads what is not there; if it would, it says so.

Facts wait in ``told``, in order, until somebody carries them to the core: the model runs ahead of what the core knows.
Each generation of a shuffle's data has a count, as in the driver's JVM; data are there per count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, JobId, LookId, ShuffleId, StageAttempt, StageId, spans_of
from coordinator.core.state import Directive
from coordinator.core.values import DirectiveKind, Level, Lineage, Locator, Outputs, RootKind

MAPS = 3


@dataclass
class Shuffled:
    """One app shuffle as the driver knows it."""

    app_shuffle: AppShuffle
    reads: tuple[AppShuffle, ...]
    level: Level = Level.DETERMINATE
    available: int = 0
    count: int = 1
    stage: StageId | None = None  #: While a live job lists it.
    attempts: int = 0


@dataclass
class Running:
    """A stage attempt that runs."""

    stage: StageAttempt
    reads: tuple[AppShuffle, ...]
    writes: AppShuffle | None
    counts: dict[AppShuffle, int]  #: Which generations it reads.
    tasks: int = MAPS


@dataclass
class LiveJob:
    """A job between its start and its end."""

    job: JobId
    final: StageId
    reads: tuple[AppShuffle, ...]
    writes: AppShuffle | None
    lists: frozenset[AppShuffle]
    done: bool = False
    attempts: int = 0


@dataclass
class Spark:
    """The driver, and the program that it runs."""

    shuffles: dict[AppShuffle, Shuffled] = field(default_factory=dict)
    held: set[AppShuffle] = field(default_factory=set)
    jobs: dict[JobId, LiveJob] = field(default_factory=dict)
    running: dict[StageAttempt, Running] = field(default_factory=dict)
    data: set[tuple[AppShuffle, int]] = field(default_factory=set)  #: Fenced and not yet freed ones too.
    told: list[c.Command] = field(default_factory=list)
    roots: dict[AppShuffle, tuple[AppShuffle, ...]] = field(default_factory=dict)
    root_kind: RootKind = RootKind.HANDLE
    looking: LookId | None = None
    lost_something: bool = False
    cleaned: set[AppShuffle] = field(default_factory=set)
    ever: set[AppShuffle] = field(default_factory=set)  #: A job has listed it.
    _next_stage: int = 0
    _next_job: int = 0
    _looks: int = 0

    # ---- the program -------------------------------------------------------------------------------------------------

    def make(self, reads: tuple[AppShuffle, ...], level: Level) -> AppShuffle:
        """The program makes a shuffle from what it holds, and holds it."""
        app_shuffle = AppShuffle(len(self.shuffles))
        self.shuffles[app_shuffle] = Shuffled(app_shuffle, reads, level)
        self.held.add(app_shuffle)
        return app_shuffle

    def start_job(self, app_shuffle: AppShuffle, map_stage: bool) -> None:
        """A result job that reads it, or a map-stage job that writes it."""
        lists = self.lineage((app_shuffle,))
        for one in sorted(lists):
            shuffled = self.shuffles[one]
            if shuffled.stage is None:
                shuffled.stage, shuffled.attempts = self._new_stage(), 0
        writes = app_shuffle if map_stage else None
        final = self.shuffles[app_shuffle].stage if map_stage else self._new_stage()
        assert final is not None
        reads = self.shuffles[app_shuffle].reads if map_stage else (app_shuffle,)
        job = LiveJob(JobId(self._next_job), final, reads, writes, lists)
        self._next_job += 1
        self.jobs[job.job] = job
        if app_shuffle % 2:
            self._tell_ahead(job)
        else:
            self.told.append(self.job_told(job))
        self.ever.update(job.lists)

    def _tell_ahead(self, job: LiveJob) -> None:
        """As of a job that is too large for one command: what was never told before goes ahead, piece by piece."""
        told = self.job_told(job)
        first = tuple(one for one in told.lineage if one.app_shuffle not in self.ever)
        self.told.extend(c.ReportLineage((one,)) for one in first)
        self.told.append(replace(told, lineage=tuple(one for one in told.lineage if one not in first)))

    def job_told(self, job: LiveJob) -> c.ReportJobStarted:
        """What is told of a job when it starts, and again after a gap."""
        stages = {self.shuffles[one].stage for one in job.lists} | {job.final}
        return c.ReportJobStarted(
            job.job,
            job.final,
            job.reads,
            job.writes,
            spans_of(tuple(stage for stage in stages if stage is not None)),
            tuple(self._lineage_of(one) for one in sorted(job.lists)),
        )

    def _lineage_of(self, app_shuffle: AppShuffle) -> Lineage:
        shuffled = self.shuffles[app_shuffle]
        return Lineage(app_shuffle, shuffled.reads, shuffled.level, False, MAPS)

    def _new_stage(self) -> StageId:
        self._next_stage += 1
        return StageId(self._next_stage - 1)

    def lineage(self, starts: tuple[AppShuffle, ...]) -> frozenset[AppShuffle]:
        """All ancestors, itself too."""
        seen: set[AppShuffle] = set()
        to_see = list(starts)
        while to_see:
            one = to_see.pop()
            if one not in seen:
                seen.add(one)
                to_see.extend(self.shuffles[one].reads)
        return frozenset(seen)

    # ---- the scheduler -----------------------------------------------------------------------------------------------

    def intact(self, app_shuffle: AppShuffle) -> bool:
        return self.shuffles[app_shuffle].available == MAPS

    def runnable(self) -> list[tuple[LiveJob, AppShuffle | None]]:
        """Stages that can be submitted: of a job, the map stage of a shuffle, or (None) its result stage."""
        found: list[tuple[LiveJob, AppShuffle | None]] = []
        for job in self.jobs.values():
            if job.done:
                continue
            starts = (job.writes,) if job.writes is not None else job.reads
            missing = self._missing(starts)
            found += [(job, one) for one in sorted(missing) if self._can_run(one)]
            busy = any(running.stage.stage == job.final for running in self.running.values())
            if job.writes is None and not missing and not busy:
                found.append((job, None))
        return found

    def _missing(self, starts: tuple[AppShuffle, ...]) -> set[AppShuffle]:
        missing: set[AppShuffle] = set()
        to_see = list(starts)
        while to_see:
            one = to_see.pop()
            if not self.intact(one) and one not in missing:
                missing.add(one)
                to_see.extend(self.shuffles[one].reads)
        return missing

    def _can_run(self, app_shuffle: AppShuffle) -> bool:
        shuffled = self.shuffles[app_shuffle]
        busy = any(running.writes == app_shuffle for running in self.running.values())
        return not busy and all(map(self.intact, shuffled.reads))

    def submit(self, job: LiveJob, app_shuffle: AppShuffle | None) -> Running:
        """What is read is there, or the model was led astray."""
        if app_shuffle is None:
            running = self._running(StageAttempt(job.final, job.attempts), job.reads, None, MAPS)
            job.attempts += 1
        else:
            shuffled = self.shuffles[app_shuffle]
            assert shuffled.stage is not None
            if shuffled.level is Level.INDETERMINATE:
                self._begin_anew(shuffled)
            attempt = StageAttempt(shuffled.stage, shuffled.attempts)
            running = self._running(attempt, shuffled.reads, app_shuffle, MAPS - shuffled.available)
            shuffled.attempts += 1
        self.running[running.stage] = running
        self.told.append(c.ReportStageSubmitted(running.stage, running.reads, running.writes, running.tasks))
        return running

    def _begin_anew(self, shuffled: Shuffled) -> None:
        """Spark throws away what an earlier attempt of an indeterminate stage has left."""
        shuffled.available = 0

    def _running(
        self, stage: StageAttempt, reads: tuple[AppShuffle, ...], writes: AppShuffle | None, tasks: int
    ) -> Running:
        counts = {one: self.shuffles[one].count for one in reads}
        for one, count in counts.items():
            assert (one, count) in self.data, f"stage {stage} reads app shuffle {one}, whose data are gone"
        return Running(stage, reads, writes, counts, tasks)

    def complete(self, running: Running) -> None:
        """It ends well; what it read was there all the time."""
        for one, count in running.counts.items():
            assert (one, count) in self.data, f"the data of app shuffle {one} went under its reader {running.stage}"
        del self.running[running.stage]
        if running.writes is not None:
            shuffled = self.shuffles[running.writes]
            shuffled.available = MAPS
            self.data.add((running.writes, shuffled.count))
        for job in self.jobs.values():
            job.done |= job.final == running.stage.stage
        done = c.ReportStageCompleted(
            running.stage, shuffle_bytes_written=10, output_bytes=5, task_ms=running.stage.stage % 7
        )
        self.told.append(done)

    def fail(self, running: Running, reported: bool) -> None:
        """A fetch failure: one output of something that it reads is gone, and the stage is given up."""
        del self.running[running.stage]
        for one in running.reads[:1]:
            self.lost_something = True
            self.shuffles[one].available = min(self.shuffles[one].available, MAPS - 1)
            if reported:
                self.told.append(c.ReportMissing(one, ShuffleId(0), running.stage))
        self.told.append(c.ReportStageCompleted(running.stage, failure="fetch failed"))

    def end_job(self, job: LiveJob, succeeded: bool) -> None:
        """Stages that only this job lists are cancelled."""
        del self.jobs[job.job]
        listed = {one for other in self.jobs.values() for one in other.lists}
        for running in list(self.running.values()):
            mine = running.stage.stage == job.final and running.writes is None
            if mine or (running.writes is not None and running.writes not in listed):
                del self.running[running.stage]
                self.told.append(c.ReportStageCompleted(running.stage, failure="cancelled"))
        for one in job.lists - listed:
            self.shuffles[one].stage = None
        self.told.append(c.ReportJobEnded(job.job, succeeded))

    def work(self, steps: int) -> None:
        """Work as it usually goes, and well."""
        for _ in range(steps):
            if self.running:
                self.complete(next(iter(self.running.values())))
            elif runnable := self.runnable():
                self.submit(*runnable[0])
            elif self.jobs:
                self.end_job(next(iter(self.jobs.values())), succeeded=True)

    # ---- losses and the cleaner --------------------------------------------------------------------------------------

    def lose(self, app_shuffle: AppShuffle, left: int, reported: bool) -> None:
        """An executor takes outputs with it."""
        shuffled = self.shuffles[app_shuffle]
        if shuffled.available <= left or any(one.writes == app_shuffle for one in self.running.values()):
            return
        self.lost_something = True
        shuffled.available = left
        self.told.append(c.ReportExecutorLost("1"))
        if reported:
            self.told.append(c.ReportOutputs((Outputs(app_shuffle, left, MAPS),)))

    def lose_blocks(self, app_shuffle: AppShuffle) -> None:
        """An executor takes cached blocks with it that stages took instead of this one."""
        self.told.append(c.ReportCachedBlocksLost("1", (app_shuffle,)))

    def clean(self) -> None:
        """Spark's cleaner lets go of what no lineage mentions."""
        mentioned = self.lineage((*self.held, *(one for job in self.jobs.values() for one in job.lists)))
        for one in sorted(set(self.shuffles) - mentioned):
            if not any(one in running.reads or one == running.writes for running in self.running.values()):
                self.told.append(c.ReportShuffleCleaned(one))
                self.cleaned.add(one)
                self.shuffles[one].reads = ()
                self.shuffles[one].available = 0
                self.data -= {(one, count) for _, count in self.data}

    def truth(self) -> c.Resync:
        """What runs, and what is there: as it is told after facts were dropped."""
        jobs = tuple(map(self.job_told, self.jobs.values()))
        stages = tuple(c.ReportStageSubmitted(r.stage, r.reads, r.writes, r.tasks) for r in self.running.values())
        there = sorted(set(self.shuffles) - self.cleaned)
        return c.Resync(jobs, stages, (), tuple(Outputs(one, self.shuffles[one].available, MAPS) for one in there))

    # ---- looks -------------------------------------------------------------------------------------------------------

    def begin_look(self) -> None:
        self._looks += 1
        self.looking = LookId(self._looks)
        self.told.append(c.BeginLook(self.looking))

    def end_look(self) -> None:
        """Walks from everything held, down to what is intact now; tells what differs from the last look."""
        if self.looking is None:
            return
        found = {one: self._cut(one) for one in self.held}
        changed = [one for one in sorted(found) if self.roots.get(one) != found[one]]
        gone = sorted(set(self.roots) - set(found))
        roots = tuple(c.ReportedRoot(f"h{one}", self.root_kind, found[one]) for one in changed)
        self.told.append(c.ReportCut(self.looking, roots, tuple(f"h{one}" for one in gone)))
        self.roots, self.looking = found, None

    def _cut(self, app_shuffle: AppShuffle) -> tuple[AppShuffle, ...]:
        needed: set[AppShuffle] = set()
        to_see = [app_shuffle]
        while to_see:
            one = to_see.pop()
            if one not in needed:
                needed.add(one)
                to_see.extend(() if self.intact(one) else self.shuffles[one].reads)
        return tuple(sorted(needed))

    # ---- directives --------------------------------------------------------------------------------------------------

    def carry_out(self, directive: Directive) -> c.Outcome:
        """What the driver does when a directive arrives; its outcome comes after all that was told before."""
        app_shuffle = directive.app_shuffle
        if directive.kind is DirectiveKind.FENCE:
            return self._fence(app_shuffle)
        if directive.kind is DirectiveKind.DELETE:
            return self._free(app_shuffle, int(directive.locator.payload))
        return c.Freed(0)

    def _fence(self, app_shuffle: AppShuffle) -> c.Outcome:
        who = [str(r.stage) for r in self.running.values() if app_shuffle in r.reads or app_shuffle == r.writes]
        if who:
            return c.Busy(tuple(sorted(who)))
        shuffled = self.shuffles[app_shuffle]
        fenced, shuffled.available, shuffled.count = shuffled.count, 0, shuffled.count + 1
        return c.Fenced(30, Locator("model", str(fenced).encode()))

    def _free(self, app_shuffle: AppShuffle, count: int) -> c.Outcome:
        assert count < self.shuffles[app_shuffle].count, f"free of app shuffle {app_shuffle}, which is not fenced"
        readers = [r.stage for r in self.running.values() if r.counts.get(app_shuffle) == count]
        assert not readers, f"free of app shuffle {app_shuffle} under {readers}"
        if (app_shuffle, count) not in self.data:
            return c.Superseded()
        self.data.discard((app_shuffle, count))
        return c.Freed(30)
