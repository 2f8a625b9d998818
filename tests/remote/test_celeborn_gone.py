"""A worker that is gone for good: what of it can be deleted is, and nobody asks it for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from listener_bridge.shuffle_services.api import Failed, Fenced, Freed
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import OnCeleborn, asked_in_vain, on_celeborn
from tests.remote.test_celeborn_half_written import MAPS, ROWS, wide
from tests.remote.test_celeborn_restarts import SETTINGS
from tests.support.celeborn import Celeborn, another_worker, graceful, shut_down_and_start_again
from tests.support.gates import held_at
from tests.support.servers import Server
from tests.support.spark import wait_for

pytestmark = pytest.mark.timeout(200, func_only=True)
SILENCES = ("destroying", "silences")


@pytest.fixture
def run_and_worker(celeborn: Celeborn, tmp_path: Path) -> Iterator[tuple[OnCeleborn, Server]]:
    with another_worker(celeborn) as worker, on_celeborn(celeborn, tmp_path) as run:
        yield run, worker


def bytes_elsewhere(run: OnCeleborn, shuffle: int, gone: Server) -> int:
    """What the workers hold that are there."""
    return bytes_of_ids_elsewhere(run, tuple(run.ids(shuffle)), gone)


def bytes_of_ids_elsewhere(run: OnCeleborn, ids: tuple[int, ...], gone: Server) -> int:
    application = run.spark.sparkContext.applicationId
    there = [worker for worker in run.cluster.workers if worker is not gone]
    return sum(path.stat().st_size for worker in there for path in run.cluster.files_on(worker, application, ids))


def test_a_worker_that_was_asked_in_vain_too_often_is_given_up(run_and_worker: tuple[OnCeleborn, Server]) -> None:
    run, worker = run_and_worker
    shuffle, later = run.write(), run.write()
    application = run.spark.sparkContext.applicationId
    assert run.cluster.files_on(worker, application, tuple(run.ids(shuffle)))
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    worker.kill()
    outcome = run.service.free(fenced.locator, TIMEOUT)
    assert isinstance(outcome, Failed)
    assert "did not answer" in outcome.why or "has not answered" in outcome.why
    assert bytes_elsewhere(run, shuffle, worker) == 0
    asked_in_vain(run, SILENCES, 8)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Failed), "nine times"
    asked_in_vain(run, SILENCES, 1)
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(0)
    assert run.service.forget(fenced.locator, TIMEOUT) == Freed(0)
    fenced = run.service.fence(later, TIMEOUT)
    assert isinstance(fenced, Fenced)
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(0), "it has not answered since"
    assert bytes_elsewhere(run, later, worker) == 0
    assert run.read_again(shuffle)
    assert run.read_again(later)


def lost_by_its_commit(run: OnCeleborn, worker: Server) -> tuple[int, int]:
    """A worker dies while a shuffle is written: the others commit the rest of it, and Celeborn takes it for lost.
    Answers the shuffle, which is written once more, and the id that is lost."""
    closed = run.gate()

    def rows(index: int, _: Iterator[int]) -> Iterator[tuple[int, str]]:
        yield from wide(index)
        closed.pass_through(index)

    keyed = run.spark.sparkContext.parallelize(range(MAPS), MAPS).mapPartitionsWithIndex(rows).partitionBy(6)
    with held_at(closed, keyed.count) as job:
        wait_for(lambda: closed.arrived() >= 2, "tasks that have sent their rows")
        shuffle = run.newest_shuffle()
        (lost,) = run.ids(shuffle)
        application = run.spark.sparkContext.applicationId
        wait_for(lambda: run.cluster.files_on(worker, application, (lost,)), "files on the worker that will be gone")
        worker.kill()
        closed.open()
        assert job.result(120) == MAPS * ROWS
    assert run.ids(shuffle)[lost] is False
    return shuffle, lost


def test_of_what_a_commit_lost_the_files_of_living_workers_go(celeborn: Celeborn, tmp_path: Path) -> None:
    with another_worker(celeborn) as worker, on_celeborn(celeborn, tmp_path, **SETTINGS) as run:
        lose_and_free(run, worker)


def lose_and_free(run: OnCeleborn, worker: Server) -> None:
    shuffle, lost = lost_by_its_commit(run, worker)
    assert bytes_of_ids_elsewhere(run, (lost,), worker) > 0
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    outcome = run.service.free(fenced.locator, TIMEOUT)
    assert bytes_elsewhere(run, shuffle, worker) == 0
    assert isinstance(outcome, Failed), "a part of it was on the worker that is gone"
    asked_in_vain(run, SILENCES, 9)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)


def test_what_a_worker_has_kept_that_was_started_again_is_not_said_to_be_freed(
    celeborn: Celeborn, tmp_path: Path
) -> None:
    """It does not know of the id then, and deletes nothing for whoever asks: Celeborn itself has it do so."""
    soon = {"spark.celeborn.client.shuffle.expired.checkInterval": "500ms"}
    (folder := tmp_path / "spark").mkdir()
    with (
        another_worker(celeborn, **graceful(tmp_path / "recover")) as worker,
        on_celeborn(celeborn, folder, **soon) as run,
    ):
        shuffle = run.write()
        application, ids = run.spark.sparkContext.applicationId, tuple(run.ids(shuffle))
        before = {path.name for path in celeborn.files_on(worker, application, ids)}
        shut_down_and_start_again(celeborn, worker)
        assert {path.name for path in celeborn.files_on(worker, application, ids)} == before != set()
        assert run.read_again(shuffle)
        fenced = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        assert fenced.bytes > 0
        assert run.service.free(fenced.locator, TIMEOUT) == Freed(0)
        assert bytes_elsewhere(run, shuffle, worker) == 0
        assert run.service.forget(fenced.locator, TIMEOUT) == Freed(0)
        wait_for(lambda: not celeborn.files_on(worker, application, ids), "what Celeborn itself deletes")
        assert run.read_again(shuffle)


def test_a_worker_that_one_id_does_not_know_is_asked_of_others(on_cluster: OnCeleborn) -> None:
    run = on_cluster
    shuffles = run.write(), run.write()
    unknown, known = (run.service.fence(shuffle, TIMEOUT) for shuffle in shuffles)
    assert isinstance(unknown, Fenced)
    assert isinstance(known, Fenced)
    (number,) = run.ids(shuffles[0])
    run.tap.driver.shuffle_manager.getLifecycleManager().workerSnapshots(number).clear()
    outcome = run.service.free(unknown.locator, TIMEOUT)
    assert run.service.free(known.locator, TIMEOUT) == Freed(known.bytes)
    assert run.bytes_stored(shuffles[1]) == 0
    assert isinstance(outcome, Failed)
    assert f"of id {number} is not known to this driver" in outcome.why
