"""The listener bus drops events, and a submission that should have been marked is among them: it is found, and told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import RIGHT, App, application, values
from tests.spark.mixing.test_late import HALT, stopper
from tests.support.spark import Gate, in_background, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]

QUEUE = "shuffleLifecycle"
ROOM = 100


@pytest.fixture(scope="module")
def narrow(folder: Path) -> Iterator[App]:
    conf: Any = {f"spark.scheduler.listenerbus.eventqueue.{QUEUE}.capacity": str(ROOM)}
    with application(folder, **conf) as found:
        yield found


def test_what_nobody_heard_of_is_seen_when_the_queue_moves_again(narrow: App) -> None:
    held, queue, result = narrow.gate(), narrow.gate(), narrow.gate()
    last = narrow.step(narrow.step(narrow.random_rows()), held)
    bus = narrow.spark.sparkContext._jsc.sc().listenerBus()
    with narrow.job(lambda: values(narrow.hold(last, result, 0)), held, result, queue) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of C")
        a, b, _ = narrow.shuffles()
        stopped = stopper(narrow, queue)
        bus.addToQueue(stopped, QUEUE)
        narrow.delete(a)
        narrow.lose_output(b)
        held.open()
        wait_for(lambda: queue.arrived() >= 1, "the queue to stand still at the end of a task")
        for number in range(2 * ROOM):
            narrow.tap.java.mark(f"flood-{number}", "")
        wait_for(lambda: result.arrived() >= 1, "tasks of the result")
        queue.open()
        wait_for(lambda: narrow.log.of(facts.EventsDropped), "the overflow told")
        result.open()
        found = running.exception(120) or running.result()
    narrow.log.settle()
    told = [fact for fact in narrow.log.of(facts.GenerationsMixed) if fact.app_shuffle in (a, b)]
    assert found == RIGHT or told, "a result that mixes is told"


@contextmanager
def overflowing(app: App, queue: Gate) -> Iterator[None]:
    """The queue stands still at the beginning of a job and is full: it drops whatever is told within the block."""
    context = app.spark.sparkContext
    bus, listener = context._jsc.sc().listenerBus(), stopper(app, queue, at_jobs=True)

    def halting() -> int:
        context.setLocalProperty(HALT, queue.folder)
        return int(context.parallelize([0], 1).count())

    bus.addToQueue(listener, QUEUE)
    with in_background(halting):
        try:
            wait_for(queue.arrived, "the queue to stand still")
            for number in range(2 * ROOM):
                app.tap.java.mark(f"flood-{number}", "")
            yield
        finally:
            queue.open()
    bus.removeListener(listener)
    bus.waitUntilEmpty(60_000)  # from here on there is room for marks


def unfinished(app: App) -> list[int]:
    """Jobs that the hook takes for live."""
    field = app.hook.getClass().getDeclaredField("history")
    field.setAccessible(True)
    history = field.get(app.hook)
    results = history.getClass().getDeclaredField("results")
    results.setAccessible(True)
    return sorted(results.get(history).keySet())


def test_a_job_whose_end_nobody_heard_of_is_over_for_all_who_remember_it(narrow: App) -> None:
    """Else it is remembered for good, with its stages, and told as mixed whenever what it had read is written again."""
    held, queue, dropped = narrow.gate(), narrow.gate(), narrow.log.of(facts.EventsDropped)
    narrow.log.settle()
    wait_for(lambda: not unfinished(narrow), "the ends of earlier jobs")
    with narrow.job(lambda: values(narrow.hold(narrow.random_rows(), held, 0)), held, queue) as running:
        wait_for(held.arrived, "a task of the result")
        narrow.log.settle()
        [job] = unfinished(narrow)
        with overflowing(narrow, queue):
            held.open()
            assert running.result(120) == RIGHT
    wait_for(lambda: len(narrow.log.of(facts.EventsDropped)) > len(dropped), "the overflow told")
    narrow.log.settle()
    assert job not in [fact.job_id for fact in narrow.log.of(facts.JobEnded)]
    wait_for(lambda: not unfinished(narrow), "the hook to know that it is over")
    wait_for(lambda: narrow.tap.java.stages().size() == 0, "the tap to have forgotten its stages")
