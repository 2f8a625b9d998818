"""What Celeborn keeps beside what can be read: half-written ids, lost ids, and what Spark knows no output of."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark import TaskContext

from listener_bridge.shuffle_services.api import Busy, Failed, Fenced, FenceOutcome, Freed, Held, Locator, NotHeld
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import OnCeleborn
from tests.support.gates import held_at
from tests.support.spark import Gate, wait_for

pytestmark = pytest.mark.timeout(120)
MAPS, ROWS, CHARACTERS = 4, 1_500, 1_000  # of each map task, far above what workers keep in memory


def wide(index: int) -> Iterator[tuple[int, str]]:
    for row in range(ROWS):
        number = index * ROWS + row
        yield number % 20, random.Random(number).randbytes(CHARACTERS // 2).hex()


def cancelled(run: OnCeleborn, written: int) -> tuple[int, Any]:
    """A map stage of which so many tasks had ended when its job was cancelled; others have sent what they have.
    Answers its shuffle, and its data set."""
    closed = run.gate()

    def rows(index: int, _: Iterator[int]) -> Iterator[tuple[int, str]]:
        yield from wide(index)
        if index >= written:
            closed.pass_through(index)

    numbers = run.spark.sparkContext.parallelize(range(MAPS), MAPS)
    keyed = numbers.mapPartitionsWithIndex(rows).partitionBy(3)
    with held_at(closed, keyed.count) as job:
        wait_for(lambda: closed.arrived() >= 2, "tasks that have sent their rows")
        run.spark.sparkContext.cancelAllJobs()
        assert job.exception(60) is not None
    return run.newest_shuffle(), keyed


def fenced_when_quiet(run: OnCeleborn, shuffle: int) -> Fenced:
    """Tasks of a cancelled job take a moment to end."""
    found: list[FenceOutcome] = []

    def ask() -> bool:
        found.append(run.service.fence(shuffle, TIMEOUT))
        return not isinstance(found[-1], Busy)

    wait_for(ask, "an end of its writers")
    assert isinstance(found[-1], Fenced), found[-1]
    return found[-1]


@pytest.mark.parametrize("written", [2, 0], ids=["some outputs", "no outputs"])
def test_what_was_half_written_is_gone_when_it_is_freed(on_cluster: OnCeleborn, written: int) -> None:
    run = on_cluster
    shuffle, keyed = cancelled(run, written)
    wait_for(lambda: run.bytes_stored(shuffle) > 0, "its files")
    fenced = fenced_when_quiet(run, shuffle)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)
    assert run.bytes_stored(shuffle) == 0
    assert isinstance(run.service.holds(shuffle), NotHeld)
    assert keyed.count() == MAPS * ROWS
    assert run.service.forget(fenced.locator, TIMEOUT) == Freed(0)
    assert keyed.count() == MAPS * ROWS


def take_flags_down(run: OnCeleborn, shuffle: int) -> None:
    """As where Spark was told to forget a part of what an attempt goes on writing."""
    run.service._java.forgotten(shuffle)  # type: ignore[attr-defined]
    assert not any(run.ids(shuffle).values())


def test_a_shuffle_without_a_readable_id_is_held_and_goes(on_cluster: OnCeleborn) -> None:
    run = on_cluster
    shuffle = run.write()
    before = run.service.holds(shuffle)
    take_flags_down(run, shuffle)
    held = run.service.holds(shuffle)
    assert isinstance(held, Held)
    assert held == before
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    assert fenced.locator == held.locator
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
    assert fenced.bytes > 0
    assert run.bytes_stored(shuffle) == 0
    assert run.read_again(shuffle)


def test_what_spark_has_lost_all_outputs_of_goes_too(on_cluster: OnCeleborn) -> None:
    """As where an executor took the outputs with it: the workers still have the data."""
    run = on_cluster
    shuffle = run.write()
    run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced), fenced
    assert fenced.bytes > 0
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
    assert run.bytes_stored(shuffle) == 0
    assert run.read_again(shuffle)


def test_a_locator_without_ids_frees_nothing_of_what_is_not_fenced(on_cluster: OnCeleborn) -> None:
    run = on_cluster
    shuffle = run.write()
    take_flags_down(run, shuffle)
    held = run.service.holds(shuffle)
    assert isinstance(held, Held)
    nameless = Locator(held.locator.service, held.locator.payload.rpartition("/")[0] + "/")
    stored = run.bytes_stored(shuffle)
    assert isinstance(run.service.free(nameless, TIMEOUT), Failed)
    assert isinstance(run.service.forget(nameless, TIMEOUT), Failed)
    assert run.bytes_stored(shuffle) == stored > 0
    assert isinstance(run.service.fence(shuffle, TIMEOUT), Fenced)
    assert isinstance(run.service.free(nameless, TIMEOUT), Freed)
    assert run.bytes_stored(shuffle) == 0
    assert run.read_again(shuffle)


def test_what_was_lost_goes_when_nobody_reads_it(on_cluster: OnCeleborn) -> None:
    """As Celeborn has it, when somebody finds a part of it lost: a stage that was told of it before reads the rest."""
    run = on_cluster
    shuffle = run.write()
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)
    assert run.read_again(shuffle)
    with run.reader_running(shuffle):
        take_flags_down(run, shuffle)
        run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)
        stored = run.bytes_stored(shuffle)
        assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)
        assert run.bytes_stored(shuffle) == stored > 0
        outcome = run.service.forget(fenced.locator, TIMEOUT)
        assert isinstance(outcome, Failed), "who is older than a fence holds all that follow up; here nobody is"
        assert "which was lost" in outcome.why
    wait_for(lambda: run.service.forget(fenced.locator, TIMEOUT) == Freed(0), "an end of its readers")
    assert run.bytes_stored(shuffle) == 0
    assert run.read_again(shuffle)


def test_a_worker_that_hangs_is_named_and_not_waited_for_again(on_cluster: OnCeleborn) -> None:
    run = on_cluster
    shuffle, other = run.write(), run.write()
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    with run.cluster.workers[0].hanging():
        first = run.service.free(fenced.locator, TIMEOUT)
        assert isinstance(first, Failed)
        assert "has not answered" in first.why
        second = run.service.free(fenced.locator, TIMEOUT)
        assert isinstance(second, Failed)
        assert "did not answer a moment ago" in second.why
        assert isinstance(run.service.fence(other, TIMEOUT), Fenced)
    wait_for(lambda: isinstance(run.service.free(fenced.locator, TIMEOUT), Freed), "the worker's return")
    assert run.bytes_stored(shuffle) == 0


@dataclass
class Again:
    """A shuffle whose first generation is gone; two who write it again can be held, when they have sent rows."""

    keyed: Any
    shuffle: int
    first: Fenced
    gate: Gate

    @contextmanager
    def written(self) -> Iterator[Future[int]]:
        before = self.gate.arrived()
        self.gate.close()
        with held_at(self.gate, self.keyed.count) as job:
            wait_for(lambda: self.gate.arrived() >= before + 2, "tasks that have sent their rows")
            yield job


def written_once(run: OnCeleborn) -> Again:
    gate = run.gate()
    gate.open()

    def rows(index: int, _: Iterator[int]) -> Iterator[tuple[int, str]]:
        yield from wide(index)
        if index >= 2 and (context := TaskContext.get()) is not None:
            gate.pass_through(context.taskAttemptId())

    keyed = run.spark.sparkContext.parallelize(range(MAPS), MAPS).mapPartitionsWithIndex(rows).partitionBy(3)
    assert keyed.count() == MAPS * ROWS
    first = run.service.fence(shuffle := run.newest_shuffle(), TIMEOUT)
    assert isinstance(first, Fenced)
    assert isinstance(run.service.free(first.locator, TIMEOUT), Freed)
    return Again(keyed, shuffle, first, gate)


def test_where_the_files_of_a_half_written_id_lie_is_known_until_they_are_gone(on_cluster: OnCeleborn) -> None:
    """A deletion of an older generation takes it along, a worker is silent, and then it is fenced itself."""
    run = on_cluster
    again = written_once(run)
    shuffle, older = again.shuffle, again.first
    with again.written() as job:
        run.spark.sparkContext.cancelAllJobs()
        assert job.exception(60) is not None
    take_flags_down(run, shuffle)
    application, (half,) = run.spark.sparkContext.applicationId, set(run.ids(shuffle)) - ids_of(older)
    assert run.cluster.files_on(run.cluster.workers[0], application, (half,))
    with run.cluster.workers[0].hanging():
        wait_for(lambda: isinstance(run.service.free(older.locator, TIMEOUT), Failed), "an end of its writers")
        fenced = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
    wait_for(lambda: isinstance(run.service.free(fenced.locator, TIMEOUT), Freed), "the worker's return", 60)
    assert run.bytes_stored(shuffle) == 0


def test_who_writes_a_shuffle_keeps_no_other_one_from_being_forgotten(on_cluster: OnCeleborn) -> None:
    """Its lost id may be written under; where a task is older than a fence, it is older than all that follow."""
    run = on_cluster
    again = written_once(run)
    assert again.keyed.count() == MAPS * ROWS
    take_flags_down(run, again.shuffle)
    run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(again.shuffle)
    assert isinstance(run.service.free(again.first.locator, TIMEOUT), Freed)
    with again.written() as job:
        outcome = run.service.forget(again.first.locator, TIMEOUT)
        again.gate.open()
        assert job.result(60) == MAPS * ROWS
    assert isinstance(outcome, Failed), outcome
    assert "somebody writes" in outcome.why
    wait_for(lambda: run.service.forget(again.first.locator, TIMEOUT) == Freed(0), "an end of its writers")
    assert again.keyed.count() == MAPS * ROWS


def ids_of(fenced: Fenced) -> set[int]:
    return {int(one) for one in fenced.locator.payload.rpartition("/")[2].split("+")}


def shuffle_dependency(keyed: Any) -> Any:
    """Spark's own, below what PySpark makes of it."""
    rdd = keyed._jrdd.rdd()
    while "ShuffleDependency" not in str((dependency := rdd.dependencies().head()).getClass().getName()):
        rdd = dependency.rdd()
    return dependency


def test_what_workers_are_still_committing_is_not_said_to_be_freed(on_cluster: OnCeleborn) -> None:
    """The last map task writes nothing, so it ends while a worker hangs; nobody reads, so it can be fenced."""
    run = on_cluster
    closed = run.gate()

    def rows(index: int, _: Iterator[int]) -> Iterator[tuple[int, str]]:
        if index < MAPS - 1:
            return wide(index)
        closed.pass_through(index)
        return iter(())

    numbers = run.spark.sparkContext.parallelize(range(MAPS), MAPS)
    dependency = shuffle_dependency(numbers.mapPartitionsWithIndex(rows).partitionBy(3))
    shuffle = int(dependency.shuffleId())
    statuses = run.tap.driver.map_output_tracker.shuffleStatuses()
    job = run.spark.sparkContext._jsc.sc().submitMapStage(dependency)
    try:
        wait_for(lambda: statuses.get(shuffle).isDefined(), "its registration")
        status = statuses.get(shuffle).get()
        wait_for(lambda: status.numAvailableMapOutputs() == MAPS - 1, "all outputs but the last")
        with run.cluster.workers[0].hanging():
            closed.open()
            wait_for(job.isCompleted, "the end of the map stage")
            fenced = fenced_when_quiet(run, shuffle)
            early = run.service.free(fenced.locator, TIMEOUT)
            assert isinstance(early, Failed), early
            assert "still being committed" in early.why
            again = run.service.free(fenced.locator, TIMEOUT)
            assert isinstance(again, Failed)
    finally:
        closed.open()
    wait_for(lambda: isinstance(run.service.free(fenced.locator, TIMEOUT), Freed), "the worker's return", 60)
    assert run.bytes_stored(shuffle) == 0


def test_workers_that_had_no_time_to_answer_are_not_taken_for_silent(on_cluster: OnCeleborn) -> None:
    run = on_cluster
    shuffle = run.write()
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    hasty = run.service.free(fenced.locator, 0.001)
    assert isinstance(hasty, Failed)
    assert "was not asked: no time was left" in hasty.why
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
    assert run.bytes_stored(shuffle) == 0
