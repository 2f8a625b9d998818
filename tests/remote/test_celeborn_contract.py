"""Celeborn keeps the contract of shuffle services."""

from __future__ import annotations

import pytest

from listener_bridge.shuffle_services.api import Fenced, Freed, Held
from listener_bridge.shuffle_services.testing import TIMEOUT, ShuffleServiceContract
from tests.remote.conftest import OnCeleborn, spark_version


class TestCeleborn(ShuffleServiceContract):
    @pytest.fixture
    def world(self, on_cluster: OnCeleborn) -> OnCeleborn:
        return on_cluster

    def test_a_new_generation_has_a_new_id_of_celeborns(self, world: OnCeleborn) -> None:
        shuffle = world.write()
        (first,) = world.ids(shuffle)
        assert isinstance(world.service.fence(shuffle, TIMEOUT), Fenced)
        assert world.ids(shuffle) == {first: False}
        assert world.read_again(shuffle)
        second = max(world.ids(shuffle))
        assert world.ids(shuffle) == {first: False, second: True}
        held = world.service.holds(shuffle)
        assert isinstance(held, Held)
        assert held.locator.payload.endswith(f"/{shuffle}/1/{second}")

    def test_bytes_are_those_on_the_workers_disks(self, world: OnCeleborn) -> None:
        shuffle = world.write()
        stored = world.bytes_stored(shuffle)
        fenced = world.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        is_old = "-0.5" in world.cluster.home.client(spark_version()).name  # tells some more than it has written
        assert fenced.bytes == stored or (is_old and stored < fenced.bytes < 1.1 * stored)
        assert world.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)

    def test_what_has_more_blocks_than_spark_counts(self, world: OnCeleborn) -> None:
        shuffle, counted = world.write_many_blocks()
        stored = world.bytes_stored(shuffle)
        fenced = world.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        assert fenced.bytes == stored > 0
        assert world.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
        assert world.bytes_stored(shuffle) == 0
        assert counted() == [200, 200, 0]
