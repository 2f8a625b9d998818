"""Foreign text keeps to its line and gives a terminal no orders."""

from __future__ import annotations

import pytest

from replay.units import place, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("groupBy at größe.py:14", "groupBy at größe.py:14"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("two\nlines\r\u2028", r"two\nlines\r\u2028"),
        ("a\u202eb", r"a\u202eb"),
        ("caf\udce9.log", r"caf\udce9.log"),
    ],
)
def test_what_cannot_be_printed_is_named(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert place(text) == shown


def test_what_stays_is_said() -> None:
    assert printable("a\n\x1b", but="\n") == "a\n" + r"\x1b"
