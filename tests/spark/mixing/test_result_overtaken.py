"""A result stage has read its input, and goes on while that is lost and written again for somebody else.

What it has delivered by then cannot be taken back; what has delivered nothing begins again. A task that is tried again
within the same attempt reads what is there now: nothing fails, so the numbers of the tasks have to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import App, application
from tests.spark.mixing.test_branches import KEYS, tokens
from tests.spark.mixing.test_late import hear, stopped
from tests.spark.mixing.test_overtaken import READERS, lose_all, made
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = pytest.mark.spark

TRIES = 4  # that a task has


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[4,{TRIES}]") as found:
        yield found


def read(rdd: Any, held: Gate, free: int, failing: int) -> Any:
    """Tasks from index `free` on wait at the gate when they have read; then `failing` of them fail, once."""
    folder = held.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        if index >= free:
            is_first = not Path(folder, f"arrived-{index}").exists()
            Gate(folder).pass_through(index)
            if is_first and index >= READERS - failing:
                raise RuntimeError("this task fails once")
        return iter(found)

    return rdd.mapPartitionsWithIndex(wait)


@dataclass
class Result:
    """X -> A -> a result whose tasks have read A, of which nothing is there now. X was deleted."""

    a: Any
    other: Any  # not written yet
    running: Any
    told: Callable[[], list[tuple[int, bool]]]  # partitions delivered, and whether the job was failed

    def agreeing(self) -> int:
        """How many keys of the result are of the generation that the other reader has."""
        return len(set(self.running.result(120)) & set(self.other.collect()))


@contextmanager
def reading(app: App, held: Gate, free: int = 0, failing: int = 0, **properties: str) -> Iterator[Result]:
    x = tokens(app)
    a = made(app, x, READERS)
    assert a.count() == KEYS
    app.delete(shuffle_of(x))
    app.log.settle()
    before = len(app.log.of(facts.GenerationsMixed))

    def told() -> list[tuple[int, bool]]:
        app.log.settle()
        found = app.log.of(facts.GenerationsMixed)[before:]
        return [(fact.delivered, fact.failed) for fact in found]

    def work() -> Any:
        with app.properties(**properties):
            return read(a, held, free, failing).collect()

    with app.job(work, held) as running:
        wait_for(lambda: held.arrived() == READERS - free, "tasks that have read A")
        wait_for(lambda: delivered(app) == free, "what is delivered already")
        lose_all(app, a)
        yield Result(a, made(app, a), running, told)


def delivered(app: App) -> int:
    tracker = app.spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)


def test_what_has_delivered_nothing_begins_again(app: App) -> None:
    held = app.gate()
    with reading(app, held, failing=1) as found:
        assert found.other.count() == KEYS
        held.open()
        assert found.agreeing() == KEYS
        assert found.told() == []


def test_also_where_it_is_heard_of_late(app: App) -> None:
    """A is there again when the hook hears that it was lost."""
    held, queue = app.gate(), app.gate()
    with reading(app, held, failing=1) as found:
        with stopped(app, queue):
            assert app.spark.sparkContext.parallelize([0], 1).count() == 1, "whose task is the last that it hears of"
            assert found.other.count() == KEYS
            hear(app, queue)
        held.open()
        assert found.agreeing() == KEYS
        assert found.told() == []


def test_a_task_that_is_tried_again_reads_another_generation_than_was_delivered(app: App) -> None:
    held = app.gate()
    with reading(app, held, free=1, failing=1) as found:
        assert found.other.count() == KEYS
        held.open()
        assert 0 < found.agreeing() < KEYS
        assert found.told() == [(1, False)]


def test_what_goes_on_as_it_is_mixes_nothing(app: App) -> None:
    held = app.gate()
    with reading(app, held, free=1) as found:
        assert found.other.count() == KEYS
        held.open()
        assert found.agreeing() == 0, "all of it is of the old one"
        assert found.told() == []


def test_strict_fails_it(app: App) -> None:
    held = app.gate()
    with reading(app, held, free=1, failing=1, strict="true") as found:
        assert found.other.count() == KEYS
        held.open()
        assert "mixes two generations" in str(found.running.exception(120))
        assert found.told() == [(1, True)]


def test_declared_deterministic_goes_on(app: App) -> None:
    held = app.gate()
    with reading(app, held, failing=1, deterministic="true") as found:
        assert found.other.count() == KEYS
        held.open()
        assert 0 < found.agreeing() < KEYS, "as it declared"
        assert found.told() == []


def test_what_was_delivered_and_heard_of_late_is_told(app: App) -> None:
    """One task has read the old generation and another one the new when the hook hears of it, and the job is over."""
    held, queue = app.gate(), app.gate()
    with reading(app, held, failing=1) as found:
        with stopped(app, queue):
            assert app.spark.sparkContext.parallelize([0], 1).count() == 1, "whose task is the last that it hears of"
            assert found.other.count() == KEYS
            held.open()
            agreed = found.agreeing()
            hear(app, queue)
        assert 0 < agreed < KEYS
        assert len(found.told()) == 1
