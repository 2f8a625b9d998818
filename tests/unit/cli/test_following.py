"""`shufflectl events --follow` with several coordinators: who follows hears every event once, whoever goes away."""

from __future__ import annotations

import asyncio

import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.cli.exits import Exit, Failure
from coordinator.cli.sources.server import ServerSource
from tests.unit.server import facts
from tests.unit.server.fakes import APP, TOKEN, FakeCoordinator, register, running

_PATIENCE_S = 20.0


async def test_who_follows_goes_on_at_the_next_coordinator() -> None:
    coordinator = FakeCoordinator()
    log = coordinator.logs.setdefault(APP, [])
    async with running(coordinator) as second:
        async with running(coordinator) as first:
            await register(first)
            source = ServerSource([first.server.address, second.server.address], TOKEN, 5.0, None)
            following = source.follow(APP)
            heard = [await asyncio.wait_for(anext(following), _PATIENCE_S) for _ in log]
        job = pb.NumberedRequest(report_job_started={"job": 1, "final_stage": 6, "lineage": [facts.LINEAGE]})
        await second.stub.Submit(pb.SubmitCall(caller=second.caller(), requests=[job]))
        while len(heard) < len(log):
            heard.append(await asyncio.wait_for(anext(following), _PATIENCE_S))
        await source.close()
    assert heard == log


async def test_who_follows_the_only_coordinator_hears_that_it_is_gone() -> None:
    async with running() as only:
        await register(only)
        source = ServerSource([only.server.address], TOKEN, 5.0, None)
        following = source.follow(APP)
        for _ in only.coordinator.logs[APP]:
            await asyncio.wait_for(anext(following), _PATIENCE_S)
    with pytest.raises(Failure) as gone:
        await asyncio.wait_for(anext(following), _PATIENCE_S)
    assert (gone.value.exit_code, "no coordinator answers" in str(gone.value)) == (Exit.UNAVAILABLE, True)
