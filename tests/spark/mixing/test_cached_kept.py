"""Cached blocks of the old generation that are kept for a stage that reads them: as long as all are of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

from tests.spark.mixing.conftest import MAPS, RIGHT, App, application, values
from tests.spark.mixing.test_branches import KEYS, tokens
from tests.spark.mixing.test_cached import cached_blocks, lose_block
from tests.spark.mixing.test_overtaken import made, outputs, read
from tests.spark.mixing.test_result_overtaken import TRIES, delivered, heard, telling
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[12,{TRIES}]") as found:
        yield found


@dataclass
class Kept:
    """A was deleted and is written again. The blocks of `cached` are of the old one: somebody holds them."""

    cached: Any
    old: dict[int, int]
    new: dict[int, int]
    told: Callable[[], list[tuple[int, bool]]]

    def of_each(self, rows: Any) -> tuple[int, int]:
        """How many rows are of the old generation, and of the new one."""
        found = list(rows)
        return sum(self.old[key] == one for key, one in found), sum(self.new[key] == one for key, one in found)


@contextmanager
def kept(app: App) -> Iterator[Kept]:
    reading = app.gate()
    a = tokens(app)
    cached = app.keep(a.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    assert cached.count() == KEYS
    old = dict(cached.collect())
    app.delete(shuffle_of(a))
    with app.job(app.hold(cached, reading, 0).count, reading) as first:
        wait_for(lambda: reading.arrived() == MAPS, "a job that reads the blocks")
        other = made(app, a)
        assert other.count() == KEYS
        heard(app)
        assert cached_blocks(app, cached) == MAPS, "they wait"
        yield Kept(cached, old, dict(other.collect()), telling(app))
        reading.open()
        assert first.result(120) == KEYS
    cached.unpersist()


def test_a_result_that_reads_one_of_the_new_generation_beside_them_begins_again(app: App) -> None:
    held = app.gate()
    with kept(app) as found:
        lose_block(app, found.cached)
        with app.job(read(found.cached, held, 0).collect, held) as second:
            wait_for(lambda: held.arrived() == MAPS, "all of it read")
            held.open()
            assert found.of_each(second.result(120)) == (0, KEYS)
        assert found.told() == []


def test_it_is_told_where_it_has_delivered(app: App) -> None:
    held, failing = app.gate(), app.gate()
    folder, elsewhere = held.folder, failing.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        fails = index == 0 and not Gate(elsewhere).arrived()
        if index != 1:
            Gate(elsewhere if fails else folder).pass_through(index)
        if fails:
            raise RuntimeError("this task fails once")
        return iter(found)

    with kept(app) as found:
        with app.job(found.cached.mapPartitionsWithIndex(wait).collect, held, failing) as second:
            wait_for(lambda: held.arrived() == 2 and failing.arrived() == 1, "three that have read")
            wait_for(lambda: delivered(app) == 1, "a part that is delivered")
            lose_block(app, found.cached)
            assert app.spark.sparkContext.runJob(found.cached, lambda rows: [len(list(rows))], [0]) == [10]
            heard(app)
            failing.open()
            held.open()
            assert min(found.of_each(second.result(120))) > 0
        assert found.told() == [(1, False)]


def test_what_a_map_stage_has_written_of_them_goes_with_them(app: App) -> None:
    held = app.gate()
    with kept(app) as found:
        q = made(app, read(found.cached, held, 1))
        with app.job(q.count, held) as second:
            wait_for(lambda: held.arrived() == MAPS - 1 and outputs(app, q) == 1, "a part that is written")
            lose_block(app, found.cached)
            heard(app)
            held.open()
            assert second.result(120) == KEYS
        assert found.of_each(q.collect()) == (0, KEYS)
        assert found.told() == []


@pytest.mark.parametrize("strict", ["false", "true"])
def test_a_task_that_is_tried_again_over_them_mixes_nothing(app: App, strict: str) -> None:
    writing, failing = app.gate(), app.gate()
    writing.open()
    rows = app.random_rows(held=writing)
    cached = app.keep(rows.map(lambda row: row).persist(StorageLevel.DISK_ONLY))
    assert values(cached) == RIGHT
    app.delete(shuffle_of(rows))
    told = telling(app)
    folder = failing.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        if index == MAPS - 1 and not Gate(folder).arrived():
            Gate(folder).pass_through(index)
            raise RuntimeError("this task fails once")
        return iter(found)

    def run() -> Any:
        with app.properties(strict=strict):
            return values(cached.mapPartitionsWithIndex(wait))

    with app.job(run, failing, writing) as running:
        wait_for(failing.arrived, "the last task over the blocks")
        writing.close()
        for who in Path(writing.folder).glob("arrived-*"):
            who.unlink()
        with app.job(lambda: values(app.step(rows)), writing) as other:
            wait_for(writing.arrived, "A being written again")
            heard(app)
            writing.open()
            assert other.result(120) == RIGHT
        assert cached_blocks(app, cached) == MAPS
        heard(app)
        failing.open()
        assert running.result(120) == RIGHT
    assert told() == []
    cached.unpersist()
