"""A worker is killed and started again, and takes a part of what was made of something that a policy had deleted.

Only B has files there: A is deleted, and what is lost by a worker alone is Celeborn's own (docs/remote-shuffle.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import listener_bridge
from coordinator.core import events as e
from listener_bridge.tap import facts
from tests.remote.conftest import OnCeleborn, on_celeborn
from tests.remote.test_celeborn_mixing import app_of
from tests.spark.mixing.conftest import MAPS, RIGHT, ROWS, App, drawn, values
from tests.support import logs
from tests.support.celeborn import Celeborn, another_worker, start_again
from tests.support.gates import held_at
from tests.support.servers import Server
from tests.support.spark import LOCAL, LOCAL_CLUSTER, Gate, wait_for

pytestmark = pytest.mark.timeout(300)
PARTITIONS = 8  #: Some of B's lie on each of three workers.
WRITTEN = 3  #: So many tasks of C may end before the worker is killed.
#: Celeborn asks a worker that is gone for 80 s to commit what it has of a half-written C.
SETTINGS = {
    "spark.stage.maxConsecutiveAttempts": "1000",
    "spark.celeborn.client.requestCommitFiles.maxRetries": "1",
    "spark.celeborn.client.requestCommitFiles.retryWait": "100ms",
    "spark.celeborn.network.connect.timeout": "2s",
}


@dataclass(frozen=True)
class Chain:
    """A -> B -> C. A partition of B holds what one of A was drawn to; tasks of C from `WRITTEN` on wait at the gate."""

    run: OnCeleborn
    app: App
    held: Gate
    b: Any
    c: Any

    def lose_b(self, worker: Server) -> None:
        """The policy has deleted A, and the worker goes, with a part of B."""
        a, b = self.app.shuffles()[:2]
        wait_for(lambda: self.run.bytes_stored(a) == 0, "A's deletion")
        application = self.run.spark.sparkContext.applicationId
        on_it = self.run.cluster.files_on(worker, application, tuple(self.run.ids(b)))
        assert 0 < len(on_it) < PARTITIONS, "all of B, or nothing of it, would be lost"
        start_again(self.run.cluster, worker)


def chain(run: OnCeleborn, app: App) -> Chain:
    """A is written."""

    def placed(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        return ((index, row[1]) for row in rows)

    held = app.gate()
    a = app.keep(run.spark.sparkContext.parallelize(range(ROWS), MAPS).map(drawn).partitionBy(PARTITIONS))
    b = app.keep(a.mapPartitionsWithIndex(placed).partitionBy(PARTITIONS))
    c = app.keep(app.hold(b, held, WRITTEN).map(lambda row: (row[1] % 101, row[1])).partitionBy(PARTITIONS))
    assert a.count() == ROWS
    return Chain(run, app, held, b, c)


def while_c_is_written(made: Chain, worker: Server) -> list[int]:
    with held_at(made.held, lambda: values(made.c)) as running:
        wait_for(made.held.arrived, "tasks of C")
        c = made.app.shuffles()[2]
        wait_for(lambda: made.app.status(c).numAvailableMapOutputs() > 0, "outputs of C")
        made.lose_b(worker)
        made.held.open()
        found: list[int] = running.result(200)
        return found


def before_c_is_written(made: Chain, worker: Server) -> list[int]:
    made.held.open()
    assert values(made.b) == RIGHT
    made.lose_b(worker)
    return values(made.c)


Story: TypeAlias = Callable[[Chain, Server], list[int]]


@pytest.mark.parametrize("story", [while_c_is_written, before_c_is_written])
@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER], ids=["local", "cluster"])
def test_33_what_lost_a_part_is_made_of_one_generation(
    celeborn: Celeborn, tmp_path: Path, master: str, story: Story
) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    with on_celeborn(celeborn, tmp_path / "spark", master, **SETTINGS) as run:
        app = app_of(run)
        with listener_bridge.attach(run.spark, policy="eager", store=store) as attached:
            made = chain(run, app)
            with another_worker(celeborn) as worker:  # it has nothing of A
                assert story(made, worker) == RIGHT
                b, c = app.shuffles()[1:]
                assert app.submissions(b) == [PARTITIONS] * 2
                assert app.submissions(c)[-1] == PARTITIONS
        app.log.settle()
        assert app.log.of(facts.GenerationsMixed) == []
    log = logs.stored(store, attached.application)
    a, b = [started.shuffle_id for started in logs.of(log, e.GenerationStarted)][:2]
    assert a in [deleted.shuffle_id for deleted in logs.deletions(log)]
    assert b in [lost.shuffle_id for lost in logs.of(log, e.GenerationLost)]
