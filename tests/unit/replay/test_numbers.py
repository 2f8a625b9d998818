"""Numbers in a bit each are the numbers that were added, whatever they are."""

from __future__ import annotations

import sys

from coordinator.core.ids import StageAttempt, StageId
from replay.numbers import Attempts, Numbers

ODD = (0, 1, 1_023, 1_024, 5_000, 10**15, -1, -1_024)


def test_what_was_added_is_in_it_and_nothing_else() -> None:
    found = Numbers(ODD)
    assert all(number in found for number in ODD)
    assert not any(number + 1 in found for number in ODD if number + 1 not in ODD)
    assert "1" not in found


def test_a_million_numbers_take_a_bit_each() -> None:
    found = Numbers(range(0, 1_000_000, 2))
    assert sum(map(sys.getsizeof, found._pages.values())) < 200_000
    assert len(found._pages) < 1_000


def test_an_attempt_is_known_by_both_its_numbers() -> None:
    found = Attempts()
    found.add(StageAttempt(StageId(7), 1))
    assert StageAttempt(StageId(7), 1) in found
    assert StageAttempt(StageId(7), 0) not in found
    assert StageAttempt(StageId(8), 1) not in found
