"""The events frame over real etcd: read in ranges, by who has a password, which stands in no address."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from state_backend.errors import Denied
from tests.support.etcd import Cluster, running_etcd
from tests.unit.cli import calling
from tests.unit.replay.frames.reading import Row, events, problems, rows
from tests.unit.replay.logs import deleted_and_missed

pytestmark = pytest.mark.etcd

PASSWORD = "top-secret"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Cluster]:
    with running_etcd(tmp_path) as cluster:
        cluster.etcdctl("user", "add", f"root:{PASSWORD}")
        cluster.etcdctl("user", "grant-role", "root", "root")
        cluster.etcdctl("auth", "enable")
        yield cluster


def test_a_store_in_etcd_is_read_in_ranges_with_a_password(guarded: Cluster) -> None:
    hosts, told = ",".join(guarded.endpoints), deleted_and_missed()
    asyncio.run(calling._tell(f"etcd://root:{PASSWORD}@{hosts}/ours", (told,)))
    found = rows(f"etcd://{hosts}/ours", user="root", password=PASSWORD, partitionEvents=10)
    assert [row["sequence"] for row in events(found)] == [recorded.sequence for recorded in told.log]
    assert not problems(found)
    assert asyncio.run(in_a_notebook(f"etcd://{hosts}/ours", user="root", password=PASSWORD)) == found
    with pytest.raises(Denied) as denied:
        rows(f"etcd://{hosts}/ours", user="root", password=f"{PASSWORD}2")
    assert PASSWORD not in str(denied.value)


async def in_a_notebook(url: str, **options: str) -> list[Row]:
    return rows(url, **options)
