"""Tasks of a result's attempt that Spark has given up: they may deliver yet, or find something missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.mixing.conftest import MAPS, RIGHT, ROWS, App, application, drawn, values
from tests.spark.mixing.test_result_overtaken import TRIES, context, hearing_late, read_on_at, telling
from tests.support.spark import Gate, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]

BUSY = """package shufflelifecycle;
public class UntilOpen implements Work {
  private final String folder;
  public UntilOpen(Object folder) {
    this.folder = (String) folder;
  }
  public Object run() throws Exception {
    new java.io.File(folder, "arrived-scheduler").createNewFile();
    while (!new java.io.File(folder, "open").exists()) {
      Thread.sleep(5L);
    }
    return null;
  }
}
"""


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[4,{TRIES}]") as found:
        yield found


def rows_written_at(app: App, held: Gate) -> Any:
    """A, whose writers wait at the gate, each time."""
    folder = held.folder

    def wait(rows: Iterator[int]) -> Iterator[int]:
        Gate(folder).pass_through(context().taskAttemptId())
        return rows

    numbers = app.spark.sparkContext.parallelize(range(ROWS), MAPS).mapPartitions(wait)
    return app.keep(numbers.map(drawn).partitionBy(MAPS))


def given_up(app: App) -> Any:
    return [one for one in app.tap.java.scheduler().activeTaskSets() if one.isZombie()]


def test_a_result_of_which_one_delivers_and_one_fails_when_all_is_marked_is_not_aborted(app: App) -> None:
    """The scheduler comes to both ends before it hears that the first of them has delivered."""
    writing, delivers, fails, fails_late, queue, busy = (app.gate() for _ in range(6))
    writing.open()
    a_rows = rows_written_at(app, writing)
    b_rows = app.step(a_rows)
    assert values(b_rows) == RIGHT
    a, b = app.shuffles()
    writing.close()
    context_, scheduler, driver = app.spark.sparkContext, app.tap.java.scheduler(), app.tap.driver
    row = app.hold(context_.parallelize([(0, ROWS)], 1), delivers, 0)
    result = context_.union([row, read_on_at(b_rows, fails), read_on_at(b_rows, fails_late)])
    told = telling(app)
    with app.job(lambda: values(result), delivers, fails, fails_late, writing, busy) as running:
        wait_for(lambda: delivers.arrived() and fails.arrived() and fails_late.arrived(), "all of its tasks")
        app.delete(a)
        app.lose_output(b)
        before = writing.arrived()
        until_open = driver.construct(driver.load([BUSY], parent=app.tap.loader), "UntilOpen", busy.folder)
        with hearing_late(app, queue):
            fails.open()
            wait_for(lambda: writing.arrived() > before, "A being written again")
            scheduler.post(driver.construct(app.tap.loader, "Ticket", until_open))
            wait_for(busy.arrived, "the scheduler busy")
            queue.open()
            context_._jsc.sc().listenerBus().waitUntilEmpty(30_000)
            delivers.open()
            wait_for(lambda: given_up(app)[0].runningTasks() == 1, "what is delivered")
            fails_late.open()
            wait_for(lambda: not given_up(app), "the end of its last task")
            busy.open()
        writing.open()
        assert running.result(120) == sorted([*RIGHT, *RIGHT, ROWS])
    assert told() == [(1, False)]
