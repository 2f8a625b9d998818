"""A result that reads two branches of a deleted shuffle, of which one is written again while it runs.

As long as all of its tasks have read it goes on: what it has read was of one generation. Where they begin again, the
new branch is read beside the old one, which is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.mixing.conftest import App, application
from tests.spark.mixing.test_branches import KEYS, tokens
from tests.spark.mixing.test_overtaken import READERS, lose_all, made
from tests.spark.mixing.test_result_overtaken import TRIES, context, heard, hearing_late, telling
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]

STRICT = pytest.mark.parametrize("is_strict", [False, True])


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[8,{TRIES}]") as found:
        yield found


def branches(app: App) -> tuple[Any, Any]:
    """Two, of a shuffle that is deleted then."""
    source = tokens(app)
    lost = made(app, source, READERS)
    stays = app.keep(source.map(lambda row: (row[0], row[1])).partitionBy(READERS, lambda key: key + 1))
    assert lost.count() == stays.count() == KEYS
    app.delete(shuffle_of(source))
    return lost, stays


def reading_both(app: App, lost: Any, stays: Any, held: Gate, failing: Gate | None, strict: bool) -> Callable[[], Any]:
    """Each task waits at the gate when it has read; the first one waits at the other gate, if any, and fails once."""
    folder, elsewhere = held.folder, failing.folder if failing else ""

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        fails = elsewhere and index == 0 and not Gate(elsewhere).arrived()
        Gate(elsewhere if fails else folder).pass_through(context().taskAttemptId())
        if fails:
            raise RuntimeError("this task fails once")
        return iter(found)

    def run() -> Any:
        with app.properties(strict=str(strict).lower()):
            return lost.union(stays).mapPartitionsWithIndex(wait).collect()

    return run


@STRICT
def test_a_result_that_begins_again_beside_what_has_stayed_is_told(app: App, is_strict: bool) -> None:
    held, failing, queue = app.gate(), app.gate(), app.gate()
    lost, stays = branches(app)
    told = telling(app)
    with app.job(reading_both(app, lost, stays, held, failing, is_strict), held, failing, queue) as running:
        wait_for(lambda: held.arrived() + failing.arrived() == 2 * READERS, "all of its tasks have read")
        with hearing_late(app, queue):
            lose_all(app, lost)
            assert lost.count() == KEYS
        failing.open()
        wait_for(lambda: bool(told()), "that it is told")
        held.open()
        failed = running.exception(120)
        if is_strict:
            assert failed is not None
            assert "two generations" in str(failed)
        else:
            assert failed is None
            assert len(set(running.result())) > KEYS, "this is what is told"


@STRICT
def test_a_result_that_has_read_all_goes_on_where_another_job_holds_the_branch(app: App, is_strict: bool) -> None:
    held, reading = app.gate(), app.gate()
    lost, stays = branches(app)
    told = telling(app)
    with app.job(reading_both(app, lost, stays, held, None, is_strict), held, reading) as running:
        wait_for(lambda: held.arrived() == 2 * READERS, "all of its tasks have read")
        with app.job(app.hold(stays, reading, 0).count, reading, held) as another:
            wait_for(lambda: reading.arrived() == READERS, "another job that reads what stays")
            lose_all(app, lost)
            assert lost.count() == KEYS
            heard(app)
            held.open()
            assert len(set(running.result(120))) == KEYS
            reading.open()
            assert another.result(120) == KEYS
    assert told() == []
