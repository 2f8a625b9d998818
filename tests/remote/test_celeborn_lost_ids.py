"""What lost a part, and is written again, is still read by who was told of it before: it stays for them.

Celeborn takes the flag of such an id down by itself. Who reads what is left of it would go on with the next generation,
and have delivered a part of the one before, of something that nobody has deleted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.shuffle_services.api import Freed
from listener_bridge.shuffle_services.testing import TIMEOUT
from listener_bridge.tap import facts
from tests.remote.conftest import OnCeleborn, on_celeborn
from tests.remote.test_celeborn_mixing import app_of, by_place, lose
from tests.remote.test_celeborn_told_once import MASTERS
from tests.spark.mixing.conftest import MAPS, RIGHT, App, values
from tests.support.celeborn import Celeborn
from tests.support.spark import wait_for

pytestmark = pytest.mark.timeout(300)
FAILS = 1  #: The partition whose task fails by itself, once.


@pytest.fixture(scope="module", params=MASTERS)
def wide_app(
    celeborn: Celeborn, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OnCeleborn, App]]:
    with on_celeborn(celeborn, tmp_path_factory.mktemp("spark"), MASTERS[request.param]) as run:
        yield run, app_of(run)


@dataclass(frozen=True)
class Tasks:
    """Of a result: the first one delivers, the others have read, and wait; one of them fails when it is told to."""

    folder: str

    def there(self, name: str) -> bool:
        return Path(self.folder, name).exists()

    def tell(self, name: str) -> None:
        Path(self.folder, name).touch()

    def wait(self, index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        self.tell(f"read-{index}")
        while index > 0 and not self.there("open"):
            if index == FAILS and self.there("fail") and not self.there("failed"):
                self.tell("failed")
                raise RuntimeError("told to fail")
            time.sleep(0.005)
        return iter(found)


def lose_partition(run: OnCeleborn, shuffle: int, partition: int) -> None:
    """As if a worker had gone with it: a file is named by its partition first."""
    for path in run.cluster.files():
        if run.ids(shuffle).get(int(path.parent.name)) and int(path.name.partition("-")[0]) == partition:
            path.unlink()


def delivered(app: App) -> int:
    jobs = app.spark.sparkContext._jsc.sc().dagScheduler().activeJobs()
    return sum(job.numFinished() for job in _each(jobs))


def _each(scala: Any) -> Iterator[Any]:
    it = scala.iterator()
    while it.hasNext():
        yield it.next()


def test_a_result_goes_on_with_what_it_was_told(wide_app: tuple[OnCeleborn, App]) -> None:
    """B is deleted, and written again. While a result of it has delivered a part, another job finds that lost, and A
    with it: B is written once more. The first deletion is asked for again, as where a worker did not answer, and a task
    of the result fails."""
    run, app = wide_app
    b = by_place(app, app.random_rows())
    assert values(b) == RIGHT
    first, second = app.shuffles()
    fenced = app.fenced(second)
    assert fenced is not None
    tasks = Tasks(str(app.gate().folder))
    held = b.mapPartitionsWithIndex(tasks.wait)
    with app.job(lambda: values(held)) as running:
        try:
            wait_for(lambda: all(tasks.there(f"read-{index}") for index in range(MAPS)), "all tasks of the result")
            wait_for(lambda: delivered(app) == 1, "a part that is delivered")
            lose(run, first)
            lose_partition(run, second, 0)
            run.spark.sparkContext.runJob(b, list, [0])
            assert app.is_complete(second), "B is written again"
            assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)
            tasks.tell("fail")
            wait_for(lambda: tasks.there("failed"), "a task that has failed")
        finally:
            tasks.tell("open")
        found = running.result(200)
    app.log.settle()
    assert app.log.of(facts.GenerationsMixed) == []
    assert found == RIGHT
