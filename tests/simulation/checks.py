"""What must hold of a store, whatever happened to it.

Responsible for reading a store by its own plain means and saying what is wrong with it. Refuses to know replicas, and
shares no code with the journal. Invariant: an empty list means that the log does not fork and has no gap, that the
keyspaces say what it says, that nobody was answered twice, and that every loss has one recovery.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from coordinator.core import events as e
from coordinator.core.evolve import fold
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.lifecycle import Life
from coordinator.core.state import State, empty
from coordinator.wire.codec import Segment, decode_segment
from coordinator.wire.records import GenerationRecord, Head, decode
from state_backend.api import StateBackend
from state_backend.values import Keyspace

HOMES = {Life.EXPIRED: Keyspace.EXPIRED, Life.FENCED: Keyspace.FENCED}
ALIVE = (Keyspace.LIVE, Keyspace.EXPIRED, Keyspace.FENCED)


async def read_log(backend: StateBackend, application: ApplicationId) -> list[Segment]:
    """Every segment, in the order of the keys."""
    page = await backend.scan_all(Keyspace.EVENTS, f"{application}/")
    return [decode_segment(entry.value, entry.key) for entry in page.entries]


def fold_log(segments: Iterable[Segment]) -> State:
    """The state that the log says."""
    return fold(empty(), (recorded for segment in segments for recorded in segment.records))


def unfinished(state: State) -> list[str]:
    """What was let go and is not deleted: directives without an outcome, fences that wait for their time."""
    waiting = [g.shuffle_id for g in state.generations.values() if g.life is Life.EXPIRED and g.due_ms]
    left = [f"directives are left: {list(state.directives.values())}"] if state.directives else []
    return left + ([f"fences are due: {waiting}"] if waiting else [])


async def wrongs(
    backend: StateBackend, application: ApplicationId, acknowledged: Mapping[ClientId, set[int]]
) -> list[str]:
    """What is wrong, in words; empty where nothing is."""
    segments = await read_log(backend, application)
    head = (await backend.get(Keyspace.HEADS, application)).entry
    state = fold_log(segments)
    return [
        *_gaps(segments, decode(Head, head.value, "head") if head is not None else None),
        *_answers(segments, acknowledged),
        *_ids(segments),
        *await _records(backend, application, state),
    ]


def _gaps(segments: list[Segment], head: Head | None) -> Iterable[str]:
    following = 1
    for segment in segments:
        if segment.first_sequence != following:
            yield f"event {following} is followed by the segment of {segment.first_sequence}"
        following = segment.next_sequence
    if head is not None and (head.next_sequence, head.commit_id) != (following, segments[-1].commit_id):
        yield f"the head says {head.next_sequence} comes next, the segments end before {following}"
    for commit_id, count in Counter(segment.commit_id for segment in segments).items():
        if count > 1:
            yield f"commit {commit_id!r} is in the log {count} times"


def _answers(segments: list[Segment], acknowledged: Mapping[ClientId, set[int]]) -> Iterable[str]:
    answered: dict[ClientId, Counter[int]] = {}
    for recorded in _records_of(segments):
        if isinstance(recorded.event, e.RequestsAnswered):
            numbers = answered.setdefault(recorded.event.client, Counter())
            for span in recorded.event.answered:
                numbers.update(range(span.first, span.last + 1))
    for client, numbers in answered.items():
        yield from (f"request {number} of {client} was answered {n} times" for number, n in numbers.items() if n > 1)
    for client, wanted in acknowledged.items():
        missing = wanted - set(answered.get(client, ()))
        if missing:
            yield f"acknowledged requests of {client} are not in the log: {sorted(missing)[:5]}"


def _ids(segments: list[Segment]) -> Iterable[str]:
    highest = 0
    recovered: set[int] = set()
    for recorded in _records_of(segments):
        event = recorded.event
        if isinstance(event, e.GenerationStarted):
            if event.shuffle_id <= highest:
                yield f"shuffle id {event.shuffle_id} was given out after {highest}"
            highest = event.shuffle_id
        if isinstance(event, e.RecoveryOpened):
            if event.missing in recovered:
                yield f"generation {event.missing} has two recoveries"
            recovered.add(event.missing)


async def _records(backend: StateBackend, application: ApplicationId, state: State) -> list[str]:
    found: dict[tuple[int, Keyspace], Life] = {}
    for keyspace in ALIVE:
        for entry in (await backend.scan_all(keyspace, f"{application}/")).entries:
            record = decode(GenerationRecord, entry.value, entry.key)
            found[record.shuffle_id, keyspace] = record.life
    expected = {
        (int(shuffle_id), HOMES.get(generation.life, Keyspace.LIVE)): generation.life
        for shuffle_id, generation in state.generations.items()
    }
    wrong = [f"records are {found}, the log says {expected}"] if found != expected else []
    dead = await _ranges(backend, Keyspace.DELETED, application) | await _ranges(backend, Keyspace.LOST, application)
    buried = set(range(1, state.meta.next_shuffle_id)) - {shuffle_id for shuffle_id, _ in expected}
    return wrong + ([f"tombstones are {sorted(dead)}, the log says {sorted(buried)}"] if dead != buried else [])


async def _ranges(backend: StateBackend, keyspace: Keyspace, application: ApplicationId) -> set[int]:
    entry = (await backend.get(keyspace, application)).entry
    return ranges_of(entry.value) if entry is not None else set()


def ranges_of(value: bytes) -> set[int]:
    """The numbers in `1-5,7`."""
    spans = [part.split("-") for part in value.decode().split(",") if part]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}


def _records_of(segments: list[Segment]) -> Iterable[e.Recorded]:
    return (recorded for segment in segments for recorded in segment.records)
