"""A member that is set back to a copy of its folder, as a machine is to an older image, beneath a replica that lives.

Its invariant: what is waited for is what a driver is told, never a time.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from coordinator.runtime import tail
from coordinator.runtime.api import GoAway
from coordinator.runtime.clock import Clock
from coordinator.runtime.errors import SetBack
from coordinator.runtime.journal import CommitIds, Journal
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.address import EtcdAddress
from state_backend.etcd.backend import EtcdBackend, open_etcd
from tests.simulation import facts
from tests.simulation.world import registered
from tests.support.etcd import PATIENT, running_etcd

pytestmark = pytest.mark.etcd


async def _follow(backend: EtcdBackend, heard: asyncio.Queue[int]) -> None:
    """Tells each event that is read, for as long as they come; as `shufflectl events --follow --store` does."""
    journal = Journal(backend, facts.APP, "reader", CommitIds("reader"), Clock())
    async for recorded in tail.follow(backend, journal, 0):
        heard.put_nowait(recorded.sequence)


async def _until(heard: asyncio.Queue[int], last: int) -> None:
    while await asyncio.wait_for(heard.get(), 30) < last:
        continue


async def test_a_driver_and_a_reader_that_wait_hear_that_the_log_is_another_one(tmp_path: Path) -> None:
    with running_etcd(tmp_path / "etcd") as cluster:
        (member,) = cluster.members
        async with (
            await open_etcd(EtcdAddress(cluster.endpoints, "one"), PATIENT) as backend,
            Replica(backend, Options("r1", reap=False)) as replica,
        ):
            number = await registered(replica)
            member.kill()
            shutil.copytree(member.folder, tmp_path / "copy")
            member.start()
            async with await replica.open_session(facts.APP, facts.DRIVER) as session:
                heard: asyncio.Queue[int] = asyncio.Queue()
                reading = asyncio.create_task(_follow(backend, heard))
                for command in facts.writes(0):  # what is told behind what was read comes by a watch
                    await replica.submit(facts.APP, number([command]))
                    last = (await replica.view(facts.APP)).meta.next_sequence - 1
                    await _until(heard, last)
                member.kill()
                shutil.rmtree(member.folder)
                shutil.copytree(tmp_path / "copy", member.folder)
                member.start()
                farewell = await asyncio.wait_for(session.__anext__(), 30)
                assert isinstance(farewell, GoAway)
                assert "the store holds another one now" in farewell.why
                with pytest.raises(SetBack, match=f"up to event {last}"):
                    await asyncio.wait_for(reading, 30)
            async with await replica.open_session(facts.APP, facts.DRIVER) as session:
                assert session.answered == 0
