"""An executor of Celeborn's reads for all of an attempt what its first task was told (33).

Who is killed to read anew, and begins again within its attempt, would read the old generation once more: only the flag
of its id is down, and its files are there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.remote.conftest import OnCeleborn, on_celeborn
from tests.remote.test_celeborn_mixing import app_of, by_place
from tests.spark.mixing.conftest import MAPS, RIGHT, App, values
from tests.support.celeborn import Celeborn
from tests.support.spark import wait_for

pytestmark = pytest.mark.timeout(300)
LOST = (2, 3)  #: Partitions of B whose files go.
MASTERS = {"local": "local[6,4]", "cluster": "local-cluster[2,3,1024]"}  # tasks of both jobs run at once


@dataclass(frozen=True)
class Attempts:
    """Tasks of a result wait here, those of its first attempt and of later ones at a gate of their own."""

    folder: str

    def of(self, name: str) -> list[int]:
        return [int(path.name.split("-")[-1]) for path in Path(self.folder).glob(f"{name}-*")]

    def allow(self, name: str) -> None:
        Path(self.folder, name).touch()

    def wait(self, index: int, rows: Iterator[Any]) -> Iterator[Any]:
        """What begins when one was told to fail, and is no repetition, is of a later attempt."""
        from pyspark import TaskContext

        context, fail = TaskContext.get(), Path(self.folder, "fail")
        assert context is not None
        is_again = context.attemptNumber() > 0
        name = "later" if fail.exists() and not is_again else "first"
        found = list(rows)
        Path(self.folder, f"{name}-{index}-{context.taskAttemptId()}").touch()
        while not Path(self.folder, name).exists():
            if name == "first" and index == 0 and not is_again and fail.exists():
                raise RuntimeError("told to fail")
            time.sleep(0.005)
        return iter(found)


@pytest.fixture(scope="module", params=MASTERS)
def wide_app(
    celeborn: Celeborn, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OnCeleborn, App]]:
    settings = {"spark.stage.maxConsecutiveAttempts": "1000", "spark.task.maxFailures": "20"}
    with on_celeborn(celeborn, tmp_path_factory.mktemp("spark"), MASTERS[request.param], **settings) as run:
        yield run, app_of(run)


def lose_partitions(run: OnCeleborn, shuffle: int) -> None:
    """As if a worker had gone with them: a file is named by its partition first."""
    for path in run.cluster.files():
        if run.ids(shuffle).get(int(path.parent.name)) and int(path.name.partition("-")[0]) in LOST:
            path.unlink()


def have_ended(run: OnCeleborn, tasks: list[int]) -> bool:
    running = run.spark.sparkContext._jsc.sc().taskScheduler().taskIdToTaskSetManager()
    return not any(running.contains(task) for task in tasks)


def test_33_a_result_that_begins_again_reads_nothing_of_before(wide_app: tuple[OnCeleborn, App]) -> None:
    """A -> B -> two results. While all of the first one has begun, A is deleted, and the second finds a part of B lost:
    both are written again. Then a task of the first one fails."""
    run, app = wide_app
    at = Attempts(str(app.gate().folder))
    b = by_place(app, app.random_rows())
    held = b.mapPartitionsWithIndex(at.wait)
    with app.job(lambda: values(held)) as running:
        try:
            wait_for(lambda: len(at.of("first")) == MAPS, "all tasks of the result")
            app.delete(app.shuffles()[0])
            lose_partitions(run, app.shuffles()[1])
            assert values(app.step(b)) == RIGHT
            at.allow("fail")
            wait_for(lambda: at.of("later"), "a later attempt")
            at.allow("first")
            wait_for(lambda: have_ended(run, at.of("first")), "an end of the first one")
        finally:
            for name in ("first", "later"):
                at.allow(name)
        assert running.result(200) == RIGHT
    app.log.settle()
    assert app.log.of(facts.GenerationsMixed) == []
