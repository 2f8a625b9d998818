"""Files of a driver that is the executor, and whose block manager Spark has struck off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from listener_bridge.shuffle_services.api import Fenced, Freed
from listener_bridge.shuffle_services.native import NativeShuffleService
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL, FactLog, shuffle_files, wait_for

pytestmark = pytest.mark.spark
TIMEOUT = 20.0


def test_what_goes_is_counted_after_a_failed_fetch_in_local_mode(tmp_path: Path) -> None:
    """Spark then removes the executor, which is the driver, and some versions never take it back."""
    with own_spark(tmp_path, LOCAL) as spark:
        tap = Tap.open(spark)
        log, native = FactLog(tap), NativeShuffleService(tap)
        keyed = spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3)
        right = sorted(keyed.collect())
        (shuffle,) = {s.stage.writes for s in log.of(facts.StageSubmitted) if s.stage.writes is not None}
        blocks: Any = tap.driver.block_manager
        blocks.master().removeExecutor("driver")
        fenced = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "the fence")
        assert fenced is not None
        assert fenced.bytes > 0
        assert native.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
        assert shuffle_files(tmp_path, shuffle) == {}
        assert sorted(keyed.collect()) == right
        tap.close()
