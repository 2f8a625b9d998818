"""What is forgotten since it is written again leaves files, also where their executor has gone: they go too."""

from __future__ import annotations

from pathlib import Path

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import RIGHT, App, application, values
from tests.support.spark import shuffle_files, wait_for
from tests.support.standalone import executors, kill_executor, with_service

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def lose_file(app: App, shuffle: int) -> None:
    """The first output, with its file, as a disk loses it."""
    number = app.status(shuffle).mapStatuses()[0].mapId()
    for file in app.folder.rglob(f"shuffle_{shuffle}_{number}_*"):
        file.unlink()
    assert app.lose_output(shuffle)


def kill_all(app: App) -> None:
    killed = executors(app.spark)
    for executor in killed:
        kill_executor(app.spark, executor)
    wait_for(lambda: len(app.log.of(facts.ExecutorRemoved)) == len(killed), "the loss of every executor")


def test_33_files_of_what_is_written_again_go_though_their_executors_have_gone(tmp_path: Path) -> None:
    with with_service(tmp_path) as (master, conf), application(tmp_path, master, hooked=True, **conf) as app:
        first = app.step(app.random_rows())
        assert values(first) == RIGHT
        a, b = app.shuffles()
        kill_all(app)
        app.delete(a)
        lose_file(app, b)
        assert values(first) == RIGHT
        app.delete(b)
        assert shuffle_files(tmp_path, b) == {}
