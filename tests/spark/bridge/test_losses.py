"""Executors die under an attached application: partial shuffles, recoveries, right results."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark import StorageLevel

from tests.spark.bridge.conftest import kill_an_executor
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_10_a_partly_lost_shuffle_is_completed_under_the_same_id(cluster: Any) -> None:
    expected = sorted(cluster.again(cluster.keyed(maps=6)).collect())
    with cluster.attached() as (attachment, log):
        held = cluster.gate()
        chain = cluster.again(cluster.keyed(maps=6), held)
        with cluster.job(lambda: sorted(chain.collect()), held) as job:
            wait_for(held.arrived, "a reader of A")
            kill_an_executor(cluster.folder)
            held.open()
            assert job.result() == expected
        cluster.settled(attachment)
        a, b = dict.fromkeys(log.map_stages())
        assert log.map_stages() == [a, b, a, b]  # the rest of A, then the rest of B
        assert Counter(log.generations().values())[a] == 1
        assert log.events("premature_deletion") == []
        wait_for(lambda: a in log.app_shuffles("generation_deleted"), "A to go when a reader has succeeded")
        assert_let_go_behind_a_second_attempt(log, a)
        assert b not in log.app_shuffles("generation_deleted")
        assert cluster.files(b)


def assert_let_go_behind_a_second_attempt(log: Any, app_shuffle: int) -> None:
    """Two attempts of one stage have read it, and it expired when one of them had succeeded."""
    [generation] = [one for one, of in log.generations().items() if of == app_shuffle]
    told = log.events("reader_registered", "stage_completed", "outputs_lost", "generation_expired")
    about = [one for one in told if getattr(one, "shuffle_id", generation) == generation]
    readers = [one.reader for one in about if type(one).__name__ == "ReaderRegistered"]
    assert (len({reader.stage for reader in readers}), len({reader.attempt for reader in readers})) == (1, 2)
    assert [one.available for one in about if type(one).__name__ == "OutputsLost"], "it was partial"
    until = next(n for n, one in enumerate(about) if type(one).__name__ == "GenerationExpired")
    ended = [one for one in about[:until] if type(one).__name__ == "StageCompleted" and one.stage in readers]
    assert [bool(one.failure) for one in ended] == [True, False]


def test_25_what_a_lost_executor_takes_is_computed_from_the_source(cluster: Any) -> None:
    with cluster.attached() as (attachment, log):
        chain = cluster.again(cluster.again(cluster.keyed(maps=6)))
        expected = sorted(chain.collect())
        cluster.settled(attachment)
        a, b, c = log.map_stages()
        wait_for(lambda: {a, b} <= set(log.app_shuffles("generation_deleted")), "A and B to go")
        kill_an_executor(cluster.folder)
        wait_for(lambda: log.events("executor_lost"), "the loss in the log")
        assert sorted(chain.collect()) == expected
        cluster.settled(attachment)
        [recovery] = log.events("recovery_opened")
        generations = log.generations()
        assert {a, b} <= {generations[gone] for gone in recovery.gone}
        assert c in {generations[named] for named in (*recovery.gone, *recovery.mixing)}
        attempts = Counter(log.map_stages()[3:])
        assert set(attempts) == {a, b, c}
        assert max(attempts.values()) == 1  # each stage once more


def test_11_what_is_wanted_since_cached_blocks_went_with_an_executor_uses_up_no_budget(cluster: Any) -> None:
    with cluster.attached("eager", budget_premature=0) as (attachment, log):
        cached = cluster.again(cluster.again(cluster.keyed(maps=6))).mapValues(lambda v: v + 1)
        cached.persist(StorageLevel.DISK_ONLY)
        expected = sorted(cached.collect())
        cluster.again(cached).count()  # a reader that writes: what lies behind goes under this policy
        cluster.settled(attachment)
        behind = log.map_stages()[2]
        wait_for(lambda: behind in log.app_shuffles("generation_deleted"), "what lies behind the cache to go")
        kill_an_executor(cluster.folder)
        wait_for(lambda: log.events("cached_blocks_lost"), "the loss in the log")
        assert list(log.events("cached_blocks_lost")[0].app_shuffles) == [behind]
        assert sorted(cached.collect()) == expected
        cluster.settled(attachment)
        missed = log.events("premature_deletion")
        assert missed
        assert all(one.after_loss for one in missed)
        assert log.events("deletion_suspended") == []
        cached.unpersist()
