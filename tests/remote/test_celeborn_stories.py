"""Stories on Celeborn that are not so with Spark's own shuffle: jobs of real sessions on a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

import listener_bridge
from listener_bridge.marks import marks
from listener_bridge.shuffle_services.api import Busy, Cannot, Fenced, Freed, NotHeld, ObserveOnly
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import on_celeborn
from tests.support.celeborn import Celeborn
from tests.support.gates import held_at
from tests.support.spark import LOCAL_CLUSTER, wait_for

pytestmark = pytest.mark.timeout(300)
FALLBACK = {"spark.celeborn.client.spark.shuffle.fallback.policy": "ALWAYS"}
NO_RERUN = {f"spark.celeborn.client.spark.{key}": "false" for key in ("stageRerun.enabled", "fetch.throwsFetchFailure")}


def test_what_fell_back_to_spark_is_only_observed(celeborn: Celeborn, tmp_path: Path) -> None:
    with on_celeborn(celeborn, tmp_path, **FALLBACK) as run:
        keyed = run.keyed()
        result = sorted(keyed.collect())
        shuffle = run.newest_shuffle()
        assert isinstance(run.service.holds(shuffle), NotHeld)
        assert isinstance(run.service.fence(shuffle, TIMEOUT), Cannot)
        assert sorted(keyed.collect()) == result


def test_where_celeborn_writes_nothing_again_nothing_is_deleted(celeborn: Celeborn, tmp_path: Path) -> None:
    with on_celeborn(celeborn, tmp_path, **NO_RERUN) as run:
        found = run.service.probe().deletes
        assert isinstance(found, ObserveOnly)
        assert "stageRerun" in found.reason
        assert isinstance(run.service.fence(0, TIMEOUT), Cannot)


def test_executors_of_their_own_read_a_new_generation_after_the_old_one_is_freed(
    celeborn: Celeborn, tmp_path: Path
) -> None:
    """What they remember of the old one does no harm."""
    with on_celeborn(celeborn, tmp_path, LOCAL_CLUSTER) as run:
        shuffle = run.write()
        outcome = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(outcome, Fenced)
        assert isinstance(run.service.free(outcome.locator, TIMEOUT), Freed)
        assert run.read_again(shuffle)


def chain(spark: Any) -> list[tuple[int, int]]:
    rows = spark.sparkContext.parallelize(range(2_000), 4).map(lambda n: (n % 50, n))
    first = rows.partitionBy(3)
    second = first.map(lambda row: (row[1] % 7, row[0])).partitionBy(3)
    del first
    third = second.map(lambda row: (row[1] % 5, row[0])).partitionBy(3)
    del second
    result: list[tuple[int, int]] = sorted(third.collect())
    return result


def test_1_a_chain_leaves_the_workers_as_it_goes(celeborn: Celeborn, tmp_path: Path) -> None:
    with on_celeborn(celeborn, tmp_path) as run:
        plain = chain(run.spark)
    store = f"sqlite://{tmp_path}/log.db"
    with on_celeborn(celeborn, tmp_path) as run:
        before = set(celeborn.files())
        with listener_bridge.attach(run.spark, policy="reachable", store=store) as attachment:
            assert chain(run.spark) == plain
            wait_for(lambda: attachment.status().deleted >= 3, "three deletions")
            ours = [path for path, size in celeborn.files().items() if path not in before and size > 0]
            assert ours == []
            assert attachment.status().freed_bytes > 0


def test_a_part_under_an_id_that_nobody_is_told_of_costs_no_job(celeborn: Celeborn, tmp_path: Path) -> None:
    """A map stage goes on when a part of it was forgotten, unmarked, as where a result above it has delivered. What it
    writes from then on lies under an id whose flag is down, and the rest under the next one."""
    with on_celeborn(celeborn, tmp_path) as run:
        marks.keep_apart(run.tap)
        held = run.gate()

        def slow(index: int, rows: Iterator[int]) -> Iterator[tuple[int, int]]:
            if index >= 2:
                held.pass_through(index)
            return ((row % 20, row) for row in rows)

        numbers = run.spark.sparkContext.parallelize(range(4_000), 4)
        keyed = numbers.mapPartitionsWithIndex(slow).partitionBy(3)
        with held_at(held, lambda: sorted(value for _, value in keyed.collect())) as job:
            wait_for(lambda: held.arrived() == 2, "two tasks that have not written")
            shuffle = run.newest_shuffle()
            run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)
            run.generations.forgotten(shuffle)
            held.open()
            assert job.result(100) == list(range(4_000))
        assert list(run.ids(shuffle).values()) == [False, True]


def test_a_task_that_finds_a_cached_block_gone_costs_no_job(celeborn: Celeborn, tmp_path: Path) -> None:
    """It reads what the block was computed from, which Spark has not written again. From 0.6 on that is a failed fetch;
    the client 0.5 would fail the task each time, so there the shuffle stays as long as the RDD is persisted."""
    with on_celeborn(celeborn, tmp_path) as run:
        blocks = run.keyed(reduces=4).mapValues(lambda value: value + 1).persist(StorageLevel.MEMORY_AND_DISK)
        result = sorted(blocks.collect())
        shuffle = run.newest_shuffle()
        outcome = run.service.fence(shuffle, TIMEOUT)
        if is_before_0_6(run.spark):
            assert isinstance(outcome, Busy)
            assert "is persisted and was computed from it" in outcome.who[0]
        else:
            assert isinstance(outcome, Fenced)
            assert isinstance(run.service.free(outcome.locator, TIMEOUT), Freed)
        held = run.gate()

        def slow(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            if index < 2:
                held.pass_through(index)
            return rows

        last = blocks.mapPartitionsWithIndex(slow)
        with held_at(held, lambda: sorted(last.collect())) as job:
            wait_for(lambda: held.arrived() == 2, "two tasks, and two behind them")
            run.tap.driver.block_manager.master().removeRdd(blocks._jrdd.rdd().id(), True)
            held.open()
            assert job.result(100) == result
        blocks.unpersist(blocking=True)
        assert isinstance(wait_for(lambda: fenced(run, shuffle), "nobody busy with it"), Fenced)


def is_before_0_6(spark: Any) -> bool:
    answer = spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    said = answer.loadClass("org.apache.celeborn.common.protocol.PbGetShuffleIdResponse")
    return "getSuccess" not in {str(method.getName()) for method in said.getMethods()}


def fenced(run: Any, shuffle: int) -> Fenced | None:
    outcome = run.service.fence(shuffle, TIMEOUT)
    return outcome if isinstance(outcome, Fenced) else None
