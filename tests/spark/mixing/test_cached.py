"""Cached blocks beside a generation that is written again: what was computed from the old one goes, all of it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark import StorageLevel

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, RIGHT, App, values
from tests.spark.mixing.test_branches import AGAIN, KEYS, WHOLE, agreeing, branch, tokens
from tests.support.spark import shuffle_of, wait_for

pytestmark = pytest.mark.spark


def cached_rows(app: App) -> tuple[Any, Any]:
    """A, and an RDD that is computed from it and wholly cached."""
    rows = app.random_rows()
    cached = app.keep(rows.map(lambda row: row).persist(StorageLevel.DISK_ONLY))
    assert values(cached) == RIGHT
    assert cached_blocks(app, cached) == MAPS
    return rows, cached


def cached_blocks(app: App, rdd: Any) -> int:
    master = app.tap.driver.block_manager.master()
    number = rdd._jrdd.rdd().id()
    blocks = app.tap.driver.gateway.jvm.org.apache.spark.storage.RDDBlockId
    return sum(bool(master.contains(blocks(number, index))) for index in range(MAPS))


def lose_block(app: App, rdd: Any, index: int = 0) -> None:
    block = app.tap.driver.gateway.jvm.org.apache.spark.storage.RDDBlockId(rdd._jrdd.rdd().id(), index)
    app.tap.driver.block_manager.removeBlock(block, True)


def read_after_a_loss(app: App) -> list[int]:
    _, cached = cached_rows(app)
    (a,) = app.shuffles()
    app.delete(a)
    lose_block(app, cached)
    found = values(app.step(cached))
    cached.unpersist()
    return found


def test_a_lost_block_takes_the_others_along(app: App) -> None:
    assert read_after_a_loss(app) == RIGHT


def test_else_the_result_is_wrong(app: App) -> None:
    with app.choosing(deterministic=True):
        assert any(read_after_a_loss(app) != RIGHT for _ in range(3))


@pytest.mark.parametrize("steps", [0, 1])
def test_what_was_made_of_blocks_of_which_one_was_lost_is_written_again_too(app: App, steps: int) -> None:
    """The job reads it beside the blocks: all of these are computed anew, and it may not stay as it was."""
    before = len(app.log.of(facts.GenerationsMixed))
    a = tokens(app)
    cached = app.keep(a.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    stays = branch(app, cached)
    assert cached.count() == stays.count() == KEYS
    app.delete(shuffle_of(a))
    lose_block(app, cached)
    assert agreeing(app, branch(app, cached) if steps else cached, stays)() == KEYS
    assert app.submissions(shuffle_of(stays)) == AGAIN
    assert app.log.of(facts.GenerationsMixed)[before:] == []
    cached.unpersist()


def test_what_was_never_cached_was_not_lost(app: App) -> None:
    """A was deleted too early: what a loop has made stays, and who reads both is told."""
    a = tokens(app)
    cached = app.keep(a.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    stays = branch(app, a)
    assert len(cached.take(1)) == 1
    assert stays.count() == KEYS
    app.delete(shuffle_of(a))
    agreeing(app, cached, stays)()
    assert app.submissions(shuffle_of(stays)) == WHOLE
    app.log.settle()
    assert app.log.of(facts.GenerationsMixed)[-1].app_shuffle == shuffle_of(a)
    cached.unpersist()


def test_what_a_running_stage_reads_stays_until_it_has_ended(app: App) -> None:
    rows, cached = cached_rows(app)
    (a,) = app.shuffles()
    app.delete(a)
    held = app.gate()
    with app.job(lambda: values(app.hold(cached, held, MAPS - 1)), held) as running:
        wait_for(lambda: held.arrived() >= 1, "the last task over the cache")
        assert values(app.step(rows)) == RIGHT
        assert cached_blocks(app, cached) == MAPS
        held.open()
        assert running.result(120) == RIGHT
    wait_for(lambda: cached_blocks(app, cached) == 0, "the old blocks dropped")
    assert values(cached) == RIGHT
    cached.unpersist()


def test_a_result_over_blocks_that_had_to_go_is_told(app: App) -> None:
    _, cached = cached_rows(app)
    (a,) = app.shuffles()
    app.delete(a)
    held = app.gate()
    with app.job(lambda: values(app.hold(cached, held, MAPS - 1)), held) as running:
        wait_for(lambda: held.arrived() >= 1, "the last task over the cache")
        lose_block(app, cached)
        assert values(app.step(cached)) == RIGHT
        held.open()
        running.result(120)
    app.log.settle()
    assert app.log.of(facts.GenerationsMixed)[-1].app_shuffle == a
    cached.unpersist()


def test_a_local_checkpoint_under_way_is_left_whole(app: App) -> None:
    """A DataFrame's runs one job over what is missing, and cuts the lineage without looking again."""
    held = app.gate()
    marked = app.keep(app.hold(app.step(app.random_rows()), held))._jrdd.rdd()
    marked.localCheckpoint()
    with app.job(marked.doCheckpoint, held) as running:
        wait_for(lambda: held.arrived() >= 2, "a block stored, tasks behind it")
        a, b = app.shuffles()
        app.delete(a)
        app.lose_output(b)
        held.open()
        running.result(120)
    assert marked.isCheckpointed()
    assert marked.count() > 0
    app.log.settle()
    assert app.log.of(facts.GenerationsMixed)[-1].app_shuffle == a, "what it had delivered is of the other generation"
    assert b in {told.app_shuffle for told in app.log.of(facts.ResultsMayDiffer)}


def test_a_cache_over_what_a_job_only_lists_stays(app: App) -> None:
    """It lies behind what is there: nobody would have it written again, no block of another generation comes to it."""
    rows = app.random_rows()
    behind = app.step(rows)
    cached = app.keep(behind.map(lambda row: row).persist(StorageLevel.DISK_ONLY))
    made = app.step(behind)
    assert values(made) == values(cached) == RIGHT
    app.delete(shuffle_of(rows))
    app.lose_output(shuffle_of(behind))
    both = app.keep(app.spark.sparkContext.union([app.step(rows), made]))
    assert values(both) == sorted(RIGHT + RIGHT)
    app.settled()
    assert app.submissions(shuffle_of(behind)) == [MAPS]
    assert cached_blocks(app, cached) == MAPS
    app.lose_output(shuffle_of(made))
    assert values(made) == RIGHT
    assert app.submissions(shuffle_of(behind))[-1] == app.submissions(shuffle_of(made))[-1] == MAPS
    wait_for(lambda: cached_blocks(app, cached) == 0, "the blocks dropped, now that it was written again")
    assert values(cached) == RIGHT
    cached.unpersist()
