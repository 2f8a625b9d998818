"""A minute of faults, the same each time; hours are `make faults SECONDS=…`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.run import run
from tests.faults.schedule import Kind, schedule

pytestmark = pytest.mark.faults

SEED, SECONDS = 5, 60.0


@pytest.mark.timeout(240)
def test_a_minute_of_faults(tmp_path: Path) -> None:
    faults = schedule(SEED, SECONDS)
    verdict = run(tmp_path, SEED, faults, SECONDS)
    print(*faults, verdict.counts, sep="\n")
    assert verdict.wrong == []
    assert verdict.counts["faults"] == len(faults)
    assert verdict.counts["requests ok"] > 500
    assert verdict.counts["fences"] > 50


def test_a_schedule_is_the_same_for_the_same_seed() -> None:
    assert schedule(3, 600) == schedule(3, 600)
    assert schedule(3, 600) != schedule(4, 600)
    assert {fault.kind for fault in schedule(3, 3_600)} == set(Kind)
