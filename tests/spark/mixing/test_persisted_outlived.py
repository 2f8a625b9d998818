"""What was written from cached blocks outlives the executors that had them: Spark alone reads it as it is.

Also without a shuffle service, where it was written by another executor, which has read the blocks from there.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import application
from tests.spark.mixing.test_branches import KEYS, agreeing, branch, tokens
from tests.spark.mixing.test_forgotten_files import kill_all
from tests.spark.mixing.test_persisted import persisted
from tests.spark.mixing.test_sides import telling
from tests.support.spark import LOCAL_CLUSTER, shuffle_of, wait_for
from tests.support.standalone import kill_executor, with_service

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_executors_that_leave_their_outputs_behind_take_blocks_along(tmp_path: Path) -> None:
    with with_service(tmp_path) as (master, conf), application(tmp_path, master, hooked=True, **conf) as app:
        rows = persisted(app)
        assert rows.count() == KEYS  # else both branches may draw for themselves
        stays, deleted = branch(app, rows), branch(app, rows)
        a = tokens(app)
        cached = app.keep(a.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
        assert cached.count() == KEYS
        made = branch(app, cached)
        assert agreeing(app, stays, deleted)() == agreeing(app, cached, made)() == KEYS
        app.delete(shuffle_of(deleted))
        app.delete(shuffle_of(a))
        kill_all(app)
        with telling(app) as told:
            assert agreeing(app, stays, deleted)() == 0
            assert told() == [(shuffle_of(deleted), False)]
        with telling(app) as told:
            assert agreeing(app, cached, made)() == KEYS
            assert told() == []


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_so_do_outputs_that_another_executor_has_written(folder: Path, is_elsewhere: bool) -> None:
    """Else they go with the blocks: both are made of the same rows again, and nobody is told."""
    conf: dict[str, Any] = {"spark.locality.wait": "0"}
    with application(folder, LOCAL_CLUSTER, **conf) as app:
        keys = app.spark.sparkContext.parallelize(range(KEYS), 1)
        rows = app.keep(keys.map(lambda key: (key, random.SystemRandom().randrange(10**12))))
        rows.persist(StorageLevel.DISK_ONLY)
        assert rows.count() == KEYS
        held = app.gate()
        if not is_elsewhere:
            held.open()
        with app.job(app.hold(rows, held, 0).count, held) as busy:
            wait_for(held.arrived, "the executor that has the blocks at work")
            stays, deleted = branch(app, rows), branch(app, rows)
            assert stays.count() == deleted.count() == KEYS
            held.open()
            assert busy.result(60) == KEYS
        app.delete(shuffle_of(deleted))
        block = app.tap.driver.gateway.jvm.org.apache.spark.storage.RDDBlockId(rows._jrdd.rdd().id(), 0)
        had_it = app.tap.driver.block_manager.master().getLocations(block).head().executorId()
        kill_executor(app.spark, had_it)
        wait_for(lambda: app.log.of(facts.ExecutorRemoved), "the loss of the executor")
        with telling(app) as told:
            agreed = agreeing(app, stays, deleted)()
            assert (agreed, told()) == ((0, [(shuffle_of(deleted), False)]) if is_elsewhere else (KEYS, []))
