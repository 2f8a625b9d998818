"""Events as bytes and back.

Responsible for records and segments: what the log is made of. Refuses to know where they are stored and what follows
from them. Invariant: what is decoded is what was written, whole and without a gap, or an error that names the record;
equal segments have equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet
from shuffle_lifecycle.v1 import events_pb2

from coordinator.core.events import Event, Recorded
from coordinator.core.making import maker
from coordinator.wire.errors import Corrupt, Malformed, UnknownEvent
from coordinator.wire.sealing import seal, unseal
from coordinator.wire.shapes import Fields, Shape, members, shape_of
from coordinator.wire.upcast import upcast
from coordinator.wire.versions import needed

#: Events that a reader who does not know them may pass over, because they change no state. None so far.
IGNORABLE: frozenset[type] = frozenset()

_SHAPES: dict[str, Shape[Any]] = {name: shape_of(plain) for name, plain in members(Event).items()}
_recorded = maker(Recorded)
_NAMES: dict[type, str] = {shape.plain: name for name, shape in _SHAPES.items()}


@dataclass(frozen=True, slots=True)
class Segment:
    """The events of one commit. ``passed_over`` are records that this release does not know and may ignore."""

    first_sequence: int
    commit_id: bytes
    writer: str
    records: tuple[Recorded, ...]
    passed_over: tuple[int, ...] = ()

    @property
    def next_sequence(self) -> int:
        """The sequence number that follows the segment."""
        return self.first_sequence + len(self.records) + len(self.passed_over)


def encode_segment(segment: Segment) -> bytes:
    """The segment as it is stored."""
    return seal(segment_to_message(segment))


def decode_segment(value: bytes, place: str) -> Segment:
    """The segment that was stored; ``place`` names where, for errors."""
    return segment_from_message(unseal(events_pb2.Segment, value, place), place)


def segment_to_message(segment: Segment) -> events_pb2.Segment:
    """The segment as a message, without its seal."""
    return events_pb2.Segment(
        first_sequence=segment.first_sequence,
        commit_id=segment.commit_id,
        writer=segment.writer,
        version=needed(segment.records),
        records=[_fields_of(recorded) for recorded in segment.records],
    )


def segment_from_message(message: events_pb2.Segment, place: str) -> Segment:
    """The segment of a message; its records in this release's form."""
    upcast(message, place)
    there = message.records[:]  # protobuf makes an object of each anew whenever its own list is gone through
    _check_sequence(message.first_sequence, there, place)
    read = [record_from_message(record, place) for record in there]
    passed_over = tuple([m.sequence for m, r in zip(there, read, strict=True) if r is None])
    records = tuple([recorded for recorded in read if recorded is not None])
    return Segment(message.first_sequence, message.commit_id, message.writer, records, passed_over)


def record_to_message(recorded: Recorded) -> events_pb2.Record:
    """One event in its place, as a message."""
    return events_pb2.Record(**_fields_of(recorded))


def record_from_message(message: events_pb2.Record, place: str = "the log") -> Recorded | None:
    """One event in its place; None where it is unknown and its writer marked it ignorable."""
    name = message.WhichOneof("event")
    if name is None:
        _pass_over(message, place)
        return None
    try:
        event = _SHAPES[name].read(getattr(message, name))
    except Malformed as error:
        raise error.at(f"{place}: record {message.sequence}") from error
    return _recorded(message.sequence, message.time_ms, message.because, event)


def _fields_of(recorded: Recorded) -> Fields:
    kind = type(recorded.event)
    name = _NAMES[kind]
    fields: Fields = {
        "sequence": recorded.sequence,
        "time_ms": recorded.time_ms,
        "because": recorded.because,
        name: _SHAPES[name].fields_of(recorded.event),
    }
    if kind in IGNORABLE:
        fields["ignorable"] = True
    return fields


def _pass_over(message: events_pb2.Record, place: str) -> None:
    fields: Any = UnknownFieldSet(message)
    unknown = [field.field_number for field in fields]
    if not unknown:
        raise Corrupt(place, f"record {message.sequence} holds no event", "one")
    if not message.ignorable:
        raise UnknownEvent(place, message.sequence, unknown[0])


def _check_sequence(first_sequence: int, there: Sequence[events_pb2.Record], place: str) -> None:
    for expected, record in enumerate(there, first_sequence):
        if record.sequence != expected:
            raise Corrupt(place, f"record {record.sequence} follows record {expected - 1}", f"record {expected}")
    if not there:
        raise Corrupt(place, f"segment {first_sequence} is empty", "at least one record")
