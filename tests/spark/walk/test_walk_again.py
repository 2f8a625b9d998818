"""A second application in the same JVM: what is still held of the first one has ids that are given out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from listener_bridge.reach.findings import TargetId
from tests.support.walking import Walking, walking

pytestmark = [pytest.mark.spark, pytest.mark.newest]
HANDLES = 5


def shuffled(run: Walking) -> list[Any]:
    """Handles with a shuffle each, all written."""
    numbers = run.spark.sparkContext.parallelize(range(40), 2)
    handles = [numbers.map(lambda n: (n % 5, n)).partitionBy(2) for _ in range(HANDLES)]
    assert {handle.count() for handle in handles} == {40}
    return handles


def narrow(run: Walking) -> list[Any]:
    """Handles without any shuffle, whose ids cover those of `shuffled`."""
    numbers = run.spark.sparkContext.parallelize(range(40), 2)
    handles = [numbers.map(lambda n: n + 1) for _ in range(8 * HANDLES)]
    assert {handle._jrdd.rdd().id() for handle in handles}
    return handles


def needs_by_handle(run: Walking) -> dict[str, frozenset[int]]:
    return {root.root: root.needs for root in run.roots()}


def test_handles_of_an_application_that_ended_neither_hide_nor_hold_anything(folder: Path) -> None:
    with walking(folder) as first:
        kept = [*narrow(first), *shuffled(first)]
    with walking(folder) as second:
        handles = shuffled(second)
        ids = {handle._jrdd.rdd().id() for handle in kept}
        assert {handle._jrdd.rdd().id() for handle in handles} <= ids, "no id was given out twice: this shows nothing"
        needs = needs_by_handle(second)
        found = [needs.get(TargetId(handle._jrdd._target_id)) for handle in handles]
        assert found == [frozenset({shuffle}) for shuffle in range(HANDLES)]
        of_the_dead = {TargetId(handle._jrdd._target_id) for handle in kept}
        assert not of_the_dead & needs.keys()
