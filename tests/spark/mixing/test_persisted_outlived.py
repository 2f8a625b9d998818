"""What was written from cached blocks outlives the executors that had them: Spark alone reads it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import StorageLevel

from tests.spark.mixing.conftest import application
from tests.spark.mixing.test_branches import KEYS, agreeing, branch, tokens
from tests.spark.mixing.test_forgotten_files import kill_all
from tests.spark.mixing.test_persisted import persisted
from tests.spark.mixing.test_sides import telling
from tests.support.spark import shuffle_of
from tests.support.standalone import with_service

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_executors_that_leave_their_outputs_behind_take_blocks_along(tmp_path: Path) -> None:
    with with_service(tmp_path) as (master, conf), application(tmp_path, master, hooked=True, **conf) as app:
        rows = persisted(app)
        assert rows.count() == KEYS  # else both branches may draw for themselves
        stays, deleted = branch(app, rows), branch(app, rows)
        a = tokens(app)
        cached = app.keep(a.map(lambda row: (row[0], row[1])).persist(StorageLevel.DISK_ONLY))
        assert cached.count() == KEYS
        made = branch(app, cached)
        assert agreeing(app, stays, deleted)() == agreeing(app, cached, made)() == KEYS
        app.delete(shuffle_of(deleted))
        app.delete(shuffle_of(a))
        kill_all(app)
        with telling(app) as told:
            assert agreeing(app, stays, deleted)() == 0
            assert told() == [(shuffle_of(deleted), False)]
        with telling(app) as told:
            assert agreeing(app, cached, made)() == KEYS
            assert told() == []
