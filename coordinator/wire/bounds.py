"""How much one message may hold.

Responsible for the length of names, texts, bytes and lists inside a message, whichever it is. Refuses to know what the
message means, and how many bytes gRPC lets in. Invariant: what has passed has no field that is longer than its bound;
a small message is not looked into, since nothing in it can be too long.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from coordinator.wire.errors import Malformed

#: Characters of what becomes part of a key or names a client; nothing longer is one of ours.
NAME_MAX = 128
#: Bytes of it as part of a key, where whatever is not ASCII takes three for each of its own: it is a folder's name too,
#: in the archive, and file systems take 255.
KEY_MAX = 240
#: Of what an application says of itself as it registers.
LESSONS_MAX = 1_000
REGISTRATION_MAX = 65_536


def check_name(place: str, name: str) -> None:
    """Refuses what can be no name; an empty one is its reader's to refuse. Raises `Malformed`."""
    if len(name) > NAME_MAX:
        raise _refusal(place, f"{len(name)} characters", f"at most {NAME_MAX}")
    encoded = len(quote(name))
    if encoded > KEY_MAX:
        raise _refusal(place, f"{encoded} bytes as a key", f"at most {KEY_MAX}")
    if not name.isprintable():
        raise _refusal(place, "characters that cannot be printed", "a name such as a UUID", "choose another name")


def check_registration(message: Any) -> None:
    """It is in the first event of a log, in its state and in every list, so it is small. Raises `Malformed`."""
    _check("RegisterApplication.settings.lessons", len(message.settings.lessons), LESSONS_MAX, "items")
    _check("RegisterApplication", message.ByteSize(), REGISTRATION_MAX, "bytes")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a single field; ``items``: of all lists of one message together."""

    text_bytes: int = 65_536
    payload_bytes: int = 524_288
    items: int = 300_000

    def check(self, message: Message, leave: Collection[str] = ()) -> None:
        """Raises `Malformed`, which names the first field that is too long. ``leave``: fields not looked at."""
        size = message.ByteSize()
        if size > min(self.text_bytes, self.payload_bytes, self.items):
            look = _Look(self, is_counting=size > self.items)  # an item takes a byte, at least
            look.into(message, leave)


@dataclass(slots=True)
class _Look:
    """One message being looked into."""

    bounds: Bounds
    is_counting: bool
    items: int = 0  #: Met so far.

    def into(self, message: Message, leave: Collection[str] = ()) -> None:
        for field, value in message.ListFields():
            if field.name in leave:
                continue
            if isinstance(value, Message):
                self._into_part(value)
            elif isinstance(value, (str, bytes)):
                self._check_length(f"{message.DESCRIPTOR.name}.{field.name}", value)
            elif hasattr(value, "__len__"):
                self._check_items(f"{message.DESCRIPTOR.name}.{field.name}", value)

    def _into_part(self, part: Message) -> None:
        if self.is_counting or part.ByteSize() > min(self.bounds.text_bytes, self.bounds.payload_bytes):
            self.into(part)

    def _check_length(self, place: str, value: str | bytes) -> None:
        if isinstance(value, str):
            _check(place, len(value.encode()), self.bounds.text_bytes, "bytes")
        else:
            _check(place, len(value), self.bounds.payload_bytes, "bytes")

    def _check_items(self, place: str, values: Any) -> None:
        _check(place, len(values), self.bounds.items, "items")
        self.items += len(values)
        _check(f"the message up to {place}", self.items, self.bounds.items, "items in its lists")
        first: Any = values[0]
        if isinstance(first, (str, bytes)):
            for value in values:
                self._check_length(place, value)
        elif isinstance(first, Message) and not _is_flat(first.DESCRIPTOR):
            for value in values:
                self._into_part(value)


@cache
def _is_flat(described: Any) -> bool:
    """Whether a message of this kind holds numbers alone: nothing in it can be too long."""
    empty = GetMessageClass(described)()
    values = [getattr(empty, field.name) for field in described.fields]
    return all(
        _is_flat(value.DESCRIPTOR) if isinstance(value, Message) else not hasattr(value, "__len__") for value in values
    )


def _check(place: str, found: int, limit: int, what: str) -> None:
    if found > limit:
        raise _refusal(place, f"{found} {what}", f"at most {limit}")


def _refusal(place: str, found: str, expected: str, do: str = "make it shorter") -> Malformed:
    return Malformed(f"{place} has {found}", expected, f"Nothing was done; {do}.")
