"""Files whose executor is gone, with the external shuffle service: deleted by name, by the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from listener_bridge.shuffle_services.api import Fenced, Freed
from listener_bridge.shuffle_services.native import NativeShuffleService
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.generations import generations
from tests.support.spark import FactLog, shuffle_files, spark_session, wait_for
from tests.support.standalone import executors, kill_executor, with_service

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
TIMEOUT = 20.0


def test_24_files_of_a_lost_executor_are_deleted_by_the_service(tmp_path: Path) -> None:
    with with_service(tmp_path) as (master, conf), spark_session(tmp_path, master, **conf) as spark:
        tap = Tap.open(spark)
        log, native = FactLog(tap), NativeShuffleService(tap)
        keyed = spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3)
        right = sorted(keyed.collect())
        (shuffle,) = {s.stage.writes for s in log.of(facts.StageSubmitted) if s.stage.writes is not None}
        killed = executors(spark)
        for executor in killed:
            kill_executor(spark, executor)
        wait_for(lambda: len(log.of(facts.ExecutorRemoved)) == len(killed), "the loss of every executor")
        assert shuffle_files(tmp_path, shuffle)
        fenced = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "the fence")
        assert isinstance(fenced, Fenced)
        assert native.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
        assert shuffle_files(tmp_path, shuffle) == {}
        assert native.forget(fenced.locator, TIMEOUT) == Freed(0)
        assert sorted(keyed.collect()) == right
        tap.close()


def test_24_files_of_lost_executors_go_though_spark_lets_the_shuffle_go_first(tmp_path: Path) -> None:
    """Between its fence and its deletion, or after Spark was made to forget it: nobody asks for it any more."""
    with with_service(tmp_path) as (master, conf), spark_session(tmp_path, master, **conf) as spark:
        tap = Tap.open(spark)
        log, native = FactLog(tap), NativeShuffleService(tap)
        jobs = [spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3) for _ in "abc"]
        right = [sorted(keyed.collect()) for keyed in jobs]
        log.settle()
        written = {s.stage.writes for s in log.of(facts.StageSubmitted) if s.stage.writes is not None}
        fenced_only, forgotten, later = sorted(written)
        killed = executors(spark)
        for executor in killed:
            kill_executor(spark, executor)
        wait_for(lambda: len(log.of(facts.ExecutorRemoved)) == len(killed), "the loss of every executor")
        assert isinstance(fence(native, fenced_only), Fenced)
        counts, tracker = generations(tap), tap.driver.map_output_tracker
        counts.unregister(tracker, forgotten)
        for shuffle in (fenced_only, forgotten):
            tap.driver.context.cleaner().get().doCleanupShuffle(shuffle, True)
            assert shuffle_files(tmp_path, shuffle)
        fenced = fence(native, later)
        assert isinstance(native.free(fenced.locator, TIMEOUT), Freed)
        for _ in range(2):
            assert native.forget(fenced.locator, TIMEOUT) == Freed(0)
        assert [shuffle_files(tmp_path, shuffle) for shuffle in (fenced_only, forgotten)] == [{}, {}]
        assert list(native._java.fenced()) == [later]  # type: ignore[union-attr]
        assert sorted(jobs[2].collect()) == right[2]
        tap.close()


def fence(native: NativeShuffleService, shuffle: int) -> Fenced:
    found = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "the fence")
    assert isinstance(found, Fenced)
    return found


def test_24_what_the_service_does_not_find_is_gone_and_was_nothing(tmp_path: Path) -> None:
    """As where it deleted after an earlier call had stopped waiting."""
    with with_service(tmp_path) as (master, conf), spark_session(tmp_path, master, **conf) as spark:
        tap = Tap.open(spark)
        log, native = FactLog(tap), NativeShuffleService(tap)
        spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3).collect()
        (shuffle,) = {s.stage.writes for s in log.of(facts.StageSubmitted) if s.stage.writes is not None}
        killed = executors(spark)
        for executor in killed:
            kill_executor(spark, executor)
        wait_for(lambda: len(log.of(facts.ExecutorRemoved)) == len(killed), "the loss of every executor")
        fenced = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "the fence")
        assert isinstance(fenced, Fenced)
        for file in tmp_path.rglob(f"shuffle_{shuffle}_*"):
            file.unlink()
        assert native.free(fenced.locator, TIMEOUT) == Freed(0)
        tap.close()
