"""Jobs that only write a shuffle, as adaptive plans have them: there is no result stage at their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.mixing.conftest import MAPS, App, application
from tests.spark.mixing.test_branches import KEYS, branch, tokens
from tests.spark.mixing.test_overtaken import lose_all, made, read
from tests.spark.mixing.test_result_overtaken import heard, telling
from tests.support.spark import shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[{5 * MAPS}]") as found:  # all tasks run at once
        yield found


def written(app: App, rdd: Any) -> Any:
    """A job that writes the shuffle which this RDD reads."""
    dependency = rdd._jrdd.rdd().dependencies().head()
    while "ShuffleDependency" not in str(dependency.getClass().getName()):
        dependency = dependency.rdd().dependencies().head()
    return app.spark.sparkContext._jsc.sc().submitMapStage(dependency)


def test_one_that_runs_and_reads_two_branches_is_told_where_one_of_them_has_to_stay(app: App) -> None:
    """One branch is written again under it for another job, and somebody is reading the other one."""
    held, reading = app.gate(), app.gate()
    a = tokens(app)
    lost, stays = branch(app, a), branch(app, a)
    assert lost.count() == stays.count() == KEYS
    app.delete(shuffle_of(a))
    told = telling(app)
    both = made(app, read(app.spark.sparkContext.union([lost, stays]), held, 0))
    with app.job(read(stays, reading, 0).count, reading, held) as right:
        wait_for(lambda: reading.arrived() == MAPS, "a result that reads the one that stays")
        job = written(app, both)
        wait_for(lambda: held.arrived() == 2 * MAPS, "a map stage that has read both")
        lose_all(app, lost)
        assert lost.count() == KEYS
        heard(app)
        reading.open()
        held.open()
        assert right.result(120) == KEYS
        wait_for(lambda: job.isCompleted(), "the end of the job")
    assert len(set(both.collect())) == 2 * KEYS, "what it has written is of two generations"
    assert told() == [(0, False)] * 2, "of itself, and of who reads it"
