"""What a commit changes beside the log.

Responsible for the records of generations, for tombstones and for the application's own record, as operations of the
transaction that appends the segment. Refuses to know how it is appended. Invariant: after every commit the keyspaces
say what the folded log says.

Tombstones are ranges: one record an application in each of `deleted` and `lost`, as `1-5,7,9-12`, so that a store keeps
no more of an application's dead than of its living. Where losses and deletions alternate, the newest ranges are told,
behind `...,`: the record is written with every deletion, and a transaction holds 1.5 MiB. The log knows the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice

from coordinator.core.events import (
    ApplicationEnded,
    ApplicationRegistered,
    DataInvalidated,
    DirectiveFailed,
    InvalidateRequested,
    PrematureDeletion,
    ReaderRegistered,
    Recorded,
    StageCompleted,
    WriterJoined,
)
from coordinator.core.ids import ApplicationId, ClientId, ShuffleId, Span
from coordinator.core.state import Meta, State
from coordinator.core.sweep import is_closed
from coordinator.core.values import Policy, Suspension
from coordinator.runtime import places
from coordinator.wire.records import ApplicationRecord, SessionRecord, encode, generation_record
from state_backend.values import Delete, Keyspace, Operation, Put

#: What moves more is cut between commands: a transaction of etcd takes 128 operations.
RECORDS_MAX = 50

#: What is told of the ranges of each kind of tombstone; 22 bytes each while ids have ten digits.
RANGES_MAX = 1_000
_OLDER = "..."

#: About a generation, and no part of its record: one stage may read more shuffles than a segment can move.
_ASIDE = (DataInvalidated, DirectiveFailed, InvalidateRequested, PrematureDeletion, ReaderRegistered, WriterJoined)


def touched(draft: State, log: Iterable[Recorded]) -> Iterator[ShuffleId]:
    """The generations whose records these events change, repeats included. ``draft``: the state after them."""
    for recorded in log:
        shuffle_id = getattr(recorded.event, "shuffle_id", None)
        if shuffle_id is not None and not isinstance(recorded.event, _ASIDE):
            yield shuffle_id
        elif isinstance(recorded.event, StageCompleted) and recorded.event.failure:
            yield from _left_by(draft, recorded.event)


def _left_by(draft: State, failed: StageCompleted) -> Iterator[ShuffleId]:
    """What a failed attempt has written counts; one that ended well tells so with its generation's completion."""
    if failed.shuffle_bytes_written:
        yield from (key for key, generation in draft.generations.items() if failed.stage in generation.written_by)


def operations(application: ApplicationId, below: State, draft: State, log: list[Recorded]) -> list[Operation]:
    """All that the commit from ``below`` to ``draft`` changes beside its segment and the head."""
    last = {shuffle_id: recorded for recorded in log for shuffle_id in touched(draft, (recorded,))}
    moved = [each for shuffle_id, by in last.items() for each in _move(application, below, draft, shuffle_id, by)]
    return [*moved, *_tombstones(application, below, draft, last), *_own(application, below, draft, log)]


def _move(
    application: ApplicationId, below: State, draft: State, shuffle_id: ShuffleId, by: Recorded
) -> Iterator[Operation]:
    before, after = below.generations.get(shuffle_id), draft.generations.get(shuffle_id)
    source = places.OF_LIFE[before.life] if before is not None else None
    target = places.OF_LIFE[after.life] if after is not None else None
    key = places.generation(application, shuffle_id)
    if source is not None and source is not target:
        yield Delete(source, key)
    if after is not None and target is not None:
        yield Put(target, key, encode(generation_record(application, after, by.sequence, by.time_ms)))


def _tombstones(
    application: ApplicationId, below: State, draft: State, changed: Iterable[ShuffleId]
) -> Iterator[Operation]:
    if all(shuffle_id in draft.generations for shuffle_id in changed):
        return
    key = places.of_application(application)
    if draft.meta.lost != below.meta.lost:
        yield Put(Keyspace.LOST, key, lost_text(draft))
    yield Put(Keyspace.DELETED, key, deleted_text(draft))


def lost_text(state: State) -> bytes:
    """What was lost, as ranges."""
    return _ranges_text(reversed(state.meta.lost))


def deleted_text(state: State) -> bytes:
    """Every shuffle id that was given out, and is neither alive nor lost, as ranges."""
    return _ranges_text(_deleted(state))


def _deleted(state: State) -> Iterator[Span]:
    """The newest first: whoever wants those alone does not pay for the others."""
    alive = (Span(one, one) for one in sorted(state.generations, reverse=True))
    above: int = state.meta.next_shuffle_id
    for span in merge(reversed(state.meta.lost), alive, reverse=True):
        if span.last + 1 < above:
            yield Span(span.last + 1, above - 1)
        above = span.first
    if above > 1:
        yield Span(1, above - 1)


def _ranges_text(newest_first: Iterator[Span]) -> bytes:
    """`1-5,7,9-12`: what people read with any tool for the store."""
    told = list(islice(newest_first, RANGES_MAX))
    shown = [str(span.first) if span.first == span.last else f"{span.first}-{span.last}" for span in reversed(told)]
    older = [_OLDER] if next(newest_first, None) is not None else []
    return ",".join([*older, *shown]).encode()


def _own(application: ApplicationId, below: State, draft: State, log: list[Recorded]) -> Iterator[Operation]:
    """Its registration, policy and end, and the sign of life that begins with the one and goes with the other."""
    kinds = {type(recorded.event) for recorded in log}
    key = places.of_application(application)
    if ApplicationRegistered in kinds or ApplicationEnded in kinds or _in_force(draft.meta) != _in_force(below.meta):
        yield Put(Keyspace.APPLICATIONS, key, encode(application_record(draft)))
    if is_closed(draft) and not is_closed(below):
        yield Delete(Keyspace.SESSIONS, key)
    elif ApplicationRegistered in kinds:
        session = SessionRecord(application, ClientId(""), "", draft.meta.time_ms)
        yield Put(Keyspace.SESSIONS, key, encode(session))


def _in_force(meta: Meta) -> tuple[Policy, Suspension | None]:
    """What of its record changes while it runs."""
    return meta.policy, meta.suspended


def application_record(state: State) -> ApplicationRecord:
    """What is kept of an application for those who look for it."""
    meta = state.meta
    assert meta.application is not None
    return ApplicationRecord(
        meta.application,
        meta.driver,
        meta.capabilities,
        meta.policy,
        meta.settings,
        meta.token_hash,
        meta.registered_ms,
        meta.time_ms if meta.ending is not None else 0,
        meta.ending,
        meta.suspended,
    )
