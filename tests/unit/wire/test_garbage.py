"""Whatever bytes come, whole or sealed by somebody: an error of ours, or a value; never another exception."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import events_pb2, service_pb2

from coordinator.core.ids import ClientId
from coordinator.wire import records
from coordinator.wire.codec import decode_segment
from coordinator.wire.errors import WireError
from coordinator.wire.logfile import MAGIC, read_log
from coordinator.wire.messages import requests_of
from coordinator.wire.sealing import seal
from coordinator.wire.snapshots import VERSION, decode_snapshot

READERS: list[Callable[[bytes], Any]] = [
    lambda value: decode_segment(value, "here"),
    lambda value: decode_snapshot([value], "here"),
    lambda value: list(read_log(value)),
    lambda value: list(read_log(MAGIC + struct.pack(">I", len(value)) + value)),
    lambda value: records.decode(records.GenerationRecord, value, "here"),
    lambda value: records.decode(records.ApplicationRecord, value, "here"),
]
#: A log's first line alone is none, but a log of nothing.
GARBAGE = st.binary(max_size=60).filter(lambda content: content != MAGIC)


@given(st.sampled_from(READERS), GARBAGE, st.booleans())
def test_stored_garbage_is_an_error_of_ours(reader: Callable[[bytes], Any], content: bytes, sealed: bool) -> None:
    """What no checksum ends is refused; what one ends may be read, and nothing but an error of ours comes of it."""
    value = content + struct.pack("<BI", 0x7D, zlib.crc32(content)) if sealed else content
    with suppress(WireError) if sealed else pytest.raises(WireError):
        reader(value)


def test_a_first_line_alone_is_a_log_of_nothing() -> None:
    assert list(read_log(MAGIC)) == []


@given(st.binary(max_size=60))
def test_sent_garbage_is_an_error_of_ours(content: bytes) -> None:
    try:
        batch = service_pb2.Batch.FromString(content)
    except DecodeError:
        return  # gRPC refuses it before it comes to us
    with suppress(WireError):
        requests_of(batch, ClientId("driver"))


@pytest.mark.parametrize(
    "rows",
    [
        b"no zlib",
        zlib.compress(b"no json"),
        zlib.compress(b"7"),
        zlib.compress(b"[[1]]"),
        zlib.compress(b'[["",7]]'),
        zlib.compress(json.dumps([["", {"application": "a", "driver": 7}]]).encode()),
    ],
)
def test_a_snapshot_whose_rows_make_no_sense_is_refused(rows: bytes) -> None:
    table = events_pb2.Table(name="meta", rows=rows)
    part = events_pb2.SnapshotPart(application="a", parts=1, version=VERSION, tables=[table])
    with pytest.raises(WireError):
        decode_snapshot([seal(part)], "here")


def test_a_reader_that_lets_another_exception_out_is_found() -> None:
    checked: Any = test_stored_garbage_is_an_error_of_ours
    with pytest.raises(KeyError):
        checked.hypothesis.inner_test({}.__getitem__, b"", sealed=False)
