"""A member that is set back to a copy of its folder, as a machine is to an older image, beneath a replica that lives.

Its invariant: what is waited for is what a driver is told, never a time.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from coordinator.runtime.api import GoAway
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.address import EtcdAddress
from state_backend.etcd.backend import open_etcd
from tests.simulation import facts
from tests.simulation.world import registered
from tests.support.etcd import PATIENT, running_etcd

pytestmark = pytest.mark.etcd


async def test_a_driver_that_says_nothing_hears_that_its_log_is_another_one(tmp_path: Path) -> None:
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
                for command in facts.writes(0):
                    await replica.submit(facts.APP, number([command]))
                member.kill()
                shutil.rmtree(member.folder)
                shutil.copytree(tmp_path / "copy", member.folder)
                member.start()
                farewell = await asyncio.wait_for(session.__anext__(), 30)
                assert isinstance(farewell, GoAway)
                assert "the store holds another one now" in farewell.why
            async with await replica.open_session(facts.APP, facts.DRIVER) as session:
                assert session.answered == 0
