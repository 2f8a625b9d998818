"""Replicas of two releases over one store, under drivers that tell what only the newer one knows: scenario 43.

Its invariant: what is waited for is in a history, never a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import checker, history, store
from tests.faults.cluster import Cluster, running_cluster
from tests.faults.history import Action
from tests.faults.release import COMMAND, Release
from tests.faults.run import SETTINGS, Drivers, await_done
from tests.faults.test_lives import until

pytestmark = pytest.mark.faults


class World:
    """A cluster of which `r2` is of the older release, and three drivers."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.drivers = Drivers(folder, cluster.addresses, seed=1, each=3, pace_s=0.05, newer=True)
        self.applications = set(self.drivers.start().applications)

    def actions(self) -> list[Action]:
        return history.read(self.folder.glob("*.jsonl"))

    def now_s(self) -> float:
        return max(action.begun_s for action in self.actions())

    def told(self, outcome: str, since_s: float = 0.0) -> set[str]:
        """Whose report of what only the newer release knows had that outcome."""
        return {a.who for a in self.actions() if a.what == COMMAND and a.outcome == outcome and a.begun_s > since_s}

    def deleted(self, since_s: float) -> set[str]:
        return {action.who for action in self.actions() if action.what == "freed" and action.begun_s > since_s}

    def at(self, name: str, since_s: float = 0.0) -> set[str]:
        """Whose session this replica has had."""
        address = self.cluster.servers[name].advertise
        welcomed = [a for a in self.actions() if a.what == "welcomed" and a.begun_s > since_s]
        return {action.who for action in welcomed if action.told["address"] == address}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running_cluster(tmp_path, settings=SETTINGS, older=["r2"]) as cluster:
        world = World(cluster, tmp_path)
        try:
            yield world
        finally:
            world.drivers.kill()


@pytest.mark.timeout(240)
def test_43_an_older_replica_reads_all_until_it_is_upgraded(world: World) -> None:
    """Sessions at any of them; each is killed once; then the older one comes as the newer one, and goes back."""
    everybody = world.applications
    until(lambda: world.told("failed") == everybody, "everybody to be told that an older replica could not read it")
    for name in ("r0", "r1"):
        world.cluster.kill(name)
    until(lambda: world.at("r2") == everybody, "everybody to be with the older one")
    gone_s = world.now_s()
    until(lambda: world.deleted(gone_s) == everybody, "deletions by the older one")
    assert world.told("ok") == set()
    world.cluster.heal()
    upgraded_s = world.now_s()
    until(lambda: world.told("ok", upgraded_s) == everybody, "everybody's report to be taken")
    world.cluster.exchange("r1", Release.OLDER)
    world.cluster.servers["r1"].await_serving()
    world.cluster.kill("r0")
    back_s = world.now_s()
    until(lambda: world.told("failed", back_s) == everybody, "reports to be refused again")
    until(lambda: world.deleted(back_s) == everybody, "deletions, though one of two cannot read what there is")
    assert world.at("r1", back_s) == set(), "an older one opens no session over what it cannot read"
    world.cluster.heal()
    assert world.drivers.rest() == []
    assert await_done(world.cluster, world.drivers) == []
    found = checker.check(store.of_etcd(world.cluster), world.actions())
    assert found.wrong == ()
    assert found.counts["segments of the newer release"] >= len(everybody)
