"""How much one message may hold.

Responsible for the length of names, texts, bytes and lists inside a message, whichever it is. Refuses to know what the
message means, and how many bytes gRPC lets in. Invariant: what has passed has no field that is longer than its bound;
a small message costs nothing to look at, since nothing in it can be too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from coordinator.wire.errors import Malformed

#: Characters of what becomes part of a key or names a client; nothing longer is one of ours.
NAME_MAX = 128
_NAMES = frozenset({"application", "client"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a single field."""

    text_bytes: int = 65_536
    payload_bytes: int = 524_288
    items: int = 100_000

    def check(self, message: Message) -> None:
        """Raises `Malformed`, which names the first field that is too long."""
        if message.ByteSize() <= NAME_MAX:
            return
        for field, value in message.ListFields():
            if isinstance(value, str):
                self._check_text(message, field.name, value)
            elif isinstance(value, bytes):
                _check(message, field.name, len(value), self.payload_bytes, "bytes")
            elif isinstance(value, Message):
                self.check(value)
            elif hasattr(value, "__len__"):
                self._check_items(message, field.name, value)

    def _check_text(self, message: Message, name: str, value: str) -> None:
        if name in _NAMES:
            _check(message, name, len(value), NAME_MAX, "characters")
            if not value.isprintable():
                raise _refusal(message, name, "characters that cannot be printed", "a name such as a UUID")
        elif len(value) * 4 > self.text_bytes:
            _check(message, name, len(value.encode()), self.text_bytes, "bytes")

    def _check_items(self, message: Message, name: str, values: Any) -> None:
        _check(message, name, len(values), self.items, "items")
        for value in values:
            if isinstance(value, Message):
                self.check(value)
            elif isinstance(value, str):
                _check(message, name, len(value.encode()), self.text_bytes, "bytes")
            else:
                return


def _check(message: Message, name: str, found: int, limit: int, what: str) -> None:
    if found > limit:
        raise _refusal(message, name, f"{found} {what}", f"at most {limit}")


def _refusal(message: Message, name: str, found: str, expected: str) -> Malformed:
    return Malformed(f"{message.DESCRIPTOR.name}.{name} has {found}", expected, "Nothing was done; make it shorter.")
