"""Driving the core through a recorded run.

Responsible for giving the core what was reported, in order: `as_recorded`, with the outcomes and ticks of the record;
or `Otherwise`, under another policy, with a simulated driver in the place of the recorded one. Refuses to decide (the
core does) and to count (the ledgers do). Invariant: as recorded, every event is decided by the core from what was
reported.
"""

# Every row of a table takes what the table hands it.
# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator.core import commands as c
from coordinator.core import cuts
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt, StageId
from coordinator.core.state import State
from coordinator.core.values import Lesson, Outputs, Policy
from replay.simulate.core import Core
from replay.simulate.driver import Driver
from replay.simulate.facts import Fact, Kind
from replay.simulate.rewriting import Rewriter, is_intact, missing

Hear = Callable[[list[e.Recorded]], None]


def as_recorded(facts: Iterable[Fact], hear: Hear) -> None:
    """Carries out a record as it is, ticks and outcomes included. ``hear`` gets the events of each command."""
    run = AsRecorded(hear)
    for fact in facts:
        run.take(fact)


@dataclass(slots=True)
class AsRecorded:
    """`as_recorded`, fact by fact."""

    hear: Hear
    core: Core = field(default_factory=Core)

    def take(self, fact: Fact) -> None:
        """Carries out one fact."""
        if fact.command is not None:
            self.hear(self.core.carry_out(fact.command, fact.time_ms))
        elif fact.event is not None:
            self.hear(self.core.keep(fact.event, fact.time_ms))


@dataclass(slots=True)
class Otherwise:
    """The recorded run under another policy: what was reported is changed where it followed from the recorded one."""

    policy: Policy | None
    driver: Driver
    rewriter: Rewriter
    hear: Hear
    lessons: tuple[Lesson, ...] | None = None  #: Instead of those that were recorded.
    capacity_bytes: int | None = None  #: Instead of the disks that were recorded.
    core: Core = field(default_factory=Core)
    now_ms: int = 0
    _skipped: set[StageId] = field(default_factory=set)  #: Stages that would not have run.
    _short: set[StageAttempt] = field(default_factory=set)  #: Attempts that wrote a part of what here is all gone.
    _maps: dict[StageAttempt, c.ReportStageSubmitted] = field(default_factory=dict)  #: Of map stages, while they run.

    def run(self, facts: Iterable[Fact]) -> None:
        """Carries out all facts. It ends with the last one: what would have happened after it is not known."""
        for fact in facts:
            self.take(fact)
        self.close()

    def take(self, fact: Fact) -> None:
        """Carries out what has become due by the time of the fact, then the fact."""
        self.now_ms = max(self.now_ms, fact.time_ms)
        self._pass_time()
        if fact.kind in (Kind.FACT, Kind.ASKED) and fact.command is not None:
            rule = _OTHERWISE.get(type(fact.command), Otherwise._as_it_is)
            rule(self, fact, fact.command)

    def close(self) -> None:
        """Carries out what has become due by the last fact."""
        self._pass_time()

    def _do(self, command: c.Command, now_ms: int | None = None) -> bool:
        """Has the core decide a command; answers whether that gave an event."""
        log = self.core.carry_out(command, self.now_ms if now_ms is None else now_ms)
        self.driver.hear(log)
        self.hear(log)
        return bool(log)

    def _pass_time(self) -> None:
        """Carries out the driver's answers and the ticks that are due up to now, in the order of their times."""
        while True:
            answer_ms, due_ms = self.driver.due_ms, self.core.due_ms
            if answer_ms is not None and answer_ms <= self.now_ms and (due_ms is None or answer_ms <= due_ms):
                answer = self.driver.answer(self.state)
                if answer is not None:
                    self._do(answer, answer_ms)
            elif due_ms is None or due_ms > self.now_ms or not self._do(c.Tick(), due_ms):
                return

    @property
    def state(self) -> State:
        return self.core.state

    # ---- what becomes of a fact ----

    def _as_it_is(self, fact: Fact, command: c.Command) -> None:
        self._do(command)

    def _register(self, fact: Fact, command: c.RegisterApplication) -> None:
        settings = command.settings if self.lessons is None else replace(command.settings, lessons=self.lessons)
        if self.capacity_bytes is not None:
            settings = replace(settings, pressure_capacity_bytes=self.capacity_bytes)
        chosen = command.policy if self.policy is None else self.policy
        self._do(replace(command, policy=chosen, settings=settings))

    def _cleaned(self, fact: Fact, command: c.ReportShuffleCleaned) -> None:
        self.rewriter.forget(command.app_shuffle)
        self._do(command)

    def _set_policy(self, fact: Fact, command: c.SetPolicy) -> None:
        if self.policy is None:
            self._do(command)

    def _job(self, fact: Fact, command: c.ReportJobStarted) -> None:
        self._do(command if self.policy is None else replace(command, policy=None))

    def _submit(self, fact: Fact, command: c.ReportStageSubmitted) -> None:
        if self._would_not_run(fact, command):
            self._skipped.add(command.stage.stage)
            return
        for commands in self.rewriter.before(self.state, command):
            for one in commands:
                self._do(one)
        if command.writes is not None:
            self._maps[command.stage] = command
            if cuts.is_gone(self.state.current(command.writes)) and not self._is_whole(command):
                self._short.add(command.stage)
        self._do(command)

    def _would_not_run(self, fact: Fact, command: c.ReportStageSubmitted) -> bool:
        """Whether it ran only because of a recorded deletion: here its output is there, or no job needs it."""
        again = fact.again or command.stage.stage in self._skipped
        if not again or command.writes is None:
            return False
        return is_intact(self.state, command.writes) or not self._is_wanted(command.writes, command.stage.stage)

    def _is_wanted(self, app_shuffle: AppShuffle, stage: StageId) -> bool:
        """Whether a job that lists the stage needs the app shuffle, directly or for something that is gone."""
        jobs = [job for job in self.state.jobs.values() if job.lists(stage)]
        ends = [(*job.reads, *(() if job.writes is None else (job.writes,))) for job in jobs]
        return not jobs or any(app_shuffle in missing(self.state, end) for end in ends)

    def _is_whole(self, command: c.ReportStageSubmitted) -> bool:
        shuffle = self.state.shuffles.get(command.writes) if command.writes is not None else None
        return shuffle is None or command.tasks >= shuffle.lineage.maps

    def _complete(self, fact: Fact, command: c.ReportStageCompleted) -> None:
        stage = self._maps.pop(command.stage, None)
        if stage is None and command.stage.stage in self._skipped and command.stage not in self.state.attempts:
            return
        if command.stage in self._short and stage is not None and stage.writes is not None and not command.failure:
            whole = max(command.shuffle_bytes_written, self.rewriter.weights.get(stage.writes, 0))
            command = replace(command, shuffle_bytes_written=whole)
        self._do(command)
        if stage is not None and stage.writes is not None and not command.failure:
            anew_bytes = command.shuffle_bytes_written if self._is_whole(stage) else None
            self.rewriter.weigh(self.state, stage.writes, anew_bytes)

    def _ask(self, fact: Fact, command: c.GetShuffleId) -> None:
        """A reader that asks for what is gone here is left out: its stage, when submitted, has it written again."""
        if command.stage.stage in self._skipped and command.stage not in self.state.attempts:
            return
        if command.write and fact.again and is_intact(self.state, command.app_shuffle):
            return
        if command.write or not cuts.is_gone(self.state.current(command.app_shuffle)):
            self._do(command)

    def _missing(self, fact: Fact, command: c.ReportMissing) -> None:
        """Losses that are not of our making. Without the shuffle id: generations have other ids here."""
        if not fact.again:
            self._do(replace(command, shuffle_id=ShuffleId(0)))

    def _disk(self, fact: Fact, command: c.ReportDisk) -> None:
        """The disk's use, changed by what is held here and was not in the record, or the other way round."""
        held = sum(generation.bytes for generation in self.state.generations.values())
        others = sum(disk.disk != command.disk for disk in self.state.meta.disks)
        capacity = command.used_bytes + command.free_bytes
        used = min(capacity, max(0, command.used_bytes + (held - fact.held_bytes) // (1 + others)))
        self._do(replace(command, used_bytes=used, free_bytes=capacity - used))

    def _resync(self, fact: Fact, command: c.Resync) -> None:
        """What the recorded policy had deleted may be there under this one, and the other way round."""
        stages = tuple(stage for stage in command.stages if stage.stage.stage not in self._skipped)
        self._do(replace(command, stages=stages, outputs=tuple(map(self._there, command.outputs))))

    def _there(self, told: Outputs) -> Outputs:
        known = self.state.current(told.app_shuffle)
        if told.available == 0 and is_intact(self.state, told.app_shuffle):
            return replace(told, available=told.total)
        if told.available and known is None and told.app_shuffle in self.state.shuffles:
            return replace(told, available=0)
        return told


_OTHERWISE: dict[type, Any] = {
    c.RegisterApplication: Otherwise._register,  # noqa: SLF001 - the class's own table
    c.ReportShuffleCleaned: Otherwise._cleaned,  # noqa: SLF001
    c.SetPolicy: Otherwise._set_policy,  # noqa: SLF001
    c.ReportJobStarted: Otherwise._job,  # noqa: SLF001
    c.ReportStageSubmitted: Otherwise._submit,  # noqa: SLF001
    c.ReportStageCompleted: Otherwise._complete,  # noqa: SLF001
    c.GetShuffleId: Otherwise._ask,  # noqa: SLF001
    c.ReportMissing: Otherwise._missing,  # noqa: SLF001
    c.ReportDisk: Otherwise._disk,  # noqa: SLF001
    c.Resync: Otherwise._resync,  # noqa: SLF001
}
