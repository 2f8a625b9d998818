"""Two branches of one random shuffle that was deleted: when one is lost, the other one may not stay as it was.

Each branch is of one generation, whatever happens; a job that reads both is right only if it is the same one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, App
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = pytest.mark.spark

KEYS = 40
WHOLE, AGAIN = [MAPS], [MAPS, MAPS]


def tokens(app: App) -> Any:
    """A: a token for each key, drawn anew with every computation."""
    keys = app.spark.sparkContext.parallelize(range(KEYS), MAPS)
    return app.keep(keys.map(lambda key: (key, random.SystemRandom().randrange(10**12))).partitionBy(MAPS))


def branch(app: App, rdd: Any, held: Gate | None = None) -> Any:
    """One of its tasks waits at the gate."""
    rows = app.hold(rdd, held, MAPS - 1).map(lambda row: (row[0], row[1]))
    return app.keep(rows.partitionBy(MAPS, lambda key: 7 * key))


def agreeing(app: App, *branches: Any, held: Gate | None = None) -> Callable[[], int]:
    """How many keys have the same token in all of them. From the third on, tasks that read them wait at the gate."""
    both = app.keep(app.hold(app.spark.sparkContext.union(list(branches)), held, 2).groupByKey(MAPS))
    expected = len(branches)

    def agree(pair: Any) -> bool:
        return len(pair[1]) == expected and len(set(pair[1]) - {None}) == 1

    return lambda: int(both.mapValues(list).filter(agree).count())


@dataclass
class Waiting:
    """A branch that holds back whoever reads it beside others; a row of nothing for each key."""

    held: Gate
    rows: Any


def waiting(app: App) -> Waiting:
    held = app.gate()
    keys = app.spark.sparkContext.parallelize(range(KEYS), 1)
    return Waiting(held, app.keep(app.hold(keys, held, 0).map(lambda key: (key, None)).partitionBy(MAPS)))


@contextmanager
def one_lost(app: App, deleted: list[Any], lost: Any, *read: Any) -> Iterator[Any]:
    """A job that reads `read` together; before it does, `deleted` are deleted and a part of `lost` is gone."""
    last = waiting(app)
    with app.job(agreeing(app, *read, last.rows), last.held) as running:
        wait_for(lambda: all(app.is_complete(shuffle_of(one)) for one in read), "the branches")
        wait_for(last.held.arrived, "what is read beside them")
        for one in deleted:
            app.delete(shuffle_of(one))
        app.lose_output(shuffle_of(lost))
        last.held.open()
        yield running


def test_the_other_branch_is_written_again_too(app: App) -> None:
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    with one_lost(app, [a], lost, stays, lost) as running:
        assert running.result(120) == KEYS
    assert app.submissions(shuffle_of(a)) == app.submissions(shuffle_of(lost)) == AGAIN
    assert app.submissions(shuffle_of(stays)) == AGAIN


def test_also_behind_other_deleted_ones(app: App) -> None:
    a = tokens(app)
    b = branch(app, a)
    stays, lost = branch(app, b), branch(app, b)
    with one_lost(app, [a, b], lost, stays, lost) as running:
        assert running.result(120) == KEYS
    assert app.submissions(shuffle_of(stays)) == AGAIN


def test_with_all_that_was_written_from_it(app: App) -> None:
    """What is read lies two steps behind what was read of A."""
    a = tokens(app)
    first, lost = branch(app, a), branch(app, a)
    stays = branch(app, first)
    with one_lost(app, [a], lost, stays, lost) as running:
        assert running.result(120) == KEYS
    assert app.submissions(shuffle_of(first)) == app.submissions(shuffle_of(stays)) == AGAIN


def test_also_where_the_loss_is_met_by_a_reader_that_has_written_a_part(app: App) -> None:
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    held = app.gate()
    with app.job(agreeing(app, stays, lost, held=held), held) as running:
        wait_for(lambda: held.arrived() >= 2, "tasks that have read the branch that stays")
        app.delete(shuffle_of(a))
        for index in range(MAPS):
            app.lose_output(shuffle_of(lost), index)
        held.open()
        assert running.result(120) == KEYS
    assert app.submissions(shuffle_of(stays)) == AGAIN


def test_a_later_job_is_as_careful(app: App) -> None:
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    assert stays.count() == lost.count() == KEYS
    app.delete(shuffle_of(a))
    app.lose_output(shuffle_of(lost))
    assert agreeing(app, stays, lost)() == KEYS


def test_who_reads_one_branch_alone_leaves_the_other_one(app: App) -> None:
    """Somebody may be in the middle of reading it, job after job, as an iterator over its partitions does."""
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    assert stays.count() == KEYS
    half = stays.toLocalIterator()
    read = dict([next(half)])
    with one_lost(app, [a], lost, lost) as running:
        assert running.result(120) == KEYS
    read.update(half)
    assert dict(stays.collect()) == read
    assert app.submissions(shuffle_of(stays)) == WHOLE


def test_where_nothing_was_lost_a_loop_keeps_what_it_has_made(app: App) -> None:
    """A policy's own miss: A is read once more, beside what was written from it."""
    a = tokens(app)
    made = branch(app, branch(app, a))
    assert made.count() == KEYS
    app.delete(shuffle_of(a))
    agreeing(app, branch(app, a), made)()
    assert app.submissions(shuffle_of(made)) == WHOLE


def test_what_is_lost_and_not_needed_is_no_loss_to_a_loop(app: App) -> None:
    """It lies behind what is there: the job lists it, and would not have it written again."""
    a = tokens(app)
    behind = branch(app, a)
    made = branch(app, behind)
    assert made.count() == KEYS
    app.delete(shuffle_of(a))
    app.lose_output(shuffle_of(behind))
    agreeing(app, branch(app, a), made)()
    assert app.submissions(shuffle_of(made)) == app.submissions(shuffle_of(behind)) == WHOLE


def test_what_is_declared_deterministic_is_repaired_in_part(app: App) -> None:
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    with app.choosing(deterministic=True), one_lost(app, [a], lost, stays, lost) as running:
        running.result(120)
    assert app.submissions(shuffle_of(stays)) == WHOLE
    assert app.submissions(shuffle_of(lost)) == [MAPS, 1]


def test_a_job_that_is_right_stays_so(app: App) -> None:
    """It reads two old branches, one at this moment; the job beside it reads the other, and one that was lost."""
    a = tokens(app)
    shared, reading, lost = branch(app, a), branch(app, a), branch(app, a)
    assert shared.count() == reading.count() == lost.count() == KEYS
    held = app.gate()
    before = len(app.log.of(facts.GenerationsMixed))
    app.delete(shuffle_of(a))
    with app.job(agreeing(app, branch(app, reading, held), shared), held) as right:
        wait_for(held.arrived, "a stage that reads one of them")
        app.lose_output(shuffle_of(lost))
        agreeing(app, shared, lost)()
        held.open()
        assert right.result(120) == KEYS
    assert app.submissions(shuffle_of(shared)) == app.submissions(shuffle_of(reading)) == WHOLE
    app.log.settle()
    assert len(app.log.of(facts.GenerationsMixed)) == before + 1, "the other one alone"


@contextmanager
def one_in_use(app: App) -> Iterator[Any]:
    """One branch is being read by a job when the other one, which it reads later, is written again for another."""
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    assert stays.count() == lost.count() == KEYS
    reading = app.gate()
    app.delete(shuffle_of(a))
    with app.job(agreeing(app, branch(app, stays, reading), lost), reading) as running:
        wait_for(reading.arrived, "a stage that reads the branch that stays")
        app.lose_output(shuffle_of(lost))
        assert lost.count() == KEYS
        reading.open()
        yield running


def test_what_is_being_read_stays_and_is_told(app: App) -> None:
    before = len(app.log.of(facts.GenerationsMixed))
    with one_in_use(app) as running:
        running.result(120)
    app.log.settle()
    told = app.log.of(facts.GenerationsMixed)[before:]
    assert [(fact.delivered, fact.failed) for fact in told] == [(0, False)]


def test_under_strict_such_a_job_fails(app: App) -> None:
    with app.choosing(strict=True), one_in_use(app) as running:
        assert "mixes two generations" in str(running.exception(120))
