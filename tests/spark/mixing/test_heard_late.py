"""All is lost, and written again, before the hook hears of anything: nothing is missing when it looks.

The numbers of the tasks tell what is new, and what lies behind it, beside it, and above it is looked at as if it had
been heard of in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, App, application, await_turn
from tests.spark.mixing.test_branches import KEYS, agreeing, branch, tokens
from tests.spark.mixing.test_cached import lose_block
from tests.spark.mixing.test_late import QUEUE, halted, hear
from tests.spark.mixing.test_overtaken import READERS, lose_all, made
from tests.spark.mixing.test_result_overtaken import (
    TRIES,
    context,
    deleted_behind,
    heard,
    hearing_late,
    read,
    reading,
    telling,
)
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[4,{TRIES}]") as found:
        yield found


def test_a_mix_that_is_heard_of_when_its_job_is_over_is_told(app: App) -> None:
    held, failing, queue = app.gate(), app.gate(), app.gate()
    with reading(app, lambda a: read(a, held, failing, 0), held, failing) as found:
        with hearing_late(app, queue):
            assert found.other.count() == KEYS
            failing.open()
            held.open()
            agreed = found.agreeing()
        assert 0 < agreed < KEYS
        assert len(found.told()) == 1


def test_also_where_a_later_attempt_has_begun_with_the_new_one(app: App) -> None:
    """What the first attempt has delivered is of the old generation, and all of the second one reads the new."""
    first, second, queue = app.gate(), app.gate(), app.gate()
    with reading(app, lambda a: read(a, second, first, 1), first, second, free=1) as found:
        with hearing_late(app, queue):
            first.open()
            wait_for(second.arrived, "the second attempt, which has read A anew")
        second.open()
        assert 0 < found.agreeing() < KEYS
        assert len(found.told()) == 1


@pytest.mark.parametrize("is_late", [False, True])
def test_what_lies_behind_an_input_that_is_there_again_is_looked_at(app: App, is_late: bool) -> None:
    """X -> A -> B: A was lost as a whole and B in part, and all is there again when the hook hears of it."""
    held, queue = app.gate(), app.gate()
    scheduler = app.tap.java.scheduler()
    a, told = deleted_behind(app)
    b = app.keep(a.map(lambda row: (row[0], row[1])).partitionBy(MAPS, lambda key: 7 * key))
    assert b.count() == KEYS
    with hearing_late(app, queue) if is_late else nullcontext():
        lose_all(app, a)
        app.lose_output(shuffle_of(b))
        with app.job(lambda: app.hold(b, held, 0).collect(), held, queue) as running:
            wait_for(lambda: held.arrived() == MAPS, "the tasks of the result")
            new = scheduler.nextTaskId()
            if is_late:
                hear(app, queue)
                wait_for(lambda: scheduler.oldestRunningTask() >= new, "the end of the tasks that were to begin again")
            held.open()
            result = running.result(120)
    assert len(set(result) & set(a.collect())) == KEYS
    assert told() == []


def test_a_given_up_attempts_task_that_ends_late_is_told_or_ended(app: App) -> None:
    """It has read the old A, and goes on; the second attempt reads the new one."""
    old, failing, new, queue = app.gate(), app.gate(), app.gate(), app.gate()
    a, told = deleted_behind(app)
    folders = old.folder, failing.folder, new.folder
    scheduler = app.tap.java.scheduler()

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        stays, fails, again = (Gate(folder) for folder in folders)
        if index == 0:
            (again if stays.arrived() else stays).pass_through(context().taskAttemptId())
        elif not fails.arrived():
            fails.pass_through(index)
            raise RuntimeError("this task fails once")
        return iter(found)

    with app.job(lambda: a.mapPartitionsWithIndex(wait).collect(), old, failing, new, queue) as running:
        wait_for(lambda: old.arrived() + failing.arrived() == 2, "tasks that have read A")
        lose_all(app, a)
        other = made(app, a)
        zombie = scheduler.oldestRunningTask()
        with hearing_late(app, queue):
            failing.open()
            wait_for(new.arrived, "the second attempt")
        old.open()
        wait_for(lambda: scheduler.oldestRunningTask() > zombie + 1, "the end of the first attempt's tasks")
        new.open()
        agreed = len(set(running.result(120)) & set(other.collect()))
    assert agreed == KEYS or told()


def test_what_stays_beside_what_was_written_anew_lies_on_the_other_side(app: App) -> None:
    """X -> A -> D, F: A and F are new, and D is of before; a later job reads both."""
    queue = app.gate()
    a, told = deleted_behind(app)
    stays, lost = branch(app, a), branch(app, a)
    assert stays.count() == lost.count() == KEYS
    with hearing_late(app, queue):
        lose_all(app, a)
        lose_all(app, lost)
        assert lost.count() == KEYS
    app.settled()
    assert agreeing(app, stays, lost)() == 0
    assert told() == [(0, False)]


@pytest.mark.parametrize("is_late", [False, True])
def test_cached_blocks_of_before_go(app: App, is_late: bool) -> None:
    queue = app.gate()
    a, told = deleted_behind(app)
    cached = app.keep(a.map(lambda row: (row[0], row[1])).cache())
    assert cached.count() == KEYS
    other = made(app, a)
    with hearing_late(app, queue) if is_late else nullcontext():
        lose_all(app, a)
        assert other.count() == KEYS
    app.settled()
    lose_block(app, cached)
    assert len(set(cached.collect()) & set(other.collect())) == KEYS
    assert told() == []


def test_a_result_that_runs_and_has_read_both_is_told(app: App) -> None:
    """X -> A, B: A was lost and is new, B is of before."""
    held, queue = app.gate(), app.gate()
    x = tokens(app)
    lost, stays = made(app, x, READERS), made(app, x, READERS)
    assert lost.count() == stays.count() == KEYS
    app.delete(shuffle_of(x))
    told = telling(app)
    folder = held.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        if index == 0:
            Gate(folder).pass_through(index)
        return iter(found)

    with hearing_late(app, queue):
        lose_all(app, lost)
        both = lost.union(stays).mapPartitionsWithIndex(wait)
        with app.job(both.collect, held, queue) as running:
            wait_for(held.arrived, "a task of the result")
            hear(app, queue)
            held.open()
            result = running.result(120)
    assert len(set(result)) == 2 * KEYS, "none agrees"
    assert told() == [(0, False)]


@contextmanager
def found_before(app: App, b: Any, c: Any, queue: Gate, halt: Gate) -> Iterator[None]:
    """B was repaired in part from a new A, and C made of that: the mix is found, and the hook has not heard of C."""
    with hearing_late(app, queue), halted(app, halt) as here:
        app.lose_output(shuffle_of(b))
        assert b.count() == KEYS, "the mix"
        here()
        assert c.count() == KEYS
        queue.open()
        wait_for(halt.arrived, "the hook, which has not heard of C")
        await_turn(app.service)
        yield


def test_what_a_job_made_of_a_mix_that_was_found_before_it_was_heard_of(app: App) -> None:
    """A -> B -> C: B was repaired in part from a new A, and C was made of that. The hook hears of A and B first."""
    queue, halt = app.gate(), app.gate()
    a = tokens(app)
    b = made(app, a)
    c, other = made(app, b), made(app, b)
    assert b.count() == KEYS
    app.delete(shuffle_of(a))
    told = telling(app)
    with found_before(app, b, c, queue, halt):
        assert app.is_complete(shuffle_of(c))
        hear(app, halt)
        assert not app.is_complete(shuffle_of(c))
    assert agreeing(app, c, other)() == KEYS
    assert len(told()) == 2, "both counts"


def test_a_mix_of_a_mix_is_remembered_although_it_is_found_twice(app: App) -> None:
    """B -> C -> D -> E and B -> D: of C and D the hook hears together, and of E behind that."""
    queue, first, second = app.gate(), app.gate(), app.gate()
    a = tokens(app)
    b = made(app, a)
    c = made(app, b)
    d = made(app, c.union(b))
    e = made(app, d)
    assert b.count() == KEYS
    app.delete(shuffle_of(a))
    with hearing_late(app, queue), halted(app, first) as here, halted(app, second) as there:
        app.lose_output(shuffle_of(b))
        assert b.count() == KEYS, "the mix"
        here()
        assert d.count() == 2 * KEYS
        there()
        assert e.count() == 2 * KEYS
        queue.open()
        wait_for(first.arrived, "the hook, which has not heard of C and D")
        first.open()
        wait_for(second.arrived, "the hook, which has not heard of E")
        await_turn(app.service)
        assert [app.is_complete(shuffle_of(one)) for one in (c, d, e)] == [False, False, True]
        hear(app, second)
        assert not app.is_complete(shuffle_of(e))


def test_what_a_job_made_of_a_mix_is_learnt_of_by_what_is_live(app: App) -> None:
    """The same, and events are dropped: what C was made by, and the beginning of another job that reads it."""
    queue, halt, held = app.gate(), app.gate(), app.gate()
    bus = app.spark.sparkContext._jsc.sc().listenerBus()
    a = tokens(app)
    b = made(app, a)
    c = made(app, b)
    assert b.count() == KEYS
    app.delete(shuffle_of(a))
    told = telling(app)
    with found_before(app, b, c, queue, halt), app.job(lambda: app.hold(c, held, 1).count(), held) as running:
        wait_for(lambda: held.arrived() == MAPS - 1, "tasks of the result")
        bus.removeListener(app.hook)
        halt.open()
        bus.waitUntilEmpty(30_000)
        assert app.is_complete(shuffle_of(c))
        bus.addToQueue(app.hook, QUEUE)
        bus.metrics().metricRegistry().getCounters().get(f"queue.{QUEUE}.numDroppedEvents").inc()
        assert app.spark.sparkContext.parallelize([0], 1).count() == 1
        heard(app)
        assert not app.is_complete(shuffle_of(c))
        held.open()
        assert running.result(120) == KEYS
    assert told(), "one task had delivered what it had read of the mix"


def test_a_result_that_may_differ_is_told_also_where_all_is_there_again(app: App) -> None:
    queue = app.gate()
    a, _ = deleted_behind(app)
    b = made(app, a)
    assert b.count() == KEYS
    heard(app)
    before = len(app.log.of(facts.ResultsMayDiffer))
    with hearing_late(app, queue):
        lose_all(app, a)
        lose_all(app, b)
        assert b.count() == KEYS
    heard(app)
    app.log.settle()
    assert shuffle_of(b) in {fact.app_shuffle for fact in app.log.of(facts.ResultsMayDiffer)[before:]}
