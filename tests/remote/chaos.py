"""Hundreds of premature deletions on a remote service under running jobs, and every result right.

Responsible for: the whole path with the service below it, under a coordinator that lets go of what nobody reads in this
very moment. Refuses to know: policies, and which service it is. Invariant: what fails can be tried again with the seed
that it prints.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import listener_bridge
from coordinator.core import events as e
from tests.remote.conftest import Remote
from tests.spark.bridge.conftest import Run
from tests.spark.chaos.driving import Driving, undisturbed
from tests.spark.chaos.test_chaos import settle, tell
from tests.spark.chaos.workloads import SETTINGS
from tests.support import logs
from tests.support.premature import ATTEMPTS, UNBOUNDED, deleting_at_random

ODDS = 0.25
WITHIN_S = float(os.environ.get("CHAOS_WITHIN_S", "900"))
DELETIONS = int(os.environ.get("CHAOS_DELETIONS", "60"))
CONF: Mapping[str, str] = {**SETTINGS, **ATTEMPTS}  #: What the session needs.


def delete_at_random(session: AbstractContextManager[Remote], folder: Path) -> list[e.Recorded]:
    """Jobs in that session until `CHAOS_DELETIONS` generations were deleted under them. Answers the log."""
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"\nagain: CHAOS_SEED={seed}")
    store = f"sqlite://{folder}/log.db"
    with session as run:
        expected = undisturbed(run.spark)
        with (
            deleting_at_random(seed, ODDS) as chance,
            listener_bridge.attach(run.spark, policy="eager", store=store, budget_premature=UNBOUNDED) as attachment,
        ):
            driving = Driving(run.spark, expected, seed, lambda: _are_enough(attachment, store), WITHIN_S)
            driving.run()
            assert driving.wrong == []
            chance.odds = 0.0
            settle(Run(run.spark, folder, folder), attachment)
        log = logs.stored(store, attachment.application)
    tell(driving, log, attachment.status())
    assert logs.wrong(log) == []
    assert len(logs.deletions(log)) >= DELETIONS
    assert logs.of(log, e.PrematureDeletion), "nothing of what was deleted was ever missed: nothing was proved"
    return log


def _are_enough(attachment: listener_bridge.Attachment, store: str) -> bool:
    """By the log: what the driver freed just before Spark's own cleaner reports it counts there as Spark's."""
    freed = attachment.status().deleted >= DELETIONS
    return freed and len(logs.deletions(logs.stored(store, attachment.application))) >= DELETIONS
