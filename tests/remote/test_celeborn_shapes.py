"""Celeborn used in other ways than the stories do: replicas, skewed partitions, barrier stages, a worker that dies.

Each job acts several times on what it has written, under a coordinator that lets go of what nobody reads in this very
moment: so each way of writing and reading is recovered from a deletion too, and every result is compared with the run
without the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import listener_bridge
from coordinator.core import events as e
from coordinator.core.evolve import fold
from coordinator.core.state import empty
from tests.remote.conftest import OnCeleborn, on_celeborn
from tests.support import logs
from tests.support.celeborn import Celeborn, another_worker
from tests.support.premature import ATTEMPTS, UNBOUNDED, deleting_at_random
from tests.support.spark import wait_for

pytestmark = pytest.mark.timeout(400)
ROUNDS = 3
REPLICATED = {"spark.celeborn.client.push.replicate.enabled": "true"}
SKEWED = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16k",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "16k",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.5",
}
#: Told of every loss, and of whoever meets it, where no executor was lost: here a worker was.
A_LOSS = "unexpected, without a lost executor", "2: "
Action: TypeAlias = Callable[[], Any]
Job: TypeAlias = Callable[[Any], Action]


def chain(spark: Any) -> Action:
    """Two shuffles, one from the other."""
    rows = spark.sparkContext.parallelize(range(4_000), 4).map(lambda n: (n % 50, n))
    last = rows.partitionBy(3).map(lambda row: (row[1] % 7, row[0])).partitionBy(3)
    return lambda: sorted(last.collect())


def barrier(spark: Any) -> Action:
    """A barrier stage that reads a shuffle and writes one."""
    rows = spark.sparkContext.parallelize(range(4_000), 2).map(lambda n: (n % 50, n)).partitionBy(2)
    together = rows.barrier().mapPartitions(lambda part: ((value % 7, key) for key, value in part)).partitionBy(2)
    return lambda: sorted(together.collect())


def skewed_join(spark: Any) -> Action:
    """A join most of whose rows have one key: Spark reads the shuffle of that partition in parts."""
    many = spark.range(0, 40_000, 1, 8).selectExpr("if(id % 10 = 0, id % 97, 0) AS key", "id AS value")
    few = spark.range(0, 97, 1, 4).selectExpr("id AS key", "id * 3 AS more")
    joined = many.join(few, "key")

    def act() -> tuple[int, int, int]:
        rows = joined.collect()
        assert "skew=true" in joined._jdf.queryExecution().executedPlan().toString()
        return len(rows), sum(row.value for row in rows), sum(row.more for row in rows)

    return act


CASES: dict[str, tuple[dict[str, str], Job]] = {
    "replicated": (REPLICATED, chain),
    "barrier": ({}, barrier),
    "skewed": (SKEWED, skewed_join),
    "skewed, replicated": ({**SKEWED, **REPLICATED}, skewed_join),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_deleted_too_early_is_written_again_and_right(celeborn: Celeborn, tmp_path: Path, case: str) -> None:
    conf, job = CASES[case]
    with on_celeborn(celeborn, tmp_path, **conf) as run:
        expected = job(run.spark)()
    with on_celeborn(celeborn, tmp_path, **conf, **ATTEMPTS) as run:
        log = deleted_between_actions(run, job, expected)
    assert len(logs.deletions(log)) >= ROUNDS
    assert logs.of(log, e.PrematureDeletion), "nothing was missed: nothing was proved"


def deleted_between_actions(
    run: OnCeleborn, job: Job, expected: Any, between: Callable[[], None] = lambda: None
) -> list[e.Recorded]:
    """Acts, waits until all that it wrote is gone, and acts again. Answers the log."""
    store = f"sqlite://{run.folder}/log.db"
    with (
        deleting_at_random(0, 0.0) as chance,
        listener_bridge.attach(run.spark, policy="eager", store=store, budget_premature=UNBOUNDED) as attached,
    ):
        act = job(run.spark)
        assert act() == expected
        for _ in range(ROUNDS):
            chance.odds = 1.0
            wait_for(lambda: not alive(run, store, attached.application), "all that was written to go")
            chance.odds = 0.0
            between()
            assert act() == expected
    log = logs.stored(store, attached.application)
    assert logs.wrong(log) == []
    return log


def alive(run: OnCeleborn, store: str, application: str) -> list[int]:
    """Generations that are there, once something has happened that the coordinator hears of."""
    run.spark.sparkContext.parallelize([1], 1).count()
    state = fold(empty(), logs.stored(store, application))
    return list(state.generations)


@pytest.fixture
def third_worker(celeborn: Celeborn) -> Iterator[Callable[[], None]]:
    """One worker more, and what ends it by SIGKILL."""
    with another_worker(celeborn) as worker:
        yield worker.kill


@pytest.mark.parametrize("conf", [{}, REPLICATED], ids=["one copy", "two copies"])
def test_a_worker_that_dies_costs_no_result(
    celeborn: Celeborn, third_worker: Callable[[], None], tmp_path: Path, conf: dict[str, str]
) -> None:
    """It dies with generations that are in use, expired and deleted."""
    with on_celeborn(celeborn, tmp_path) as run:
        expected = chain(run.spark)()
    with on_celeborn(celeborn, tmp_path, **conf, **ATTEMPTS) as run:
        log = deleted_between_actions(run, chain, expected, between=third_worker)
    assert len(logs.deletions(log)) >= ROUNDS


def test_a_worker_that_dies_takes_what_is_held_and_nothing_is_mixed(
    celeborn: Celeborn, third_worker: Callable[[], None], tmp_path: Path
) -> None:
    """Nothing was deleted early here: what the worker held is written again by Celeborn and Spark."""
    with on_celeborn(celeborn, tmp_path, **ATTEMPTS) as run:
        store = f"sqlite://{tmp_path}/log.db"
        with listener_bridge.attach(run.spark, policy="reachable", store=store) as attached:
            act = chain(run.spark)
            expected = act()
            third_worker()
            assert [act() for _ in range(ROUNDS)] == [expected] * ROUNDS
        log = logs.stored(store, attached.application)
    assert logs.of(log, e.OutputsLost), "the worker held nothing: nothing was proved"
    assert [told for told in logs.wrong(log) if not told.startswith(A_LOSS)] == []
