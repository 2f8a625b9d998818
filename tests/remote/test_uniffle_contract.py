"""Uniffle keeps the contract of shuffle services, with data in its servers' memory and flushed to their disks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from listener_bridge.shuffle_services.api import Cannot, Failed, Fenced, Freed, Held
from listener_bridge.shuffle_services.testing import TIMEOUT, ShuffleServiceContract
from tests.remote.conftest import OnUniffle, on_uniffle
from tests.support.spark import wait_for
from tests.support.uniffle import Uniffle

FLUSHED_CHARACTERS = 200  # of each of 4,000 rows, over three partitions: far above the servers' threshold

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def in_memory(uniffle: Uniffle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnUniffle]:
    with on_uniffle(uniffle, tmp_path_factory.mktemp("spark")) as run:
        yield run


class TestUniffle(ShuffleServiceContract):
    @pytest.fixture
    def world(self, in_memory: OnUniffle) -> OnUniffle:
        in_memory.padding = 0
        return in_memory

    def test_a_fence_moves_the_shuffle_to_servers_that_it_never_used(self, world: OnUniffle) -> None:
        shuffle = world.write()
        before = world.servers(shuffle)
        assert set(world.blocks(shuffle)) == before
        fenced = world.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        assert world.read_again(shuffle)
        after = world.servers(shuffle)
        assert not before & after
        assert set(world.blocks(shuffle)) == before | after
        assert isinstance(world.service.free(fenced.locator, TIMEOUT), Freed)
        assert set(world.blocks(shuffle)) == after

    def test_a_coordinator_that_had_no_time_to_answer_is_not_taken_for_silent(self, world: OnUniffle) -> None:
        shuffle = world.write()
        assert isinstance(world.service.fence(shuffle, 0.5), Failed)
        assert isinstance(world.service.fence(shuffle, TIMEOUT), Fenced)
        assert world.read_again(shuffle)

    def test_where_no_server_is_left_it_cannot_be_fenced_and_stays(self, world: OnUniffle) -> None:
        shuffle = world.write()
        for _ in range(len(world.cluster.servers) - 1):
            fenced = world.service.fence(shuffle, TIMEOUT)
            assert isinstance(fenced, Fenced)
            assert isinstance(world.service.free(fenced.locator, TIMEOUT), Freed)
            assert world.read_again(shuffle)
        held, stored = world.service.holds(shuffle), world.bytes_stored(shuffle)
        refused = world.service.fence(shuffle, TIMEOUT)
        assert isinstance(refused, Cannot)
        assert "no servers left" in refused.why
        assert world.service.holds(shuffle) == held
        assert isinstance(held, Held)
        assert world.bytes_stored(shuffle) == stored > 0
        assert world.read_again(shuffle)

    def test_what_has_more_blocks_than_spark_counts(self, world: OnUniffle) -> None:
        shuffle, counted = world.write_many_blocks()
        before = world.servers(shuffle)
        fenced = world.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        assert fenced.bytes > 0
        assert isinstance(world.service.free(fenced.locator, TIMEOUT), Freed)
        assert not world.blocks(shuffle)
        assert counted() == [200, 200, 0]
        assert not before & set(world.blocks(shuffle))


class TestUniffleFlushed(TestUniffle):
    @pytest.fixture
    def world(self, in_memory: OnUniffle) -> OnUniffle:
        in_memory.padding = FLUSHED_CHARACTERS
        return in_memory

    def test_files_leave_the_servers_disks(self, world: OnUniffle) -> None:
        shuffle = world.write()
        wait_for(lambda: world.bytes_on_disk(shuffle), "data flushed to disk")
        fenced = world.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        assert isinstance(world.service.free(fenced.locator, TIMEOUT), Freed)
        wait_for(lambda: world.bytes_on_disk(shuffle) == 0, "files gone")
        assert world.read_again(shuffle)
