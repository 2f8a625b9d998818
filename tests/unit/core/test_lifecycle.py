"""Every life and every turn, against the table of the design written out by hand."""

from __future__ import annotations

import itertools

import pytest

from coordinator.core.lifecycle import TRANSITIONS, Life, Turn, after

# One row a life, one column a turn; "." where nothing happens.
COLUMNS = [
    *("COMPLETE", "LOSE_SOME", "LOSE_ALL", "EXPIRE", "RESCUE", "RESCUE_PART"),
    *("BEGIN_FENCE", "KEEP", "KEEP_EXPIRED", "FENCE", "DELETE", "CLOSE"),
]
ROWS = {
    "WRITING": "READABLE . LOST EXPIRED . . . . . . . DELETED",
    "READABLE": ". PARTIAL LOST EXPIRED . . . . . . . DELETED",
    "PARTIAL": "READABLE . LOST EXPIRED . . . . . . . DELETED",
    "EXPIRED": ". . LOST . READABLE PARTIAL FENCING . . . . DELETED",
    "FENCING": ". . LOST . . . . READABLE EXPIRED FENCED . DELETED",
    "FENCED": ". . . . . . . . . . DELETED DELETED",
    "DELETED": ". . . . . . . . . . . .",
    "LOST": ". . . . . . . . . . . DELETED",
}
EXPECTED = {
    (Life[row], Turn[column]): None if cell == "." else Life[cell]
    for row, cells in ROWS.items()
    for column, cell in zip(COLUMNS, cells.split(), strict=True)
}


@pytest.mark.parametrize(("life", "turn"), list(itertools.product(Life, Turn)))
def test_every_life_and_every_turn(life: Life, turn: Turn) -> None:
    expected = EXPECTED[life, turn]
    assert ((life, turn) in TRANSITIONS) is (expected is not None)
    assert after(life, turn) is (expected or life)


def test_nothing_comes_back_from_the_dead() -> None:
    for life in (Life.FENCED, Life.DELETED, Life.LOST):
        assert {after(life, turn) for turn in Turn} <= {life, Life.DELETED}
