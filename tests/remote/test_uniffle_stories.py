"""Stories on Uniffle: jobs of real sessions on a real cluster, executors of their own, a server killed among them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import listener_bridge
from coordinator.core import events as e
from listener_bridge.shuffle_services.api import Busy, Cannot, Failed, Fenced, FenceOutcome, Freed, NotHeld, ObserveOnly
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import on_uniffle
from tests.support import logs
from tests.support.gates import held_at
from tests.support.premature import ATTEMPTS, UNBOUNDED, deleting_at_random
from tests.support.spark import LOCAL_CLUSTER, wait_for
from tests.support.uniffle import SERVERS, Uniffle

pytestmark = pytest.mark.timeout(200)
FIRST = 0  #: The first app shuffle of a session.


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"spark.speculation": "true"}, "spark.speculation"),
        ({"spark.rss.resubmit.stage": "true", "spark.rss.stageRetry.enabled": "true"}, "stage retry"),
    ],
    ids=["speculation", "stage retry"],
)
def test_what_could_move_by_itself_is_only_observed(
    setting: dict[str, str], said: str, uniffle: Uniffle, tmp_path: Path
) -> None:
    with on_uniffle(uniffle, tmp_path, **setting) as run:
        found = run.service.probe().deletes
        assert isinstance(found, ObserveOnly)
        assert said in found.reason
        keyed = run.keyed()
        assert keyed.count() == 4_000
        assert isinstance(run.service.fence(run.newest_shuffle(), TIMEOUT), Cannot)
        assert keyed.count() == 4_000


def chain(spark: Any) -> list[tuple[int, int]]:
    rows = spark.sparkContext.parallelize(range(2_000), 4).map(lambda n: (n % 50, n))
    first = rows.partitionBy(3)
    second = first.map(lambda row: (row[1] % 7, row[0])).partitionBy(3)
    del first
    third = second.map(lambda row: (row[1] % 5, row[0])).partitionBy(3)
    del second
    result: list[tuple[int, int]] = sorted(third.collect())
    return result


def looped(spark: Any) -> list[int]:
    """Each step is read by its own job and by the next step's; the first shuffle once more at the end."""
    first = current = spark.sparkContext.parallelize(range(2_000), 4).map(lambda n: (n % 50, n)).partitionBy(3)
    found = []
    for step in range(4):
        found.append(current.map(lambda row: row[1]).sum())
        current = current.map(lambda row, step=step: (row[1] % (7 + step), row[0] + row[1])).partitionBy(3)
    return [*found, current.count(), first.map(lambda row: row[0]).sum()]


def test_1_a_chain_leaves_the_servers_as_it_goes(uniffle: Uniffle, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    with on_uniffle(uniffle, tmp_path) as run:
        plain = chain(run.spark)
        with listener_bridge.attach(run.spark, policy="reachable", store=store) as attachment:
            chained = range(run.newest_shuffle() + 1, run.newest_shuffle() + 4)
            assert chain(run.spark) == plain
            wait_for(lambda: not any(run.blocks(shuffle) for shuffle in chained), "an end of their blocks")
            assert attachment.status().freed_bytes > 0


def test_26_a_loop_misses_what_was_deleted_and_gets_it_again(uniffle: Uniffle, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    with on_uniffle(uniffle, tmp_path, LOCAL_CLUSTER) as run:
        plain = looped(run.spark)
        with listener_bridge.attach(run.spark, policy="eager", store=store) as attachment:
            assert looped(run.spark) == plain
            wait_for(lambda: attachment.status().deleted >= 3, "three deletions")
        log = logs.stored(store, attachment.application)
    assert logs.wrong(log) == []
    assert logs.of(log, e.PrematureDeletion)


def test_a_server_that_is_gone_is_not_freed_and_nobody_waits_for_it(uniffle: Uniffle, tmp_path: Path) -> None:
    with on_uniffle(uniffle, tmp_path, LOCAL_CLUSTER) as run:
        shuffle = run.write()
        (name,) = run.servers(shuffle)
        fenced = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        server = uniffle.servers[int(name.rpartition(":")[2]) - SERVERS]
        server.kill()
        try:
            outcome = run.service.free(fenced.locator, TIMEOUT)
            assert isinstance(outcome, Failed)
            assert name in outcome.why
            assert run.read_again(shuffle)
        finally:
            server.start()
        wait_for(lambda: isinstance(run.service.free(fenced.locator, TIMEOUT), Freed), "the server's return")
        assert run.read_again(shuffle)


def test_what_is_on_the_last_servers_is_kept_and_the_coordinator_knows(uniffle: Uniffle, tmp_path: Path) -> None:
    """Six servers, two a generation: three generations. Whatever nobody reads in this moment is deleted."""
    store = f"sqlite://{tmp_path}/log.db"
    two = {"spark.rss.client.assignment.shuffle.nodes.max": "2"}
    with on_uniffle(uniffle, tmp_path, **two, **ATTEMPTS) as run:
        keyed = run.keyed(maps=2)
        with (
            deleting_at_random(1, 1.0),
            listener_bridge.attach(run.spark, policy="eager", store=store, budget_premature=UNBOUNDED) as attachment,
        ):
            for _ in range(2):
                assert keyed.count() == 4_000
                wait_for(lambda: not run.blocks(FIRST), "its deletion")
            assert keyed.count() == 4_000
            assert "no servers left" in run.service.keeps(FIRST)
            for _ in range(3):
                assert keyed.count() == 4_000
            assert len(run.blocks(FIRST)) == 2
        log = logs.stored(store, attachment.application)
    (pin,) = [at.sequence for at in log if isinstance(at.event, e.PinSet) and at.event.app_shuffle == FIRST]
    first = {g.shuffle_id for g in logs.of(log, e.GenerationStarted) if g.app_shuffle == FIRST}
    fences = [at for at in log if isinstance(at.event, e.FenceRequested) and at.event.shuffle_id in first]
    assert len(first) == 3
    assert all(at.sequence < pin for at in fences)
    assert logs.wrong(log) == []


def test_a_server_that_hangs_is_named_and_not_waited_for_again(uniffle: Uniffle, tmp_path: Path) -> None:
    with on_uniffle(uniffle, tmp_path) as run:
        shuffle, other = run.write(), run.write()
        (name,) = run.servers(shuffle)
        fenced = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        with uniffle.servers[int(name.rpartition(":")[2]) - SERVERS].hanging():
            first = run.service.free(fenced.locator, TIMEOUT)
            assert isinstance(first, Failed)
            assert f"{name} has not answered" in first.why
            second = run.service.free(fenced.locator, TIMEOUT)
            assert isinstance(second, Failed)
            assert f"{name} did not answer a moment ago" in second.why
            assert not isinstance(run.service.holds(other), NotHeld)
        wait_for(lambda: isinstance(run.service.free(fenced.locator, TIMEOUT), Freed), "the server's return")
        assert run.read_again(shuffle)


def test_a_coordinator_that_hangs_keeps_no_fence_waiting(uniffle: Uniffle, tmp_path: Path) -> None:
    with on_uniffle(uniffle, tmp_path) as run:
        shuffle = run.write()
        with uniffle.coordinator.hanging():
            first = run.service.fence(shuffle, TIMEOUT)
            assert isinstance(first, Failed)
            assert "has not answered" in first.why
            second = run.service.fence(shuffle, TIMEOUT)
            assert isinstance(second, Failed)
            assert "did not answer a moment ago" in second.why
            assert run.service.keeps(shuffle) == ""
            assert run.read_again(shuffle)
        wait_for(lambda: isinstance(run.service.fence(shuffle, TIMEOUT), Fenced), "the coordinator's return")
        assert run.read_again(shuffle)


def test_a_deletion_is_no_error_a_partition_in_the_logs_of_the_servers(uniffle: Uniffle, tmp_path: Path) -> None:
    """A server writes one for each partition that it is asked for and does not have."""

    def errors() -> int:
        return sum(server.said().count("The empty shuffle buffer") for server in uniffle.servers)

    two = {"spark.rss.client.assignment.shuffle.nodes.max": "2"}
    with on_uniffle(uniffle, tmp_path, **two) as run:
        keyed = run.keyed(reduces=50)
        assert keyed.count() == 4_000
        shuffle = run.newest_shuffle()
        fenced = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        before = errors()
        assert run.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
        assert errors() - before <= 2, "one a server, for the answer that nothing is left"
        assert run.blocks(shuffle) == {}
        assert keyed.count() == 4_000


@pytest.mark.parametrize("written", [2, 0], ids=["some outputs", "no outputs"])
def test_what_was_half_written_is_gone_when_it_is_freed(uniffle: Uniffle, tmp_path: Path, written: int) -> None:
    """A task sends what it has when it ends, and by then it has an output; so those with none are lost here."""
    with on_uniffle(uniffle, tmp_path) as run:
        closed = run.gate()

        def held(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            if index >= 2:
                closed.pass_through(index)
            return rows

        keyed = run.spark.sparkContext.parallelize(range(4_000), 4).map(lambda n: (n % 20, n))
        keyed = keyed.mapPartitionsWithIndex(held).partitionBy(3)
        with held_at(closed, keyed.count) as job:
            wait_for(lambda: closed.arrived() >= 2, "two tasks that have not written")
            run.spark.sparkContext.cancelAllJobs()
            assert job.exception(60) is not None
        shuffle = run.newest_shuffle()
        if not written:
            run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)
        assert run.blocks(shuffle)
        found: list[FenceOutcome] = []

        def ask() -> bool:
            found.append(run.service.fence(shuffle, TIMEOUT))
            return not isinstance(found[-1], Busy)

        wait_for(ask, "an end of its writers")
        assert isinstance(found[-1], Fenced), found[-1]
        assert isinstance(run.service.free(found[-1].locator, TIMEOUT), Freed)
        assert run.blocks(shuffle) == {}
        assert keyed.count() == 4_000
