"""Releases side by side: nobody writes what another replica could not read."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.core.commands import ReportExecutorLost
from coordinator.core.events import Event, ExecutorLost, JobEnded, JobStarted, Recorded
from coordinator.core.ids import JobId, Sequence, StageId
from coordinator.core.rejections import Accepted, Answer, Reason, Rejection
from coordinator.runtime import drafting, journal, registration
from coordinator.runtime.replica import Replica
from coordinator.wire import upcast, versions
from coordinator.wire.records import Head, ReplicaRecord, decode, encode
from state_backend.values import Keyspace
from tests.simulation import checks, facts, virtual
from tests.simulation.world import World, registered

LOST = ReportExecutorLost("7")


@pytest.fixture
def next_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the next release had added `ExecutorLost`, and why a job failed."""
    for module in (upcast, journal, registration, drafting):
        monkeypatch.setattr(module, "VERSION", 2)
    monkeypatch.setitem(upcast.UPCASTS, 1, lambda record: None)
    monkeypatch.setattr(versions, "SINCE", {ExecutorLost: 2, (JobEnded, "failure"): 3})


def recorded(event: Event) -> Recorded:
    return Recorded(Sequence(1), 0, Sequence(1), event)


@pytest.mark.usefixtures("next_release")
def test_a_record_needs_the_version_that_first_knew_what_is_in_it() -> None:
    started = recorded(JobStarted(JobId(1), StageId(1), reads=()))
    ended = recorded(JobEnded(JobId(1), succeeded=True))
    assert versions.needed([]) == versions.needed([started, ended]) == 1
    assert versions.needed([started, recorded(ExecutorLost("7"))]) == 2
    assert versions.needed([recorded(JobEnded(JobId(1), succeeded=False, failure="because"))]) == 3


async def told(replica: Replica, number: facts.Numbers) -> list[Answer]:
    """A job, then what only the next release knows, then another job, all at once."""
    return await replica.submit(facts.APP, number([*facts.whole(0), LOST, *facts.whole(1)]))


@pytest.mark.usefixtures("next_release")
def test_43_what_an_older_replica_could_not_read_is_refused_and_all_else_goes_on() -> None:
    async def story() -> None:
        async with World() as world:
            older = ReplicaRecord("older", "10.0.0.9:7457", reads_version=1)
            await world.reader().put(Keyspace.REPLICAS, "older", encode(older))
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await asyncio.sleep(1)
            answers = await told(replica, number)
            refused = answers.pop(7)
            assert isinstance(refused, Rejection)
            assert refused.reason is Reason.INVALID
            assert "makes records of version 2; expected at most 1, which every replica" in str(refused)
            assert not any(isinstance(answer, Rejection) for answer in answers)
            assert await version_of(world) == 1
            await world.reader().delete(Keyspace.REPLICAS, "older")
            await asyncio.sleep(1)
            assert await replica.submit(facts.APP, number([LOST])) == [Accepted()]
            assert await version_of(world) == 2
            assert await checks.wrongs(world.reader(), facts.APP, {}) == []
            await world.reader().put(Keyspace.REPLICAS, "older", encode(older))
            await asyncio.sleep(1)
            (again,) = await replica.submit(facts.APP, number([LOST]))
            assert isinstance(again, Rejection)
            assert await replica.submit(facts.APP, number(facts.writes(2))) == [Accepted()] * 3
            assert await version_of(world) == 2, "a log that holds something newer stays newer"

    virtual.run(story())


async def version_of(world: World) -> int:
    entry = (await world.reader().get(Keyspace.HEADS, facts.APP)).entry
    assert entry is not None
    return decode(Head, entry.value, "head").version
