"""What was written before anybody listened: no history knows of it; the numbers of its tasks tell what it was made of.

All of it is written first, by jobs that are over; then the hook is there, and what they have read is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.marks import marks
from tests.spark.mixing.conftest import MAPS, RIGHT, App, application, values
from tests.spark.mixing.test_branches import AGAIN, KEYS, WHOLE, agreeing, branch, tokens
from tests.spark.mixing.test_sides import telling
from tests.support.spark import shuffle_of

#: What all of them need is written in the first one's set-up: 40 s on a busy machine.
pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(300)]


@dataclass
class Written:
    """Two branches of one shuffle, and what lies between it and the other one, if anything does."""

    root: Any
    one: Any
    between: Any
    other: Any


def rows(app: App, behind: bool = False) -> Written:
    root = app.random_rows()
    one, between = app.step(root), app.step(root) if behind else root
    found = Written(root, one, between, app.step(between))
    assert values(found.one) == values(found.other) == RIGHT
    return found


def branches(app: App, behind: bool = False) -> Written:
    root = tokens(app)
    one, between = branch(app, root), branch(app, root) if behind else root
    found = Written(root, one, between, branch(app, between))
    assert found.one.count() == found.other.count() == KEYS
    return found


@dataclass
class Late:
    app: App
    rows: Iterator[Written]
    rows_behind: Iterator[Written]
    branches: Iterator[Written]
    branches_behind: Iterator[Written]


@pytest.fixture(scope="module")
def late(folder: Path) -> Iterator[Late]:
    with application(folder, hooked=False) as app:
        written = [[make(app, behind) for _ in range(3)] for make in (rows, branches) for behind in (False, True)]
        app.log.settle()
        app.hook = marks.keep_apart(app.tap)
        yield Late(app, *(iter(some) for some in written))


def lose_all(app: App, rdd: Any) -> None:
    for index in range(MAPS):
        app.lose_output(shuffle_of(rdd), index)


def rewritten(app: App, found: Written) -> None:
    """The shuffle is deleted, and written again for one branch alone."""
    app.delete(shuffle_of(found.root))
    app.lose_output(shuffle_of(found.one))
    assert found.one.count() == len(found.one.collect())
    assert app.submissions(shuffle_of(found.root)) == app.submissions(shuffle_of(found.one)) == AGAIN


def test_a_branch_that_is_lost_later_is_written_as_a_whole(late: Late) -> None:
    app, found = late.app, next(late.rows)
    rewritten(app, found)
    app.lose_output(shuffle_of(found.other))
    assert values(found.other) == RIGHT
    assert app.submissions(shuffle_of(found.other))[-1] == MAPS


def test_also_behind_one_that_is_lost_too(late: Late) -> None:
    app, found = late.app, next(late.rows_behind)
    rewritten(app, found)
    lose_all(app, found.between)
    app.lose_output(shuffle_of(found.other))
    assert values(found.other) == RIGHT
    assert app.submissions(shuffle_of(found.other))[-1] == MAPS


def test_also_where_what_lies_between_has_lost_a_part(late: Late) -> None:
    app, found = late.app, next(late.rows_behind)
    rewritten(app, found)
    app.lose_output(shuffle_of(found.between))
    app.lose_output(shuffle_of(found.other))
    assert values(found.other) == RIGHT
    assert app.submissions(shuffle_of(found.between))[-1] == app.submissions(shuffle_of(found.other))[-1] == MAPS


def test_a_job_that_reads_both_is_of_one_generation(late: Late) -> None:
    app, found = late.app, next(late.branches)
    with telling(app) as told:
        rewritten(app, found)
        app.lose_output(shuffle_of(found.other))
        assert agreeing(app, found.one, found.other)() == KEYS
    assert told() == []


def test_or_is_told_where_nothing_was_lost(late: Late) -> None:
    app, found = late.app, next(late.branches)
    with telling(app) as told:
        rewritten(app, found)
        agreeing(app, found.one, found.other)()
    assert told() == [(shuffle_of(found.root), False)]
    assert app.submissions(shuffle_of(found.other)) == WHOLE


@pytest.mark.parametrize("gone", [False, True])
def test_also_by_what_lies_between(late: Late, gone: bool) -> None:
    app, found = late.app, next(late.branches_behind)
    with telling(app) as told:
        rewritten(app, found)
        if gone:
            lose_all(app, found.between)
        agreeing(app, found.one, found.other)()
    assert told() == [(shuffle_of(found.root), False)]


def test_under_strict_it_fails(late: Late) -> None:
    app, found = late.app, next(late.branches)
    rewritten(app, found)
    with app.choosing(strict=True), app.job(agreeing(app, found.one, found.other)) as running:
        assert "mixes two generations" in str(running.exception(120))


def test_what_was_read_of_the_present_generation_is_repaired_in_part(late: Late) -> None:
    """Its own readers, and who reads nothing of what was deleted."""
    app, found = late.app, next(late.rows)
    app.lose_output(shuffle_of(found.other))
    assert values(found.other) == RIGHT
    assert app.submissions(shuffle_of(found.other)) == [MAPS, 1]
    rewritten(app, found)
    app.lose_output(shuffle_of(found.one))
    assert values(found.one) == RIGHT
    assert app.submissions(shuffle_of(found.one)) == [MAPS, MAPS, 1]
