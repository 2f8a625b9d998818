"""Records, snapshots and log files: read whole, or an error that names the place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import events_pb2

from coordinator.core.events import JobEnded, Recorded
from coordinator.core.ids import ApplicationId, AppShuffle, JobId, Sequence, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import TABLES, Generation, Meta, State, empty
from coordinator.core.values import Expiry, Hold
from coordinator.wire import logfile, records, tables
from coordinator.wire.codec import Segment, encode_segment
from coordinator.wire.errors import Corrupt, Malformed, OtherRules, Torn
from coordinator.wire.sealing import seal, unseal
from coordinator.wire.snapshots import VERSION, Snapshot, decode_snapshot, encode_snapshot
from tests.unit.wire.strategies import values_of

KINDS = (
    records.Head,
    records.GenerationRecord,
    records.ApplicationRecord,
    records.SessionRecord,
    records.ReplicaRecord,
    records.AuditRecord,
)
APPLICATION = ApplicationId("a3f1")


# --- records ----------------------------------------------------------------------------------------------------------


@given(st.one_of(*[values_of(kind) for kind in KINDS]))
def test_a_record_reads_back_equal(record: Any) -> None:
    assert records.decode(type(record), records.encode(record), "here") == record


def test_a_generation_record_tells_what_state_holds_but_readers() -> None:
    held = Generation(
        ShuffleId(7), AppShuffle(3), Life.EXPIRED, bytes=5, why=Expiry.FRONTIER, hold=Hold.GRACE, due_ms=9
    )
    record = records.generation_record(APPLICATION, held, Sequence(40), since_ms=8)
    assert (record.life, record.expiry, record.hold, record.due_ms) == (Life.EXPIRED, Expiry.FRONTIER, Hold.GRACE, 9)
    live = records.generation_record(APPLICATION, replace(held, life=Life.READABLE, why=None), Sequence(40), since_ms=8)
    assert (live.expiry, live.hold) == (None, None)


def test_a_record_of_something_else_is_refused() -> None:
    head = records.encode(records.Head(Sequence(4)))
    with pytest.raises((Malformed, Corrupt), match="live/a3f1/7"):
        records.decode(records.GenerationRecord, head, "live/a3f1/7")


def test_a_changed_record_is_refused() -> None:
    value = bytearray(records.encode(records.ReplicaRecord("r1", "localhost:9", 1)))
    value[3] ^= 1
    with pytest.raises(Corrupt, match="replicas/r1: the checksum of"):
        records.decode(records.ReplicaRecord, bytes(value), "replicas/r1")


# --- snapshots --------------------------------------------------------------------------------------------------------


@st.composite
def states(draw: st.DrawFn) -> State:
    state = empty()
    state.meta = draw(values_of(Meta))
    for name in TABLES:
        key, record = get_args(get_type_hints(State)[name])
        getattr(state, name).update(draw(st.dictionaries(values_of(key), values_of(record), max_size=3)))
    return state


@given(states(), st.integers(1, 400))
def test_a_snapshot_reads_back_equal_however_it_is_cut(state: State, part_bytes: int) -> None:
    snapshot = Snapshot(APPLICATION, Sequence(90), state, "digest")
    assert decode_snapshot(encode_snapshot(snapshot, part_bytes), "here") == snapshot


def many_parts(sequence: int = 90) -> list[bytes]:
    state = empty()
    state.groups.update({"nightly": Meta().policy})
    state.generations[ShuffleId(1)] = Generation(ShuffleId(1), AppShuffle(0))
    parts = encode_snapshot(Snapshot(APPLICATION, Sequence(sequence), state), part_bytes=1)
    assert len(parts) == 3
    return parts


@pytest.mark.parametrize(
    ("parts", "fact"),
    [
        ([], "no part of the snapshot is there; expected at least one"),
        (many_parts()[:2], "2 parts of the snapshot are there; expected 3"),
        ([many_parts()[0], *many_parts(91)[1:]], "part 1: it is .*91"),
        ([many_parts()[n] for n in (0, 2, 1)], "part 1: it is .*2, 3"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(parts: list[bytes], fact: str) -> None:
    with pytest.raises(Corrupt, match=fact):
        decode_snapshot(parts, "here")


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1], ids=["earlier", "later"])
def test_a_snapshot_that_other_rules_have_folded_is_refused(version: int) -> None:
    part = unseal(events_pb2.SnapshotPart, many_parts()[0], "here")
    part.version = version
    with pytest.raises(
        OtherRules, match=rf"by rules of version {version}; expected version {VERSION}, .* the log is folded"
    ):
        decode_snapshot([seal(part)], "here")


def test_a_row_of_an_older_release_gets_the_defaults_of_what_it_lacks() -> None:
    state = empty()
    tables.put_rows(state, "generations", [[1, {"shuffle_id": 1, "app_shuffle": 0, "life": "EXPIRED"}]])
    assert state.generations[ShuffleId(1)] == Generation(ShuffleId(1), AppShuffle(0), Life.EXPIRED)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("planets", {}),
        ("generations", {"shuffle_id": 1, "app_shuffle": 0, "colour": "red"}),
        ("generations", {"shuffle_id": 1, "app_shuffle": 0, "life": "RISEN"}),
        ("generations", {"shuffle_id": 1}),
    ],
)
def test_a_row_of_a_newer_release_is_refused(table: str, row: dict[str, Any]) -> None:
    with pytest.raises(Malformed, match="Fold the log instead"):
        tables.put_rows(empty(), table, [[1, row]])


# --- log files --------------------------------------------------------------------------------------------------------


def segment_at(first: int) -> Segment:
    event = JobEnded(JobId(first), succeeded=True)
    return Segment(first, b"commit", "r1", (Recorded(Sequence(first), first, Sequence(first), event),))


SEGMENTS = [segment_at(1), segment_at(2), segment_at(3)]
WHOLE = b"".join(logfile.write_log(SEGMENTS))
SECOND = len(logfile.MAGIC) + 4 + len(encode_segment(SEGMENTS[0]))


def test_a_log_file_reads_back_equal() -> None:
    assert list(logfile.read_log(WHOLE)) == SEGMENTS


def read_what_is_whole(content: bytes) -> tuple[list[Segment], str]:
    """The segments up to the tear, and what was said of it."""
    read: list[Segment] = []
    try:
        read.extend(logfile.read_log(content, "app.log"))
    except Torn as error:
        return list(logfile.read_log(content[: int(error.fact.split()[2].rstrip(":"))])), str(error)
    return read, ""


@given(st.integers(len(logfile.MAGIC), len(WHOLE) - 1))
def test_a_torn_file_names_the_offset_up_to_which_it_is_whole(length: int) -> None:
    read, said = read_what_is_whole(WHOLE[:length])
    assert read == SEGMENTS[: len(read)]
    assert (said == "") == (sum(len(piece) for piece in logfile.write_log(read)) == length)


@given(st.integers(1, len(logfile.MAGIC) - 1))
def test_a_file_torn_in_its_beginning_is_torn(length: int) -> None:
    with pytest.raises(Torn, match=f"offset 0: {length} bytes and no beginning"):
        list(logfile.read_log(WHOLE[:length]))


def test_a_corrupt_middle_is_told_from_a_torn_end() -> None:
    damaged = bytearray(WHOLE)
    damaged[SECOND + 8] ^= 1
    reading = logfile.read_log(bytes(damaged), "app.log")
    assert next(reading) == SEGMENTS[0]
    with pytest.raises(Corrupt, match=f"app.log, offset {SECOND}: the checksum"):
        next(reading)


def test_a_missing_segment_is_named() -> None:
    gap = b"".join(logfile.write_log([SEGMENTS[0], SEGMENTS[2]]))
    with pytest.raises(Corrupt, match=f"offset {SECOND}: the segment begins with record 3; expected record 2"):
        list(logfile.read_log(gap))


def test_what_is_no_log_is_named() -> None:
    with pytest.raises(Corrupt, match="offset 0: it begins with"):
        list(logfile.read_log(b"PK\x03\x04 a zip file, surely no log"))
