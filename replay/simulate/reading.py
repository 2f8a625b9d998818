"""From the events of a log back to the commands that they were decided from.

Responsible for naming the command of each group of events. Refuses to decide anything.
Invariant: the same core, given these commands at these times, decides the same events again. Where two commands leave
the same events in a log, either one may be named: the core decides alike for both.

The events of one command stand together: its first event is the fact, and all others point back to it (``because``). A
command that changed nothing left no event. It is not named, and is not missed either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.decide import carry_out
from coordinator.core.desk import Desk
from coordinator.core.evolve import fold
from coordinator.core.ids import NO_SHUFFLE, AppShuffle, ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, State, empty
from coordinator.core.values import Deletion, Loss, Refusal, Rescue
from replay.names import Whose
from replay.simulate import resyncs
from replay.simulate.facts import Fact, Kind


def facts_of(log: Iterable[e.Recorded]) -> Iterator[Fact]:
    """The commands that a whole log was decided from, in order, each as a `Fact`."""
    reader = Reader()
    for _, group in groupby(log, key=attrgetter("because")):
        records = list(group)
        yield reader.read(records)
        reader.go_on(records)


class Listener:
    """`facts_of` for a log that is heard event by event: tells each command when the events of the next one begin."""

    def __init__(self, tell: Callable[[Fact], None]) -> None:
        self._tell = tell
        self._reader = Reader()
        self._records: list[e.Recorded] = []

    def hear(self, recorded: e.Recorded) -> None:
        """One more event."""
        if self._records and self._records[0].because != recorded.because:
            self.close()
        self._records.append(recorded)

    def close(self) -> None:
        """The log has ended, or the next command begins: tells the last command."""
        if self._records:
            self._tell(self._reader.read(self._records))
            self._reader.go_on(self._records)
            self._records = []


class Reader:
    """Names commands, one after the other: `read` one, then `go_on` with its events. Knows the state before each."""

    def __init__(self) -> None:
        self.state: State = empty()
        self._whose = Whose()

    def go_on(self, records: list[e.Recorded]) -> None:
        """Folds the events of a command that was read: the state is then the one before the next command."""
        fold(self.state, records)
        for event in (recorded.event for recorded in records):
            if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
                self._whose.began(event.shuffle_id, event.app_shuffle)
            elif isinstance(event, (e.GenerationDeleted, e.GenerationLost)):
                self._whose.ended(event.shuffle_id, self.state.shuffles.__contains__)
            elif isinstance(event, e.ShuffleCleaned):
                self._whose.cleaned(event.app_shuffle)

    def read(self, records: list[e.Recorded]) -> Fact:
        """The command that these events were decided from. They are all events of one command, in order."""
        time_ms, events = records[0].time_ms, [recorded.event for recorded in records]
        first = events[0]
        if isinstance(first, _KEPT):
            return Fact(time_ms, None, Kind.KEPT, event=first)
        if resyncs.is_one(self.state, events):
            return Fact(time_ms, resyncs.command_of(self.state, events, self.app_shuffle))
        if self._was_swept(records):
            return Fact(time_ms, c.Tick(), Kind.CLOCK)
        kind, command = _READ[type(first)](self, first, events)
        return Fact(time_ms, command, kind, self._is_again(command), held_bytes=self._held(command))

    def _held(self, command: c.Command) -> int:
        if not isinstance(command, c.ReportDisk):
            return 0
        return sum(generation.bytes for generation in self.state.generations.values())

    def app_shuffle(self, shuffle_id: ShuffleId, events: Iterable[e.Event] = ()) -> AppShuffle:
        """The app shuffle of a generation, which may be one that these events begin; `NO_SHUFFLE`: nobody knows."""
        for event in events:
            if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)) and event.shuffle_id == shuffle_id:
                return event.app_shuffle
        return self._whose.of.get(shuffle_id, NO_SHUFFLE)

    def is_gone_by_policy(self, app_shuffle: AppShuffle) -> bool:
        """Whether its generation was deleted early, by a policy, or is on its way out: being fenced, or fenced."""
        shuffle = self.state.shuffles.get(app_shuffle)
        if shuffle is None or shuffle.current is None:
            return False
        generation = self.state.generations.get(shuffle.current)
        if generation is not None:
            return generation.life in (Life.FENCING, Life.FENCED)
        return shuffle.fate is Life.DELETED and shuffle.cause is Deletion.POLICY

    def _is_again(self, command: c.Command) -> bool:
        if isinstance(command, c.ReportStageSubmitted):
            return command.writes is not None and self.is_gone_by_policy(command.writes)
        if isinstance(command, (c.GetShuffleId, c.ReportMissing)):
            return self.is_gone_by_policy(command.app_shuffle)
        return False

    def _was_swept(self, records: list[e.Recorded]) -> bool:
        """Whether these events are a step of a sweep: then time was the cause, and nobody asked.

        A step may begin by taking an expiry back for a reader, which looks like the command of that reader. It was a
        step if the core decides these very events when the clock ticks.
        """
        first = records[0].event
        if not (isinstance(first, e.ExpiryTakenBack) and first.why is Rescue.READER and self.state.meta.sweeping):
            return False
        desk = Desk.over(self.state, records[0].time_ms)
        carry_out(desk, c.Tick())
        return [recorded.event for recorded in desk.log] == [recorded.event for recorded in records]


_KEPT = (e.ClientRegistered, e.ClientDropped, e.RequestsAnswered)
_Read = tuple[Kind, c.Command]


def _fact(make: Callable[[Any], c.Command]) -> Callable[[Reader, Any, list[e.Event]], _Read]:
    def read(reader: Reader, first: Any, events: list[e.Event]) -> _Read:  # noqa: ARG001 - a row of the table
        return Kind.FACT, make(first)

    return read


def _tick(reader: Reader, first: e.Event, events: list[e.Event]) -> _Read:  # noqa: ARG001
    return Kind.CLOCK, c.Tick()


# --- the scheduler ----------------------------------------------------------------------------------------------------


def _job_started(reader: Reader, first: e.JobStarted, events: list[e.Event]) -> _Read:  # noqa: ARG001
    return Kind.FACT, resyncs.job_of(first, events)


def _told_again(reader: Reader, first: e.LineageLearned, events: list[e.Event]) -> _Read:  # noqa: ARG001
    """Lineage that was told ahead of its job, or once more by a job that is known. Either is told alike here."""
    return Kind.FACT, c.ReportLineage(tuple(event.lineage for event in events if isinstance(event, e.LineageLearned)))


def _cleaned(reader: Reader, first: e.ShuffleCleaned, events: list[e.Event]) -> _Read:  # noqa: ARG001
    return Kind.FACT, c.ReportShuffleCleaned(first.app_shuffle)


def _deleted(reader: Reader, first: e.GenerationDeleted, events: list[e.Event]) -> _Read:  # noqa: ARG001
    app_shuffle = reader.app_shuffle(first.shuffle_id)
    if first.cause is Deletion.SPARK and app_shuffle in reader.state.shuffles:
        return Kind.FACT, c.ReportShuffleCleaned(app_shuffle)
    if first.cause is not Deletion.POLICY or first.directive is None:
        return Kind.CLOCK, c.Tick()  # what a resync has cleaned, and an ended application's, goes step by step
    outcome = c.Superseded() if first.superseded else c.Freed(first.bytes)
    return Kind.OUTCOME, c.ReportOutcome(first.directive, outcome)


def _cut(reader: Reader, first: e.Event, events: list[e.Event]) -> _Read:  # noqa: ARG001
    """The report of a look. Where the log is torn in the middle of one, what there is of it.

    What does not name its look belongs to the one that began last.
    """
    told = (event.look for event in events if isinstance(event, (e.CutReported, e.LookEnded)))
    look = next(told, reader.state.meta.look)
    if look is None:
        return Kind.CLOCK, c.Tick()
    changed = [event for event in events if isinstance(event, e.CutReported)]
    roots = tuple(c.ReportedRoot(told.root, told.kind, _needs(reader.state, told), told.why) for told in changed)
    gone = tuple(event.root for event in events if isinstance(event, e.RootGone))
    return Kind.FACT, c.ReportCut(look, roots, gone)


def _needs(state: State, told: e.CutReported) -> tuple[AppShuffle, ...]:
    known = state.roots.get(told.root)
    before = known.needs if known is not None else frozenset()
    return tuple(sorted((before | set(told.added)) - set(told.removed)))


# --- losses -----------------------------------------------------------------------------------------------------------


def _outputs(reader: Reader, first: e.Event, events: list[e.Event]) -> _Read:  # noqa: ARG001
    """A report of what outputs there are of one or more app shuffles; after a gap, also of those that were new."""
    found = [resyncs.outputs_of(event, lambda given: reader.app_shuffle(given, events)) for event in events]
    return Kind.FACT, c.ReportOutputs(tuple(one for one in found if one is not None))


def _outputs_lost(reader: Reader, first: e.OutputsLost, events: list[e.Event]) -> _Read:
    joined = _writer_of(first.shuffle_id, events)
    if joined is not None:
        return _write(reader.app_shuffle(first.shuffle_id), joined)
    if _was_reported(reader.state.generations.get(first.shuffle_id), first):
        return Kind.ASKED, c.ReportMissing(reader.app_shuffle(first.shuffle_id), first.shuffle_id)
    return _outputs(reader, first, events)


def _was_reported(generation: Generation | None, first: e.OutputsLost) -> bool:
    """Whether a reader reported the loss, and not Spark.

    Spark's own report that nothing is left makes the generation lost as a whole (`GenerationLost`), unless it is being
    fenced; and what Spark says of outputs while tasks write them is not taken.
    """
    is_fencing = generation is not None and generation.life is Life.FENCING
    is_written = generation is not None and bool(generation.writers)
    return is_written or (first.available == 0 and not is_fencing)


def _lost(reader: Reader, first: e.GenerationLost, events: list[e.Event]) -> _Read:
    generation = reader.state.generations.get(first.shuffle_id)
    app_shuffle = reader.app_shuffle(first.shuffle_id)
    if generation is not None and generation.life is Life.FENCING and generation.directive is not None:
        return Kind.OUTCOME, c.ReportOutcome(generation.directive, c.Superseded())
    started = _starter_of(app_shuffle, events)
    if started is not None:
        return _write(app_shuffle, started)
    if first.cause is Loss.REPORTED:
        opened = next((event.stage for event in events if isinstance(event, e.RecoveryOpened)), None)
        asked = opened or _denied_to(events)
        return Kind.ASKED, c.ReportMissing(app_shuffle, first.shuffle_id, asked)
    return _outputs(reader, first, events)


# --- asking -----------------------------------------------------------------------------------------------------------


def _read(app_shuffle: AppShuffle, stage: StageAttempt) -> _Read:
    return Kind.ASKED, c.GetShuffleId(app_shuffle, stage)


def _write(app_shuffle: AppShuffle, stage: StageAttempt) -> _Read:
    return Kind.ASKED, c.GetShuffleId(app_shuffle, stage, write=True)


def _writer_of(shuffle_id: ShuffleId, events: list[e.Event]) -> StageAttempt | None:
    joined = (event for event in events if isinstance(event, e.WriterJoined) and event.shuffle_id == shuffle_id)
    return next((event.writer for event in joined), None)


def _starter_of(app_shuffle: AppShuffle, events: list[e.Event]) -> StageAttempt | None:
    started = (e1 for e1 in events if isinstance(e1, e.GenerationStarted) and e1.app_shuffle == app_shuffle)
    return next((event.writer for event in started), None)


def _reader(reader: Reader, first: e.ReaderRegistered, events: list[e.Event]) -> _Read:  # noqa: ARG001
    return _read(reader.app_shuffle(first.shuffle_id), first.reader)


def _joined(reader: Reader, first: e.WriterJoined, events: list[e.Event]) -> _Read:  # noqa: ARG001
    return _write(reader.app_shuffle(first.shuffle_id), first.writer)


def _started(reader: Reader, first: e.GenerationStarted, events: list[e.Event]) -> _Read:  # noqa: ARG001
    return _write(first.app_shuffle, first.writer)


def _taken_back(reader: Reader, first: e.ExpiryTakenBack, events: list[e.Event]) -> _Read:
    app_shuffle = reader.app_shuffle(first.shuffle_id)
    if first.why is Rescue.WRITER and (writer := _writer_of(first.shuffle_id, events)) is not None:
        return _write(app_shuffle, writer)
    if first.why is Rescue.READER:
        asked = (event for event in events if isinstance(event, e.ReaderRegistered))
        mine = (event.reader for event in asked if event.shuffle_id == first.shuffle_id)
        if (stage := next(mine, None)) is not None:
            return _read(app_shuffle, stage)
    return Kind.CLOCK, c.Tick()


def _missed(reader: Reader, first: Any, events: list[e.Event]) -> _Read:
    """What was asked for is gone: the command of the writer that begins it anew, else a report that it is missing."""
    missing = first.shuffle_id if isinstance(first, e.PrematureDeletion) else first.missing
    app_shuffle = reader.app_shuffle(missing)
    writer = _starter_of(app_shuffle, events)
    if writer is not None:
        return _write(app_shuffle, writer)
    asked = getattr(first, "stage", None) or _denied_to(events)
    return Kind.ASKED, c.ReportMissing(app_shuffle, missing, asked)


def _denied_to(events: list[e.Event]) -> StageAttempt | None:
    return next((event.stage for event in events if isinstance(event, e.RecoveryDenied)), None)


# --- outcomes ---------------------------------------------------------------------------------------------------------


def _refused(reader: Reader, first: e.FenceRefused, events: list[e.Event]) -> _Read:  # noqa: ARG001
    outcomes: dict[Refusal, Callable[[str], c.Outcome]] = {
        Refusal.BUSY: lambda detail: c.Busy((detail,)),
        Refusal.CANNOT: c.Cannot,
        Refusal.REVOKED: c.Revoked,
    }
    return Kind.OUTCOME, c.ReportOutcome(first.directive, outcomes[first.refusal](first.detail))


def _outcome(make: Callable[[Any], c.Outcome]) -> Callable[[Reader, Any, list[e.Event]], _Read]:
    def read(reader: Reader, first: Any, events: list[e.Event]) -> _Read:  # noqa: ARG001
        return Kind.OUTCOME, c.ReportOutcome(first.directive, make(first))

    return read


_READ: dict[type, Callable[[Reader, Any, list[e.Event]], _Read]] = {
    e.ApplicationRegistered: _fact(
        lambda ev: c.RegisterApplication(
            ev.application, ev.driver, ev.capabilities, ev.policy, ev.settings, ev.token_hash
        )
    ),
    e.ApplicationEnded: _fact(lambda ev: c.EndApplication(ev.ending)),
    e.PolicyChanged: _fact(lambda ev: c.SetPolicy(ev.policy, ev.group, ev.by)),
    e.PinSet: _fact(lambda ev: c.SetPin(ev.app_shuffle, ev.why)),
    e.PinRemoved: _fact(lambda ev: c.RemovePin(ev.app_shuffle)),
    e.DeletionResumed: _fact(lambda ev: c.ResumeDeletion(ev.by)),
    e.GapRecorded: _fact(lambda ev: c.ReportGap(ev.dropped, ev.where)),
    e.JobStarted: _job_started,
    e.LineageLearned: _told_again,
    e.JobEnded: _fact(lambda ev: c.ReportJobEnded(ev.job, ev.succeeded, ev.failure)),
    e.StageSubmitted: _fact(resyncs.submission_of),
    e.StageCompleted: _fact(
        lambda ev: c.ReportStageCompleted(
            ev.stage,
            ev.failure,
            ev.shuffle_bytes_written,
            ev.shuffle_bytes_read,
            ev.output_bytes,
            ev.output_records,
            ev.task_ms,
        )
    ),
    e.ExecutionStarted: _fact(lambda ev: c.ReportExecutionStarted(ev.execution, ev.name, ev.writes_output)),
    e.ExecutionEnded: _fact(lambda ev: c.ReportExecutionEnded(ev.execution, ev.failed)),
    e.ExecutorLost: _fact(lambda ev: c.ReportExecutorLost(ev.executor, ev.reason)),
    e.CachedBlocksLost: _fact(lambda ev: c.ReportCachedBlocksLost(ev.executor, ev.app_shuffles)),
    e.DiskReported: _fact(lambda ev: c.ReportDisk(ev.disk, ev.used_bytes, ev.free_bytes)),
    e.GenerationsMixed: _fact(
        lambda ev: c.ReportGenerationsMixed(
            ev.app_shuffle, ev.job, ev.stage, ev.delivered, ev.partitions, ev.late, ev.failed
        )
    ),
    e.ResultsMayDiffer: _fact(lambda ev: c.ReportResultsMayDiffer(ev.app_shuffle)),
    e.ShuffleCleaned: _cleaned,
    e.GenerationDeleted: _deleted,
    e.LookBegan: _fact(lambda ev: c.BeginLook(ev.look)),
    e.CutReported: _cut,
    e.RootGone: _cut,
    e.LookEnded: _cut,
    e.GenerationAdopted: _outputs,
    e.GenerationCompleted: _outputs,
    e.OutputsLost: _outputs_lost,
    e.GenerationLost: _lost,
    e.ReaderRegistered: _reader,
    e.WriterJoined: _joined,
    e.GenerationStarted: _started,
    e.ExpiryTakenBack: _taken_back,
    e.PrematureDeletion: _missed,
    e.RecoveryOpened: _missed,
    e.RecoveryJoined: _missed,
    e.RecoveryDenied: _missed,
    e.FenceRefused: _refused,
    e.GenerationFenced: _outcome(lambda ev: c.Fenced(ev.bytes, ev.locator)),
    e.DirectiveFailed: _outcome(lambda ev: c.Failed(ev.error)),
    e.DataInvalidated: _outcome(lambda ev: c.Freed(ev.bytes)),
    **dict.fromkeys(
        (
            e.GenerationExpired,
            e.HoldChanged,
            e.FenceRequested,
            e.RecoveryClosed,
            e.SweepChanged,
            # never first in a log that the core has decided
            e.DeletionSuspended,
            e.RecoveryWidened,
            e.DeleteRequested,
            e.InvalidateRequested,
        ),
        _tick,
    ),
}
