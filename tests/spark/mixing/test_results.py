"""What a result stage has delivered cannot be taken back (scenario 34, three ways)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, RIGHT, App, owed, values
from tests.support.spark import Gate, wait_for

pytestmark = pytest.mark.spark


@contextmanager
def partly_delivered(app: App, **properties: str) -> Iterator[list[object]]:
    """A -> B -> result, of which a part is delivered when A is deleted and a part of B lost. Gives what came of it.

    ``properties`` are the job's own.
    """
    held = app.gate()
    found: list[object] = []
    last = app.hold(app.step(app.random_rows()), held)

    def work() -> list[int]:
        with app.properties(**properties):
            return values(last)

    with app.job(work, held) as running:
        wait_for(lambda: held.arrived() >= 2, "a partition delivered, tasks behind it")
        a, b = app.shuffles()
        app.delete(a)
        app.lose_output(b)
        held.open()
        found.append(running.exception(120) or running.result())
    app.log.settle()
    yield found


def test_a_given_up_attempts_last_task_is_ended_where_its_input_is_computed_again(app: App) -> None:
    """It was launched long ago, and would deliver the old generation beside the new one; Spark 4.3 aborts."""
    scheduler = app.tap.java.scheduler()
    elsewhere, old, new = app.gate(), app.gate(), app.gate()
    first, second = old.folder, new.folder

    def wait(index: int, rows: Iterator[object]) -> Iterator[object]:
        if index == 0 and not Gate(first).arrived():
            Gate(first).pass_through(index)
        if index == MAPS - 1:
            Gate(second).pass_through(index)
        return rows

    last = app.keep(app.step(app.random_rows()).mapPartitionsWithIndex(wait))
    other = app.hold(app.spark.sparkContext.parallelize([0], 1), elsewhere, 0)
    with app.job(other.count, elsewhere) as filling:
        wait_for(elsewhere.arrived, "one of our two processors taken")
        with app.job(lambda: values(last), old, new) as running:
            wait_for(old.arrived, "the other one taken too")
            a, b = app.shuffles()
            app.delete(a)
            app.lose_output(b)
            wait_for(lambda: len(scheduler.activeTaskSets()) == 2, "both sets, though they have launched all they can")
            elsewhere.open()
            assert filling.result(60) == 1
            late = scheduler.oldestRunningTask()
            wait_for(new.arrived, "a task of the next attempt")
            wait_for(lambda: scheduler.oldestRunningTask() > late, "the end of the given-up attempt's task")
            new.open()
            assert running.result(120) == RIGHT
    app.log.settle()
    assert app.submissions(b) == [MAPS, MAPS]


def test_34_it_completes_and_is_told(app: App) -> None:
    with partly_delivered(app) as found:
        a, b = app.shuffles()
        assert isinstance(found[0], list)
        told = app.log.of(facts.GenerationsMixed)[-1]
        assert (told.app_shuffle, told.failed, told.partitions) == (a, False, MAPS)
        assert 1 <= told.delivered < MAPS
        assert app.submissions(b) == [MAPS, MAPS], "B itself is of one generation"


def test_what_a_result_has_read_is_written_again_once_even_where_nothing_may_be_marked(app: App) -> None:
    """B is owed a whole writing, and its result has delivered: what it has from before is forgotten once."""
    first, b = owed(app)
    held = app.gate()
    with app.job(lambda: values(app.hold(first, held)), held) as running:
        wait_for(lambda: held.arrived() >= 2, "a partition delivered, tasks behind it")
        app.lose_output(b)
        held.open()
        running.result(120)
    assert app.submissions(b) == [MAPS, 1, MAPS - 1]


def test_34_strict_fails_the_job_and_says_why(app: App) -> None:
    with app.choosing(strict=True), partly_delivered(app) as found:
        a, _ = app.shuffles()
        assert f"mixes two generations of app shuffle {a}" in str(found[0])
        assert "spark.shuffleLifecycle.strict" in str(found[0])
        assert app.log.of(facts.GenerationsMixed)[-1].failed


def test_34_declared_deterministic_is_repaired_in_part(app: App) -> None:
    before = len(app.log.of(facts.GenerationsMixed))
    with app.choosing(deterministic=True), partly_delivered(app) as found:
        _, b = app.shuffles()
        assert isinstance(found[0], list)
        assert app.submissions(b) == [MAPS, 1]
        assert len(app.log.of(facts.GenerationsMixed)) == before


def test_34_a_job_may_be_strict_alone(app: App) -> None:
    with partly_delivered(app, strict="true") as found:
        assert "mixes two generations" in str(found[0])
        assert app.log.of(facts.GenerationsMixed)[-1].failed
    with partly_delivered(app) as found:
        assert isinstance(found[0], list), "the next job is not"


def test_34_a_job_may_declare_itself_alone(app: App) -> None:
    with partly_delivered(app, deterministic="true") as found:
        _, b = app.shuffles()
        assert isinstance(found[0], list)
        assert app.submissions(b) == [MAPS, 1]
    with app.choosing(deterministic=True), partly_delivered(app, deterministic="false"):
        _, b = app.shuffles()
        assert app.submissions(b) == [MAPS, MAPS], "or say that it is not, where all others are"


def test_what_a_finished_job_has_read_is_told_when_it_is_computed_again(app: App) -> None:
    rows = app.random_rows()
    assert values(rows) == RIGHT
    (a,) = app.shuffles()
    app.delete(a)
    assert values(rows) == RIGHT
    app.log.settle()
    assert app.log.of(facts.ResultsMayDiffer)[-1].app_shuffle == a
