"""`shufflectl replicas`: who serves over a store."""

from __future__ import annotations

import asyncio
from pathlib import Path

from coordinator.app import start_replica
from coordinator.core.commands import RegisterApplication, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.values import Driver
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.open import open_backend
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import deleted_and_missed

APP = ApplicationId("6f1c2d3e-0000-4000-8000-000000000001")


def test_a_server_and_its_store_tell_the_same(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = f"sqlite://{tmp_path}/store.db"
    replica = start_replica(address, options=Options(replica="one", lease_s=7, reap=False))
    try:
        through = shufflectl("replicas", "--server", replica.address, "-o", "json").data
        assert through == shufflectl("replicas", "--store", address, "-o", "json").data
        (row,) = through
        assert (row["replica"], row["address"], row["state"], row["sessions"], row["lease_ms"]) == (
            "one",
            replica.address,
            "serving",
            0,
            7_000,
        )
        heading, line = shufflectl("replicas", "--store", address).out.splitlines()
        assert heading.split() == ["REPLICA", "ADDRESS", "STATE", "SESSIONS", "RELEASE", "READS", "SINCE", "LEASE"]
        assert line.split()[:4] == ["one", replica.address, "serving", "0"]
    finally:
        replica.stop()
    assert "No replica is registered" in shufflectl("replicas", "--store", address).out


def test_one_that_is_gone_is_listed_while_a_driver_was_last_there(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = f"sqlite://{tmp_path}/store.db"

    async def leave_a_session() -> None:
        driver = ClientId("driver")
        async with await open_backend(address) as backend, Replica(backend, Options("was", reap=False)) as replica:
            await replica.register(Request(driver, 0, RegisterApplication(APP, Driver(name="chain"))))
            await replica.open_session(APP, driver)

    asyncio.run(leave_a_session())
    (row,) = shufflectl("replicas", "--store", address, "-o", "json").data
    assert (row["replica"], row["state"], row["sessions"], row["address"]) == ("was", "gone", 1, None)


def test_an_exported_log_is_served_by_nobody(shufflectl: Shufflectl, tmp_path: Path) -> None:
    called = shufflectl("replicas", "--log", log_file(tmp_path / "app.log", deleted_and_missed()))
    assert (called.code, "no replica serves it" in called.err) == (2, True)
