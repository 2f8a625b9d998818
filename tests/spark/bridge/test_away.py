"""Scenario 40: a coordinator that dies, is slow, or lies costs a job nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from shuffle_lifecycle.v1 import service_pb2

from coordinator.app import start_replica
from coordinator.runtime.options import Options
from tests.spark.bridge.conftest import Log
from tests.support.spark import wait_for
from tests.unit.listener_bridge.fakes import FakeCoordinator, accepted, fence

pytestmark = pytest.mark.spark
ROUNDS = 6
ROOT = Path(__file__).parents[3]


def loop(run: Any) -> float:
    """Seconds that a loop of small jobs takes."""
    began = time.perf_counter()
    current = run.keyed()
    for _ in range(ROUNDS):
        assert current.count() == 400
        current = run.again(current)
    return time.perf_counter() - began


def alone(run: Any) -> float:
    """The same without the plugin, when everything is warm: the slower of two."""
    loop(run)
    return max(loop(run), loop(run))


def test_40_a_coordinator_killed_in_mid_job_is_not_missed_and_is_caught_up_with(run: Any, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    replica = start_replica(store)
    with run.attached_to(replica.address) as (attachment, log):
        held = run.gate()
        chain = run.again(run.again(run.keyed()), held)
        with run.job(chain.count, held) as job:
            wait_for(held.arrived, "the stage that reads B")
            replica.stop()
            wait_for(lambda: attachment.status().state == "away", "it to be missed")
            held.open()
            assert job.result() == 400
        later = run.again(chain)
        assert later.count() == 400
        before = attachment.status().deleted
        replica = start_replica(store, replica.address)
        wait_for(lambda: attachment.status().state == "connected", "it to be back")
        run.settled(attachment)
        a, b, c, d = log.map_stages()
        wait_for(lambda: log.app_shuffles("generation_deleted") == [a, b, c], "all that could go since")
        assert before <= 1
        assert run.files(d)
        assert log.events("gap_recorded", "premature_deletion") == []
    replica.stop()


@pytest.mark.newest
def test_a_driver_that_was_taken_for_gone_goes_on_as_a_new_application(run: Any, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    replica = start_replica(store)
    with run.attached_to(replica.address) as (attachment, log):
        first = attachment.application
        chain = run.again(run.keyed())
        assert chain.count() == 400
        run.settled(attachment)
        replica.stop()
        reaping = start_replica(store, options=Options(replica="reaper", silence_s=1.0, heartbeat_s=0.3))
        wait_for(lambda: "ApplicationEnded" in kinds_in(tmp_path / "log.db", first), "its end")
        reaping.stop()
        later = run.again(chain)
        assert later.count() == 400
        replica = start_replica(store, replica.address)
        wait_for(lambda: attachment.application != first, "a new application")
        wait_for(lambda: attachment.status().state == "connected", "its session")
        last = run.again(later)
        assert last.count() == 400
        run.settled(attachment)
        log = Log(replica.address, attachment.application, lambda: attachment.token)
        (written,) = log.map_stages()
        wait_for(lambda: log.app_shuffles("generation_deleted") == [written - 1], "what was read since")
        assert run.files(written)
        assert log.events("premature_deletion") == []
        assert last.count() == 400
    replica.stop()


@pytest.mark.newest
@pytest.mark.parametrize("kind", ["dead", "silent", "lying"])
def test_40_the_jobs_time_is_not_touched(run: Any, kind: str) -> None:
    without = alone(run)
    with FakeCoordinator() as other:
        other.answers = kind != "silent"
        if kind == "lying":
            other.answer = lambda request: (
                {"recover": service_pb2.Recover(recovery=1, missing=9, recompute=[1, 2])}
                if request.HasField("get_shuffle_id")
                else accepted(request)
            )
        with run.attached_to("127.0.0.1:1" if kind == "dead" else other.address) as (attachment, _):
            if kind == "lying":
                wait_for(lambda: attachment.status().state == "connected", "the session")
                other.direct(*(fence(number, 1, number) for number in range(1_000_000, 1_000_200)))
            taken = loop(run)
            began = time.perf_counter()
        assert time.perf_counter() - began < 20.0
    print(f"{kind}: {taken:.2f} s, without {without:.2f} s")
    assert taken < 3 * without + 10.0  # the machine is shared: what is excluded is a job that waits


@pytest.mark.newest
def test_an_embedded_coordinator_and_a_program_that_just_ends(tmp_path: Path) -> None:
    program = f"""
import listener_bridge
from pathlib import Path
from tests.support.spark import start_session, wait_for
spark = start_session(Path({str(tmp_path)!r}), **{{"spark.shuffleLifecycle.policy": "frontier"}})
attached = listener_bridge.attach(spark, store="sqlite://{tmp_path}/log.db")
wait_for(lambda: attached.status().state == "connected", "the session: the end has a second for what is untold by then")
numbers = spark.sparkContext.parallelize(range(100), 4).map(lambda n: (n % 9, n)).partitionBy(3)
assert numbers.count() == 100
print("application", attached.application)
"""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "proto")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    application = done.stdout.split("application ")[1].strip()
    lines = [line.split("shuffle lifecycle: ")[1] for line in done.stderr.splitlines() if "shuffle lifecycle:" in line]
    assert lines == [
        f"attached: application {application}, policy frontier, log in sqlite://{tmp_path}/log.db",
        f"ended: application {application}, policy frontier, nothing was deleted early",
    ]
    events = kinds_in(tmp_path / "log.db", application)
    assert {"JobStarted", "StageCompleted", "JobEnded", "ApplicationEnded"} <= events


def kinds_in(file: Path, application: str) -> set[str]:
    """The kinds of events in a store's log, read by a coordinator that knows no token: from the store itself."""
    import asyncio

    from coordinator.core.ids import ApplicationId
    from coordinator.runtime.replica import Replica
    from state_backend.open import open_backend

    async def read() -> set[str]:
        backend = await open_backend(f"sqlite://{file}")
        async with Replica(backend, Options(replica="reader")) as replica:
            events = await replica.events(ApplicationId(application))
        await backend.close()
        return {type(recorded.event).__name__ for recorded in events}

    return asyncio.run(read())


@pytest.mark.newest
def test_spark_stop_ends_the_application_and_waits_for_nobody(tmp_path: Path) -> None:
    program = f"""
import listener_bridge
from pathlib import Path
from tests.support.spark import start_session, wait_for
spark = start_session(Path({str(tmp_path)!r}))
attached = listener_bridge.attach(spark, store="sqlite://{tmp_path}/log.db", policy="eager")
wait_for(lambda: attached.status().state == "connected", "the session")
assert spark.range(100).repartition(3).count() == 100
spark.stop()
assert attached._bridge.is_stopped.wait(5)
print(attached.status().state, attached.application)
"""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "proto")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    state, application = done.stdout.split()[-2:]
    assert state == "detached"
    assert "ApplicationEnded" in kinds_in(tmp_path / "log.db", application)


def test_two_attachments_of_one_application_are_one(run: Any) -> None:
    with run.attached() as (attachment, log):
        import listener_bridge

        assert listener_bridge.attach(run.spark, policy="eager") is attachment
        assert isinstance(log, Log)
