"""A `free` that runs into the next generation's map stage: results right, and no fetch failure of our making."""

from __future__ import annotations

import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from listener_bridge.shuffle_services import api

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
ROUNDS = 200


def test_frees_against_resubmissions(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    frame = run.spark.range(0, 4000, 1, 4).selectExpr("id", "id % 50 AS k").repartition(3, "k").groupBy("k").count()
    right = sorted(frame.collect())
    shuffle = run.newest_shuffle()
    outcomes: list[api.FreeOutcome] = []
    waits: list[float] = []
    chance = random.Random(7)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            fenced = run.service.fence(shuffle, 10.0)
            waits.append(time.perf_counter() - started)
            assert isinstance(fenced, api.Fenced)
            job = pool.submit(lambda: sorted(frame.collect()))
            time.sleep(chance.uniform(0, 0.03))
            outcomes.append(run.service.free(fenced.locator, 10.0))
            assert job.result() == right
    kinds = {kind: sum(isinstance(o, kind) for o in outcomes) for kind in (api.Freed, api.Superseded, api.Failed)}
    assert kinds[api.Failed] == 0
    assert kinds[api.Freed] > 0
    assert kinds[api.Superseded] > 0
    assert run.fetch_failures() == []
    with capsys.disabled():
        quantiles = statistics.quantiles(waits, n=20)
        print(f"\n{kinds}; fence p50 {1e3 * quantiles[9]:.1f} ms, p95 {1e3 * quantiles[18]:.1f} ms")
