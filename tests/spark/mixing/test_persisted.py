"""Shuffles that were written from the same cached blocks: one that is written again when these have gone does not fit.

Nothing above them was deleted, and Spark alone would read both as they are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

from tests.spark.mixing.conftest import MAPS, App, application, await_turn
from tests.spark.mixing.test_branches import KEYS, agreeing, branch
from tests.spark.mixing.test_cached import lose_block
from tests.spark.mixing.test_sides import telling
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, "local[2,4]") as found:
        yield found


def persisted(app: App) -> Any:
    """P: a token for each key, drawn once as long as it is cached. No shuffle is above it."""
    keys = app.spark.sparkContext.parallelize(range(KEYS), MAPS)
    rows = keys.map(lambda key: (key, random.SystemRandom().randrange(10**12)))
    return app.keep(rows.persist(StorageLevel.DISK_ONLY))


def unpersist(_: App, rdd: Any) -> None:
    rdd.unpersist(blocking=True)


@pytest.mark.parametrize("lose", [lose_block, unpersist])
def test_who_reads_it_beside_what_was_written_before_is_told(app: App, lose: Callable[[App, Any], None]) -> None:
    rows = persisted(app)
    stays, deleted = branch(app, rows), branch(app, rows)
    assert agreeing(app, stays, deleted)() == KEYS
    app.delete(shuffle_of(deleted))
    lose(app, rows)
    with telling(app) as told:
        assert agreeing(app, stays, deleted)() < KEYS
        assert told() == [(shuffle_of(deleted), False)]


def test_also_by_what_was_made_of_them(app: App) -> None:
    """A branch lost a part, and what it was made of had been deleted."""
    rows = persisted(app)
    behind = branch(app, rows)
    stays, lost = branch(app, branch(app, rows)), branch(app, behind)
    assert agreeing(app, stays, lost)() == KEYS
    app.delete(shuffle_of(behind))
    app.lose_output(shuffle_of(lost))
    rows.unpersist(blocking=True)
    with telling(app) as told:
        assert agreeing(app, stays, lost)() == 0
        assert told() == [(shuffle_of(behind), False)]


def test_where_the_blocks_are_as_they_were_it_fits(app: App) -> None:
    rows = persisted(app)
    stays, deleted = branch(app, rows), branch(app, rows)
    assert agreeing(app, stays, deleted)() == KEYS
    app.delete(shuffle_of(deleted))
    with telling(app) as told:
        assert agreeing(app, stays, deleted)() == KEYS
        assert told() == []
    rows.unpersist()


def test_what_is_written_again_from_the_same_blocks_fits_again(app: App) -> None:
    rows = persisted(app)
    first, second = branch(app, rows), branch(app, rows)
    assert agreeing(app, first, second)() == KEYS
    app.delete(shuffle_of(first))
    lose_block(app, rows)
    assert first.count() == KEYS
    app.delete(shuffle_of(second))
    with telling(app) as told:
        assert agreeing(app, first, second)() == KEYS
        assert told() == []
    rows.unpersist()


def test_a_loop_over_a_cache_is_not_told_of_what_it_was_made_of(app: App) -> None:
    """Each round reads the cached rows and the round before: what is written again reads that one as it was."""
    rows = persisted(app)
    rounds = [branch(app, rows)]
    for _ in range(3):
        rounds.append(branch(app, app.spark.sparkContext.union([rows, rounds[-1]])))
    assert rounds[-1].count() == 4 * KEYS
    app.delete(shuffle_of(rounds[2]))
    app.lose_output(shuffle_of(rounds[3]))
    lose_block(app, rows)
    with telling(app) as told:
        assert rounds[-1].count() == 4 * KEYS
        assert told() == []
    rows.unpersist()


def test_a_task_that_failed_while_it_stored_a_block_has_lost_none(app: App) -> None:
    failed = app.gate()
    folder = failed.folder

    def once(index: int, found: Iterator[Any]) -> Iterator[Any]:
        yield from found
        if index == 0 and not Gate(folder).arrived():
            Path(folder, "arrived-0").touch()
            raise ValueError("fails once")

    keys = app.spark.sparkContext.parallelize(range(KEYS), MAPS).mapPartitionsWithIndex(once)
    rows = app.keep(keys.map(lambda key: (key, random.SystemRandom().randrange(10**12))))
    rows.persist(StorageLevel.DISK_ONLY)
    stays, deleted = branch(app, rows), branch(app, rows)
    assert stays.count() == KEYS
    assert agreeing(app, stays, deleted)() == KEYS
    app.delete(shuffle_of(deleted))
    with telling(app) as told:
        assert agreeing(app, stays, deleted)() == KEYS
        assert told() == []
    rows.unpersist()


def held_branch(app: App, rdd: Any, held: Gate) -> Any:
    """A branch of which each task waits, whenever it is written while the gate is closed."""
    rows = app.hold(rdd, held, 0).map(lambda row: (row[0], row[1]))
    return app.keep(rows.partitionBy(MAPS, lambda key: 7 * key))


def closed(held: Gate) -> Gate:
    """For those who come from now on."""
    held.close()
    for arrived in Path(held.folder).glob("arrived-*"):
        arrived.unlink()
    return held


def test_also_where_blocks_go_while_it_is_written_again(app: App) -> None:
    """Two of its tasks have read what was there, and the others compute it anew."""
    rows, held = persisted(app), app.gate()
    held.open()
    stays, deleted = branch(app, rows), held_branch(app, rows, held)
    assert agreeing(app, stays, deleted)() == KEYS
    app.delete(shuffle_of(deleted))
    closed(held)
    with telling(app) as told, app.job(agreeing(app, stays, deleted), held) as running:
        wait_for(lambda: held.arrived() >= 2, "tasks that have read their blocks")
        app.log.settle()
        for index in range(MAPS):
            lose_block(app, rows, index)
        held.open()
        assert 0 < running.result(120) < KEYS
        assert told() == [(shuffle_of(deleted), False)]
    rows.unpersist()


def test_also_where_both_are_written_again_and_nothing_is_persisted_any_more(app: App) -> None:
    """Each has the rows drawn anew. Both are known to be written again before a task of either begins."""
    rows, held = persisted(app), app.gate()
    one, other = branch(app, rows), branch(app, rows)
    assert agreeing(app, one, other)() == KEYS
    rows.unpersist(blocking=True)
    app.delete(shuffle_of(one))
    app.delete(shuffle_of(other))
    busy = app.hold(app.spark.sparkContext.parallelize(range(2), 2), held, 0)
    with telling(app) as told, app.job(busy.count, held), app.job(agreeing(app, one, other), held) as running:
        wait_for(lambda: held.arrived() == 2, "nothing free for others")
        wait_for(lambda: all(app.submissions(shuffle_of(rdd))[1:] for rdd in (one, other)), "both to be written")
        await_turn(app.service)
        held.open()
        assert running.result(120) == 0
        assert len(told()) == 1


@pytest.mark.parametrize("is_written", [False, True])
def test_also_beside_what_was_cached_of_the_blocks(app: App, is_written: bool) -> None:
    """What the cache was computed from is let go when that is done, as one does."""
    rows = persisted(app)
    cached = app.keep(rows.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    assert cached.count() == KEYS
    deleted = branch(app, rows)
    made = branch(app, deleted)
    beside = branch(app, cached) if is_written else cached
    assert agreeing(app, beside, made)() == KEYS
    rows.unpersist(blocking=True)
    app.delete(shuffle_of(deleted))
    app.lose_output(shuffle_of(made))
    with telling(app) as told:
        assert agreeing(app, beside, made)() == 0
        assert told() == [(shuffle_of(deleted), False)]
    cached.unpersist()


def test_also_beside_what_is_written_of_that_cache_later(app: App) -> None:
    rows = persisted(app)
    cached = app.keep(rows.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    assert cached.count() == KEYS
    deleted = branch(app, rows)
    assert deleted.count() == KEYS
    rows.unpersist(blocking=True)
    app.delete(shuffle_of(deleted))
    assert deleted.count() == KEYS
    later = branch(app, cached)
    assert later.count() == KEYS
    with telling(app) as told:
        assert agreeing(app, later, deleted)() == 0
        assert told() == [(shuffle_of(deleted), False)]
    cached.unpersist()


def test_what_is_written_again_from_a_cache_that_is_there_fits(app: App) -> None:
    """Nothing behind it is read, whatever has gone there."""
    rows = persisted(app)
    cached = app.keep(rows.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    assert cached.count() == KEYS
    stays, deleted = branch(app, rows), branch(app, cached)
    assert agreeing(app, stays, deleted)() == KEYS
    rows.unpersist(blocking=True)
    app.delete(shuffle_of(deleted))
    with telling(app) as told:
        assert agreeing(app, stays, deleted)() == KEYS
        assert told() == []
    cached.unpersist()


def test_what_is_written_again_from_a_checkpoint_fits(app: App, tmp_path: Path) -> None:
    app.spark.sparkContext.setCheckpointDir(str(tmp_path))
    rows = persisted(app)
    rows.checkpoint()
    stays, deleted = branch(app, rows), branch(app, rows)
    assert agreeing(app, stays, deleted)() == KEYS
    assert rows.isCheckpointed()
    rows.unpersist(blocking=True)
    app.delete(shuffle_of(deleted))
    with telling(app) as told:
        assert agreeing(app, stays, deleted)() == KEYS
        assert told() == []
