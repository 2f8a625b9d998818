"""A result stage has read its input, and goes on while that is lost and written again for somebody else.

What it has delivered by then cannot be taken back; what has delivered nothing begins again. A task that is tried again
within the same attempt reads what is there now: nothing fails, so the numbers of the tasks have to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import App, application, await_turn
from tests.spark.mixing.test_branches import KEYS, tokens
from tests.spark.mixing.test_cached import lose_block
from tests.spark.mixing.test_late import hear, stopped
from tests.spark.mixing.test_overtaken import READERS, lose_all, made
from tests.support.spark import Gate, shuffle_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]

TRIES = 4  # that a task has


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[4,{TRIES}]") as found:
        yield found


def read(rdd: Any, held: Gate, failing: Gate | None, free: int) -> Any:
    """Tasks from index `free` on wait at the gate when they have read; the last one at `failing`, to fail once."""
    folder, elsewhere = held.folder, failing.folder if failing else ""

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        fails = elsewhere and index == READERS - 1 and not Gate(elsewhere).arrived()
        if index >= free:
            Gate(elsewhere if fails else folder).pass_through(context().taskAttemptId())
        if fails:
            raise RuntimeError("this task fails once")
        return iter(found)

    return rdd.mapPartitionsWithIndex(wait)


def context() -> TaskContext:
    found = TaskContext.get()
    assert found is not None
    return found


@dataclass
class Result:
    """X -> A -> a result whose tasks have read A, of which nothing is there now. X was deleted."""

    a: Any
    other: Any  # not written yet
    running: Any
    told: Callable[[], list[tuple[int, bool]]]  # partitions delivered, and whether the job was failed

    def agreeing(self) -> int:
        """How many keys of the result are of the generation that the other reader has."""
        return len(set(self.running.result(120)) & set(self.other.collect()))


@contextmanager
def reading(app: App, work: Callable[[Any], Any], *gates: Gate, free: int = 0, **properties: str) -> Iterator[Result]:
    """`work` of A is under way, `free` of its tasks have ended, and each of the others waits at a gate."""
    a, told = deleted_behind(app)

    def run() -> Any:
        with app.properties(**properties):
            return work(a).collect()

    with app.job(run, *gates) as running:
        wait_for(lambda: sum(gate.arrived() for gate in gates) == READERS - free, "tasks that have read A")
        wait_for(lambda: delivered(app) == free, "what is delivered already")
        lose_all(app, a)
        yield Result(a, made(app, a), running, told)


def deleted_behind(
    app: App, source: Any = None, deleted: Any = None
) -> tuple[Any, Callable[[], list[tuple[int, bool]]]]:
    """A, made of what was deleted; and what is told from now on."""
    x = tokens(app) if deleted is None else deleted
    a = made(app, x if source is None else source, READERS)
    assert a.count() == KEYS
    app.delete(shuffle_of(x))
    return a, telling(app)


def telling(app: App) -> Callable[[], list[tuple[int, bool]]]:
    """What is told from now on."""
    app.log.settle()
    before = len(app.log.of(facts.GenerationsMixed))

    def told() -> list[tuple[int, bool]]:
        app.log.settle()
        found = app.log.of(facts.GenerationsMixed)[before:]
        return [(fact.delivered, fact.failed) for fact in found]

    return told


def delivered(app: App) -> int:
    tracker = app.spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)


def heard(app: App) -> None:
    """All that has happened was heard of, and the scheduler has done what was asked of it for that."""
    app.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(30_000)
    await_turn(app.service)


@contextmanager
def hearing_late(app: App, queue: Gate) -> Iterator[None]:
    """What happens in here is heard of at its end."""
    with stopped(app, queue):
        assert app.spark.sparkContext.parallelize([0], 1).count() == 1, "whose task is the last that is heard of"
        yield
        hear(app, queue)


@pytest.mark.parametrize("is_late", [False, True])
def test_what_has_delivered_nothing_begins_again_with_the_task_that_does(app: App, is_late: bool) -> None:
    held, failing, queue = app.gate(), app.gate(), app.gate()
    with reading(app, lambda a: read(a, held, failing, 0), held, failing) as found:
        with hearing_late(app, queue) if is_late else nullcontext():
            assert found.other.count() == KEYS
        failing.open()
        wait_for(lambda: held.arrived() == READERS + 1, "both again")
        held.open()
        assert found.agreeing() == KEYS
        assert found.told() == []


def test_a_task_that_is_tried_again_reads_another_generation_than_was_delivered(app: App) -> None:
    held, failing = app.gate(), app.gate()
    held.open()
    with reading(app, lambda a: read(a, held, failing, 1), failing, free=1) as found:
        assert found.other.count() == KEYS
        failing.open()
        assert 0 < found.agreeing() < KEYS
        assert found.told() == [(1, False)]


def test_strict_fails_the_job_that_would_mix(app: App) -> None:
    held, failing = app.gate(), app.gate()
    with reading(app, lambda a: read(a, held, failing, 1), failing, held, free=1, strict="true") as found:
        assert found.other.count() == KEYS
        failing.open()
        assert "mixes two generations" in str(found.running.exception(120))
        assert found.told() == [(1, True)]


@pytest.mark.parametrize("free", [0, 1])
def test_what_goes_on_as_it_is_mixes_nothing(app: App, free: int) -> None:
    held = app.gate()
    with reading(app, lambda a: read(a, held, None, free), held, free=free) as found:
        assert found.other.count() == KEYS
        held.open()
        assert found.agreeing() == 0, "all of it is of the old one"
        assert held.arrived() == READERS - free, "and no task was begun again for it"
        assert found.told() == []


def test_a_barrier_stage_goes_on_too(app: App) -> None:
    """Spark cannot have a result of it begin again."""
    held = app.gate()
    folder = held.folder

    def wait(rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        Gate(folder).pass_through(context().partitionId())
        return iter(found)

    with reading(app, lambda a: a.barrier().mapPartitions(wait), held) as found:
        assert found.other.count() == KEYS
        held.open()
        assert found.agreeing() == 0
        assert found.told() == []


def test_a_barrier_stage_over_cached_blocks_is_not_aborted(app: App) -> None:
    held = app.gate()
    a, told = deleted_behind(app)
    cached = app.keep(a.map(lambda row: (row[0], row[1])).cache())
    assert cached.count() == KEYS
    folder = held.folder

    def wait(rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        Gate(folder).pass_through(context().partitionId())
        return iter(found)

    with app.job(lambda: cached.barrier().mapPartitions(wait).collect(), held) as running:
        wait_for(lambda: held.arrived() == READERS, "tasks that have read")
        lose_block(app, cached)
        lose_all(app, a)
        other = made(app, a)
        assert other.count() == KEYS
        heard(app)
        held.open()
        assert len(set(running.result(120)) & set(other.collect())) == 0
    assert len(told()) == 1, "it might have read a block of the new generation"


def read_on_at(rdd: Any, held: Gate) -> Any:
    """One task that has read the first partition opens the others when the gate is open."""
    folder = held.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        if index == 0:
            Gate(folder).pass_through(context().taskAttemptId())
        return iter(found)

    return rdd.mapPartitionsWithIndex(wait).coalesce(1)


def test_a_task_that_reads_one_partition_after_the_other_begins_again(app: App) -> None:
    """It has begun, and opens the next partition of A only when it comes to it."""
    held = app.gate()
    a, told = deleted_behind(app)
    with app.job(lambda: read_on_at(a, held).collect(), held) as running:
        wait_for(held.arrived, "one that has read the first partition")
        lose_all(app, a)
        other = made(app, a)
        assert other.count() == KEYS
        held.open()
        assert len(set(running.result(120)) & set(other.collect())) == KEYS
    assert told() == []


@pytest.mark.parametrize("strict", ["false", "true"])
def test_what_a_later_attempt_delivers_is_no_mix(app: App, strict: str) -> None:
    """It is heard of before the submission of that attempt is."""
    writing, failing, second, queue = app.gate(), app.gate(), app.gate(), app.gate()
    writing.open()
    x = tokens(app)
    a, told = deleted_behind(app, app.hold(x, writing, 0), x)
    elsewhere, folder = failing.folder, second.folder

    def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        found = list(rows)
        if not Path(elsewhere, f"arrived-{index}").exists():
            Gate(elsewhere).pass_through(index)
            raise RuntimeError("this task fails once")
        if index == READERS - 1:
            Gate(folder).pass_through(index)
        return iter(found)

    def run() -> Any:
        with app.properties(strict=strict):
            return a.mapPartitionsWithIndex(wait).collect()

    with app.job(run, writing, failing, second, queue) as running:
        wait_for(lambda: failing.arrived() == READERS, "tasks that have read A")
        writing.close()
        for who in Path(writing.folder).glob("arrived-*"):
            who.unlink()
        lose_all(app, a)
        failing.open()
        wait_for(writing.arrived, "X is there again, and A is being written")
        heard(app)
        with stopped(app, queue):
            writing.open()
            wait_for(second.arrived, "a task of the second attempt")
            wait_for(lambda: delivered(app) >= 1, "another one that has delivered")
            hear(app, queue)
        second.open()
        assert len(set(running.result(120)) & set(a.collect())) == KEYS
    assert told() == []


def test_declared_deterministic_goes_on(app: App) -> None:
    held, failing = app.gate(), app.gate()
    with reading(app, lambda a: read(a, held, failing, 0), held, failing, deterministic="true") as found:
        assert found.other.count() == KEYS
        failing.open()
        held.open()
        assert 0 < found.agreeing() < KEYS, "as it declared"
        assert found.told() == []
