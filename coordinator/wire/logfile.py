"""A log as a file: what exports, archives and golden logs are.

Responsible for segments one behind the other in bytes. Refuses to know where files are. Invariant: what is read is a
prefix of what was written, or an error that names the offset; `salvage` alone goes on behind damage, and names it.

A file begins with ``MAGIC``; how the sealed segments follow is said in `framing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from coordinator.wire.codec import Segment, decode_segment, encode_segment
from coordinator.wire.errors import Corrupt, TooNew, Torn, WireError
from coordinator.wire.framing import frame, stream, unpack

MAGIC = b"shuffle-lifecycle log 1\n"
#: How a log of any release begins: what this one cannot read is ours all the same.
OURS = MAGIC.rstrip(b"0123456789\n")


def write_log(segments: Iterable[Segment]) -> Iterator[bytes]:
    """The bytes of a log file, in pieces."""
    yield MAGIC
    for segment in segments:
        yield frame(encode_segment(segment))


def read_log(content: bytes, name: str = "the log") -> Iterator[Segment]:
    """The segments of a log file in order; ends with ``Torn`` or ``Corrupt`` where it is not whole."""
    yield from _consecutive(unpack(MAGIC, content, name))


def _consecutive(values: Iterable[tuple[str, bytes]]) -> Iterator[Segment]:
    expected = None
    for place, sealed in values:
        segment = decode_segment(sealed, place)
        if expected not in (None, segment.first_sequence):
            raise Corrupt(place, f"the segment begins with record {segment.first_sequence}", f"record {expected}")
        yield segment
        expected = segment.next_sequence


def salvage(content: bytes, name: str) -> Iterator[Segment | WireError]:
    """The segments of a log file, with an error in the place of each that is damaged; ends at a torn one."""
    yield from _salvaged(unpack(MAGIC, content, name))


def stream_salvage(file: BinaryIO, name: str) -> Iterator[Segment | WireError]:
    """The same of an open file, segment by segment: it may be longer than memory."""
    yield from _salvaged(stream(MAGIC, file, name))


def _salvaged(values: Iterable[tuple[str, bytes]]) -> Iterator[Segment | WireError]:
    try:
        for place, sealed in values:
            try:
                yield decode_segment(sealed, place)
            except WireError as error:
                yield error
    except (Corrupt, TooNew, Torn) as error:
        yield error


def unbroken(found: Iterable[Segment | WireError], name: str) -> Iterator[Segment | WireError]:
    """The same, with an error where a segment, or the beginning, is not there at all; damage says what is left out."""
    expected, damage = 1, None
    for item in found:
        if damage is not None:
            yield _leaving_out(damage, expected, item)
        if isinstance(item, Segment):
            if damage is None and item.first_sequence != expected:
                yield Corrupt(name, f"a segment begins with record {item.first_sequence}", f"record {expected}")
            expected, damage = item.next_sequence, None
            yield item
        else:
            damage = item
    if damage is not None:
        yield _leaving_out(damage, expected, None)


def _leaving_out(damage: WireError, expected: int, then: Segment | WireError | None) -> WireError:
    """The same error, which says which events are not there, as far as what comes behind it tells."""
    if then is None and expected > 1:
        damage.next_step += f" Events from {expected} on are left out."
    elif isinstance(then, Segment) and then.first_sequence > expected:
        damage.next_step += f" Events {expected} to {then.first_sequence - 1} are left out."
    return damage
