"""No map output mixes two generations of one input (scenarios 33, 33a): real jobs, undeclared random numbers."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tests.spark.mixing.conftest import MAPS, ROWS, App
from tests.support.spark import wait_for

pytestmark = pytest.mark.spark

RIGHT = list(range(ROWS))


def values(rdd: Any) -> list[int]:
    return sorted(row[1] for row in rdd.collect())


def partly_lost(app: App) -> list[int]:
    """A -> B -> C -> result. While C runs, A is deleted and a part of B lost. Answers the result."""
    held = app.gate()
    last = app.step(app.step(app.random_rows()), held)
    with app.job(lambda: values(last), held) as running:
        lose_b(app, held)
        held.open()
        return result_of(running)


def lose_b(app: App, held: Any) -> tuple[int, int, int]:
    wait_for(lambda: held.arrived() >= 1, "tasks of C")
    a, b, c = app.shuffles()
    app.delete(a)
    app.lose_output(b)
    return a, b, c


def result_of(running: Future[list[int]]) -> list[int]:
    return running.result(timeout=120)


def test_33_all_of_b_is_written_again(app: App) -> None:
    assert partly_lost(app) == RIGHT
    a, b, c = app.shuffles()
    assert app.submissions(a) == [MAPS, MAPS]
    assert app.submissions(b) == [MAPS, MAPS]
    assert set(app.submissions(c)) == {MAPS}


def test_without_marks_the_result_is_wrong(app: App) -> None:
    """The checker sees what it is for: a program that calls itself deterministic and is not."""
    with app.choosing(deterministic=True):
        found = [partly_lost(app) for _ in range(3)]
    assert any(result != RIGHT for result in found)
    assert app.submissions(app.shuffles()[1])[1] == 1
