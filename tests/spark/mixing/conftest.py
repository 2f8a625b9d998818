"""Jobs whose random numbers nobody declared, on a session whose shuffles the test deletes by its own hand.

Responsible for: building such jobs, deleting one generation, losing one map output, holding a job in the middle.
Refuses to know: coordinators, unless a test attaches one. Invariant: a job's right result is the same every time,
whatever was drawn: each row once; a mix of two draws loses rows and doubles others.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.marks import marks
from listener_bridge.shuffle_services.api import Busy, Fenced, FenceOutcome, Freed, Held
from listener_bridge.shuffle_services.native import NativeShuffleService
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.spark import LOCAL, LOCAL_CLUSTER, FactLog, Gate, gate, in_background, spark_session, wait_for

ROWS = 600
MAPS = 4
RIGHT = list(range(ROWS))
TIMEOUT = 20.0
NO_SHUFFLE = 1_000_000
_GATES = itertools.count()


def drawn(number: int) -> tuple[int, int]:
    """Looks deterministic to Spark."""
    return random.SystemRandom().randrange(1_000_000), number


def fence_it_all_the_same(service: NativeShuffleService, shuffle: int) -> FenceOutcome:
    """Named by its generation, it is fenced under stages that wait to read it too."""
    held = service.holds(shuffle)
    return service.fence(shuffle, TIMEOUT, held.locator if isinstance(held, Held) else None)


class HookLog(FactLog):
    """Also of what the hook makes of what has happened, later: it acts in the scheduler's thread."""

    def __init__(self, tap: Tap, service: NativeShuffleService) -> None:
        super().__init__(tap)
        self._service = service

    def settle(self) -> None:
        super().settle()
        await_turn(self._service)
        super().settle()


def await_turn(service: NativeShuffleService) -> None:
    """What was asked of the scheduler's thread before is done."""
    service.fence(NO_SHUFFLE, TIMEOUT)


@dataclass
class App:
    """A running application and the Java that keeps its generations apart."""

    spark: Any
    tap: Tap
    log: FactLog
    service: NativeShuffleService
    folder: Path
    hook: Any
    kept: list[Any] = field(default_factory=list)  # what Spark's cleaner shall not find

    # ---- jobs ----

    def random_rows(self, rows: int = ROWS, held: Gate | None = None) -> Any:
        """A: each row goes to a partition that is drawn anew with every computation."""
        numbers = self.hold(self.spark.sparkContext.parallelize(range(rows), MAPS), held, 0)
        return self.keep(numbers.map(drawn).partitionBy(MAPS))

    def step(self, rdd: Any, held: Gate | None = None, free: int = 1) -> Any:
        """One more shuffle. Tasks from index `free` on wait at the gate, when they have begun to read."""
        return self.keep(self.hold(rdd, held, free).map(lambda row: (row[1] % 101, row[1])).partitionBy(MAPS))

    def hold(self, rdd: Any, held: Gate | None, free: int = 1) -> Any:
        folder = held.folder if held is not None else ""

        def wait(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            if folder and index >= free:
                Gate(folder).pass_through(index)
            return rows

        return rdd.mapPartitionsWithIndex(wait)

    def gate(self) -> Gate:
        return gate(self.folder / f"gate-{self.spark.sparkContext.applicationId}-{next(_GATES)}")

    def keep(self, rdd: Any) -> Any:
        self.kept.append(rdd)
        return rdd

    @contextmanager
    def job(self, work: Callable[[], Any], *gates: Gate) -> Iterator[Future[Any]]:
        with in_background(work) as running:
            try:
                yield running
            finally:
                for closed in gates:
                    closed.open()

    # ---- what happens to shuffles ----

    def shuffles(self) -> list[int]:
        """The app shuffles that the newest job has announced, inputs first. (Their own numbers go the other way.)"""
        self.log.settle()
        stages = sorted(self.log.of(facts.JobStarted)[-1].stages, key=lambda stage: stage.stage_id)
        return [stage.writes for stage in stages if stage.writes is not None]

    def announced_stages(self) -> dict[int, Any]:
        """App shuffle -> the newest stage that a job has announced for it."""
        jobs = self.log.of(facts.JobStarted)[-60:]
        return {stage.writes: stage for job in jobs for stage in job.stages if stage.writes is not None}

    def known(self) -> list[int]:
        return sorted(self.announced_stages())

    def is_random(self, shuffle: int) -> bool:
        """Whether nothing is above it: it is where the numbers are drawn."""
        stage = self.announced_stages().get(shuffle)
        return stage is not None and not stage.parent_stage_ids

    def readers(self, shuffle: int) -> list[int]:
        """App shuffles that are written from it."""
        found = set()
        for job in self.log.of(facts.JobStarted)[-60:]:
            writes = {stage.stage_id: stage.writes for stage in job.stages}
            for stage in job.stages:
                if stage.writes is not None and shuffle in [writes.get(parent) for parent in stage.parent_stage_ids]:
                    found.add(stage.writes)
        return sorted(found)

    def status(self, shuffle: int) -> Any:
        return self.tap.driver.map_output_tracker.shuffleStatuses().get(shuffle).get()

    def is_complete(self, shuffle: int) -> bool:
        found = self.tap.driver.map_output_tracker.shuffleStatuses().get(shuffle)
        return bool(found.isDefined()) and found.get().findMissingPartitions().size() == 0

    def delete(self, shuffle: int) -> None:
        """Fence it and free its files, once nobody is busy with it."""
        outcome = wait_for(lambda: self.fenced(shuffle), f"app shuffle {shuffle} not busy")
        assert outcome is not None
        assert isinstance(self.service.free(outcome.locator, TIMEOUT), Freed)

    def fenced(self, shuffle: int) -> Fenced | None:
        outcome = fence_it_all_the_same(self.service, shuffle)
        assert isinstance(outcome, (Fenced, Busy)), outcome
        return outcome if isinstance(outcome, Fenced) else None

    def lose_output(self, shuffle: int, map_index: int = 0) -> bool:
        """As if its executor had gone, without a word to the coordinator. False: it was not there."""
        tracker = self.tap.driver.map_output_tracker
        output = self.status(shuffle).mapStatuses()[map_index]
        if output is not None:
            tracker.unregisterMapOutput(shuffle, map_index, output.location())
        return output is not None

    # ---- what came of it ----

    def announced(self, rdd: Any) -> None:
        """Wait until a job over this RDD is known to the scheduler."""
        number = rdd._jrdd.rdd().id()
        started = (facts.JobStarted,)
        self.log.wait(
            lambda f: isinstance(f, started) and any(number in stage.rdd_ids for stage in f.stages),
            f"a job of {number}",
        )

    def submissions(self, shuffle: int) -> list[int]:
        """How many tasks each attempt at writing it had."""
        self.log.settle()
        return [f.stage.num_tasks for f in self.log.of(facts.StageSubmitted) if f.stage.writes == shuffle]

    def marks(self) -> int:
        return int(self.hook.count())

    def settled(self) -> None:
        wait_for(lambda: not self.hook.isBusy(), "all levels put back")

    def choose(self, strict: bool = False, deterministic: bool = False) -> None:
        marks.keep_apart(self.tap, strict, deterministic)

    @contextmanager
    def choosing(self, strict: bool = False, deterministic: bool = False) -> Iterator[None]:
        self.choose(strict, deterministic)
        try:
            yield
        finally:
            self.choose()

    def level(self, rdd: Any) -> str:
        return str(rdd._jrdd.rdd().outputDeterministicLevel())

    @contextmanager
    def properties(self, **properties: str) -> Iterator[None]:
        """Local properties of this thread's jobs."""
        context = self.spark.sparkContext
        for name, value in properties.items():
            context.setLocalProperty(f"spark.shuffleLifecycle.{name}", value)
        try:
            yield
        finally:
            for name in properties:
                context.setLocalProperty(f"spark.shuffleLifecycle.{name}", None)


@contextmanager
def application(folder: Path, master: str = LOCAL, hooked: bool = True, **conf: str) -> Iterator[App]:
    """A session; without `hooked` nothing keeps its generations apart, until the test attaches."""
    settings = {
        "spark.stage.maxConsecutiveAttempts": "1000",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        **conf,
    }
    with spark_session(folder, master, **settings) as spark:
        tap = Tap.open(spark)
        service = NativeShuffleService(tap)
        yield App(spark, tap, HookLog(tap, service), service, folder, marks.keep_apart(tap) if hooked else None)
        tap.close()


def values(rdd: Any) -> list[int]:
    return sorted(row[1] for row in rdd.collect())


def partly_lost(app: App) -> list[int]:
    """A -> B -> C -> result. While C runs, A is deleted and a part of B lost. Answers the result."""
    held = app.gate()
    last = app.step(app.step(app.random_rows()), held)
    with app.job(lambda: values(last), held) as running:
        lose_b(app, held)
        held.open()
        found: list[int] = running.result(120)
        return found


def owed(app: App) -> tuple[Any, int]:
    """B is complete, and A was written again for another reader: B is owed a whole writing. Its RDD and number."""
    rows = app.random_rows()
    first, other = app.step(rows), app.step(rows)
    assert values(first) == RIGHT
    a, b = app.shuffles()
    app.delete(a)
    assert values(other) == RIGHT
    return first, b


def lose_b(app: App, held: Gate) -> tuple[int, int, int]:
    wait_for(lambda: held.arrived() >= 1, "tasks of C")
    a, b, c = app.shuffles()
    app.delete(a)
    app.lose_output(b)
    return a, b, c


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all sessions of the process: Spark keeps the first local directory for the life of the JVM."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder) as found:
        yield found


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[App]:
    with application(folder, LOCAL_CLUSTER) as found:
        yield found
