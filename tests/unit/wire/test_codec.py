"""Segments as bytes: whole, in order, and of this release, or an error that says where."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import events_pb2

from coordinator.core.events import Event, ExecutorLost, JobEnded, Recorded, RequestsAnswered
from coordinator.core.ids import AppShuffle, ClientId, JobId, Sequence
from coordinator.core.values import Refused
from coordinator.wire import codec, upcast
from coordinator.wire.codec import Segment, decode_segment, encode_segment
from coordinator.wire.errors import Corrupt, Malformed, TooNew, Torn, UnknownEvent
from coordinator.wire.sealing import seal
from tests.unit.wire.strategies import values_of

EVENTS = st.lists(values_of(Event), min_size=1, max_size=5)


def segment_of(events: list[Event], first: int = 1) -> Segment:
    records = tuple(
        Recorded(Sequence(sequence), 1_700_000_000_000 + sequence, Sequence(first), event)
        for sequence, event in enumerate(events, first)
    )
    return Segment(first, b"commit", "replica-1", records)


SMALL = segment_of([JobEnded(JobId(1), succeeded=True), ExecutorLost("7", "gone")], first=17)


@given(EVENTS, st.integers(1, 2**60))
def test_what_is_encoded_decodes_equal(events: list[Event], first: int) -> None:
    segment = segment_of(events, first)
    assert decode_segment(encode_segment(segment), "here") == segment


@given(EVENTS)
def test_equal_segments_have_equal_bytes(events: list[Event]) -> None:
    assert encode_segment(segment_of(events)) == encode_segment(segment_of(list(events)))


@given(EVENTS)
def test_every_event_alone_in_its_place(events: list[Event]) -> None:
    for recorded in segment_of(events).records:
        assert codec.record_from_message(codec.record_to_message(recorded)) == recorded


@given(st.data())
def test_a_flipped_bit_is_never_read_over(data: st.DataObject) -> None:
    value = bytearray(encode_segment(SMALL))
    position = data.draw(st.integers(0, len(value) - 1))
    value[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises((Torn, Corrupt), match="events/app/17"):
        decode_segment(bytes(value), "events/app/17")


@given(st.integers(0, len(encode_segment(SMALL)) - 1))
def test_a_torn_value_is_never_read_over(length: int) -> None:
    with pytest.raises((Torn, Corrupt), match="events/app/17"):
        decode_segment(encode_segment(SMALL)[:length], "events/app/17")


def test_a_refusal_about_no_app_shuffle_can_be_told() -> None:
    answered = RequestsAnswered(ClientId("driver"), (), 0, 0, (Refused("invalid", AppShuffle(-1)),))
    assert decode_segment(encode_segment(segment_of([answered])), "here").records[0].event == answered


def test_nothing_at_all_is_torn() -> None:
    with pytest.raises(Torn, match="0 bytes and no checksum"):
        decode_segment(b"", "events/app/17")


def changed(change: Callable[[events_pb2.Segment], object]) -> bytes:
    message = codec.segment_to_message(SMALL)
    change(message)
    return seal(message)


def unknown_event(ignorable: bool) -> bytes:
    record = events_pb2.Record(sequence=18, time_ms=1, because=17, ignorable=ignorable)
    record.MergeFromString(bytes([0xC2, 0x3E, 0x00]))  # field 1000, an empty message
    message = codec.segment_to_message(SMALL)
    message.records[1].CopyFrom(record)
    return seal(message)


def test_an_unknown_event_is_an_error() -> None:
    with pytest.raises(UnknownEvent, match="here: record 18 holds the event with field number 1000") as caught:
        decode_segment(unknown_event(ignorable=False), "here")
    assert (caught.value.sequence, caught.value.field_number) == (18, 1000)


def test_an_unknown_event_that_its_writer_marked_is_passed_over() -> None:
    segment = decode_segment(unknown_event(ignorable=True), "here")
    assert segment.records == SMALL.records[:1]
    assert segment.passed_over == (18,)
    assert segment.next_sequence == 19


def test_our_own_ignorable_events_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "IGNORABLE", frozenset({ExecutorLost}))
    assert [record.ignorable for record in codec.segment_to_message(SMALL).records] == [False, True]


def drop_event(message: events_pb2.Segment) -> None:
    message.records[1].ClearField("executor_lost")


def skip_a_number(message: events_pb2.Segment) -> None:
    message.records[1].sequence = 19


def drop_records(message: events_pb2.Segment) -> None:
    message.ClearField("records")


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (drop_event, "here: record 18 holds no event; expected one"),
        (skip_a_number, "here: record 19 follows record 17; expected record 18"),
        (drop_records, "here: segment 17 is empty; expected at least one record"),
    ],
)
def test_a_segment_that_is_not_whole_is_corrupt(change: Callable[[events_pb2.Segment], None], fact: str) -> None:
    with pytest.raises(Corrupt, match=fact):
        decode_segment(changed(change), "here")


def test_an_event_without_a_needed_part_names_its_record() -> None:
    with pytest.raises(Malformed, match=r"here: record 17: StageSubmitted\.stage is missing"):
        decode_segment(changed(lambda message: message.records[0].stage_submitted.SetInParent()), "here")


def test_a_newer_form_is_refused() -> None:
    newer = upcast.VERSION + 1
    with pytest.raises(TooNew, match=f"here: its form has version {newer}; expected at most {upcast.VERSION}"):
        decode_segment(changed(lambda message: setattr(message, "version", newer)), "here")


def test_records_of_version_0_get_their_cause() -> None:
    def age(message: events_pb2.Segment) -> None:
        message.version = 0
        for record in message.records:
            record.because = 0

    old = decode_segment(changed(age), "here")
    assert [recorded.because for recorded in old.records] == [17, 18]


def test_every_version_before_this_one_has_its_upcast() -> None:
    assert sorted(upcast.UPCASTS) == list(range(upcast.VERSION))
