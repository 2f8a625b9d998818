"""Executors that come and go with the shuffles that they hold: who holds only what is fenced goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from listener_bridge.shuffle_services.api import Fenced
from listener_bridge.shuffle_services.native import NativeShuffleService
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.spark import FactLog, spark_session, wait_for
from tests.support.standalone import executors

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(300)]
TIMEOUT = 20.0
ONE_WORKER = "local-cluster[1,1,1024]"
TRACKED = {
    "spark.executor.cores": "1",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
}


def test_executors_that_hold_only_a_fenced_shuffle_go_and_come_back_for_the_next_one(tmp_path: Path) -> None:
    with spark_session(tmp_path, ONE_WORKER, **TRACKED) as spark:
        tap = Tap.open(spark)
        log, native = FactLog(tap), NativeShuffleService(tap)
        keyed = spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3)
        right = sorted(keyed.collect())
        (shuffle,) = {s.stage.writes for s in log.of(facts.StageSubmitted) if s.stage.writes is not None}

        fenced = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "the fence")
        assert isinstance(fenced, Fenced)
        assert fenced.bytes > 0
        wait_for(lambda: not executors(spark), "executors that hold nothing to go")

        assert sorted(keyed.collect()) == right
        second = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "its fence")
        assert isinstance(second, Fenced)
        assert second.bytes > 0
        tap.close()
