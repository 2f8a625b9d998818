"""The deadliest mistakes on Uniffle, planted: each gives a silently wrong result, and the adapter does not make it.

Were a protection of the adapter taken away, the right half of a pair would fail; were Uniffle another, the wrong half.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from listener_bridge.shuffle_services.api import Busy, Fenced, Freed
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import OnUniffle, on_uniffle
from tests.support.spark import LOCAL_CLUSTER, in_background, wait_for
from tests.support.uniffle import Uniffle

pytestmark = pytest.mark.timeout(300)
ROWS = 40_000
#: Many blocks for each map task and partition, and not one.
SMALL_BLOCKS = {"spark.rss.writer.buffer.size": "16k", "spark.rss.writer.buffer.segment.size": "4k"}


@pytest.fixture(scope="module")
def run(uniffle: Uniffle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnUniffle]:
    with on_uniffle(uniffle, tmp_path_factory.mktemp("spark"), LOCAL_CLUSTER, **SMALL_BLOCKS) as run:
        yield run


def in_any_order(run: OnUniffle) -> Any:
    """A legal job whose map tasks see their rows in another order each time."""

    def mixed(rows: Iterator[int]) -> Iterator[tuple[int, str]]:
        found = list(rows)
        random.shuffle(found)
        return ((n, f"{n} {'x' * 40}") for n in found)

    return run.spark.sparkContext.parallelize(range(ROWS), 4).mapPartitions(mixed).partitionBy(3)


def rows_of(keyed: Any) -> list[int]:
    """Each row once, or what became of them."""
    return sorted(key for key, _ in keyed.collect())


def forget_in_spark(run: OnUniffle, shuffle: int) -> None:
    run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)


def purge(run: OnUniffle, shuffle: int) -> None:
    client, servers = run.client, run.servers(shuffle)
    for server in servers:
        client.purge(server, shuffle)
    wait_for(lambda: not servers & set(run.blocks(shuffle)), "an end of the purge")


def test_planted_a_fence_that_does_not_move_mixes_two_generations(run: OnUniffle) -> None:
    found = []
    for _ in range(3):
        keyed = in_any_order(run)
        assert rows_of(keyed) == list(range(ROWS))
        forget_in_spark(run, run.newest_shuffle())
        found.append(rows_of(keyed))
    assert any(rows != list(range(ROWS)) for rows in found)


def test_a_fence_moves_and_no_two_generations_meet(run: OnUniffle) -> None:
    keyed = in_any_order(run)
    assert rows_of(keyed) == list(range(ROWS))
    for _ in range(3):
        assert isinstance(run.service.fence(run.newest_shuffle(), TIMEOUT), Fenced)
        assert rows_of(keyed) == list(range(ROWS))


def test_planted_data_that_are_purged_without_a_fence_are_read_as_nothing(run: OnUniffle) -> None:
    keyed = run.keyed()
    assert len(keyed.collect()) == 4_000
    purge(run, run.newest_shuffle())
    assert keyed.collect() == []


def reading_while(run: OnUniffle, act: Any) -> int:
    """How many rows a reader finds that has three tasks for two cores, and something is done when it has begun."""
    keyed = run.keyed()
    keyed.count()
    shuffle = run.newest_shuffle()
    closed = run.gate()

    def held(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        closed.pass_through(index)
        return rows

    with in_background(lambda: keyed.mapPartitionsWithIndex(held).count()) as job:
        wait_for(lambda: closed.arrived() >= 2, "two of three tasks")
        act(shuffle)
        closed.open()
        return int(job.result(200))


def test_planted_data_that_are_purged_under_a_reader_are_missed_by_nobody(run: OnUniffle) -> None:
    def fence_regardless(shuffle: int) -> None:
        old = run.servers(shuffle)
        forget_in_spark(run, shuffle)
        for server in old:
            run.client.purge(server, shuffle)
        wait_for(lambda: not old & set(run.blocks(shuffle)), "an end of the purge")

    assert reading_while(run, fence_regardless) < 4_000


def test_a_reader_makes_the_fence_wait(run: OnUniffle) -> None:
    outcomes = []

    def fence(shuffle: int) -> None:
        outcomes.append(run.service.fence(shuffle, TIMEOUT))

    assert reading_while(run, fence) == 4_000
    assert isinstance(outcomes[0], Busy)
    shuffle = run.newest_shuffle()
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)


def test_what_a_half_written_shuffle_reads_stays_until_that_one_moves(run: OnUniffle) -> None:
    """A further attempt would write blocks of the same names; were its input another one, they would be mixed."""
    first = run.keyed()
    first.count()
    closed = run.gate()

    def held(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        if index == 2:
            closed.pass_through(index)
        return rows

    second = first.mapPartitionsWithIndex(held).partitionBy(2)
    run.spark.sparkContext.setJobGroup("given up", "given up", interruptOnCancel=True)
    with in_background(lambda: second.count()) as job:
        wait_for(closed.arrived, "the third task of the map stage")
        b = run.newest_shuffle()
        a = b - 1
        wait_for(lambda: available(run, b) == 2, "two outputs")
        run.spark.sparkContext.cancelAllJobs()
        closed.open()
        assert job.exception(60) is not None
    refused = wait_for(lambda: busy_with(run, a, "half-written"), "nothing but a half-written reader")
    assert refused == {f"app shuffle {b} reads it and is half-written"}
    assert isinstance(run.service.fence(b, TIMEOUT), Fenced)
    assert isinstance(run.service.fence(a, TIMEOUT), Fenced)
    assert second.count() == 4_000
    assert first.count() == 4_000


def available(run: OnUniffle, shuffle: int) -> int:
    return int(run.tap.driver.map_output_tracker.shuffleStatuses().get(shuffle).get().numAvailableMapOutputs())


def busy_with(run: OnUniffle, shuffle: int, what: str) -> set[str]:
    """Who is in the way, once it is only that."""
    outcome = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(outcome, Busy), outcome
    return set(outcome.who) if all(what in one for one in outcome.who) else set()
