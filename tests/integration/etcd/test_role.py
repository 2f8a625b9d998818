"""A coordinator on a guarded etcd: TLS, a user, and a role that ends at our prefix, as docs/operations.md sets up.

All that replicas do over a store happens here once, and nobody notices that the role does not reach farther.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.archive.folder import Folder
from coordinator.core.commands import EndApplication, Request
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Ending
from coordinator.runtime.errors import UnknownApplication
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.errors import Denied
from state_backend.open import open_backend
from state_backend.values import Keyspace
from tests.integration.cli.processes import shufflectl
from tests.simulation import facts
from tests.simulation.world import registered
from tests.support.certificates import Authority
from tests.support.etcd import ROOT, running_etcd

pytestmark = pytest.mark.etcd

PASSWORD = "its-secret"
LOST, MOVED = ApplicationId(f"{facts.APP[:-1]}8"), ApplicationId(f"{facts.APP[:-1]}9")
PATIENCE_S = 30


def commands() -> list[list[str]]:
    """What the page tells people to type, word for word."""
    page = (ROOT / "docs" / "operations.md").read_text()
    block = re.search(r"```\n(etcdctl user add root.*?)```", page, re.DOTALL)
    assert block is not None
    return [shlex.split(line)[1:] for line in block[1].strip().splitlines()]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    """The address of our part of it, but for the prefix."""
    authority = Authority(tmp_path / "authority")
    with running_etcd(tmp_path / "etcd", tls=authority.issue("etcd")) as cluster:
        for command in commands():
            cluster.etcdctl(*(word.replace("PASSWORD", PASSWORD) for word in command))
        ours = authority.issue("coordinator")
        query = f"ca={ours.ca}&cert={ours.cert}&key={ours.key}"
        yield f"etcd://shuffle:{PASSWORD}@{cluster.endpoints[0]}/PREFIX?{query}"


@asynccontextmanager
async def replica(address: str, name: str, archive: Path) -> AsyncIterator[Replica]:
    brisk = Options(name, heartbeat_s=0.1, silence_s=1.0, lease_s=2.0, archive_every_s=0.2, retention_s=0.5)
    options = replace(brisk, snapshot_every_events=15)
    async with (
        await open_backend(address) as backend,
        Replica(backend, options, archive=Folder(archive)) as running,
    ):
        yield running


async def ending_of(running: Replica, application: ApplicationId) -> Ending | None:
    """How it has ended, as soon as somebody has closed it; it may have left the store by then."""
    while True:
        try:
            meta = (await running.view(application)).meta
        except UnknownApplication:
            meta = await running.registration(application)
        if meta.ending is not None:
            return meta.ending
        await asyncio.sleep(0.05)


async def until(address: str, keyspace: Keyspace, there: bool, application: ApplicationId) -> None:
    """Until the keyspace holds something of the application, or nothing any more."""
    async with await open_backend(address) as backend:
        while bool((await backend.scan_keys(keyspace, application)).keys) is not there:  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.05)


async def test_a_role_for_our_prefix_is_enough_for_all_that_replicas_do(guarded: str, tmp_path: Path) -> None:
    address = guarded.replace("PREFIX", "shuffles")
    async with replica(address, "a", tmp_path / "logs") as one, replica(address, "b", tmp_path / "logs") as two:
        numbers = await registered(one)
        async with await two.open_session(facts.APP, facts.DRIVER) as session:
            for job in range(6):  # group commits, records that move, snapshots
                await one.submit(facts.APP, numbers(facts.whole(job)))
                await session.heartbeat()
            assert (await two.view(facts.APP)).meta.next_sequence > 30
            await asyncio.wait_for(until(address, Keyspace.SNAPSHOTS, True, facts.APP), PATIENCE_S)
            following = aiter(two.follow(facts.APP))
            assert (await asyncio.wait_for(anext(following), PATIENCE_S)).sequence == 1
            await one.audit("a peer", "wrong token", "x")
            assert {peer.replica for peer in await two.replicas()} == {"a", "b"}
            assert len(await one.roll_call()) == 2
            await registered(one, LOST)  # and its driver says nothing more
            assert await asyncio.wait_for(ending_of(two, LOST), PATIENCE_S) is Ending.LOST
            numbers = await registered(one, MOVED)
            await one.submit(MOVED, [*numbers(facts.whole(0)), Request(facts.DRIVER, 0, EndApplication())])
            await asyncio.wait_for(until(address, Keyspace.HEADS, False, MOVED), PATIENCE_S)
    async with await open_backend(address) as backend:
        assert len((await backend.scan_keys(Keyspace.AUDIT)).keys) == 1
        assert (await backend.scan_keys(Keyspace.REPLICAS)).keys == ()
    for verb in ("doctor", "verify"):
        looked = await asyncio.to_thread(shufflectl, tmp_path, verb, "--store", address, "--archive", tmp_path / "logs")
        assert (looked.code, PASSWORD in looked.out + looked.err) == (0, False), looked


async def test_and_it_reaches_nothing_else(guarded: str) -> None:
    for prefix in ("shuffles2", "", "another"):
        with pytest.raises(Denied):
            await open_backend(guarded.replace("PREFIX", prefix))
    with pytest.raises(Denied):
        await open_backend(guarded.replace("PREFIX", "shuffles").replace(PASSWORD, "wrong"))
