"""A stage that has read all of its input goes on while that is lost and written again for somebody else.

What it writes is of the old generation, though nothing of it was there yet: it is written anew, or told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.spark.mixing.conftest import MAPS, App, application
from tests.spark.mixing.test_branches import KEYS, agreeing, tokens
from tests.spark.mixing.test_late import hear, stopped
from tests.spark.mixing.test_sides import telling
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]

READERS = 2  # all of them run at once, and leave room for others


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, "local[4]") as found:
        yield found


def made(app: App, rdd: Any, parts: int = MAPS) -> Any:
    return app.keep(rdd.map(lambda row: (row[0], row[1])).partitionBy(parts))


def read(rdd: Any, held: Gate, free: int) -> Any:
    """Tasks from index `free` on wait at the gate, when they have read all of their input."""
    folder = held.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        if index >= free:
            Gate(folder).pass_through(index)
        return iter(found)

    return rdd.mapPartitionsWithIndex(wait)


def outputs(app: App, rdd: Any) -> int:
    return sum(output is not None for output in app.status(shuffle_of(rdd)).mapStatuses())


def lose_all(app: App, rdd: Any) -> None:
    for index in range(len(app.status(shuffle_of(rdd)).mapStatuses())):
        app.lose_output(shuffle_of(rdd), index)


@dataclass
class Reading:
    """X -> A -> Q, and X is deleted. The tasks of Q have read A; another reader of it is not written yet."""

    a: Any
    q: Any
    other: Any
    running: Any


@contextmanager
def reading(app: App, held: Gate, free: int = 0) -> Iterator[Reading]:
    x = tokens(app)
    a = made(app, x, READERS)
    assert a.count() == KEYS
    app.delete(shuffle_of(x))
    q = made(app, read(a, held, free))
    with app.job(q.count, held) as running:
        wait_for(lambda: held.arrived() == READERS - free, "tasks of Q that have read A")
        wait_for(lambda: outputs(app, q) == free, "what Q has written already")
        lose_all(app, a)
        yield Reading(a, q, made(app, a), running)


@pytest.mark.parametrize("free", [0, 1])
def test_what_has_read_the_old_generation_is_of_it(app: App, free: int) -> None:
    held = app.gate()
    with telling(app) as told, reading(app, held, free) as found:
        assert found.other.count() == KEYS
        held.open()
        assert found.running.result(120) == KEYS
        agreed = agreeing(app, found.q, found.other)()
        assert agreed == KEYS or told()
    assert told() == [], "it was written anew"


def test_what_it_loses_later_is_of_the_same_generation(app: App) -> None:
    held = app.gate()
    with telling(app) as told, reading(app, held) as found:
        assert found.other.count() == KEYS
        held.open()
        assert found.running.result(120) == KEYS
        app.lose_output(shuffle_of(found.q))
        assert found.q.count() == KEYS
        agreed = agreeing(app, found.q, found.other)()
        assert agreed == KEYS or told()


def test_also_where_that_is_heard_of_late(app: App) -> None:
    """A is back when the hook hears that it was written again."""
    held, queue = app.gate(), app.gate()
    with telling(app) as told, reading(app, held) as found:
        with stopped(app, queue):
            assert found.other.count() == KEYS
            hear(app, queue)
        held.open()
        assert found.running.result(120) == KEYS
        agreed = agreeing(app, found.q, found.other)()
        assert agreed == KEYS or told()


def test_also_where_it_ends_before_it_can_be_killed(app: App) -> None:
    """It is complete when the hook hears of it."""
    held, queue = app.gate(), app.gate()
    with telling(app) as told, reading(app, held) as found:
        with stopped(app, queue):
            assert found.other.count() == KEYS
            held.open()
            assert found.running.result(120) == KEYS
            hear(app, queue)
        agreed = agreeing(app, found.q, found.other)()
        assert agreed == KEYS or told()
