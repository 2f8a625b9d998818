"""Sealed values one behind the other in a file.

Responsible for the file's beginning and for the length before each value, and for telling a torn end from a file of
another kind. Refuses to know what the values say, and files. Invariant: what is read is a prefix of what was written,
or an error that names the offset.

A file begins with a line that says what it is and ends in the version of its form; then, for each value, its length in
four bytes, big end first, and the value.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from coordinator.wire.errors import Corrupt, TooNew, Torn

_LENGTH = struct.Struct(">I")
_PACKED = "It is packed: unpack it. Packed history logs of Spark's are for `shufflectl advise`, `simulate` and `learn`."
#: How other things begin that people take for logs, and what to do with them.
_OTHERS = {
    b'{"Event"': "It is a history log of Spark's: give it to `shufflectl advise`, `simulate` or `learn`.",
    b"ARROW1": "It is in Arrow: give it to `shufflectl report` or to Spark, or export again without --format.",
    b"SQLite format 3": "It is a file of SQLite's: where it is a store, name it with --store, as sqlite:FILE.",
    b"\x1f\x8b": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"PAR1": "It is in Parquet: give its folder to `shufflectl report` or to Spark, or export again without --format.",
}

_UNKNOWN = "It is another file, or its beginning is damaged: name one that is whole, or restore it from another copy."


def pack(magic: bytes, values: Iterable[bytes]) -> bytes:
    """The file that holds these values."""
    return magic + b"".join(map(frame, values))


def frame(value: bytes) -> bytes:
    """A value with its length before it."""
    return _LENGTH.pack(len(value)) + value


def unpack(magic: bytes, content: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Each value with its place, for errors; ends with ``Torn`` or ``Corrupt`` where the file is not whole."""
    check_magic(magic, content, name)
    offset = len(magic)
    while offset < len(content):
        place = f"{name}, offset {offset}"
        _check_begins(magic, content[offset : offset + _LENGTH.size], place)
        value = _value(content, offset, place)
        yield place, value
        offset += _LENGTH.size + len(value)


def stream(magic: bytes, file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    """The same of an open file, a value at a time: it may be longer than memory."""
    check_magic(magic, file.read(len(magic)), name)
    offset = len(magic)
    while length := file.read(_LENGTH.size):
        place = f"{name}, offset {offset}"
        _check_begins(magic, length, place)
        wanted = _LENGTH.unpack(length)[0] if len(length) == _LENGTH.size else 0
        framed = length + file.read(wanted)
        yield place, _value(framed, 0, place)
        offset += len(framed)


def _check_begins(magic: bytes, length: bytes, place: str) -> None:
    """Nothing is as long as the beginning of a file would be, read as a length."""
    if length == magic[: _LENGTH.size]:
        found = "another file begins here", "one file, not several behind one another"
        raise Corrupt(place, *found, "What stands before it is good; give each file by itself.")


def check_magic(magic: bytes, content: bytes, name: str) -> None:
    """The file is of this kind, and of this version."""
    if content.startswith(magic):
        return
    kind, known = magic.rsplit(b" ", 1)
    version = content[len(kind) + 1 : len(magic)].strip()
    if content.startswith(kind + b" ") and version.isdigit() and int(version) > int(known):
        raise TooNew(f"{name}, offset 0", int(version), int(known))
    if not content:
        raise Corrupt(f"{name}, offset 0", "it is empty and has no beginning", f"{magic!r}")
    if magic.startswith(content):
        raise Torn(f"{name}, offset 0", f"{len(content)} bytes and no beginning")
    found = f"{name}, offset 0", f"it begins with {content[: len(magic)]!r}", f"{magic!r}"
    raise Corrupt(*found, next((told for begin, told in _OTHERS.items() if content.startswith(begin)), _UNKNOWN))


def _value(content: bytes, offset: int, place: str) -> bytes:
    left = len(content) - offset - _LENGTH.size
    if left < 0:
        raise Torn(place, f"{left + _LENGTH.size} bytes of a record's length")
    (length,) = _LENGTH.unpack_from(content, offset)
    if not length:
        raise Torn(place, f"a record of no bytes, and {left} more behind it" if left else "a record of no bytes")
    if length > left:
        raise Torn(place, f"{left} of the record's {length} bytes")
    begin = offset + _LENGTH.size
    return content[begin : begin + length]
