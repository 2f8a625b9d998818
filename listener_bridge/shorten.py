"""Texts that are too long to be told.

Responsible for: cutting what Spark and people write (an SQL text as description, a stack trace as failure, the name of
an application) to a length that every coordinator takes.
Refuses to know: what a request says.
Invariant: a request is changed only where one of its texts is too long, and then nothing but that text.
"""

from __future__ import annotations

from google.protobuf.message import Message

from listener_bridge.words import Request

TEXT_MAX = 8_192  # characters; a coordinator takes 65,536 bytes unless it was told otherwise
CUT = " …"


def short(text: str) -> str:
    """The text, cut."""
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + CUT


def shortened(request: Request) -> Request:
    """The request, with its texts cut."""
    if request.ByteSize() > TEXT_MAX:
        _cut(request)
    return request


def _cut(message: Message) -> None:
    for field, value in message.ListFields():
        if isinstance(value, str):
            if len(value) > TEXT_MAX:
                setattr(message, field.name, short(value))
        elif isinstance(value, Message):
            _cut(value)
        elif not isinstance(value, (bytes, int, float)):
            _cut_all(value)


def _cut_all(values: object) -> None:
    """Shortens every text in a repeated field."""
    items: list[object] = values  # type: ignore[assignment]
    for index, value in enumerate(items):
        if isinstance(value, Message):
            _cut(value)
        elif isinstance(value, str) and len(value) > TEXT_MAX:
            items[index] = short(value)
