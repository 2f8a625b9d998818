"""Scenario 42: an application that grows very large costs a fresh replica what is alive of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.size import ALIVE, SHUFFLES, Told, check, fresh, tell
from coordinator.runtime.verifying import Verdict

#: A fresh replica holds the same tables in both cases; what else differs is the allocator's and the machine's.
_SPARE_KB = 16 * 1024


def told(folder: Path, shuffles: int) -> tuple[Told, Verdict]:
    """Told, archived, and read back as one log from the first event to the last."""
    folder.mkdir()
    large = asyncio.run(tell(folder, shuffles))
    verdict = asyncio.run(check(large))
    assert verdict.problems == ()
    assert verdict.snapshots >= 2
    return large, verdict


def test_42_most_of_a_log_moves_to_the_archive(tmp_path: Path) -> None:
    large, verdict = told(tmp_path / "large", 2_500)
    assert verdict.events > 25_000
    assert verdict.archived_below > 10_000
    assert large.store_segments < verdict.events // 10


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_42_a_hundred_thousand_shuffles(tmp_path: Path) -> None:
    """The full size. The figures are in docs/benchmarks.md; here stand bounds for a slow and busy machine."""
    large, verdict = told(tmp_path / "large", SHUFFLES)
    assert verdict.events > 1_000_000
    (tmp_path / "small").mkdir()
    small = asyncio.run(tell(tmp_path / "small", ALIVE))
    begun, base = fresh(large), fresh(small)
    assert begun["answered_s"] < 5
    assert begun["held_kb"] < base["held_kb"] + _SPARE_KB
    assert large.store_segments < 10_000
