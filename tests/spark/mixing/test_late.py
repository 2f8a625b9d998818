"""Marks that come too late: Spark has repaired a part before our hook hears of it. It counts as a mix and is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, RIGHT, App, await_turn, lose_b, owed, values
from tests.support.spark import Gate, wait_for

pytestmark = pytest.mark.spark

QUEUE, ALONE = "shuffleLifecycle", "late"
HALT = "test.halt"
#: Somebody else on the queue that the hook is moved to, who lets nothing through while the gate is closed: from the end
#: of a task on, or from the beginning of a job that names the gate.
STOPPED = """package shufflelifecycle;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
public class Stopped extends SparkListener {
  private final String halt;
  private final java.io.File open;
  private final java.io.File arrived;
  private final boolean atJobs;
  public Stopped(Object folder, Object atJobs) {
    this.halt = (String) folder;
    this.open = new java.io.File(halt, "open");
    this.arrived = new java.io.File(halt, "arrived-queue");
    this.atJobs = ((Boolean) atJobs).booleanValue();
  }
  public void onTaskEnd(SparkListenerTaskEnd event) {
    if (!atJobs) {
      stop();
    }
  }
  public void onJobStart(SparkListenerJobStart event) {
    if (atJobs && halt.equals(event.properties().getProperty("test.halt"))) {
      stop();
    }
  }
  private void stop() {
    try {
      while (!open.exists()) {
        arrived.createNewFile();
        Thread.sleep(5L);
      }
    } catch (Exception e) {
      Thread.currentThread().interrupt();
    }
  }
}
"""


def stopper(app: App, gate: Gate, at_jobs: bool = False) -> Any:
    return app.tap.driver.construct(app.tap.driver.load([STOPPED]), "Stopped", gate.folder, at_jobs)


@contextmanager
def halted(app: App, gate: Gate) -> Iterator[Callable[[], None]]:
    """Within `stopped`: the hook hears of nothing that comes after the answer was called, until the gate is opened."""
    context, listener = app.spark.sparkContext, stopper(app, gate, at_jobs=True)

    def here() -> None:
        context.setLocalProperty(HALT, gate.folder)
        assert context.parallelize([0], 1).count() == 1
        context.setLocalProperty(HALT, None)

    context._jsc.sc().listenerBus().addToQueue(listener, ALONE)
    try:
        yield here
    finally:
        gate.open()
        context._jsc.sc().listenerBus().removeListener(listener)


@contextmanager
def stopped(app: App, gate: Gate) -> Iterator[None]:
    """The hook hears of nothing that comes after the end of a task, until the gate is opened."""
    listener = stopper(app, gate)
    bus = app.spark.sparkContext._jsc.sc().listenerBus()
    bus.removeListener(app.hook)
    for one in (app.hook, listener):
        bus.addToQueue(one, ALONE)
    try:
        yield
    finally:
        gate.open()
        bus.waitUntilEmpty(30_000)
        bus.removeListener(listener)
        bus.removeListener(app.hook)
        bus.addToQueue(app.hook, QUEUE)


def hear(app: App, queue: Gate) -> None:
    """The hook has heard of everything so far, and the scheduler's thread has done what it asked for."""
    queue.open()
    app.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(30_000)
    await_turn(app.service)


def repaired_in_part(app: App, queue: Gate, held: Gate, result: Gate | None = None) -> object:
    """A -> B -> C -> result, a part of B repaired from a new A, while the hook hears of nothing. What came of it."""
    last = app.step(app.step(app.random_rows()), held)
    with app.job(lambda: values(app.hold(last, result, 0)), held, queue, *([result] if result else [])) as running:
        _, b, c = lose_b(app, held)
        held.open()
        if result is not None:
            wait_for(lambda: result.arrived() >= 1, "tasks of the result")
        assert app.submissions(b) == [MAPS, 1], "what the hook is there to prevent"
        assert app.is_complete(c) or result is None
        hear(app, queue)
        if result is not None:
            result.open()
        return running.exception(120) or running.result()


def test_before_the_result_has_begun_to_deliver(app: App) -> None:
    held, queue, result = app.gate(), app.gate(), app.gate()
    with stopped(app, queue):
        found = repaired_in_part(app, queue, held, result)
    app.log.settle()
    told = [fact for fact in app.log.of(facts.GenerationsMixed) if fact.app_shuffle == app.shuffles()[0]]
    assert found == RIGHT or told, "a result that mixes is told"


def test_under_strict_such_a_job_fails_or_is_right(app: App) -> None:
    held, queue, result = app.gate(), app.gate(), app.gate()
    with app.choosing(strict=True), stopped(app, queue):
        found = repaired_in_part(app, queue, held, result)
    assert found == RIGHT or "mixes two generations" in str(found)


def test_when_the_job_is_over_it_is_told(app: App) -> None:
    held, queue = app.gate(), app.gate()
    last = app.step(app.step(app.random_rows()), held)
    with stopped(app, queue):
        with app.job(lambda: values(last), held, queue) as running:
            lose_b(app, held)
            held.open()
            found = running.result(120)
        hear(app, queue)
    app.log.settle()
    told = [fact for fact in app.log.of(facts.GenerationsMixed) if fact.app_shuffle == app.shuffles()[0]]
    assert found == RIGHT or told


def test_what_is_under_way_as_a_whole_is_owed_no_more_than_that(app: App) -> None:
    """When the hook hears that A is written again, all of B is being written from that, by tasks that have begun."""
    queue, writing = app.gate(), app.gate()
    writing.open()
    rows = app.random_rows()
    first, other = app.step(rows, writing, 0), app.step(rows)
    assert values(first) == RIGHT
    a, b = app.shuffles()
    app.delete(a)
    assert values(other) == RIGHT
    with stopped(app, queue):
        app.spark.sparkContext.parallelize([0], 1).count()
        wait_for(lambda: queue.arrived() >= 1, "the queue to stand still at the end of a task")
        app.delete(a)
        for index in range(MAPS):
            app.lose_output(b, index)
        writing.close()
        with app.job(lambda: values(first), writing, queue) as running:
            wait_for(lambda: app.submissions(b) == [MAPS, MAPS], "all of B under way")
            hear(app, queue)
            writing.open()
            assert running.result(120) == RIGHT
    app.settled()
    app.lose_output(b)
    assert values(first) == RIGHT
    assert app.submissions(b) == [MAPS, MAPS, 1]


@contextmanager
def repaired_unheard(app: App, queue: Gate) -> Iterator[tuple[Any, int, list[int]]]:
    """B is owed a whole writing; it has lost a part, and got it from a new A in a job that is over. What that gave."""
    first, b = owed(app)
    with stopped(app, queue):
        app.spark.sparkContext.parallelize([0], 1).count()
        wait_for(lambda: queue.arrived() >= 1, "the queue to stand still at the end of a task")
        app.lose_output(b)
        found = values(first)
        app.log.settle()
        assert app.submissions(b) == [MAPS, 1], "what the hook is there to prevent"
        yield first, b, found


def mixes_told(app: App, shuffle: int) -> list[int]:
    app.log.settle()
    return [fact.job_id for fact in app.log.of(facts.GenerationsMixed) if fact.app_shuffle == shuffle]


def test_what_is_owed_and_was_repaired_by_a_job_that_is_over_is_written_again(app: App) -> None:
    queue = app.gate()
    with repaired_unheard(app, queue) as (first, b, found):
        hear(app, queue)
    assert found == RIGHT or mixes_told(app, b)
    assert values(first) == RIGHT
    assert app.submissions(b) == [MAPS, 1, MAPS]


def test_also_under_a_job_that_found_it_complete(app: App) -> None:
    """That one has skipped its map stage, whose last attempt looks as if all of it were under way."""
    queue, held = app.gate(), app.gate()
    with (
        repaired_unheard(app, queue) as (first, b, found),
        app.job(lambda: values(app.hold(first, held, 0)), held, queue) as running,
    ):
        wait_for(held.arrived, "a task that reads it")
        hear(app, queue)
        held.open()
        second = running.exception(120) or running.result()
    told = mixes_told(app, b)
    assert found == RIGHT or told
    assert second == RIGHT or len(told) > 1
    assert values(first) == RIGHT


def test_what_is_declared_deterministic_by_a_job_that_is_over_stays_as_it_was_repaired(app: App) -> None:
    queue = app.gate()
    with app.properties(deterministic="true"), repaired_unheard(app, queue) as (first, b, _):
        hear(app, queue)
    assert not mixes_told(app, b)
    values(first)
    assert app.submissions(b) == [MAPS, 1]
