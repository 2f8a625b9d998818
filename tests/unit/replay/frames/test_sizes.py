"""The bytes of a generation, change by change, are those of the core's rule. Spark itself: tests/spark/frames."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from replay.frames.analyses.sizes import bytes_after


def change(kind: str, bytes_: int | None = None, available: int | None = None, total: int | None = None) -> object:
    return {"kind": kind, "bytes": bytes_, "available": available, "total": total}


def test_bytes_are_what_every_attempt_wrote_less_what_was_lost() -> None:
    changes = [
        change("StageCompleted", 60),
        change("GenerationCompleted", 40),
        change("OutputsLost", None, 7, 10),
        change("GenerationCompleted", 35),
        change("OutputsLost", None, 0, 10),
        change("GenerationFenced", 0),
        change("GenerationFenced", 110),
    ]
    held = [bytes_after(changes[:length]) for length in range(len(changes) + 1)]
    assert held == [0, 60, 100, 70, 105, 105, 105, 110]


def test_a_repair_of_which_no_bytes_are_told_puts_back_what_was_lost() -> None:
    lost = [change("OutputsLost", None, 5, 10), change("OutputsLost", None, 2, 5)]
    changes = [change("GenerationCompleted", 100), *lost, change("GenerationCompleted", 0)]
    assert [bytes_after(changes[:length]) for length in range(1, 5)] == [100, 50, 20, 100]


def test_what_is_not_told_counts_for_nothing() -> None:
    assert bytes_after([change("GenerationCompleted"), change("OutputsLost")]) == 0
