"""Random numbers that nobody declared, and everything that is whole deleted at random: every result is right.

Responsible for: chains, diamonds, branches that have to agree, and loops in two threads, deletions of whatever is
complete, map outputs lost from what was written from something deleted. Refuses to know: policies; a test's own hand
deletes. (Branches agree after a loss, not after a deletion that came too early: so of theirs only what both have read
is deleted.)

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


def branches(app: App) -> Program:
    """Each row carries its draw, which both sides have to tell alike."""
    rows = app.random_rows(ROWS)
    sides = [app.keep(rows.map(lambda row: (row[1], row[0])).mapPartitions(slow).partitionBy(MAPS)) for _ in range(2)]
    both = app.keep(sides[0].union(sides[1]).groupByKey(MAPS))
    alike = both.map(lambda pair: (pair[0], len(set(pair[1]))))
    known = {shuffle_of(rows): [shuffle_of(one) for one in sides]}
    return Program(lambda: sorted(alike.collect()), [(n, 1) for n in range(ROWS)], "branches", known)


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
            program = drawn.choice([chain, diamond, branches, loop])(self.app)
            self.branches.update(program.branches)
            for _ in range(2):
                if self.compare(program, group) and program.branches:
                    break  # told: one branch stayed, and later jobs read it beside the new one (docs/adr/0007-marks.md)

    def compare(self, program: Program, group: str) -> bool:
        """Whether it is told as mixed."""
        mixed = self.told(group)
        try:
            found = program.work()
        except Exception as error:  # noqa: BLE001 - a job that fails is a finding like a wrong result
            self.fail(f"{program.name} failed: {str(error)[:2000]}")
            return False
        self.jobs[program.name] += 1
        is_told = self.told(group) > mixed
        if found != program.right and not is_told:
            self.fail(f"{program.name} gave {len(found)} rows, {sorted(set(found))[:5]}, and nothing was told")
        elif found != program.right:
            self.jobs[f"{program.name}, told as mixed"] += 1
        return is_told

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
