"""Cached blocks on an executor that Spark has struck off for a moment: it lives, and cannot be asked to drop them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import StorageLevel

from tests.spark.mixing.conftest import RIGHT, App, application, values
from tests.spark.mixing.test_branches import KEYS, agreeing, tokens
from tests.spark.mixing.test_cached import cached_rows
from tests.spark.mixing.test_cached_slow import mixes, removals
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


def test_the_drivers_own_go_in_local_mode_where_it_is_never_known_again(folder: Path) -> None:
    with application(folder) as app:
        rows = tokens(app)
        cached = app.keep(rows.map(lambda row: row).persist(StorageLevel.DISK_ONLY))
        assert cached.count() == KEYS
        (a,) = app.shuffles()
        app.delete(a)
        app.tap.driver.block_manager.master().removeExecutor("driver")
        assert cached.count() == KEYS
        wait_for(lambda: not removals(app), "the old blocks dropped")
        app.settled()
        assert agreeing(app, rows, cached)() == KEYS


def test_what_an_executor_brings_back_that_could_not_be_asked_goes_too(cluster: App) -> None:
    """One that a failed fetch has struck off: it lives, reads what it has, and tells of it when it is known again."""
    before = len(mixes(cluster))
    _, cached = cached_rows(cluster)
    (a,) = cluster.shuffles()
    cluster.delete(a)
    scheduler, master = cluster.tap.java.scheduler(), cluster.tap.driver.block_manager.master()
    master.removeExecutor(min(scheduler.executors()))
    found = values(cluster.step(cached))
    wait_for(lambda: not scheduler.struckOff(master).size(), "the executor to be known again")
    wait_for(lambda: not removals(cluster), "the old blocks dropped")
    cluster.settled()
    assert found == RIGHT or wait_for(lambda: len(mixes(cluster)) > before, "the mix told")
    assert values(cached) == RIGHT
    cached.unpersist()
