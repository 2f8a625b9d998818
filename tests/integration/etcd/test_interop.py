"""What we store is plain etcd: another client reads it, writes it and moves it.

Its invariant: the other client runs in an environment of its own, made once below `.cache`, since it cannot live with
a protobuf of these days.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from state_backend.address import EtcdAddress
from state_backend.api import Keyspace, Move, Put, Revision
from state_backend.errors import Conflict
from state_backend.etcd.backend import EtcdBackend, open_etcd
from state_backend.keys import join_key
from state_backend.testing.watching import keys, take
from tests.support.etcd import ROOT, Cluster, running_etcd

pytestmark = pytest.mark.etcd

LIVE, EXPIRED = Keyspace.LIVE, Keyspace.EXPIRED
REQUIREMENTS = ("etcd3==0.12.0", "protobuf<7", "setuptools<80")
ENVIRONMENT = ROOT / ".cache/etcd3-0.12.0"
CLIENT = Path(__file__).with_name("foreign_client.py")


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the environment that has etcd3."""
    made = ENVIRONMENT / "made"
    if not made.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True, capture_output=True)
            pip = [str(ENVIRONMENT / "bin/python"), "-m", "pip", "--quiet", "install", *REQUIREMENTS]
            subprocess.run(pip, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"the environment for etcd3 could not be made: {error}")
        made.touch()
    return ENVIRONMENT / "bin/python"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_etcd(tmp_path_factory.mktemp("interop")) as cluster:
        yield cluster


class Stranger:
    """Runs the other client."""

    def __init__(self, python: Path, cluster: Cluster) -> None:
        self._command = [str(python), str(CLIENT), str(cluster.members[0].client_port)]
        self._environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python", "PYTHONPATH": ""}

    async def __call__(self, *arguments: str) -> object:
        return await asyncio.to_thread(self._run, arguments)

    def _run(self, arguments: tuple[str, ...]) -> object:
        done = subprocess.run(
            [*self._command, *arguments], env=self._environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def stranger(python: Path, cluster: Cluster) -> Stranger:
    return Stranger(python, cluster)


@pytest.fixture
async def backend(cluster: Cluster, request: pytest.FixtureRequest) -> EtcdBackend:
    return await open_etcd(EtcdAddress(cluster.endpoints, request.node.name))


async def test_it_reads_what_we_wrote(backend: EtcdBackend, stranger: Stranger) -> None:
    prefix = "test_it_reads_what_we_wrote"
    first = await backend.put(LIVE, join_key("app", 7), b"seven")
    await backend.put_txn((), (Put(LIVE, "é b", "grün".encode()), Move(LIVE, EXPIRED, join_key("app", 7), first)))
    assert await stranger("read", f"{prefix}/") == {
        f"{prefix}/expired/app/00000000000000000007": "seven",
        f"{prefix}/live/é b": "grün",
    }
    await backend.close()


async def test_we_read_and_hear_what_it_wrote(backend: EtcdBackend, stranger: Stranger) -> None:
    start = (await backend.get(LIVE, "a")).revision
    watch = backend.watch(LIVE, "", Revision(start + 1))
    revision = await stranger("write", "test_we_read_and_hear_what_it_wrote/live/a", "theirs")
    entry = (await backend.get(LIVE, "a")).entry
    assert entry is not None
    assert (entry.value, entry.revision, entry.version) == (b"theirs", revision, 1)
    assert keys(await take(watch, 1)) == ["a"]
    await backend.close()


async def test_its_move_and_ours_exclude_each_other(backend: EtcdBackend, stranger: Stranger) -> None:
    prefix = "test_its_move_and_ours_exclude_each_other"
    read = await backend.put(LIVE, "a", b"1")
    assert await stranger("move", f"{prefix}/live/a", f"{prefix}/expired/a") is True
    with pytest.raises(Conflict):
        await backend.mv(LIVE, EXPIRED, "a", read)
    assert [entry.value for entry in (await backend.scan(EXPIRED)).entries] == [b"1"]
    await backend.close()
