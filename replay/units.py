"""Sizes, spans of time, moments and foreign text, as people read them.

Responsible for the text of a number, and for what of a text may reach a terminal. Refuses to know what it counts.
Invariant: equal numbers give equal texts, on every machine and in every time zone (moments are UTC).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_DURATIONS = ((3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
#: Names of folders may hold spaces: those of a whole path do, up to a file with an ending.
_FOLDERS = re.compile(r"((?:^| )at )(?:\S*/(?=[^/\s]+:\d+)|/(?:[^/:]*/)*(?=[^/:]+\.\w+:\d+))")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def size(number: int) -> str:
    """Bytes: `999 B`, `1.2 kB`, `120 MB`."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{number} B" if unit == 0 else f"{value:.{1 if value < 99.95 else 0}f} {_UNITS[unit]}"


def left(number: int, available: int, total: int) -> int:
    """The bytes of the ``available`` ones of ``total`` outputs, which hold ``number`` bytes in all.

    Outputs are taken for equally large. Where 0 are available it stays ``number``: that may mean that nobody knows.
    """
    return number * available // total if 0 < available < total else number


def whole(number: int, before: int, written: int) -> int:
    """The bytes of a generation that held ``number`` and is complete now, since ``written`` more were written.

    A completion that tells of no bytes has put back what was lost: then it holds what it held ``before`` the loss.
    """
    return number + written if written else max(number, before)


def brief_byte_hours(byte_seconds: float) -> str:
    """`1.2 GB·h`, as a table has room for."""
    return f"{size(round(byte_seconds / 3600))}·h"


def span(milliseconds: int) -> str:
    """How long: `41 ms`, `3.2 s`, `4 min 05 s`, `2 h 10 min`."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1_000:.1f} s"
    minutes, seconds = divmod(milliseconds // 1_000, 60)
    return f"{minutes} min {seconds:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def duration(milliseconds: int) -> str:
    """How long, to the millisecond, as settings and options take it: `13s`, `90min`, `1500ms`."""
    unit, name = next((unit, name) for unit, name in _DURATIONS if milliseconds % unit == 0)
    return f"{milliseconds // unit}{name}"


def moment(milliseconds: int) -> str:
    """Date and time: `2026-11-21 10:02:11 UTC`."""
    return f"{_at(milliseconds):%Y-%m-%d %H:%M:%S} UTC"


def clock(milliseconds: int) -> str:
    """The time of day, to the millisecond: `10:02:11.180`."""
    return f"{_at(milliseconds):%H:%M:%S}.{milliseconds % 1000:03}"


def count(number: int, one: str, many: str = "") -> str:
    """`1 map`, `4 maps`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def few(things: Iterable[object], most: int = 8) -> str:
    """The first of many: `1, 2, 3 and 7 more`."""
    told = [str(thing) for thing in things]
    return ", ".join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")


def place(call_site: str) -> str:
    """A call site without its folders: `map at /home/ann/jobs/chain.py:12` is `map at chain.py:12`."""
    return printable(_FOLDERS.sub(r"\1", call_site))


def printable(text: str, but: str = "") -> str:
    """On one line, and obeyed by no terminal: an escape is `\\x1b`. ``but``: what stays as it is."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in but else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _at(milliseconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:  # a damaged or made-up time is still told
        return datetime.max.replace(tzinfo=timezone.utc)
