"""State as people and programs ask about it.

Responsible for the messages of questions. Refuses to know calls and paging. Invariant: a message says nothing that the
state does not say.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from shuffle_lifecycle.v1 import common_pb2, service_pb2

from coordinator.core.ids import AppShuffle, ShuffleId, within
from coordinator.core.lifecycle import Life
from coordinator.core.state import Attempt, Directive, Generation, Meta, Shuffle, State
from coordinator.core.values import DirectiveKind
from coordinator.runtime import views
from coordinator.runtime.api import Peer
from coordinator.wire.errors import Malformed
from coordinator.wire.records import ApplicationRecord, SessionRecord
from coordinator.wire.shapes import enum_numbers, shape_of

_SETTINGS = ("driver", "capabilities", "policy", "settings")


def number_of(member: Any) -> int:
    """The protocol's number of an enum's member; 0 (UNSPECIFIED) for None."""
    if member is None:
        return 0
    described = common_pb2.DESCRIPTOR.enum_types_by_name[type(member).__name__]
    return enum_numbers(type(member), described)[member]


def written(value: Any) -> Any:
    """A value of the core as its message."""
    return shape_of(type(value)).write(value)


def lives_of(numbers: Any) -> frozenset[Life]:
    """The states that are asked for; all where none is named. Raises `Malformed` for what is no state here."""
    by_number = {number_of(life): life for life in Life}
    unknown = [number for number in numbers if number not in by_number]
    if unknown:
        there = ", ".join(life.name for life in Life)
        raise Malformed(f"ListShufflesRequest.lives holds the unknown value {unknown[0]}", f"any of {there}")
    return frozenset(by_number[number] for number in numbers) or frozenset(Life)


def application_shown(state: State, sign: SessionRecord | None = None) -> service_pb2.Application:
    """One application in full. ``sign``: its driver's last one of life."""
    meta = state.meta
    held = [
        service_pb2.LifeCount(life=number_of(one.life), generations=one.generations, bytes=one.bytes)  # type: ignore[arg-type]
        for one in views.held(state)
    ]
    return service_pb2.Application(
        application=meta.application or "",
        registered_ms=meta.registered_ms,
        ended_ms=meta.time_ms if meta.ending is not None else 0,
        ending=number_of(meta.ending),  # type: ignore[arg-type]
        sequence=views.last_sequence(state),
        suspended=number_of(meta.suspended),  # type: ignore[arg-type]
        lives=held,
        pins=views.pins(state),
        generations=meta.next_shuffle_id - 1,
        **_heard(sign),
        **_registration(meta),
    )


def record_shown(record: ApplicationRecord, sign: SessionRecord | None = None) -> service_pb2.Application:
    """One application in a list; what earlier runs taught is told of one alone."""
    record = replace(record, settings=replace(record.settings, lessons=()))
    return service_pb2.Application(
        application=record.application,
        registered_ms=record.registered_ms,
        ended_ms=record.ended_ms,
        ending=number_of(record.ending),  # type: ignore[arg-type]
        suspended=number_of(record.suspended),  # type: ignore[arg-type]
        **_heard(sign),
        **_registration(record),
    )


def replica_shown(peer: Peer) -> service_pb2.Replica:
    """One replica."""
    return service_pb2.Replica(**{field.name: getattr(peer, field.name) for field in fields(peer)})


def generation_shown(state: State, generation: Generation) -> service_pb2.Shuffle:
    """One generation that is alive."""
    shuffle = state.shuffles.get(generation.app_shuffle)
    expired = generation.why is not None
    return service_pb2.Shuffle(
        shuffle_id=generation.shuffle_id,
        app_shuffle=generation.app_shuffle,
        life=number_of(generation.life),  # type: ignore[arg-type]
        bytes=generation.bytes,
        readers=[written(reader) for reader in sorted(generation.readers)],
        writers=[written(writer) for writer in sorted(generation.writers)],
        expiry=number_of(generation.why),  # type: ignore[arg-type]
        hold=number_of(generation.hold if expired else None),  # type: ignore[arg-type]
        due_ms=generation.due_ms,
        call_site=shuffle.lineage.call_site if shuffle else "",
        pinned=shuffle is not None and shuffle.pin is not None,
    )


def tombstone_shown(app_shuffle: AppShuffle, shuffle: Shuffle) -> service_pb2.Shuffle:
    """The end of an app shuffle's newest generation."""
    return service_pb2.Shuffle(
        shuffle_id=shuffle.current or 0,
        app_shuffle=app_shuffle,
        life=number_of(shuffle.fate),  # type: ignore[arg-type]
        bytes=shuffle.bytes,
        deletion=number_of(shuffle.cause),  # type: ignore[arg-type]
        loss=number_of(shuffle.loss),  # type: ignore[arg-type]
        call_site=shuffle.lineage.call_site,
        pinned=shuffle.pin is not None,
    )


def shuffles_shown(state: State) -> list[service_pb2.Shuffle]:
    """Every generation that state tells of: those that are alive, and the newest of each app shuffle that are gone."""
    alive = [generation_shown(state, generation) for generation in state.generations.values()]
    gone = [
        tombstone_shown(app_shuffle, shuffle)
        for app_shuffle, shuffle in state.shuffles.items()
        if shuffle.current is not None and shuffle.current not in state.generations
    ]
    return sorted([*alive, *gone], key=lambda shown: shown.shuffle_id)


def long_gone_shown(state: State, shuffle_id: ShuffleId) -> service_pb2.Shuffle | None:
    """A generation of which state keeps no more than that it was there, and whether it was lost; None: it never was."""
    if not 0 < shuffle_id < state.meta.next_shuffle_id:
        return None
    life = Life.LOST if within(state.meta.lost, shuffle_id) else Life.DELETED
    return service_pb2.Shuffle(shuffle_id=shuffle_id, life=number_of(life))  # type: ignore[arg-type]


def graph_shown(state: State) -> service_pb2.Graph:
    """Stages, shuffles and lineage."""
    graph = views.graph(state)
    return service_pb2.Graph(
        sequence=graph.sequence,
        lineage=[written(shuffle.lineage) for shuffle in graph.shuffles],
        shuffles=shuffles_shown(state),
        stages=[_stage_shown(attempt) for attempt in graph.stages if attempt.running],
    )


def directive_shown(directive: Directive, newest: ShuffleId) -> service_pb2.Directive:
    """What the driver is asked to do. The core lets a deletion follow every fence that succeeds.

    ``newest`` is the app shuffle's newest generation; 0: there is none.
    """
    return service_pb2.Directive(
        directive=directive.directive,
        kind=number_of(directive.kind),  # type: ignore[arg-type]
        shuffle_id=directive.shuffle_id,
        app_shuffle=directive.app_shuffle,
        locator=written(directive.locator),
        delete_follows=directive.kind is DirectiveKind.FENCE,
        newest_shuffle_id=newest,
    )


def _stage_shown(attempt: Attempt) -> service_pb2.Stage:
    return service_pb2.Stage(
        stage=written(attempt.stage), reads=attempt.reads, writes=attempt.writes, name=attempt.name
    )


def _heard(sign: SessionRecord | None) -> dict[str, Any]:
    return {} if sign is None else {"heard_ms": sign.heartbeat_ms, "replica": sign.replica}


def _registration(told: Meta | ApplicationRecord) -> dict[str, Any]:
    return {name: written(getattr(told, name)) for name in _SETTINGS}
