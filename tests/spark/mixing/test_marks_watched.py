"""A mark goes when it is needed no longer, whether or not that was heard of: Spark aborts results for it otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.mixing.conftest import MAPS, ROWS, App, application
from tests.spark.mixing.test_given_up import rows_written_at
from tests.spark.mixing.test_late import stopped
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder) as found:
        yield found


def writer_level(rdd: Any) -> str:
    """Of what the shuffle below it is written from."""
    below = rdd._jrdd.rdd()
    while str((dependency := below.dependencies().head()).getClass().getSimpleName()) != "ShuffleDependency":
        below = dependency.rdd()
    return str(dependency.rdd().outputDeterministicLevel())


def test_a_result_below_what_was_marked_is_not_aborted_where_the_hook_hears_late(app: App) -> None:
    """A is there again, and a task of the result has delivered, when Spark finds A missing once more."""
    writing, delivers, waits, queue = (app.gate() for _ in range(4))
    writing.open()
    a = rows_written_at(app, writing)
    assert a.count() == ROWS
    app.delete(shuffle_of(a))
    declared = writer_level(a)
    writing.close()
    folders = [delivers.folder, waits.folder]

    def read(index: int, rows: Iterator[Any]) -> Iterator[int]:
        count = sum(1 for _ in rows)
        if index < len(folders):
            Gate(folders[index]).pass_through(index)
        return iter([count])

    with app.job(lambda: a.mapPartitionsWithIndex(read).collect(), writing, delivers, waits, queue) as running:
        wait_for(lambda: writer_level(a) == "INDETERMINATE", "the mark")
        with stopped(app, queue):
            writing.open()
            wait_for(lambda: delivers.arrived() and waits.arrived(), "tasks of the result that have read A")
            wait_for(lambda: writer_level(a) == declared, "the mark to go", 10)
            for index in range(MAPS):
                app.lose_output(shuffle_of(a), index)
            delivers.open()
            wait_for(lambda: app.is_complete(shuffle_of(a)) or running.done(), "A once more")
            waits.open()
            assert len(running.result(120)) == MAPS
