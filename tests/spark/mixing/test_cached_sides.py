"""Who reads cached blocks of the old generation, beside what is written again: it begins again, or is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

from tests.spark.mixing.conftest import MAPS, App, application
from tests.spark.mixing.test_branches import KEYS, agreeing, tokens
from tests.spark.mixing.test_cached import cached_blocks
from tests.spark.mixing.test_overtaken import made, read
from tests.spark.mixing.test_result_overtaken import TRIES, heard, hearing_late, telling
from tests.support.spark import shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[12,{TRIES}]") as found:
        yield found


def cached_whole(app: App) -> tuple[Any, Any]:
    """A, which is deleted, and all blocks of what was computed from it."""
    a = tokens(app)
    cached = app.keep(a.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
    assert cached.count() == KEYS
    app.delete(shuffle_of(a))
    return a, cached


def test_a_job_that_reads_both_has_all_of_it_computed_anew(app: App) -> None:
    """Both branches begin at once. The one that is made of the blocks may have ended before anything is heard of."""
    a, cached = cached_whole(app)
    told = telling(app)
    agreed = agreeing(app, made(app, cached), made(app, a))()
    heard(app)  # what is told of a job that is over may come after its end was
    assert (agreed, told()) in [(KEYS, []), (0, [(0, False)])]
    cached.unpersist()


def test_what_has_been_written_from_them_when_that_is_heard_of_is_old(app: App) -> None:
    """Its tasks have begun when all that is new was there, and so were the blocks of before."""
    queue, held = app.gate(), app.gate()
    a, cached = cached_whole(app)
    told = telling(app)
    nothing = app.hold(app.spark.sparkContext.parallelize([0], 1), held, 0).map(lambda zero: (zero, zero))
    slow = made(app, nothing.filter(lambda row: False))
    m, other = made(app, app.spark.sparkContext.union([cached, slow])), made(app, a)
    with app.job(m.count, held, queue) as running:
        wait_for(held.arrived, "what is read beside the blocks")
        with hearing_late(app, queue):
            assert other.count() == KEYS
            held.open()
            assert running.result(120) == KEYS
    assert agreeing(app, m, other)() == 0
    assert told() == [(0, False)]
    cached.unpersist()


def test_what_is_being_written_from_them_begins_again(app: App) -> None:
    held = app.gate()
    a, cached = cached_whole(app)
    told = telling(app)
    m = made(app, read(cached, held, 0))
    with app.job(m.count, held) as running:
        wait_for(lambda: held.arrived() == MAPS, "a map stage that has read the blocks")
        other = made(app, a)
        assert other.count() == KEYS
        held.open()
        assert running.result(120) == KEYS
    assert agreeing(app, m, other)() == KEYS
    assert told() == []
    cached.unpersist()


@contextmanager
def held_blocks(app: App) -> Iterator[tuple[Any, Any, Callable[[], list[tuple[int, bool]]]]]:
    """A was written again, for `other`; the blocks of before stay for a job that reads them."""
    reading = app.gate()
    a, cached = cached_whole(app)
    told = telling(app)
    with app.job(app.hold(cached, reading, 0).count, reading) as first:
        wait_for(lambda: reading.arrived() == MAPS, "a job that reads the blocks")
        other = made(app, a)
        assert other.count() == KEYS
        heard(app)
        assert cached_blocks(app, cached) == MAPS, "they wait"
        yield cached, other, told
        reading.open()
        assert first.result(120) == KEYS
    cached.unpersist()


def test_a_result_that_reads_new_ones_beside_them_is_told(app: App) -> None:
    with held_blocks(app) as (cached, other, told):
        both = app.spark.sparkContext.union([cached, other])
        assert len(set(both.collect())) == 2 * KEYS
        assert told() == [(0, False)]


def test_what_is_written_from_them_lies_on_their_side(app: App) -> None:
    with held_blocks(app) as (cached, other, told):
        m = made(app, cached)
        assert m.count() == KEYS
        assert agreeing(app, m, made(app, cached))() == KEYS
        assert told() == []
        assert agreeing(app, m, other)() == 0
        assert told() == [(0, False)]
        app.lose_output(shuffle_of(m))
    assert agreeing(app, m, other)() == KEYS, "what it loses later is written as a whole"
    assert told() == [(0, False)]


def test_what_was_being_written_from_them_is_too(app: App) -> None:
    held, reading = app.gate(), app.gate()
    a, cached = cached_whole(app)
    told = telling(app)
    m = made(app, read(cached, held, 0))
    with app.job(app.hold(cached, reading, 0).count, reading) as first, app.job(m.count, held) as second:
        wait_for(lambda: reading.arrived() == held.arrived() == MAPS, "two jobs that read the blocks")
        other = made(app, a)
        assert other.count() == KEYS
        heard(app)
        held.open()
        assert second.result(120) == KEYS
        reading.open()
        assert first.result(120) == KEYS
    assert agreeing(app, m, other)() == 0
    assert told() == [(0, False)]
    cached.unpersist()
