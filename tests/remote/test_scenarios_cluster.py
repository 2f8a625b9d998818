"""The numbered stories with executors of their own, on each remote service: what an executor's death costs.

Without Celeborn's `CelebornShuffleDataIO` Spark takes an executor's outputs for lost with it, though the workers have
them; on Uniffle no executor owns an output.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.remote.conftest import OPENED, Served, served
from tests.spark.bridge.conftest import kill_an_executor
from tests.spark.bridge.test_losses import test_25_what_a_lost_executor_takes_is_computed_from_the_source as taken
from tests.support.spark import LOCAL_CLUSTER, wait_for

pytestmark = pytest.mark.timeout(300, func_only=True)


@pytest.fixture(scope="module", params=list(OPENED))
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    servers = request.getfixturevalue(request.param)
    with served(request.param, servers, tmp_path_factory.mktemp("spark"), LOCAL_CLUSTER) as found:
        yield found


@pytest.fixture
def celeborn_cluster(cluster: Served) -> Served:
    if cluster.world.service.probe().service != "celeborn":
        pytest.skip("on Uniffle no executor owns an output: none goes with it")
    return cluster


@pytest.fixture
def uniffle_cluster(cluster: Served) -> Served:
    if cluster.world.service.probe().service != "uniffle":
        pytest.skip("on Celeborn Spark takes an executor's outputs for lost with it")
    return cluster


def test_25_what_a_lost_executor_takes_is_computed_from_the_source(celeborn_cluster: Served) -> None:
    taken(celeborn_cluster)


def test_25_an_executor_that_owns_no_output_takes_nothing(uniffle_cluster: Served) -> None:
    """A and B are deleted when it dies. C is read again as it is."""
    run = uniffle_cluster
    with run.attached() as (attachment, log):
        chain = run.again(run.again(run.keyed(maps=6)))
        expected = sorted(chain.collect())
        run.settled(attachment)
        a, b, c = log.map_stages()
        wait_for(lambda: {a, b} <= set(log.app_shuffles("generation_deleted")), "A and B to go")
        kill_an_executor(run.folder)
        wait_for(lambda: log.events("executor_lost"), "the loss in the log")
        assert sorted(chain.collect()) == expected
        run.settled(attachment)
        assert log.map_stages() == [a, b, c]
        assert log.events("recovery_opened", "premature_deletion") == []


def test_25_a_writer_that_dies_is_written_again_beside_what_was_deleted(cluster: Served) -> None:
    """It dies in the middle of C, with A deleted: on Uniffle its tasks run anew in the same attempt."""
    run = cluster
    expected = sorted(run.again(run.again(run.keyed(maps=6))).collect())
    with run.attached() as (attachment, log):
        held = run.gate()
        chain = run.again(run.again(run.keyed(maps=6)), held)
        with run.job(lambda: sorted(chain.collect()), held) as job:
            wait_for(lambda: held.arrived() >= 2, "writers of C")
            run.settled(attachment)
            wait_for(lambda: log.app_shuffles("generation_deleted"), "A to go")
            kill_an_executor(run.folder)
            held.open()
            assert job.result() == expected
