"""Foreign text keeps to its line and gives a terminal no orders; what is to be typed again is taken."""

from __future__ import annotations

import pytest

from listener_bridge.durations import milliseconds
from replay.units import duration, place, printable


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


@pytest.mark.parametrize(
    ("call_site", "shown"),
    [
        ("map at /home/ann/jobs/chain.py:12", "map at chain.py:12"),
        ("map at jobs/chain.py:12", "map at chain.py:12"),
        ("map at /home/ann/my jobs 50%/chain.py:12", "map at chain.py:12"),
        ("map at /mnt/look at me/the chain.py:12", "map at the chain.py:12"),
        ("fit at /a b/rank.py:30 (map at /c d/ALS.scala:1693)", "fit at rank.py:30 (map at ALS.scala:1693)"),
        ("collect at <command-12>:3", "collect at <command-12>:3"),
        ("load at s3://bucket/ at 10:30", "load at s3://bucket/ at 10:30"),
        ("load at /mnt/x and more at 10:30", "load at /mnt/x and more at 10:30"),
    ],
)
def test_a_call_site_is_shown_without_folders(call_site: str, shown: str) -> None:
    assert place(call_site) == shown


def test_what_stays_is_said() -> None:
    assert printable("a\n\x1b", but="\n") == "a\n" + r"\x1b"


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(13_000, "13s"), (120_000, "2min"), (125_000, "125s"), (3_661_000, "3661s"), (7_200_000, "2h"), (1_500, "1500ms")],
)
def test_a_duration_that_is_advised_is_one_that_settings_take(duration_ms: int, text: str) -> None:
    assert duration(duration_ms) == text
    assert milliseconds(text) == duration_ms
