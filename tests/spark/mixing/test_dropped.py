"""The listener bus drops events, and a submission that should have been marked is among them: it is found, and told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import RIGHT, App, application, values
from tests.spark.mixing.test_late import stopper
from tests.support.spark import wait_for

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
