"""The log of one application, read from plain bytes, and what it says of each generation at each place.

Responsible for decoding by the committed stubs alone, and for a small model of a generation's life. Refuses to judge
(`checker`). Invariant: it shares no code with what wrote the log; what it cannot read is a finding, never passed over.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from shuffle_lifecycle.v1 import common_pb2, events_pb2

WRITING, READABLE, PARTIAL, EXPIRED = "writing", "readable", "partial", "expired"
FENCING, FENCED, DELETED, LOST = "fencing", "fenced", "deleted", "lost"
GONE = frozenset({FENCED, DELETED, LOST})
_SEAL = struct.Struct("<BI")
_SEAL_TAG = 0x7D


@dataclass(frozen=True, slots=True)
class Stored:
    """One segment as it stands in the store."""

    key: str
    first: int
    last: int
    commit: str
    records: tuple[Any, ...]
    version: int


@dataclass
class Generation:
    """One generation; ``lives``: at which sequence number it became what."""

    shuffle_id: int
    app_shuffle: int
    started: int
    lives: list[tuple[int, str]] = field(default_factory=list)
    completed: bool = False
    readers: set[str] = field(default_factory=set)
    fencing: int = 0  #: The directive under way.

    @property
    def life(self) -> str:
        return self.lives[-1][1]

    def life_at(self, sequence: int) -> str | None:
        """What it was once the event with this number was there; None: it had not begun."""
        found = None
        for at, life in self.lives:
            if at <= sequence:
                found = life
        return found

    def was(self, lives: Iterable[str], low: int, high: int) -> bool:
        """Whether it was one of these at some place from `low` to `high`."""
        wanted = set(lives)
        places = {low, *(at for at, _ in self.lives if low <= at <= high)}
        return any(self.life_at(place) in wanted for place in places)


@dataclass
class Log:
    """All that the log of one application says. ``wrong``: what cannot be so, found while reading it."""

    application: str
    segments: list[Stored] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    generations: dict[int, Generation] = field(default_factory=dict)
    currents: defaultdict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    answered: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)
    opened: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    covers: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    facts: set[tuple[Any, ...]] = field(default_factory=set)
    fences: dict[int, str] = field(default_factory=dict)
    ending: int = 0
    last: int = 0

    def records(self) -> Iterator[Any]:
        """Every event in its place."""
        return (record for segment in self.segments for record in segment.records)

    def current(self, app_shuffle: int, low: int, high: int) -> set[int]:
        """Which generations were the newest at some place from `low` to `high`; 0: there was none yet."""
        found, at_low = set(), 0
        for at, shuffle_id in self.currents.get(app_shuffle, ()):
            if at <= low:
                at_low = shuffle_id
            elif at <= high:
                found.add(shuffle_id)
        return {at_low, *found}


def unseal(value: bytes) -> bytes | None:
    """What is in a sealed value; None: it is torn or was changed."""
    content = value[: -_SEAL.size]
    if len(value) < _SEAL.size:
        return None
    tag, checksum = _SEAL.unpack(value[-_SEAL.size :])
    return content if tag == _SEAL_TAG and zlib.crc32(content) == checksum else None


def read_logs(store: Mapping[str, bytes]) -> dict[str, Log]:
    """The log of every application in the store."""
    logs: dict[str, Log] = {}
    for key in sorted(store):
        keyspace, _, rest = key.partition("/")
        if keyspace == "events":
            name, _, number = rest.rpartition("/")
            log = logs.setdefault(unquote(name), Log(unquote(name)))
            _read_segment(log, key, int(number), store[key])
    for log in logs.values():
        _check_head(log, store)
        fold(log)
    return logs


def _read_segment(log: Log, key: str, number: int, value: bytes) -> None:
    content = unseal(value)
    if content is None:
        log.wrong.append(f"gap: the segment at {key} is torn or was changed")
        return
    segment = events_pb2.Segment.FromString(content)
    records = tuple(segment.records)
    if segment.first_sequence != number:
        log.wrong.append(f"fork: the segment at {key} says that it begins with {segment.first_sequence}")
    last = records[-1].sequence if records else number
    log.segments.append(Stored(key, number, last, segment.commit_id.decode(), records, segment.version))


def _check_head(log: Log, store: Mapping[str, bytes]) -> None:
    found = next((value for key, value in store.items() if key == f"heads/{log.application}"), None)
    content = unseal(found) if found is not None else None
    if content is None:
        log.wrong.append("gap: there is no readable head")
        return
    head = events_pb2.Head.FromString(content)
    last = log.segments[-1]
    if (head.next_sequence, head.commit_id.decode()) != (last.last + 1, last.commit):
        log.wrong.append(
            f"fork: the head says commit {head.commit_id.decode()!r} and {head.next_sequence} next, "
            f"the last segment is {last.commit!r} and ends with {last.last}"
        )


# ---- folding ---------------------------------------------------------------------------------------------------------


def fold(log: Log) -> None:
    """Reads all events in order."""
    _Fold(log).run()


class _Fold:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.jobs: dict[int, list[Any]] = {}
        self.readers: defaultdict[str, set[int]] = defaultdict(set)

    def run(self) -> None:
        expected, time_ms = 1, 0
        for record in self.log.records():
            if record.sequence != expected:
                self.log.wrong.append(f"gap: event {expected} should follow, {record.sequence} does")
            expected = record.sequence + 1
            if record.time_ms < time_ms:
                self.log.wrong.append(f"time: event {record.sequence} is earlier than the one before")
            time_ms = record.time_ms
            if record.because > record.sequence:
                self.log.wrong.append(f"fork: event {record.sequence} follows from {record.because}, which comes later")
            name = record.WhichOneof("event")
            rule = getattr(self, f"_{name}", None)
            if rule is not None:
                rule(record.sequence, getattr(record, name))
            self.log.last = record.sequence

    # ---- requests ----

    def _requests_answered(self, at: int, event: Any) -> None:
        first = next(s.first for s in reversed(self.log.segments) if s.first <= at)
        for span in event.answered:
            for number in range(span.first, span.last + 1):
                self.log.answered.setdefault((event.client, number), []).append((first, at))

    def _application_ended(self, at: int, event: Any) -> None:
        self.log.ending = event.ending

    # ---- the scheduler ----

    def _job_started(self, at: int, event: Any) -> None:
        self.jobs[event.job] = list(event.stages)
        self.log.facts.add(("report_job_started", event.job))

    def _job_ended(self, at: int, event: Any) -> None:
        self.log.facts.add(("report_job_ended", event.job))
        self.jobs.pop(event.job, None)
        for stage in [one for one in self.readers if not self._is_listed(int(one.split(".")[0]))]:
            self._drop(stage)

    def _is_listed(self, stage: int) -> bool:
        return any(span.first <= stage <= span.last for spans in self.jobs.values() for span in spans)

    def _stage_submitted(self, at: int, event: Any) -> None:
        self.log.facts.add(("report_stage_submitted", _stage(event.stage)))

    def _stage_completed(self, at: int, event: Any) -> None:
        name = _stage(event.stage)
        self.log.facts.add(("report_stage_completed", name))
        if not event.failure:
            for other in [one for one in self.readers if one.split(".")[0] == name.split(".")[0]]:
                self._drop(other)

    def _executor_lost(self, at: int, event: Any) -> None:
        self.log.facts.add(("report_executor_lost", event.executor))

    def _drop(self, stage: str) -> None:
        for shuffle_id in self.readers.pop(stage, ()):
            self.log.generations[shuffle_id].readers.discard(stage)

    # ---- generations ----

    def _generation_adopted(self, at: int, event: Any) -> None:
        """Written before anybody listened."""
        self._generation_started(at, event)
        if event.available == event.total:
            self._generation_completed(at, event)

    def _generation_started(self, at: int, event: Any) -> None:
        highest = max(self.log.generations, default=0)
        if event.shuffle_id <= highest:
            self.log.wrong.append(f"ids: shuffle id {event.shuffle_id} was given out after {highest}")
        self.log.generations[event.shuffle_id] = Generation(event.shuffle_id, event.app_shuffle, at, [(at, WRITING)])
        self.log.currents[event.app_shuffle].append((at, event.shuffle_id))

    def _generation_completed(self, at: int, event: Any) -> None:
        self._of(event).completed = True
        self._become(at, event, READABLE)

    def _outputs_lost(self, at: int, event: Any) -> None:
        self._of(event).completed = False
        self._become(at, event, PARTIAL)

    def _generation_lost(self, at: int, event: Any) -> None:
        self._explain(event, "lost")
        self._become(at, event, LOST)

    def _generation_expired(self, at: int, event: Any) -> None:
        self._become(at, event, EXPIRED)

    def _expiry_taken_back(self, at: int, event: Any) -> None:
        self._become(at, event, READABLE if self._of(event).completed else WRITING)

    def _fence_requested(self, at: int, event: Any) -> None:
        generation = self._of(event)
        if generation.readers:
            self.log.wrong.append(
                f"reader: the fence of generation {event.shuffle_id} was asked for at {at} "
                f"while {sorted(generation.readers)} were registered"
            )
        generation.fencing = event.directive
        self.log.fences[event.directive] = ""
        self._become(at, event, FENCING)

    def _fence_refused(self, at: int, event: Any) -> None:
        self._explain(event, "refused")
        self._become(at, event, READABLE if event.keep else EXPIRED)

    def _generation_fenced(self, at: int, event: Any) -> None:
        self._explain(event, "fenced")
        self._become(at, event, FENCED)

    def _delete_requested(self, at: int, event: Any) -> None:
        self.log.fences[event.directive] = ""
        self._of(event).fencing = event.directive

    def _invalidate_requested(self, at: int, event: Any) -> None:
        self.log.fences[event.directive] = ""

    def _data_invalidated(self, at: int, event: Any) -> None:
        self.log.fences[event.directive] = "invalidated"

    def _generation_deleted(self, at: int, event: Any) -> None:
        generation = self._of(event)
        if event.cause == common_pb2.DELETION_POLICY and generation.life != FENCED:
            self.log.wrong.append(
                f"reader: generation {event.shuffle_id} was deleted at {at} while it was {generation.life}, not fenced"
            )
        self._explain(event, "deleted")
        self._become(at, event, DELETED)

    def _reader_registered(self, at: int, event: Any) -> None:
        stage = _stage(event.reader)
        generation = self._of(event)
        if generation.life in GONE:
            self.log.wrong.append(
                f"reader: {stage} was registered at {at} with generation {event.shuffle_id}: {generation.life}"
            )
        generation.readers.add(stage)
        self.readers[stage].add(event.shuffle_id)

    # ---- recoveries ----

    def _recovery_opened(self, at: int, event: Any) -> None:
        self.log.opened.setdefault(event.missing, []).append((at, event.recovery))
        self.log.covers[event.recovery] |= {event.missing, *event.gone}

    def _recovery_widened(self, at: int, event: Any) -> None:
        self.log.covers[event.recovery].add(event.gone)

    # ---- within ----

    def _of(self, event: Any) -> Generation:
        found = self.log.generations.get(event.shuffle_id)
        if found is None:
            found = self.log.generations[event.shuffle_id] = Generation(event.shuffle_id, -1, 0, [(0, WRITING)])
            self.log.wrong.append(f"gap: generation {event.shuffle_id} has no beginning")
        return found

    def _become(self, at: int, event: Any, life: str) -> None:
        self._of(event).lives.append((at, life))

    def _explain(self, event: Any, how: str) -> None:
        generation = self._of(event)
        if generation.fencing:
            self.log.fences[generation.fencing] = how
            generation.fencing = 0


def _stage(stage: Any) -> str:
    return f"{stage.stage}.{stage.attempt}"
