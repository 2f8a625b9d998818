"""A log as a file: what exports, archives and golden logs are.

Responsible for segments one behind the other in bytes, and for telling a torn end from a corrupt middle. Refuses to
know files. Invariant: what is read is a prefix of what was written, or an error that names the offset; `salvage` alone
goes on behind damage, and names it.

A file begins with ``MAGIC``; then, for each segment, its length in four bytes, big end first, and the sealed segment.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from coordinator.wire.codec import Segment, decode_segment, encode_segment
from coordinator.wire.errors import Corrupt, Torn, WireError

MAGIC = b"shuffle-lifecycle log 1\n"
_LENGTH = struct.Struct(">I")


def write_log(segments: Iterable[Segment]) -> Iterator[bytes]:
    """The bytes of a log file, in pieces."""
    yield MAGIC
    for segment in segments:
        content = encode_segment(segment)
        yield _LENGTH.pack(len(content)) + content


def read_log(content: bytes, name: str = "the log") -> Iterator[Segment]:
    """The segments of a log file in order; ends with ``Torn`` or ``Corrupt`` where it is not whole."""
    _check_magic(content, name)
    offset, expected = len(MAGIC), None
    while offset < len(content):
        place = f"{name}, offset {offset}"
        sealed = _frame(content, offset, place)
        segment = decode_segment(sealed, place)
        if expected not in (None, segment.first_sequence):
            raise Corrupt(place, f"the segment begins with record {segment.first_sequence}", f"record {expected}")
        yield segment
        expected = segment.next_sequence
        offset += _LENGTH.size + len(sealed)


def salvage(content: bytes, name: str) -> Iterator[Segment | WireError]:
    """The segments of a log file, with an error in the place of each that is damaged; ends at a torn one."""
    try:
        _check_magic(content, name)
    except WireError as error:
        yield error
        return
    offset = len(MAGIC)
    while offset < len(content):
        place = f"{name}, offset {offset}"
        try:
            sealed = _frame(content, offset, place)
        except Torn as error:
            yield error
            return
        try:
            yield decode_segment(sealed, place)
        except WireError as error:
            yield error
        offset += _LENGTH.size + len(sealed)


def _check_magic(content: bytes, name: str) -> None:
    if content.startswith(MAGIC):
        return
    if MAGIC.startswith(content):
        raise Torn(f"{name}, offset 0", f"{len(content)} bytes and no beginning")
    raise Corrupt(f"{name}, offset 0", f"it begins with {content[: len(MAGIC)]!r}", f"{MAGIC!r}")


def _frame(content: bytes, offset: int, place: str) -> bytes:
    left = len(content) - offset - _LENGTH.size
    if left < 0:
        raise Torn(place, f"{left + _LENGTH.size} bytes of a segment's length")
    (length,) = _LENGTH.unpack_from(content, offset)
    if length > left or not length:
        raise Torn(place, f"{left} of the segment's {length or 'unknown'} bytes")
    begin = offset + _LENGTH.size
    return content[begin : begin + length]
