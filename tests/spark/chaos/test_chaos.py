"""Hundreds of premature deletions under running jobs, and every result right.

Responsible for: the whole path under the worst coordinator there can be: one that lets go of whatever nobody reads in
this very moment. Refuses to know: policies; what they would have kept is deleted all the same.
Invariant: what fails can be tried again with the seed and the command that it prints.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from shuffle_lifecycle.v1 import service_pb2

import listener_bridge
from coordinator.core import events as e
from coordinator.core.state import State
from tests.spark.bridge.conftest import Log, Run
from tests.spark.chaos.driving import Driving, undisturbed
from tests.spark.chaos.workloads import SETTINGS
from tests.support import logs
from tests.support.etcd import running_etcd
from tests.support.own_spark import own_spark
from tests.support.premature import ATTEMPTS, UNBOUNDED, deleting_at_random
from tests.support.spark import LOCAL, LOCAL_CLUSTER, shuffle_files, wait_for

ODDS = 0.25
SHORT, LONG = 200, 1_000  # deletions
WITHIN_S = 420.0

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("master", "kind", "deletions"),
    [
        pytest.param(LOCAL, "sqlite", SHORT, id="local"),
        pytest.param(LOCAL_CLUSTER, "sqlite", SHORT, id="cluster", marks=pytest.mark.slow),
        pytest.param(LOCAL, "sqlite", LONG, id="local-long", marks=pytest.mark.slow),
        pytest.param(LOCAL, "etcd", SHORT, id="etcd", marks=[pytest.mark.slow, pytest.mark.etcd]),
    ],
)
def test_whatever_is_deleted_every_result_is_right(
    master: str, kind: str, deletions: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"\nagain: CHAOS_SEED={seed} {os.environ.get('PYTHON', 'python')} -m pytest '{request.node.nodeid}' -s")
    with a_store(kind, tmp_path) as store, own_spark(tmp_path / "spark", master, **SETTINGS, **ATTEMPTS) as spark:
        expected = undisturbed(spark)
        with (
            deleting_at_random(seed, ODDS) as chance,
            listener_bridge.attach(spark, policy="eager", store=store, budget_premature=UNBOUNDED) as attachment,
        ):
            driving = Driving(spark, expected, seed, lambda: attachment.status().deleted >= deletions, WITHIN_S)
            driving.run()
            assert driving.wrong == []
            chance.odds = 0.0
            settle(Run(spark, tmp_path, tmp_path), attachment)
            left = shuffle_files(tmp_path)
        log = logs.stored(store, attachment.application)
    tell(driving, log, attachment.status())
    assert logs.wrong(log) == []
    assert len(logs.deletions(log)) >= deletions
    assert logs.of(log, e.PrematureDeletion), "nothing of what was deleted was ever missed: nothing was proved"
    logs.folded(log)
    running = [recorded for recorded in log if recorded.sequence < end_of(log)]
    assert strays(logs.folded(running), logs.app_shuffles(log).values(), left) == []


@contextmanager
def a_store(kind: str, folder: Path) -> Iterator[str]:
    """A new store's address."""
    if kind == "sqlite":
        yield f"sqlite://{folder}/log.db"
        return
    with running_etcd(folder / "etcd") as cluster:
        yield f"etcd://{cluster.endpoints[0]}"


def settle(run: Run, attachment: Any) -> None:
    """Everything that was asked for has its outcome."""
    run.settled(attachment)
    log = Log(attachment.status().address, attachment.application, lambda: attachment.token)
    asking = service_pb2.ListDirectivesRequest(caller=log.caller)
    wait_for(lambda: not log.ask("ListDirectives", asking).directives, "all outcomes")


def end_of(log: list[e.Recorded]) -> int:
    return next(recorded.sequence for recorded in log if isinstance(recorded.event, e.ApplicationEnded))


def strays(state: State, known: Any, left: dict[Path, int]) -> list[str]:
    """Files of generations that are gone, and more files than a generation that is there can have."""
    found = []
    for app_shuffle in sorted(set(known)):
        indexes = [path.name for path in left if path.match(f"shuffle_{app_shuffle}_*.index")]
        shuffle = state.shuffles.get(app_shuffle)
        allowed = shuffle.lineage.maps if shuffle is not None and state.current(app_shuffle) is not None else 0
        if len(indexes) > allowed:
            found.append(f"app shuffle {app_shuffle} has {len(indexes)} outputs on disk, expected {allowed}: {indexes}")
    return found


def tell(driving: Driving, log: list[e.Recorded], status: Any) -> None:
    missed = len(logs.of(log, e.PrematureDeletion))
    print(
        f"{sum(driving.runs.values())} jobs in {driving.seconds:.0f} s, all right: {len(logs.deletions(log))} deletions"
        f", {missed} of them missed, {len(logs.of(log, e.RecoveryOpened))} recoveries, {status.busy} fences refused as"
        f" busy, {status.fence_median_ms:.1f} ms a fence at the median, {len(log)} events\n{dict(driving.runs)}"
    )
