"""From a log to its picture.

Responsible for when each generation was begun, complete, read last, given up and gone, and why; for the stages that
wrote and read it. Refuses to know how it is told (`numbers`) and drawn. Invariant: what is collected after a prefix and
then the rest is what is collected from the whole log; and no more than so many generations and stages are held.

A generation holds what each attempt of its map stage wrote from the attempt's end, from its fence on what that found,
until it is gone: as in `report`, in `simulate` and in the core's own fold. It is needed until the last stage that read
it has ended.
"""

# Every row of a table takes what the table hands it.
# ruff: noqa: ARG001

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.values import Deletion
from replay.names import Names
from replay.units import left, whole

#: Generations that a picture shows at the most: the last ones. Its page says so where there were more.
MOST = 20_000
_READERS_NAMED = 12
#: Of one generation; of more, as of one that is lost in part and repaired again and again, those in between go.
_CHANGES_MOST = 1_000


class Fate(Enum):
    """What became of a generation: its colour."""

    THERE = "there"
    EARLY = "early"  #: Deleted by us, and nobody missed it.
    MISSED = "missed"  #: Deleted by us too early.
    SPARK = "spark"  #: Spark's own cleaner.
    ENDED = "ended"  #: With the application, or with our part in it.
    LOST = "lost"


_FATES = {
    Deletion.POLICY: Fate.EARLY,
    Deletion.SPARK: Fate.SPARK,
    Deletion.APPLICATION_ENDED: Fate.ENDED,
    Deletion.APPLICATION_LOST: Fate.ENDED,
    Deletion.APPLICATION_DETACHED: Fate.ENDED,
}


@dataclass(slots=True)
class Bar:
    """One generation. Times are of events; None: not yet. ``events``: what happened, by number."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    begun_ms: int
    writer: StageAttempt | None = None
    complete_ms: int | None = None
    read_ms: int | None = None  #: When the last stage that read it ended.
    expired_ms: int | None = None
    fenced_ms: int | None = None
    gone_ms: int | None = None
    bytes: int = 0  #: What it holds, or held last.
    whole_bytes: int = 0  #: Before outputs were lost, until it is complete again.
    changes: list[tuple[int, int, int]] = field(default_factory=list)  #: When, to how many bytes, by which event.
    fate: Fate = Fate.THERE
    why: str = ""  #: Why it expired, or how it was lost.
    reads: int = 0
    readers: list[StageAttempt] = field(default_factory=list)
    reading: set[StageAttempt] = field(default_factory=set)
    missed: int = 0
    events: dict[str, int] = field(default_factory=dict)
    call_site: str = ""

    def hold(self, recorded: e.Recorded, held: int) -> None:
        """The generation holds so many bytes from here on, unless it is gone."""
        if self.gone_ms is None and held != self.bytes:
            self.bytes = held
            self._change(recorded, held)

    def go(self, recorded: e.Recorded) -> None:
        """The generation is gone: it holds nothing from here on, whatever is told of its remains."""
        if self.gone_ms is None:
            self.gone_ms = recorded.time_ms
            self._change(recorded, 0)

    def _change(self, recorded: e.Recorded, held: int) -> None:
        if len(self.changes) >= _CHANGES_MOST:
            del self.changes[1]
        self.changes.append((recorded.time_ms, held, recorded.sequence))


@dataclass(slots=True)
class Stage:
    """One stage attempt that wrote or read a shuffle."""

    attempt: StageAttempt
    begun_ms: int
    name: str = ""
    job: str = ""  #: What it is called.
    done_ms: int | None = None
    failed: bool = False


@dataclass(slots=True)
class Picture:
    """All that is drawn of one application. Hears the log event by event."""

    most: int = MOST
    bars: dict[ShuffleId, Bar] = field(default_factory=dict)
    stages: dict[StageAttempt, Stage] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    application: str = ""
    name: str = ""
    policy: str = ""
    spark: str = ""
    first_ms: int = 0
    last_ms: int = 0
    last_sequence: int = 0
    left_out: int = 0  #: Generations that were forgotten because there were too many.
    ended: bool = False
    _reading: dict[StageAttempt, set[ShuffleId]] = field(default_factory=dict)
    _writing: dict[StageAttempt, ShuffleId] = field(default_factory=dict)
    _running: set[StageAttempt] = field(default_factory=set)
    _named: set[StageAttempt] = field(default_factory=set)  #: By a bar.

    def hear(self, recorded: e.Recorded) -> None:
        """One more event."""
        self.first_ms = self.first_ms or recorded.time_ms
        self.last_ms, self.last_sequence = max(self.last_ms, recorded.time_ms), recorded.sequence
        self.names.hear(recorded)
        hearing = _HEARINGS.get(type(recorded.event))
        if hearing is not None:
            hearing(self, recorded, recorded.event)

    def begin(self, recorded: e.Recorded, shuffle_id: ShuffleId, app_shuffle: AppShuffle) -> Bar:
        """A new generation begins; where there are too many, the oldest one is forgotten."""
        if len(self.bars) >= self.most:
            oldest = next(iter(self.bars))
            self._forget(self.bars.pop(oldest))
        bar = self.bars[shuffle_id] = Bar(shuffle_id, app_shuffle, recorded.time_ms)
        bar.events["begun"] = recorded.sequence
        bar.call_site = self.names.call_site(app_shuffle)
        return bar

    def note(self, recorded: e.Recorded, what: str) -> Bar | None:
        """The generation that the event is about, where it is known, with its event written down."""
        bar = self.bars.get(getattr(recorded.event, "shuffle_id", None))  # type: ignore[arg-type]
        if bar is not None:
            bar.events[what] = recorded.sequence
            bar.call_site = self.names.call_site(bar.app_shuffle) or bar.call_site
        return bar

    def start(self, recorded: e.Recorded, attempt: StageAttempt, name: str = "") -> Stage:
        """The stage attempt; it begins with this event, unless it is known already."""
        stage = self.stages.get(attempt)
        if stage is None:
            job = self.names.job_of(attempt.stage)
            called = self.names.job(job) if job is not None else ""
            stage = self.stages[attempt] = Stage(attempt, recorded.time_ms, name, called)
            self._running.add(attempt)
        return stage

    def done(self, recorded: e.Recorded, attempt: StageAttempt, failed: bool) -> None:
        """A stage attempt is over; one that no bar names is forgotten."""
        stage = self.stages.get(attempt)
        if stage is not None:
            stage.done_ms, stage.failed = recorded.time_ms, failed
        self._running.discard(attempt)
        self.finish(recorded, attempt)
        if attempt not in self._named:
            self.stages.pop(attempt, None)

    def write(self, shuffle_id: ShuffleId, writer: StageAttempt) -> None:
        """A stage attempt writes it from here on."""
        self._writing[writer] = shuffle_id

    def began_with(self, bar: Bar, writer: StageAttempt) -> None:
        """The stage attempt with which the generation began: its first writer."""
        bar.writer = writer
        self._named.add(writer)
        self.write(bar.shuffle_id, writer)

    def end_of_writing(self, writer: StageAttempt) -> Bar | None:
        """A stage attempt writes no more. The generation that it wrote; None: that is not known."""
        return self.bars.get(self._writing.pop(writer, ShuffleId(-1)))

    def read(self, bar: Bar, reader: StageAttempt) -> None:
        """A stage attempt reads it from here on."""
        bar.reads += 1
        bar.reading.add(reader)
        if len(bar.readers) < _READERS_NAMED:
            bar.readers.append(reader)
            self._named.add(reader)
        self._reading.setdefault(reader, set()).add(bar.shuffle_id)

    def not_read(self, attempt: StageAttempt, unread: Iterable[ShuffleId]) -> None:
        """A stage attempt had asked for these generations, and has not read them."""
        for shuffle_id in self._reading.get(attempt, set()).intersection(unread):
            self._reading[attempt].discard(shuffle_id)
            bar = self.bars.get(shuffle_id)
            if bar is not None:
                bar.reads -= 1
                bar.reading.discard(attempt)
                bar.readers = [reader for reader in bar.readers if reader != attempt]
        if not self._reading.get(attempt) and attempt not in self._writing:
            self._named.discard(attempt)

    def finish(self, recorded: e.Recorded, attempt: StageAttempt) -> None:
        """A stage attempt is over: it reads nothing more."""
        for shuffle_id in self._reading.pop(attempt, ()):
            bar = self.bars.get(shuffle_id)
            if bar is not None:
                bar.reading.discard(attempt)
                bar.read_ms, bar.events["read last"] = recorded.time_ms, recorded.sequence

    def end_with(self, recorded: e.Recorded, job: e.JobEnded) -> None:
        """A job is over. Attempts of its stages whose end was missed end with it, unless they are another one's too."""
        for attempt in [one for one in self._running if self.names.was_listed_by(job.job, one.stage)]:
            if not self.names.is_listed(attempt.stage):
                self.end_of_writing(attempt)
                self.done(recorded, attempt, not job.succeeded)

    def finish_all(self, recorded: e.Recorded) -> None:
        """The application is over."""
        for attempt in list(self._reading):
            self.finish(recorded, attempt)

    def _forget(self, bar: Bar) -> None:
        self.left_out += 1
        for attempt in (bar.writer, *bar.readers):
            if attempt is not None:
                self.stages.pop(attempt, None)
                self._named.discard(attempt)


# ---- one function an event -------------------------------------------------------------------------------------------


def _registered(picture: Picture, at: e.Recorded, event: e.ApplicationRegistered) -> None:
    picture.application, picture.policy = event.application, event.policy.name
    picture.name, picture.spark = event.driver.name, event.driver.spark_version


def _policy(picture: Picture, at: e.Recorded, event: e.PolicyChanged) -> None:
    if not event.group:
        picture.policy = event.policy.name


def _over(picture: Picture, at: e.Recorded, event: e.ApplicationEnded) -> None:
    picture.ended = True
    picture.finish_all(at)


def _submitted(picture: Picture, at: e.Recorded, event: e.StageSubmitted) -> None:
    if event.reads or event.writes is not None:
        picture.start(at, event.stage, event.name).name = event.name


def _stage_done(picture: Picture, at: e.Recorded, event: e.StageCompleted) -> None:
    picture.not_read(event.stage, event.unread)
    written = picture.end_of_writing(event.stage)
    if written is not None and event.failure:  # of one that succeeded, the completion tells
        written.hold(at, written.bytes + event.shuffle_bytes_written)
    picture.done(at, event.stage, bool(event.failure))


def _job_over(picture: Picture, at: e.Recorded, event: e.JobEnded) -> None:
    picture.end_with(at, event)


def _started(picture: Picture, at: e.Recorded, event: e.GenerationStarted) -> None:
    bar = picture.begin(at, event.shuffle_id, event.app_shuffle)
    picture.start(at, event.writer)
    picture.began_with(bar, event.writer)


def _joined(picture: Picture, at: e.Recorded, event: e.WriterJoined) -> None:
    picture.write(event.shuffle_id, event.writer)


def _adopted(picture: Picture, at: e.Recorded, event: e.GenerationAdopted) -> None:
    picture.begin(at, event.shuffle_id, event.app_shuffle)


def _complete(picture: Picture, at: e.Recorded, event: e.GenerationCompleted) -> None:
    bar = picture.note(at, "complete")
    if bar is not None:
        bar.complete_ms = at.time_ms if bar.complete_ms is None else bar.complete_ms
        bar.hold(at, whole(bar.bytes, bar.whole_bytes, event.bytes))
        bar.whole_bytes = 0


def _partly_lost(picture: Picture, at: e.Recorded, event: e.OutputsLost) -> None:
    bar = picture.bars.get(event.shuffle_id)
    if bar is not None:
        bar.whole_bytes = bar.whole_bytes or bar.bytes
        bar.hold(at, left(bar.bytes, event.available, event.total))


def _reads(picture: Picture, at: e.Recorded, event: e.ReaderRegistered) -> None:
    bar = picture.bars.get(event.shuffle_id)
    if bar is not None:
        picture.start(at, event.reader)
        picture.read(bar, event.reader)


def _expired(picture: Picture, at: e.Recorded, event: e.GenerationExpired) -> None:
    bar = picture.note(at, "expired")
    if bar is not None:
        bar.expired_ms, bar.why = at.time_ms, event.why.value


def _rescued(picture: Picture, at: e.Recorded, event: e.ExpiryTakenBack) -> None:
    bar = picture.note(at, "kept after all")
    if bar is not None:
        bar.expired_ms, bar.why = None, ""


def _refused(picture: Picture, at: e.Recorded, event: e.FenceRefused) -> None:
    bar = picture.note(at, "kept after all") if event.keep else None
    if bar is not None:
        bar.expired_ms, bar.why = None, ""


def _fenced(picture: Picture, at: e.Recorded, event: e.GenerationFenced) -> None:
    bar = picture.note(at, "fenced")
    if bar is not None:
        bar.fenced_ms = at.time_ms
        bar.hold(at, event.bytes or bar.bytes)


def _deleted(picture: Picture, at: e.Recorded, event: e.GenerationDeleted) -> None:
    bar = picture.note(at, "deleted")
    if bar is not None:
        bar.go(at)
        bar.fate = Fate.MISSED if bar.missed and event.cause is Deletion.POLICY else _FATES[event.cause]


def _lost(picture: Picture, at: e.Recorded, event: e.GenerationLost) -> None:
    bar = picture.note(at, "lost")
    if bar is not None:
        bar.go(at)
        bar.fate, bar.why = Fate.LOST, event.cause.value


def _missed(picture: Picture, at: e.Recorded, event: e.PrematureDeletion) -> None:
    bar = picture.note(at, "missed")
    if bar is not None:
        bar.missed += 1
        bar.fate = Fate.MISSED


_HEARINGS: dict[type, Callable[[Picture, e.Recorded, Any], None]] = {
    e.ApplicationRegistered: _registered,
    e.PolicyChanged: _policy,
    e.ApplicationEnded: _over,
    e.JobEnded: _job_over,
    e.StageSubmitted: _submitted,
    e.StageCompleted: _stage_done,
    e.GenerationStarted: _started,
    e.GenerationAdopted: _adopted,
    e.WriterJoined: _joined,
    e.GenerationCompleted: _complete,
    e.OutputsLost: _partly_lost,
    e.ReaderRegistered: _reads,
    e.GenerationExpired: _expired,
    e.ExpiryTakenBack: _rescued,
    e.FenceRefused: _refused,
    e.GenerationFenced: _fenced,
    e.GenerationDeleted: _deleted,
    e.GenerationLost: _lost,
    e.PrematureDeletion: _missed,
}
