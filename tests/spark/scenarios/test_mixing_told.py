"""What the log of a coordinator says of results that are not of one generation (scenario 34), and the driver's own.

Responsible for: the way from the hook through the bridge into the log, by policy `reachable`, whose deletion it is.
Refuses to know: how generations are kept apart (`tests/spark/mixing`). Invariant: without a word of the user's a job
completes and is told of, under `strict` it fails and says why, and what is declared deterministic is repaired in part.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.bridge.conftest import Log
from tests.spark.scenarios.conftest import deleted
from tests.support.gates import held_at
from tests.support.spark import Gate, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

ROWS, MAPS = 600, 4


def drawn(number: int) -> tuple[int, int]:
    """Looks deterministic to Spark."""
    return random.SystemRandom().randrange(1_000_000), number


def partly_delivered(run: Any, attachment: Any, log: Log) -> tuple[Any, int, int]:
    """A -> B -> result. A is deleted, and a part of B lost, when a part of the result is delivered.

    What came of it, and the app shuffles.
    """
    held = run.gate()
    folder = held.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        if index:
            Gate(folder).pass_through(index)
        return rows

    numbers = run.spark.sparkContext.parallelize(range(ROWS), MAPS).map(drawn).partitionBy(MAPS)
    last = numbers.map(lambda row: (row[1] % 101, row[1])).partitionBy(MAPS).mapPartitionsWithIndex(wait)
    del numbers

    def job() -> Any:
        try:
            return sorted(row[1] for row in last.collect())
        except Exception as error:  # noqa: BLE001 - py4j's, which wraps Spark's
            return error

    with held_at(held, job) as running:
        wait_for(lambda: held.arrived() >= 2, "a partition delivered, tasks behind it")
        run.settled(attachment)
        a, b = log.map_stages()
        wait_for(lambda: a in deleted(log), "A to go while the job runs")
        lose_an_output(attachment, b)
        held.open()
        found = running.result()
    run.settled(attachment)
    return found, a, b


def lose_an_output(attachment: Any, shuffle: int) -> None:
    """As if its executor had gone."""
    tracker = attachment._bridge._tap.driver.map_output_tracker
    output = tracker.shuffleStatuses().get(shuffle).get().mapStatuses()[0]
    tracker.unregisterMapOutput(shuffle, 0, output.location())


def tasks(log: Log, shuffle: int) -> list[int]:
    """How many each attempt at writing it had."""
    return [one.tasks for one in log.events("stage_submitted") if one.HasField("writes") and one.writes == shuffle]


def test_34_it_completes_and_is_in_the_log(run: Any) -> None:
    with run.attached("reachable") as (attachment, log):
        found, a, b = partly_delivered(run, attachment, log)
        assert isinstance(found, list)
        [mixed] = log.events("generations_mixed")
        assert (mixed.app_shuffle, mixed.failed, mixed.partitions) == (a, False, MAPS)
        assert 1 <= mixed.delivered < MAPS
        assert tasks(log, b) == [MAPS, MAPS]


def test_34_under_strict_it_fails_and_says_why(run: Any) -> None:
    with run.attached("reachable", strict=True) as (attachment, log):
        found, a, _ = partly_delivered(run, attachment, log)
        assert f"mixes two generations of app shuffle {a}" in str(found)
        [mixed] = log.events("generations_mixed")
        assert (mixed.app_shuffle, mixed.failed) == (a, True)


def test_34_declared_deterministic_is_repaired_in_part(run: Any) -> None:
    with run.attached("reachable", deterministic=True) as (attachment, log):
        found, _, b = partly_delivered(run, attachment, log)
        assert isinstance(found, list)
        assert log.events("generations_mixed") == []
        assert tasks(log, b) == [MAPS, 1]
