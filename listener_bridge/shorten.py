"""Texts that are too long to be told.

Responsible for: cutting what Spark and people write (an SQL text as description, a stack trace as failure) to a length
that every coordinator takes.
Refuses to know: what a request says.
Invariant: a request is changed only where one of its texts is too long, and then nothing but that text.
"""

from __future__ import annotations

from google.protobuf.message import Message

from listener_bridge.words import Request

TEXT_MAX = 8_192  # characters; a coordinator takes 65,536 bytes unless it was told otherwise
CUT = " …"


def shortened(request: Request) -> Request:
    """The request, with its texts cut."""
    if request.ByteSize() > TEXT_MAX:
        _cut(request)
    return request


def _cut(message: Message) -> None:
    for field, value in message.ListFields():
        if isinstance(value, str):
            if len(value) > TEXT_MAX:
                setattr(message, field.name, value[:TEXT_MAX] + CUT)
        elif isinstance(value, Message):
            _cut(value)
        elif not isinstance(value, (bytes, int, float)):
            _cut_all(value)


def _cut_all(values: object) -> None:
    """Of a repeated field."""
    items: list[object] = values  # type: ignore[assignment]
    for index, value in enumerate(items):
        if isinstance(value, Message):
            _cut(value)
        elif isinstance(value, str) and len(value) > TEXT_MAX:
            items[index] = value[:TEXT_MAX] + CUT
