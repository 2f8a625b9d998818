"""A job with very many stages, told over gRPC: in parts to who knows of them, whole to an older coordinator."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from pathlib import Path

import pytest

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from listener_bridge.client import NOT_TAKEN_MAX
from listener_bridge.embedded import Embedded
from listener_bridge.tap.facts import ActiveJob, JobStarted, Snapshot, StageFact
from listener_bridge.words import Request
from state_backend.open import open_backend
from tests.simulation import checks
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached
from tests.unit.listener_bridge.fakes import FakeCoordinator, stage

COUNT = 8_000
SITE = "reduceByKey at /home/ann/projects/etl/daily/pagerank.py:41"
MAPS = tuple(stage(n, writes=n, name=SITE) for n in range(COUNT))
STAGES: tuple[StageFact, ...] = (*MAPS, stage(COUNT, parents=tuple(range(COUNT))))
STARTED = JobStarted(0, 1, 0, STAGES, COUNT, None, None)
RUNNING = Snapshot("snapshot-0", (), (), (ActiveJob(1, STAGES, COUNT, None, None),))


def welcomed(coordinator: FakeCoordinator, attached: Attached) -> None:
    coordinator.wait(lambda: coordinator.hellos, "a Hello")
    attached.tell(0)
    coordinator.wait(lambda: len(coordinator.requests) == 1, "the first request")


def test_a_coordinator_that_knows_of_it_is_told_the_lineage_ahead(
    coordinator: FakeCoordinator, attached: Attached
) -> None:
    coordinator.stop()
    coordinator.lineage_ahead = True
    coordinator.start()
    welcomed(coordinator, attached)
    attached.tap.tell(STARTED)
    coordinator.wait(lambda: "report_job_started" in coordinator.commands(), "the job")
    assert coordinator.commands()[1:] == ["report_lineage"] * 4 + ["report_job_started"]


def test_one_that_cannot_take_it_any_more_is_told_the_truth_without(
    coordinator: FakeCoordinator, attached: Attached
) -> None:
    """The driver has gone on at an older replica: it does not know the command, and is told what it can read."""
    coordinator.stop()
    coordinator.lineage_ahead = True
    coordinator.start()
    welcomed(coordinator, attached)
    attached.tap.present = RUNNING
    coordinator.lineage_ahead = False

    def is_unknown(request: Request) -> bool:
        return request.HasField("report_lineage")

    coordinator.cannot_take = is_unknown
    attached.tap.tell(STARTED)
    coordinator.wait(lambda: "resync" in coordinator.commands(), "the truth")
    assert coordinator.commands()[1:] == ["report_gap", "resync"]
    assert len(coordinator.requests[-1].resync.jobs[0].lineage) == COUNT
    assert len(coordinator.hellos) >= NOT_TAKEN_MAX


def test_a_real_coordinator_takes_it_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    address = f"sqlite://{tmp_path}/coordinator.db"
    here = Embedded(address)
    attached = Attached()
    attached.registration.driver.name = "large"
    for part in ("capabilities", "policy", "settings"):
        getattr(attached.registration, part).SetInParent()
    attached.bridge.client._addresses = here.addresses
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        attached.bridge.start()
        assert attached.bridge.client.is_heard.wait(20.0)
        attached.tap.tell(STARTED)
        wait_for(lambda: attached.bridge.reporter.confirmed == 5, "the answers")
        attached.tap.end()
        attached.bridge.is_stopped.wait(30.0)
        here.stop(10.0)
    assert [line for line in caplog.messages if "refused" in line] == []
    kinds = Counter(type(recorded.event) for recorded in asyncio.run(log(address)))
    assert (kinds[e.JobStarted], kinds[e.LineageLearned], kinds[e.GapRecorded]) == (1, COUNT, 0)


async def log(address: str) -> list[Recorded]:
    async with await open_backend(address) as store:
        segments = await checks.read_log(store, ApplicationId("app-1"))
        return [recorded for segment in segments for recorded in segment.records]
