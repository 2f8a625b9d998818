"""No map output mixes two generations of one input (scenarios 33, 33a): real jobs, undeclared random numbers."""

from __future__ import annotations

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, RIGHT, App, lose_b, owed, partly_lost, values
from tests.support.spark import wait_for

pytestmark = pytest.mark.spark


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


def test_33a_levels_are_put_back_also_where_they_were_inherited(app: App) -> None:
    held, writing = app.gate(), app.gate()
    writing.open()
    last = app.step(app.step(app.random_rows(held=writing)), held)
    with app.job(lambda: values(last), held, writing) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of C")
        writing.close()
        before = app.marks()
        a, _, c = lose_b(app, held)
        held.open()
        wait_for(lambda: app.marks() > before, "the marks")
        assert app.level(last) == "INDETERMINATE"
        derived = app.step(last)
        with app.job(lambda: values(derived), writing) as another:
            app.announced(derived)
            assert app.level(derived) == "INDETERMINATE"
            writing.open()
            assert another.result(120) == RIGHT
        assert running.result(120) == RIGHT
    app.settled()
    assert app.level(last) == "UNORDERED"
    assert values(derived) == RIGHT
    wait_for(lambda: app.level(derived) == "UNORDERED", "the level that was inherited, asked again")
    told = {f.stage.level for f in app.log.of(facts.StageSubmitted) if f.stage.writes in (a, c)}
    assert told
    assert facts.Level.INDETERMINATE not in told, "what is told is what was declared"
    app.lose_output(c)
    assert values(last) == RIGHT
    assert app.submissions(c)[-1] == 1, "another lost output costs its own task only"


def test_33a_a_later_loss_of_what_was_complete_is_of_one_generation_too(app: App) -> None:
    """B was complete and stayed when A was written again for another reader; then B loses a part."""
    first, b = owed(app)
    assert app.submissions(b) == [MAPS], "what is whole is left alone"
    app.lose_output(b)
    assert values(first) == RIGHT
    assert app.submissions(b)[-1] == MAPS


def test_a_job_that_ends_in_between_leaves_no_part_behind(app: App) -> None:
    held, writing = app.gate(), app.gate()
    writing.open()
    last = app.step(app.step(app.random_rows(held=writing)), held)
    with app.job(lambda: values(last), held, writing) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of C")
        writing.close()
        before = app.marks()
        lose_b(app, held)
        held.open()
        wait_for(lambda: app.marks() > before, "the marks")
        app.spark.sparkContext.cancelAllJobs()
        assert running.exception(120) is not None
    writing.open()
    app.settled()
    assert values(last) == RIGHT


def test_a_diamond_is_of_one_generation(app: App) -> None:
    held = app.gate()
    middle = app.step(app.random_rows())
    left, right = app.step(middle), app.step(middle, held)
    joined = app.keep(left.union(right).map(lambda row: (row[1], 1)).reduceByKey(lambda a, b: a + b, MAPS))
    with app.job(lambda: sorted(joined.collect()), held) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of one branch")
        a, b, *_ = app.shuffles()
        app.delete(a)
        app.lose_output(b)
        held.open()
        assert running.result(120) == [(number, 2) for number in RIGHT]
