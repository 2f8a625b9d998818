"""Drivers that die, are paused and come back, over replicas and a store that go away: scenarios 20, 21, 40, 41a.

Its invariant: what is waited for is in the store or in a history, never a time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from shuffle_lifecycle.v1 import common_pb2

from tests.faults import checker, fold, history, store
from tests.faults.cluster import Cluster, running_cluster
from tests.faults.disk import Slowness
from tests.faults.history import Action, Recorder
from tests.faults.run import SETTINGS, DriverProcess, Drivers, await_done, left_behind

pytestmark = pytest.mark.faults

T = TypeVar("T")
SILENCE_S = 6.0
PATIENCE_S = 60.0
FENCE, DELETE = common_pb2.DIRECTIVE_KIND_FENCE, common_pb2.DIRECTIVE_KIND_DELETE


class World:
    """One cluster for the whole file; each test has its own drivers and histories."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.recorder = Recorder(folder / "test.jsonl")
        self.drivers = Drivers(folder, cluster.addresses, seed=1, each=1, pace_s=0.1)

    def start(self, each: int = 1, slowness: Slowness | None = None) -> DriverProcess:
        self.drivers.each, self.drivers.slowness = each, slowness or Slowness()
        return self.drivers.start()

    def log(self, application: str) -> fold.Log:
        return fold.read_logs(store.of_etcd(self.cluster))[application]

    def actions(self) -> list[Action]:
        return history.read(self.folder.glob("*.jsonl"))

    def did(self, what: str, **told: object) -> list[Action]:
        """What was done, as far as histories say by now."""
        return [a for a in self.actions() if a.what == what and told.items() <= a.told.items()]

    def silenced(self, process: DriverProcess) -> None:
        self.recorder.note("test", "silenced", silenced=process.applications)

    def wrong(self) -> list[str]:
        """What a checker finds of the applications of this test."""
        mine = {action.who for action in self.actions()}
        keys = {k: v for k, v in store.of_etcd(self.cluster).items() if mine & set(k.split("/"))}
        return list(checker.check(keys, self.actions()).wrong)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {**SETTINGS, "SHUFFLECTL_SERVE__SILENCE_S": str(SILENCE_S), "SHUFFLECTL_SERVE__HEARTBEAT_S": "1"}
    with running_cluster(tmp_path_factory.mktemp("cluster"), settings=settings) as cluster:
        yield cluster


@pytest.fixture
def world(cluster: Cluster, tmp_path: Path) -> Iterator[World]:
    world = World(cluster, tmp_path)
    try:
        yield world
    finally:
        world.drivers.kill()
        cluster.heal()


def until(found: Callable[[], T], what: str) -> T:
    """Waits for what is to be found."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        if came := found():
            return came
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_S:g} s in vain for {what}")


def test_20_a_driver_killed_between_fence_and_delete_is_reaped_and_leaves_nothing(world: World) -> None:
    world.start(slowness=Slowness(free_s=PATIENCE_S))
    (application,) = world.drivers.applications()
    until(lambda: world.did("directed", kind=DELETE), "a directive to delete")
    killed = world.drivers.kill_first()
    world.silenced(killed)
    until(lambda: world.log(application).ending == common_pb2.ENDING_LOST, "its end")
    assert left_behind(world.cluster, {application}) == []
    log = world.log(application)
    assert {generation.life for generation in log.generations.values()} <= fold.GONE
    assert world.wrong() == []


def test_21_a_directive_whose_replica_died_is_sent_again_by_another_one_and_done_once(world: World) -> None:
    world.start(slowness=Slowness(fence_s=2.0))
    fence = until(lambda: world.did("directed", kind=FENCE), "a directive to fence")[0]
    (holder,) = (
        n for n, s in world.cluster.servers.items() if s.advertise == world.did("welcomed")[-1].told["address"]
    )
    world.cluster.kill(holder)
    again = until(lambda: world.did("directed", directive=fence.told["directive"])[1:], "the same directive again")
    assert again[0].told == fence.told
    until(lambda: world.did("freed"), "the deletion")
    world.cluster.heal()
    assert world.drivers.rest() == []
    assert await_done(world.cluster, world.drivers) == []
    (first, *_) = world.did("fenced")
    assert world.did("fenced", **first.told) == [first]
    assert world.wrong() == []


def test_a_driver_that_was_paused_for_too_long_finds_out_and_deletes_nothing_more_of_it(world: World) -> None:
    process = world.start(each=2)
    one, other = process.applications
    until(lambda: len({action.who for action in world.did("freed")}) == 2, "deletions of both")
    world.silenced(process)
    os.kill(process.process.pid, signal.SIGSTOP)
    try:
        for application in (one, other):
            until(lambda name=application: world.log(name).ending == common_pb2.ENDING_LOST, "its end")  # type: ignore[misc]
    finally:
        os.kill(process.process.pid, signal.SIGCONT)
        back_s = time.monotonic()
    until(lambda: len(world.did("over")) == 2, "both to find out")
    known_s = max(action.begun_s for action in world.did("over"))
    touched = [action for action in world.actions() if action.what in ("fenced", "freed")]
    assert [action for action in touched if action.begun_s > known_s] == [], "nothing is deleted any more"
    assert known_s - back_s < PATIENCE_S
    assert left_behind(world.cluster, {one, other}) == []
    assert world.wrong() == []


def test_40_all_replicas_go_away_and_come_back(world: World) -> None:
    process = world.start(each=3)
    until(lambda: len({action.who for action in world.did("freed")}) == 3, "deletions of all")
    for name in world.cluster.servers:
        world.cluster.kill(name)
    killed_s = time.monotonic()
    world.cluster.heal()
    until(lambda: len({a.who for a in world.did("freed") if a.begun_s > killed_s}) == 3, "deletions of all, again")
    assert world.drivers.rest() == []
    assert await_done(world.cluster, world.drivers) == []
    assert world.wrong() == []
    assert {world.log(name).ending for name in process.applications} == {0}


def test_41a_nobody_is_reaped_for_a_silence_of_the_store(world: World) -> None:
    process = world.start(each=3)
    until(lambda: len({action.who for action in world.did("freed")}) == 3, "deletions of all")
    for name in world.cluster.members:
        world.cluster.pause(name)
    away = Action("test", "away", time.monotonic())
    until(lambda: time.monotonic() > away.begun_s + 3 * SILENCE_S, "three times the silence that a driver may keep")
    world.cluster.heal()
    back_s = time.monotonic()
    until(lambda: len({a.who for a in world.did("freed") if a.begun_s > back_s}) == 3, "deletions of all, again")
    until(lambda: time.monotonic() > back_s + 1.5 * SILENCE_S, "a reaper that counted the outage to have acted")
    assert {world.log(name).ending for name in process.applications} == {0}
    assert world.drivers.rest() == []
    assert await_done(world.cluster, world.drivers) == []
    assert world.wrong() == []
