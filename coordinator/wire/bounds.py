"""How much one message may hold.

Responsible for the length of names, texts, bytes and lists inside a message, whichever it is. Refuses to know what the
message means, and how many bytes gRPC lets in. Invariant: what has passed has no field that is longer than its bound;
a small message is not looked into, since nothing in it can be too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from coordinator.wire.errors import Malformed

#: Characters of what becomes part of a key or names a client; nothing longer is one of ours.
NAME_MAX = 128


def check_name(place: str, name: str) -> None:
    """Refuses what can be no name; an empty one is its reader's to refuse. Raises `Malformed`."""
    if len(name) > NAME_MAX:
        raise _refusal(place, f"{len(name)} characters", f"at most {NAME_MAX}")
    if not name.isprintable():
        raise _refusal(place, "characters that cannot be printed", "a name such as a UUID")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a single field."""

    text_bytes: int = 65_536
    payload_bytes: int = 524_288
    items: int = 250_000

    def check(self, message: Message) -> None:
        """Raises `Malformed`, which names the first field that is too long."""
        if message.ByteSize() <= min(self.text_bytes, self.payload_bytes, self.items):
            return
        for field, value in message.ListFields():
            if isinstance(value, Message):
                self.check(value)
            elif isinstance(value, (str, bytes)):
                self._check_length(f"{message.DESCRIPTOR.name}.{field.name}", value)
            elif hasattr(value, "__len__"):
                self._check_items(f"{message.DESCRIPTOR.name}.{field.name}", value)

    def _check_length(self, place: str, value: str | bytes) -> None:
        if isinstance(value, str):
            _check(place, len(value.encode()), self.text_bytes, "bytes")
        else:
            _check(place, len(value), self.payload_bytes, "bytes")

    def _check_items(self, place: str, values: Any) -> None:
        _check(place, len(values), self.items, "items")
        for value in values:
            if isinstance(value, Message):
                self.check(value)
            elif isinstance(value, (str, bytes)):
                self._check_length(place, value)
            else:
                return


def _check(place: str, found: int, limit: int, what: str) -> None:
    if found > limit:
        raise _refusal(place, f"{found} {what}", f"at most {limit}")


def _refusal(place: str, found: str, expected: str) -> Malformed:
    return Malformed(f"{place} has {found}", expected, "Nothing was done; make it shorter.")
