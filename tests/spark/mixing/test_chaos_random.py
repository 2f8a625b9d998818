"""Random numbers that nobody declared, and everything that is whole deleted at random: every result is right.

Responsible for: chains, diamonds, branches that have to agree (read by one job, and by jobs in turns), and loops in two
threads, deletions of whatever is complete, map outputs lost from what was written from something deleted. Refuses to
know: policies; a test's own hand deletes. (Branches agree after a loss, not after a deletion that came too early: so of
theirs only what both have read is deleted.)

What Spark alone gets wrong is kept out: where nothing was deleted it repairs in part too, and mixes. So executors are
killed only where their files outlive them (the external shuffle service): else they would take parts of both an input
and its reader; and an output is lost when its input has been deleted.
Invariant: what fails can be tried again with the seed that it prints.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.shuffle_services.api import Fenced
from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, TIMEOUT, App, application, fence_it_all_the_same
from tests.support.spark import LOCAL, LOCAL_CLUSTER, shuffle_of
from tests.support.standalone import executors, kill_executor, with_service

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1500)]

ROWS = 300
WITHIN_S = float(os.environ.get("CHAOS_WITHIN_S", "1200"))
PAUSE_S = 0.02  # between two rounds of the deleting hand, where it knows `KNOWN` shuffles or more
KNOWN = 60  # with fewer it takes its time: it would delete each of them sooner than a job can write it again
DELETIONS_A_KILL = 15
STANDALONE = "standalone"


def slow(rows: Iterator[Any]) -> Iterator[Any]:
    """A task that takes a while, so that something happens meanwhile."""
    time.sleep(random.random() * 0.05)
    return rows


@dataclass
class Program:
    """One job: its random stage first, and what it gives when nothing is mixed."""

    work: Callable[[], Any]
    right: Any
    name: str
    branches: dict[int, list[int]] = field(default_factory=dict)  # what both read -> what may only be lost


def step(app: App, rdd: Any) -> Any:
    return app.step(rdd.mapPartitions(slow))


def chain(app: App) -> Program:
    last = step(app, step(app, step(app, app.random_rows(ROWS))))
    return Program(lambda: sorted(row[1] for row in last.collect()), list(range(ROWS)), "chain")


def diamond(app: App) -> Program:
    middle = step(app, app.random_rows(ROWS))
    both = step(app, middle).union(step(app, step(app, middle))).map(lambda row: (row[1], 1))
    counted = app.keep(both.reduceByKey(lambda a, b: a + b, MAPS))
    return Program(lambda: sorted(counted.collect()), [(n, 2) for n in range(ROWS)], "diamond")


ALIKE = [(number, 1) for number in range(ROWS)]


def two_sides(app: App) -> tuple[list[Any], dict[int, list[int]]]:
    """Each row carries its draw, which both have to tell alike."""
    rows = app.random_rows(ROWS)
    sides = [app.keep(rows.map(lambda row: (row[1], row[0])).mapPartitions(slow).partitionBy(MAPS)) for _ in range(2)]
    return sides, {shuffle_of(rows): [shuffle_of(one) for one in sides]}


def agreeing(app: App, sides: list[Any]) -> list[tuple[int, int]]:
    both = app.keep(sides[0].union(sides[1]).groupByKey(MAPS))
    return sorted(both.map(lambda pair: (pair[0], len(set(pair[1])))).collect())


def branches(app: App) -> Program:
    sides, known = two_sides(app)
    return Program(lambda: agreeing(app, sides), ALIKE, "branches", known)


def in_turns(app: App) -> Program:
    """Each side is read by a job of its own, and what these have made by a third one."""
    sides, known = two_sides(app)
    made = [app.keep(side.mapPartitions(slow).partitionBy(MAPS, lambda key: 7 * key)) for side in sides]

    def run() -> list[tuple[int, int]]:
        assert [one.count() for one in made] == [ROWS, ROWS]
        return agreeing(app, made)

    return Program(run, ALIKE, "in turns", known)


def loop(app: App) -> Program:
    def run() -> list[int]:
        rows = app.random_rows(ROWS)
        counts = []
        for _ in range(3):
            rows = step(app, rows)
            counts.append(rows.count())
        return counts

    return Program(run, [ROWS] * 3, "loop")


@dataclass
class Chaos:
    app: App
    seed: int
    wanted: int  # deletions
    kills: bool = False  # executors, too
    deleted: int = 0
    lost: int = 0
    killed: int = 0
    jobs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    branches: dict[int, list[int]] = field(default_factory=dict)

    def run(self) -> None:
        threads = [threading.Thread(target=self.drive, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        try:
            self.delete()
        finally:
            self.over.set()
            for thread in threads:
                thread.join()

    def drive(self, number: int) -> None:
        drawn = random.Random(f"{self.seed} {number}")
        group = f"driving {number}"
        self.app.spark.sparkContext.setJobGroup(group, group)
        while not self.over.is_set():
            program = drawn.choice([chain, diamond, branches, in_turns, loop])(self.app)
            self.branches.update(program.branches)
            for _ in range(2):  # where one branch stayed, the second time is told too
                self.compare(program, group)

    def compare(self, program: Program, group: str) -> None:
        mixed = self.told(group)
        try:
            found = program.work()
        except Exception as error:  # noqa: BLE001 - a job that fails is a finding like a wrong result
            self.fail(f"{program.name} failed: {str(error)[:2000]}")
            return
        self.jobs[program.name] += 1
        is_told = self.told(group) > mixed
        if found != program.right and not is_told:
            self.fail(f"{program.name} gave {len(found)} rows, {sorted(set(found))[:5]}, and nothing was told")
        elif found != program.right:
            self.jobs[f"{program.name}, told as mixed"] += 1

    def told(self, group: str) -> int:
        """How many jobs of the group are said to mix generations."""
        self.app.log.settle()
        jobs = {job.job_id for job in self.app.log.of(facts.JobStarted) if job.group == group}
        return sum(fact.job_id in jobs for fact in self.app.log.of(facts.GenerationsMixed))

    def fail(self, why: str) -> None:
        self.wrong.append(why)
        self.over.set()

    # ---- the hand that deletes ----

    def delete(self) -> None:
        drawn = random.Random(f"{self.seed} hand")
        end = time.monotonic() + WITHIN_S
        while self.deleted < self.wanted and not self.over.is_set() and time.monotonic() < end:
            known = self.app.known()
            for shuffle in drawn.sample(known, min(2, len(known))):
                self.delete_one(shuffle, drawn)
            if self.kills and self.deleted >= (self.killed + 1) * DELETIONS_A_KILL:
                self.kill_one(drawn)
            self.over.wait(PAUSE_S * max(1.0, KNOWN / max(1, len(known))))

    def kill_one(self, drawn: random.Random) -> None:
        """Its tasks fail, and others take its files over."""
        if alive := executors(self.app.spark):
            kill_executor(self.app.spark, drawn.choice(alive))
            self.killed += 1

    def delete_one(self, shuffle: int, drawn: random.Random) -> None:
        if not self.app.is_complete(shuffle) or not self.may_go(shuffle):
            return
        outcome = fence_it_all_the_same(self.app.service, shuffle)
        if not isinstance(outcome, Fenced):
            return
        self.app.service.free(outcome.locator, TIMEOUT)
        self.deleted += 1
        if not self.app.is_random(shuffle):
            return
        readers = [one for one in self.app.readers(shuffle) if self.app.is_complete(one)]
        if readers and drawn.random() < 0.5:
            self.lost += self.app.lose_output(drawn.choice(readers), drawn.randrange(MAPS))

    def may_go(self, shuffle: int) -> bool:
        """Of branches: what both have read. (A loss is this hand's own, so nothing changes behind the look.)"""
        known = dict(self.branches)
        if any(shuffle in lost for lost in known.values()):
            return False
        return all(self.app.is_complete(one) for one in known.get(shuffle, []))


@contextmanager
def a_cluster(master: str, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Where the application runs, and its settings there."""
    if master != STANDALONE:
        yield master, {}
        return
    with with_service(folder) as (address, conf):
        yield address, {**conf, "spark.task.maxFailures": "100", "spark.deploy.maxExecutorRetries": "-1"}


@pytest.mark.parametrize(
    ("master", "deletions"),
    [
        pytest.param(LOCAL, 100, id="local"),
        pytest.param(LOCAL, 500, id="local-long"),
        pytest.param(LOCAL_CLUSTER, 100, id="cluster"),
        pytest.param(STANDALONE, 100, id="executors-killed"),
        pytest.param(STANDALONE, 500, id="executors-killed-long"),
    ],
)
def test_every_result_is_right_or_told(
    master: str, deletions: int, folder: Path, request: pytest.FixtureRequest
) -> None:
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"\nagain: CHAOS_SEED={seed} python -m pytest '{request.node.nodeid}' -s")
    with a_cluster(master, folder) as (where, conf), application(folder, where, hooked=True, **conf) as app:
        chaos = Chaos(app, seed, deletions, kills=master == STANDALONE)
        began = time.monotonic()
        chaos.run()
        print(
            f"{chaos.deleted} deletions, {chaos.lost} outputs lost, {chaos.killed} executors killed, "
            f"{app.marks()} marks in {time.monotonic() - began:.0f} s; {dict(chaos.jobs)}; wrong: {chaos.wrong}"
        )
    assert chaos.wrong == []
    assert chaos.deleted >= deletions
