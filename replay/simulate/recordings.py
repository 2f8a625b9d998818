"""Where recorded runs are, and several of them under several policies.

Responsible for reading a run wherever it was recorded, an exported log of ours or a history log of Spark's, and for
spreading many over a Spark cluster. Refuses to know how results are shown. Invariant: a record that cannot be read
costs its own line, never the others.

What is spread is the place of a record, or its bytes where they are not in files: an executor reads, simulates, and
gives back figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from coordinator.core.commands import EndApplication, RegisterApplication
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, AppShuffle
from coordinator.core.values import Driver, Lesson, Policy
from coordinator.wire.codec import Segment
from coordinator.wire.errors import WireError
from coordinator.wire.logfile import MAGIC, read_log, salvage
from replay.history.finding import Log, Missing, local_parts, sort
from replay.simulate import Fact, Timed, facts_of, simulate_all
from replay.simulate.summary import Summary, summary_of

_Bytes: TypeAlias = bytes  # `Recording` has a field of that name


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run. Exactly one of ``log`` and ``content`` and ``path`` says where it is."""

    name: str
    bytes: int
    log: Log | None = None  #: A history log of Spark's.
    path: str = ""  #: A file with a log of ours.
    content: _Bytes = b""  #: A log of ours itself.


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of one recorded run: its figures under each policy, or why there are none."""

    recording: str
    application: str = ""
    name: str = ""
    summaries: tuple[Summary, ...] = ()
    warnings: tuple[str, ...] = ()
    failed: str = ""
    is_history: bool = False  #: Of Spark's history logs, which show no variables of the program.


@dataclass(frozen=True, slots=True)
class Opened:
    """A recorded run, read."""

    application: str
    name: str
    facts: list[Fact] | list[Timed]
    task_ms: Mapping[AppShuffle, int] | None
    warnings: tuple[str, ...]
    ended: bool


def recordings_at(place: str) -> list[Recording] | Missing:
    """Every recorded run at or below a local place."""
    parts = local_parts(place)
    if isinstance(parts, Missing):
        return parts
    ours = [part for part in parts if _is_ours(part.path)]
    found = [Recording(Path(part.path).name, part.bytes, path=part.path) for part in ours]
    return [*found, *(Recording(log.name, log.bytes, log=log) for log in sort(p for p in parts if p not in ours))]


def _is_ours(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


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
    except (Unread, WireError, OSError) as error:
        return Simulated(recording.name, failed=str(error))
    except Exception as error:  # noqa: BLE001 - one record must never end the run of all
        return Simulated(recording.name, failed=odd("simulated", error))


def odd(done: str, error: Exception) -> str:
    """Of a record that nobody thought of."""
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
    return Simulated(recording.name, run.application, run.name, summaries, run.warnings, is_history=is_history)


def open_run(recording: Recording) -> Opened:
    """The run of a recording. Raises `Unread`, `WireError` and `OSError`."""
    return _history(recording, recording.log) if recording.log is not None else _own(recording)


class Unread(Exception):  # noqa: N818 - it says what is so
    """A history log that cannot be read."""


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
        raise Unread(str(error)) from error
    costs = {written.app_shuffle: written.task_ms for written in run.shuffles}
    driver = Driver(run.application_id, run.attempt, run.name, run.user, run.spark_version)
    registered = RegisterApplication(ApplicationId(run.application_id), driver)
    facts: list[Timed] = [(run.started_ms, registered), *run.facts]
    return Opened(run.application_id, run.name, facts, costs, run.warnings, run.ended)


def _own(recording: Recording) -> Opened:
    content = recording.content or Path(recording.path).read_bytes()
    warnings: list[str] = []
    facts = list(facts_of(_whole(salvage(content, recording.name), warnings)))
    if not facts:
        next(read_log(content, recording.name), None)  # says what is wrong with it
    first = facts[0].command if facts else None
    application = str(getattr(first, "application", ""))
    name = getattr(getattr(first, "driver", None), "name", "")
    ended = any(isinstance(fact.command, EndApplication) for fact in facts)
    return Opened(application, name, facts, None, tuple(warnings), ended)


def _whole(found: Iterable[Segment | WireError], warnings: list[str]) -> Iterator[Recorded]:
    """The log up to where it is damaged: what comes behind cannot be understood without what is missing."""
    for segment in found:
        if isinstance(segment, WireError):
            warnings.append(f"simulated up to here: {segment}")
            return
        yield from segment.records


def all_of(
    recordings: Iterable[Recording],
    policies: Sequence[tuple[str, Policy | None]],
    lessons: Mapping[str, tuple[Lesson, ...]] | None = None,
    capacity_bytes: int | None = None,
) -> Iterator[Simulated]:
    """One after the other, in this process."""
    for recording in recordings:
        yield simulated(recording, policies, lessons, capacity_bytes)


def spread(
    spark: Any,
    recordings: Sequence[Recording],
    policies: Sequence[tuple[str, Policy | None]],
    lessons: Mapping[str, tuple[Lesson, ...]] | None = None,
    capacity_bytes: int | None = None,
) -> list[Simulated]:
    """Each as a task of its own on a Spark session, the largest first; in the order given."""
    by_size = sorted(range(len(recordings)), key=lambda place: -recordings[place].bytes)
    tasks = spark.sparkContext.parallelize([(place, recordings[place]) for place in by_size], max(1, len(by_size)))
    wanted = list(policies)
    found = dict(tasks.map(lambda task: (task[0], simulated(task[1], wanted, lessons, capacity_bytes))).collect())
    return [found[place] for place in range(len(recordings))]
