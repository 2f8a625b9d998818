"""A worker that is gone for good: what of it can be deleted is, and nobody asks it for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from listener_bridge.shuffle_services.api import Failed, Fenced, Freed
from listener_bridge.shuffle_services.testing import TIMEOUT
from listener_bridge.tap.jvm import JavaObject
from tests.remote.conftest import OnCeleborn, on_celeborn
from tests.support.celeborn import Celeborn, another_worker
from tests.support.servers import Server

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def run_and_worker(celeborn: Celeborn, tmp_path: Path) -> Iterator[tuple[OnCeleborn, Server]]:
    with another_worker(celeborn) as worker, on_celeborn(celeborn, tmp_path) as run:
        yield run, worker


def asked_in_vain(run: OnCeleborn, times: int) -> None:
    """As if it had been asked so often: each time is 20 s after the one before."""
    silences = kept(kept(run.service._java, "destroying"), "silences")  # type: ignore[attr-defined]
    for whom in list(kept(silences, "until")):
        for _ in range(times):
            silences.note(whom)


def kept(holder: JavaObject, name: str) -> JavaObject:
    """What a private field holds."""
    field = holder.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(holder)


def bytes_elsewhere(run: OnCeleborn, shuffle: int, gone: Server) -> int:
    """What the workers hold that are there."""
    application, ids = run.spark.sparkContext.applicationId, tuple(run.ids(shuffle))
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
    asked_in_vain(run, 8)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Failed), "nine times"
    asked_in_vain(run, 1)
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(0)
    assert run.service.forget(fenced.locator, TIMEOUT) == Freed(0)
    fenced = run.service.fence(later, TIMEOUT)
    assert isinstance(fenced, Fenced)
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(0), "it has not answered since"
    assert bytes_elsewhere(run, later, worker) == 0
    assert run.read_again(shuffle)
    assert run.read_again(later)
