"""Cached blocks that executors are slow to drop: what is read meanwhile may be of before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from pyspark import StorageLevel

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import RIGHT, App, values
from tests.spark.mixing.test_cached import cached_blocks, cached_rows, lose_block
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@contextmanager
def held_block(app: App, rdd: Any, index: int) -> Iterator[Callable[[], None]]:
    """As by a task that goes on reading it: whoever is to drop it waits, and others may read it."""
    jvm = app.tap.driver.gateway.jvm
    block = jvm.org.apache.spark.storage.RDDBlockId(rdd._jrdd.rdd().id(), index)
    locks = app.tap.driver.block_manager.blockInfoManager()
    assert locks.lockForReading(block, True).isDefined()
    with ExitStack() as kept:
        kept.callback(lambda: locks.unlock(block, jvm.scala.Option.empty()))
        yield kept.close


def removals(app: App) -> list[Any]:
    """Threads that wait for executors."""
    threads = app.tap.driver.gateway.jvm.java.lang.Thread.getAllStackTraces().keySet()
    return [one for one in threads if one.getName() == "shuffle-lifecycle-removal"]


def mixes(app: App) -> list[facts.GenerationsMixed]:
    app.log.settle()
    return app.log.of(facts.GenerationsMixed)


def with_a_lost_block(app: App) -> tuple[int, Any]:
    """A is deleted, and of what was cached from it one block is lost: A is to be written again for that."""
    _, cached = cached_rows(app)
    (a,) = app.shuffles()
    app.delete(a)
    lose_block(app, cached, 1)
    return a, cached


def test_a_job_that_reads_them_to_its_end_is_told(app: App) -> None:
    before = len(mixes(app))
    _, cached = with_a_lost_block(app)
    with held_block(app, cached, 0):
        values(app.step(cached))
    wait_for(lambda: len(mixes(app)) > before, "the mix told")
    (told,) = mixes(app)[before:]
    assert told.late
    cached.unpersist()


def test_what_it_has_written_is_written_again_for_others(app: App) -> None:
    _, cached = with_a_lost_block(app)
    made = app.step(cached)
    with held_block(app, cached, 0):
        values(made)
    app.settled()
    assert values(made) == RIGHT
    cached.unpersist()


def test_a_stage_that_runs_when_they_are_gone_begins_again(app: App) -> None:
    """Tasks that are killed go on until Python gives a row."""
    before = len(mixes(app))
    a, cached = with_a_lost_block(app)
    held = app.gate()
    made = app.step(cached, held)
    with held_block(app, cached, 0) as let_go, app.job(lambda: values(made), held) as running:
        wait_for(lambda: held.arrived() >= 2, "tasks behind the one that reads an old block")
        let_go()
        wait_for(lambda: not removals(app), "the old blocks dropped")
        assert app.fenced(a) is None, "the scheduler's thread, which asks, has come to it"
        held.open()
        assert running.result(120) == RIGHT
    assert len(mixes(app)) == before
    cached.unpersist()


def test_what_was_cached_over_them_meanwhile_goes_too(app: App) -> None:
    _, cached = with_a_lost_block(app)
    over = app.keep(cached.map(lambda row: row).persist(StorageLevel.DISK_ONLY))
    with held_block(app, cached, 0):
        values(over)
    app.settled()
    wait_for(lambda: cached_blocks(app, over) == 0, "the blocks over old ones dropped")
    assert values(over) == RIGHT
    over.unpersist()
    cached.unpersist()


def test_who_says_that_it_is_deterministic_is_left_alone(app: App) -> None:
    before = len(mixes(app))
    _, cached = with_a_lost_block(app)
    with app.properties(deterministic="true"), held_block(app, cached, 0):
        values(app.step(cached))
    app.settled()
    assert len(mixes(app)) == before
    cached.unpersist()
