"""Hundreds of premature deletions on Celeborn under running jobs, and every result right.

Responsible for: the whole path with Celeborn below it, under a coordinator that lets go of what nobody reads in this
very moment; a worker killed in between. Refuses to know: policies. Invariant: what fails can be tried again with the
seed that it prints.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import listener_bridge
from coordinator.core import events as e
from tests.remote.conftest import on_celeborn
from tests.spark.bridge.conftest import Run
from tests.spark.chaos.driving import Driving, undisturbed
from tests.spark.chaos.test_chaos import settle, tell
from tests.spark.chaos.workloads import SETTINGS
from tests.support import logs
from tests.support.celeborn import Celeborn
from tests.support.premature import ATTEMPTS, UNBOUNDED, deleting_at_random
from tests.support.spark import LOCAL, LOCAL_CLUSTER

ODDS = 0.25
WITHIN_S = float(os.environ.get("CHAOS_WITHIN_S", "900"))
DELETIONS = int(os.environ.get("CHAOS_DELETIONS", "60"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2_000)]


@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER], ids=["local", "cluster"])
def test_whatever_is_deleted_every_result_is_right(master: str, celeborn: Celeborn, tmp_path: Path) -> None:
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"\nagain: CHAOS_SEED={seed}")
    store = f"sqlite://{tmp_path}/log.db"
    with on_celeborn(celeborn, tmp_path / "spark", master, **{**SETTINGS, **ATTEMPTS}) as run:
        expected = undisturbed(run.spark)
        with (
            deleting_at_random(seed, ODDS) as chance,
            listener_bridge.attach(run.spark, policy="eager", store=store, budget_premature=UNBOUNDED) as attachment,
        ):
            driving = Driving(run.spark, expected, seed, lambda: attachment.status().deleted >= DELETIONS, WITHIN_S)
            driving.run()
            assert driving.wrong == []
            chance.odds = 0.0
            settle(Run(run.spark, tmp_path, tmp_path), attachment)
        log = logs.stored(store, attachment.application)
    tell(driving, log, attachment.status())
    assert logs.wrong(log) == []
    assert len(logs.deletions(log)) >= DELETIONS
    assert logs.of(log, e.PrematureDeletion), "nothing of what was deleted was ever missed: nothing was proved"
