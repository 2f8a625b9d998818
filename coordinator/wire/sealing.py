"""The seal on what is stored.

Responsible for telling whole values from torn and changed ones. Refuses to know what they say. Invariant: a sealed
value is a plain protobuf message, its checksum the last five bytes, over all bytes before them.

The store may checksum too; this seal also goes along into archives, exports and other people's tools.
"""

from __future__ import annotations

import struct
import zlib
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from coordinator.wire.errors import Corrupt, Torn

M = TypeVar("M", bound=Message)

#: Field 15, `fixed32 checksum`, of every stored message.
_TAG = 0x7D
_SEAL = struct.Struct("<BI")


def seal(message: Message) -> bytes:
    """The message's bytes with their checksum behind them."""
    content = message.SerializeToString(deterministic=True)
    return content + _SEAL.pack(_TAG, zlib.crc32(content))


def unseal(kind: type[M], value: bytes, place: str) -> M:
    """The message in a sealed value; `Torn` or `Corrupt`, naming the place, where it is not what was written."""
    content = memoryview(value)[: -_SEAL.size]
    if len(value) < _SEAL.size:
        raise Torn(place, f"{len(value)} bytes and no checksum")
    tag, checksum = _SEAL.unpack_from(value, len(content))
    if tag != _TAG:
        raise Torn(place, f"{len(value)} bytes that do not end in a checksum")
    found = zlib.crc32(content)
    if found != checksum:
        raise Corrupt(place, f"the checksum of {len(value)} bytes is {found:08x}", f"{checksum:08x}")
    try:
        return kind.FromString(bytes(content))
    except DecodeError as error:
        raise Corrupt(place, f"{len(value)} bytes are no {kind.DESCRIPTOR.name} ({error})", "one") from error
