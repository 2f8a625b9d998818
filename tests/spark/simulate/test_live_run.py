"""Real jobs, live, and the simulation of what was recorded of them.

Responsible for: programs that read again what a guessing rule has deleted, that let go of what they held, that stop in
the middle; under each policy the whole log, decided again. Refuses to know: how the simulation does it. Invariant: as
recorded, event for event; otherwise, what the other policy would have done without being asked live.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.values import Policy, Rule
from replay.simulate import facts_of, first_difference, simulate
from tests.spark.bridge.conftest import Run
from tests.support.logs import deletions, of, stored
from tests.support.own_spark import own_spark
from tests.support.simulated import check_as_recorded
from tests.support.spark import LOCAL

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("spark")
    with own_spark(folder, LOCAL, **{"spark.sql.adaptive.enabled": "true"}) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"))


def recorded(run: Run, policy: str) -> list[Recorded]:
    """A chain, a query, and the chain's beginning again, under this policy; its whole log."""
    with run.attached(policy) as (attachment, log):
        first = run.keyed()
        second = run.again(first)
        assert second.count() == 400
        run.settled(attachment)
        run.spark.range(100).selectExpr("id % 7 AS k").groupBy("k").count().collect()
        run.settled(attachment)
        assert first.count() == 400  # under a guessing rule its shuffle is gone by now
        del second
        run.settled(attachment)
    return newest(run, log.application)


def newest(run: Run, application: str) -> list[Recorded]:
    [store] = sorted(run.logs.glob("*.db"), key=lambda path: path.stat().st_mtime)[-1:]
    return stored(f"sqlite://{store}", application)


@pytest.fixture(scope="module")
def logs(run: Run) -> dict[str, list[Recorded]]:
    return {policy: recorded(run, policy) for policy in ("observe", "frontier", "reachable")}


@pytest.mark.parametrize("policy", ["observe", "frontier", "reachable"])
def test_a_live_run_and_its_simulation_decide_the_same(logs: dict[str, list[Recorded]], policy: str) -> None:
    assert of(logs[policy], e.GenerationStarted)
    check_as_recorded(logs[policy])


def test_a_planted_difference_is_caught(logs: dict[str, list[Recorded]]) -> None:
    log = logs["frontier"]
    expired = next(n for n, one in enumerate(log) if isinstance(one.event, e.GenerationExpired))
    left = log[:expired] + log[expired + 1 :]
    assert first_difference(left, simulate(facts_of(left)).log) is not None


def test_what_was_only_observed_is_what_the_policy_does_live(logs: dict[str, list[Recorded]]) -> None:
    """Simulated over the run that only observed; live in a run of its own of the same program."""
    frontier = Policy(Rule.FRONTIER, observe=False)
    outcome = simulate(facts_of(logs["observe"]), frontier)
    live: list[Any] = of(logs["frontier"], e.PrematureDeletion)
    assert len(live) == outcome.premature == 1
    assert outcome.deletions >= 1
    assert deletions(logs["frontier"])
    again = simulate(facts_of(logs["frontier"]), Policy(Rule.FRONTIER, observe=True))
    assert again.misses == ()
    assert again.written_bytes < simulate(facts_of(logs["frontier"])).written_bytes


def test_11_a_stage_says_what_of_its_reads_lies_behind_a_cache(run: Run) -> None:
    """A cached RDD joined with a new shuffle: one stage that lists both shuffles, and fetches the one."""
    with run.attached("observe") as (attachment, told):
        kept = run.keep(run.keyed().mapValues(lambda value: value + 1).persist(StorageLevel.DISK_ONLY))
        assert kept.count() == 400
        assert kept.join(run.keyed(40), 3).count() == 800
        kept.unpersist(True)
        run.settled(attachment)
    log = newest(run, told.application)
    check_as_recorded(log)
    written = {event.app_shuffle: event.shuffle_id for event in of(log, e.GenerationStarted)}
    first, second = sorted(written)
    filling, joining = (stage for stage in of(log, e.StageSubmitted) if stage.reads)
    assert (filling.reads, filling.behind, filling.cached) == ((first,), (first,), True)
    assert (joining.reads, joining.behind, joining.cached) == ((first, second), (first,), True)
    [over] = [event for event in of(log, e.StageCompleted) if event.stage == joining.stage]
    weights = {event.shuffle_id: event.bytes for event in of(log, e.GenerationCompleted)}
    assert over.shuffle_bytes_read == weights[written[second]]
    [read_ms] = [life.last_read_ms for life in simulate(facts_of(log)).lives if life.app_shuffle == first]
    [filled_ms] = [
        recorded.time_ms
        for recorded in log
        if isinstance(recorded.event, e.StageCompleted) and recorded.event.stage == filling.stage
    ]
    assert read_ms == filled_ms
