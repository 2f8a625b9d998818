"""One application has one attachment, whoever holds it."""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2, service_pb2_grpc

from coordinator.app import start_replica
from listener_bridge import Attachment, attach, plugin
from listener_bridge.bridge import Bridge
from tests.integration.cli.processes import COMMAND
from tests.spark.cli.conftest import run
from tests.support.spark import LOCAL, spark_session, wait_for
from tests.unit.listener_bridge.fakes import FakeCoordinator

pytestmark = pytest.mark.spark


def test_a_second_attach_finds_the_first_one_although_nobody_kept_it(tmp_path: Path) -> None:
    with spark_session(tmp_path, LOCAL) as spark:
        first = attach(spark, store="memory:").application
        gc.collect()
        again = attach(spark, store="memory:")
        assert again.application == first
        assert len(plugin._RUNNING) == 1
        again.detach()
        assert plugin._RUNNING == {}


def test_a_block_within_a_block_lets_go_of_nothing(tmp_path: Path) -> None:
    """A function that attaches for itself, called by a program that has attached."""
    with spark_session(tmp_path, LOCAL) as spark:
        with attach(spark, store="memory:") as outer:
            with attach(spark, store="memory:") as inner:
                assert inner is outer
            wait_for(lambda: outer.status().state == "connected", "it to be attached still")
        assert outer.status().state == "detached"


def test_a_block_ends_nothing_that_was_there_before_it(tmp_path: Path) -> None:
    """As where `shufflectl run` has attached a program that attaches itself for a while."""
    with spark_session(tmp_path, LOCAL) as spark:
        outer = attach(spark, store="memory:")
        with attach(spark, store="memory:"):
            pass
        wait_for(lambda: outer.status().state == "connected", "it to be attached still")
        outer.detach()
        assert outer.status().state == "detached"


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_that_ends_lets_go_of_nothing(tmp_path: Path) -> None:
    with spark_session(tmp_path, LOCAL) as spark, attach(spark, store="memory:", policy="frontier") as attached:
        wait_for(lambda: attached.status().state == "connected", "the session")
        child = os.fork()
        if child == 0:
            _end_as_a_program_does(attached)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        keyed = spark.sparkContext.parallelize(range(100), 2).map(lambda n: (n % 5, n))
        assert keyed.partitionBy(2).map(lambda row: (row[1] % 7, row[0])).partitionBy(2).count() == 100
        wait_for(lambda: attached.status().deleted == 1, "its first shuffle to go")
        assert attached.status().state == "connected"


LOGS = """
import logging, os, sys, time
from pathlib import Path
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for round in range(4):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    numbers = spark.sparkContext.parallelize(range(100), 2).map(lambda n: (n % 5, n)).partitionBy(2)
    numbers.count()
    del numbers
    until = time.monotonic() + 60
    while time.monotonic() < until and any(Path("local").rglob(f"shuffle_{round}_*.data")):
        time.sleep(0.05)
print(round, any(Path("local").rglob("shuffle_*.data")), logging.getLogger().handlers)
"""


def test_a_fork_costs_the_parent_no_connection_and_sets_up_no_logging(tmp_path: Path) -> None:
    """py4j tells the root logger of a connection that it finds closed: that sets up logging in the program's place."""
    (tmp_path / "app.py").write_text(LOGS)
    prompt = ("--conf", "spark.shuffleLifecycle.prompt.bytes=0")
    ran = run(tmp_path, *COMMAND, "run", "--policy", "reachable", "--store", "memory:", *prompt, "app.py")
    assert (ran.returncode, ran.stdout) == (0, "3 False []\n"), ran.stderr


def _end_as_a_program_does(attached: Attachment) -> None:
    """What `sys.exit` and leaving the `with` would do in the child; its exit code tells whether it is off."""
    try:
        plugin._at_exit()
        attached.detach()
        os._exit(0 if attached.status().state == "off" else 1)
    finally:
        os._exit(2)


def test_what_was_attached_leaves_nothing_on_the_bus_but_the_marks_however_often(tmp_path: Path) -> None:
    """And nothing that Spark's cleaner keeps, and tells of each shuffle, but what belongs to the application."""
    with spark_session(tmp_path, LOCAL) as spark:
        bus, cleaner = spark._jsc.sc().listenerBus(), spark._jsc.sc().cleaner().get()
        listeners = cleaner.getClass().getDeclaredField("listeners")
        listeners.setAccessible(True)
        counts = []
        for _ in range(3):
            with attach(spark, store="memory:", policy="reachable"):
                pass
            counts.append((bus.listeners().size(), listeners.get(cleaner).size()))
        assert counts == [counts[0]] * 3


@pytest.mark.slow
def test_sessions_that_follow_one_another_in_a_process_leave_nothing_behind(tmp_path: Path) -> None:
    """As tests of a team's own jobs do, one session after the other, each stopped without `detach`."""
    left: list[Counter[str]] = []
    for _ in range(4):
        with spark_session(tmp_path, LOCAL) as spark:
            attached = attach(spark, store=f"sqlite://{tmp_path}/coordinator.db", policy="reachable")
            assert attached.token
            assert spark.sparkContext.parallelize(range(100), 2).map(lambda n: (n % 5, n)).groupByKey(2).count() == 5
        del attached, spark
        wait_for(lambda: not left or not _there_is() - left[0], "no more than the first one left")
        left.append(_there_is())
    assert not [name for name in left[-1] if name.startswith("thread shuffle-lifecycle")]


def _there_is() -> Counter[str]:
    """Threads, open files, connections of SQLite's and whole attachments of this process."""
    gc.collect()
    kinds = [type(one) for one in gc.get_objects()]
    found = Counter(kind.__name__ for kind in kinds if kind in (Attachment, Bridge, sqlite3.Connection))
    found["open files"] = sum(1 for _ in Path("/proc/self/fd").iterdir())
    found.update(f"thread {thread.name}" for thread in threading.enumerate())
    return found


@pytest.mark.newest
def test_who_was_refused_can_attach_again(tmp_path: Path) -> None:
    replica = start_replica("memory:")
    with spark_session(tmp_path, LOCAL) as spark, FakeCoordinator() as other:
        other.refuse_with = (grpc.StatusCode.UNAUTHENTICATED, "who are you")
        first = attach(spark, address=other.address)
        wait_for(lambda: first.status().state == "refused", "the refusal")
        with attach(spark, address=replica.address) as second:
            assert second.application != first.application
            wait_for(lambda: second.status().state == "connected", "a session of its own")
            assert first.status().state == "detached"
    replica.stop()


def test_14_sql_jobs_go_by_what_attach_or_people_have_chosen_and_not_by_the_conf(tmp_path: Path) -> None:
    """Spark copies its conf into the properties of every SQL job, where a job's own choice stands too."""
    key, replica = "spark.shuffleLifecycle.policy", start_replica("memory:")
    with spark_session(tmp_path, LOCAL, **{key: "eager"}) as spark, grpc.insecure_channel(replica.address) as channel:
        with attach(spark, address=replica.address, policy="observe") as attached:
            caller = service_pb2.Caller(application=attached.application, token=attached.token)
            spark.range(100).groupBy("id").count().collect()
            spark.conf.set(key, "frontier")
            spark.range(100).groupBy("id").count().collect()
            spark.conf.unset(key)
        asked = service_pb2.ListEventsRequest(caller=caller, limit=10_000)
        events = [
            record.job_started for record in service_pb2_grpc.ShuffleLifecycleStub(channel).ListEvents(asked).records
        ]
    replica.stop()
    jobs = [event for event in events if event.HasField("execution")]
    assert {event.policy.rule for event in jobs if event.HasField("policy")} == {common_pb2.RULE_FRONTIER}
    assert any(not event.HasField("policy") for event in jobs)


def test_20_a_driver_that_was_taken_for_gone_is_a_new_application_by_itself(tmp_path: Path) -> None:
    """It is told so when it comes back, as after a network that was away for longer than its sign of life may be.

    What people had chosen for it by hand goes along.
    """
    replica = start_replica("memory:")
    with spark_session(tmp_path, LOCAL) as spark, grpc.insecure_channel(replica.address) as channel:
        attached = attach(spark, address=replica.address, policy="frontier")
        keyed = spark.sparkContext.parallelize(range(100), 2).map(lambda n: (n % 5, n)).partitionBy(2)
        assert keyed.count() == 100
        before = attached.application
        caller = service_pb2.Caller(application=before, token=attached.token)
        wait_for(lambda: attached.status().unanswered == 0, "all answers")
        lost = service_pb2.EndApplication(ending=common_pb2.ENDING_LOST)
        stub = service_pb2_grpc.ShuffleLifecycleStub(channel)
        chosen = common_pb2.Policy(rule=common_pb2.RULE_EAGER, observe=True)
        stub.SetPolicy(service_pb2.SetPolicyCall(caller=caller, command=service_pb2.SetPolicy(policy=chosen)))
        stub.SetPin(service_pb2.SetPinCall(caller=caller, command=service_pb2.SetPin(app_shuffle=0, why="mine")))
        stub.EndApplication(service_pb2.EndApplicationCall(caller=caller, command=lost))
        wait_for(lambda: attached.application != before, "a new application")
        wait_for(lambda: attached.status().state == "connected", "its session")
        caller = service_pb2.Caller(application=attached.application, token=attached.token)
        asked = service_pb2.GetApplicationRequest(caller=caller)
        wait_for(lambda: list(stub.GetApplication(asked).pins) == [0], "its pin")
        assert stub.GetApplication(asked).policy == chosen
        assert attach(spark, address=replica.address) is attached
        attached.detach()
    replica.stop()
