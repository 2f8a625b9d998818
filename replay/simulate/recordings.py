"""Recorded runs, and several of them under several policies.

Responsible for reading a run wherever it was recorded, a log of ours or a history log of Spark's, and for spreading
many over a Spark cluster. Refuses to look for records (`places`), and to know how results are shown. Invariant: a
record that cannot be read costs its own line, never the others; what several records tell of one run counts once, and
history logs that tell parts of one run count as one (`replay.history.joining`).

What is spread is the place of a record, or its bytes where they are not in files: an executor reads, simulates, and
gives back figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonpath
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypedDict, TypeVar

from coordinator.core.commands import EndApplication, RegisterApplication, ReportGap
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, AppShuffle
from coordinator.core.values import Driver, Ending, Lesson, Policy
from coordinator.wire.codec import Segment
from coordinator.wire.errors import TooNew, UnknownEvent, UnknownKind, WireError
from coordinator.wire.logfile import salvage, unbroken
from replay.history.finding import Log, shown, unread
from replay.history.joining import Copy, Piece, Told, piece_of, whole
from replay.simulate import Fact, Timed, facts_of, simulate_all
from replay.simulate.summary import Summary, summary_of

_Bytes: TypeAlias = bytes  # `Recording` has a field of that name
#: Where the gap is of a driver that was there before it was attached to (`ReportGap`).
_LATE = "attach"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run. ``log``, ``paths``, ``tables`` or ``content`` says where it is; or ``why_not``, why not."""

    name: str
    bytes: int
    log: Log | None = None  #: A history log of Spark's.
    paths: tuple[str, ...] = ()  #: Files with a log of ours, as it runs.
    tables: tuple[str, ...] = ()  #: Exports in Arrow or Parquet that hold it, …
    application: str = ""  #: … by this id.
    content: _Bytes = b""  #: A log of ours itself.
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Which run a record is of."""

    application: str
    attempt: str
    started_ms: int  #: 0 where the application alone says it.
    place: str = field(default="", compare=False)  #: Of this record, for people; equal runs may have several.
    spark: tuple[str, str] = field(default=("", ""), compare=False)  #: Spark's id of the application, and its attempt.
    is_ours: bool = field(default=False, compare=False)  #: A log of ours tells it, not one of Spark's.
    is_whole: bool = field(default=False, compare=False)  #: It is told from its beginning to its end.


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of one recorded run: its figures under each policy, or why there are none."""

    recording: str
    application: str = ""
    name: str = ""
    summaries: tuple[Summary, ...] = ()
    warnings: tuple[str, ...] = ()
    failed: str = ""
    is_damaged: bool = False  #: It is a log of ours, and not even its beginning can be read.
    is_newer: bool = False  #: It is a log of ours that this release cannot read.
    is_no_log: bool = False  #: It holds no run, so no figures are missing.
    is_history: bool = False  #: Of Spark's history logs, which show no variables of the program.
    run: Run | None = None
    facts: int = 0
    piece: Piece | None = None

    @property
    def is_cut(self) -> bool:
        """A log of ours that is damaged. A history log may be of a run that goes on."""
        return bool(self.warnings) and not self.is_history


class Failure(TypedDict):
    """What is true of a record that could not be read; fields of `Simulated`, and of what else is made of records."""

    is_damaged: bool
    is_newer: bool
    is_no_log: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A recorded run, read."""

    application: str
    name: str
    facts: list[Fact] | list[Timed]
    task_ms: Mapping[AppShuffle, int] | None
    warnings: tuple[str, ...]
    ended: bool
    run: Run
    piece: Piece | None = None  #: Of a history log.


def of_history(log: Log) -> Recording:
    """A history log of Spark's."""
    return Recording(log.place, log.bytes, log=log)


def simulated(
    recording: Recording,
    policies: Sequence[tuple[str, Policy | None]],
    lessons: Mapping[str, tuple[Lesson, ...]] | None = None,
    capacity_bytes: int | None = None,
) -> Simulated:
    """One run under each policy; each is called by its name. ``lessons``: by application name, for `history`.

    ``capacity_bytes``: what all shuffle data of one run may take together, for `pressure`.
    """
    try:
        return _simulated(recording, policies, lessons or {}, capacity_bytes)
    except (Unread, WireError) as error:
        return Simulated(recording.name, failed=str(error), **kind_of_failure(error))
    except OSError as error:
        return Simulated(recording.name, failed=unread(error), **kind_of_failure(error))
    except Exception as error:  # noqa: BLE001 - one record must never end the run of all
        return Simulated(recording.name, failed=odd("simulated", error))


def kind_of_failure(error: Exception) -> Failure:
    """Whether a record that cannot be read is a damaged log of ours, one of a newer release, or no log."""
    is_newer = isinstance(error, (TooNew, UnknownEvent, UnknownKind))
    return {"is_damaged": isinstance(error, WireError), "is_newer": is_newer, "is_no_log": isinstance(error, NoLog)}


def odd(done: str, error: Exception) -> str:
    """What is told of a record that raised an error which nobody thought of. ``done``: what was being done with it."""
    return f"it could not be {done}: {type(error).__name__}: {error}"


def _simulated(
    recording: Recording,
    policies: Sequence[tuple[str, Policy | None]],
    lessons: Mapping[str, tuple[Lesson, ...]],
    capacity_bytes: int | None,
) -> Simulated:
    run = open_run(recording)
    outcomes = simulate_all(
        run.facts,
        [policy for _, policy in policies],
        task_ms=run.task_ms,
        lessons=lessons.get(run.name),
        capacity_bytes=capacity_bytes,
    )
    summaries = tuple(summary_of(outcome, name) for outcome, (name, _) in zip(outcomes, policies, strict=True))
    is_history = recording.log is not None
    told = recording.name, run.application, run.name, summaries, run.warnings
    return Simulated(*told, is_history=is_history, run=run.run, facts=len(run.facts), piece=run.piece)


def open_run(recording: Recording) -> Opened:
    """The run of a recording. Raises `Unread`, `WireError` and `OSError`."""
    if recording.why_not:
        raise NoLog(recording.why_not)
    return _history(recording, recording.log) if recording.log is not None else _own(recording)


class Unread(Exception):  # noqa: N818 - it says what is so
    """A record that cannot be read."""


class NoLog(Unread):
    """A file without a run in it."""


def _history(recording: Recording, log: Log) -> Opened:
    try:
        from replay.history.reading import NotALog, read  # needs what only history logs need
    except ImportError as error:
        told = (
            f"{recording.name} is a history log, and {error.name} is not there to read it; install the extra `advise`"
        )
        raise Unread(told) from error
    try:
        run = read(log)
    except NotALog as error:
        raise NoLog(str(error)) from error
    costs = {written.app_shuffle: written.task_ms for written in run.shuffles}
    driver = Driver(run.application_id, run.attempt, run.name, run.user, run.spark_version)
    registered = RegisterApplication(ApplicationId(run.application_id), driver)
    facts: list[Timed] = [(run.started_ms, registered), *run.facts]
    in_spark, is_whole = (run.application_id, run.attempt), run.ended and not run.warnings
    of = Run(run.application_id, run.attempt, run.started_ms, spark=in_spark, is_whole=is_whole)
    return Opened(run.application_id, run.name, facts, costs, run.warnings, run.ended, of, piece_of(log, run))


def _own(recording: Recording) -> Opened:
    warnings: list[str] = []
    facts = list(facts_of(_whole(unbroken(_salvaged(recording), recording.name), warnings)))
    if not facts:
        raise NoLog(f"{recording.name} holds no event; expected a log that begins with a registration")
    first = facts[0].command
    application = str(getattr(first, "application", ""))
    driver = getattr(first, "driver", Driver())
    ended = any(isinstance(fact.command, EndApplication) for fact in facts)
    in_spark, is_whole = (driver.spark_application_id, driver.spark_attempt), not warnings and _tells_all(facts)
    of = Run(application or recording.name, "", 0, _place(recording), in_spark, is_ours=True, is_whole=is_whole)
    return Opened(application, driver.name, facts, None, tuple(warnings), ended, of)


def _tells_all(facts: Sequence[Fact]) -> bool:
    """Whether the log begins and ends with its driver: the bridge was not attached late, and did not detach early."""
    commands = [fact.command for fact in facts]
    is_late = any(isinstance(command, ReportGap) and command.where == _LATE for command in commands)
    return EndApplication(Ending.ENDED) in commands and not is_late


def _salvaged(recording: Recording) -> Iterator[Segment | WireError]:
    if recording.tables:
        yield from _exported(recording)
    elif not recording.paths:
        yield from salvage(recording.content, recording.name)
    for path in map(Path, recording.paths):
        yield from salvage(path.read_bytes(), path.name)


def _exported(recording: Recording) -> Iterator[Segment | WireError]:
    try:
        from replay.simulate.exports import segments_of  # needs what only exports need
    except ImportError as error:
        told = f"{recording.name} is an export, and {error.name} is not there to read it; install the extra `frames`"
        raise Unread(told) from error
    return segments_of(recording.tables, recording.application)


def _whole(found: Iterable[Segment | WireError], warnings: list[str]) -> Iterator[Recorded]:
    """The log up to where it is damaged: what comes behind cannot be understood without what is missing."""
    begun = False
    for segment in found:
        if isinstance(segment, WireError):
            if not begun:
                raise segment
            warnings.append(f"read up to here: {segment}")
            return
        begun = True
        yield from segment.records


def all_of(
    recordings: Sequence[Recording],
    policies: Sequence[tuple[str, Policy | None]],
    lessons: Mapping[str, tuple[Lesson, ...]] | None = None,
    capacity_bytes: int | None = None,
) -> list[Simulated]:
    """Simulates one after the other, in this process. History logs that tell parts of one run are simulated as one."""

    def carry_out(some: Sequence[Recording]) -> list[Simulated]:
        return [simulated(one, policies, lessons, capacity_bytes) for one in some]

    return whole_runs(recordings, carry_out, _left_out)


def spread(
    spark: Any,
    recordings: Sequence[Recording],
    policies: Sequence[tuple[str, Policy | None]],
    lessons: Mapping[str, tuple[Lesson, ...]] | None = None,
    capacity_bytes: int | None = None,
) -> list[Simulated]:
    """As `all_of`, each recording as a task of its own on a Spark session. Results in the order of ``recordings``."""
    wanted = list(policies)

    def carry_out(some: Sequence[Recording]) -> list[Simulated]:
        by_size = sorted(range(len(some)), key=lambda place: -some[place].bytes)
        tasks = spark.sparkContext.parallelize([(place, some[place]) for place in by_size], max(1, len(by_size)))
        found = dict(tasks.map(lambda task: (task[0], simulated(task[1], wanted, lessons, capacity_bytes))).collect())
        return [found[place] for place in range(len(some))]

    return whole_runs(recordings, carry_out, _left_out)


_Part = TypeVar("_Part", bound=Told)


def whole_runs(
    recordings: Sequence[Recording],
    carry_out: Callable[[Sequence[Recording]], list[_Part]],
    left_out: Callable[[Copy], _Part],
) -> list[_Part]:
    """What ``carry_out`` makes of recordings, where history logs that tell parts of one run are carried out as one."""
    return whole(carry_out(recordings), lambda logs: carry_out(list(map(of_history, logs))), left_out)


def _left_out(copy: Copy) -> Simulated:
    return Simulated(copy.piece.log.place, failed=copy.why, is_no_log=True)


class _Counted(Protocol):
    """What came of one record."""

    @property
    def recording(self) -> str: ...
    @property
    def run(self) -> Run | None: ...
    @property
    def facts(self) -> int: ...


_T = TypeVar("_T", bound=_Counted)


def once(found: Sequence[_T]) -> tuple[list[_T], list[str]]:
    """Of several records of one run the one that holds most of it; and a sentence about each record that is left out.

    Of logs of ours and of Spark's those count that tell all of it; ours, where both do or neither does.
    """
    kept = _fullest(found)
    best = _best_in_spark(kept)
    left: list[_T] = []
    told: list[str] = []
    for one in found:
        instead, why = _instead_of(one, kept, best)
        if instead is one:
            left.append(one)
        else:
            told.append(f"{_called(one)}: it is the same run as {_called(instead)}, which {why}: left out")
    return left, told


def _fullest(found: Sequence[_T]) -> dict[Run, _T]:
    """For each run the record that holds most of it."""
    best: dict[Run, _T] = {}
    for one in found:
        if one.run is not None and (one.run not in best or one.facts > best[one.run].facts):
            best[one.run] = one
    return {one.run: one for one in best.values() if one.run is not None}


def _best_in_spark(kept: Mapping[Run, _T]) -> dict[tuple[str, str], tuple[Run, _T]]:
    """For each application that Spark names, the run and the record that tell most surely all of it."""
    rising = sorted(kept.items(), key=lambda item: (item[0].is_whole, item[0].is_ours))
    return {run.spark: (run, one) for run, one in rising if run.spark[0]}


def _instead_of(one: _T, kept: Mapping[Run, _T], in_spark: Mapping[tuple[str, str], tuple[Run, _T]]) -> tuple[_T, str]:
    """The record that counts for the run of this one, and why."""
    if one.run is None:
        return one, ""
    run, best = in_spark.get(one.run.spark, (one.run, one))
    if run.is_ours == one.run.is_ours:
        return kept[one.run], "holds no less"
    return best, "is a log of ours" if run.is_ours else "tells all of it"


def _called(one: _Counted) -> str:
    return (one.run.place if one.run is not None else "") or one.recording


def _place(recording: Recording) -> str:
    """Where an export is; empty for other recordings. It is called by its application, and several may hold that."""
    return f"{recording.name} in {shown(commonpath(recording.tables))}" if recording.tables else ""
