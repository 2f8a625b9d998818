"""Real sessions, attached to a real coordinator, whose log the tests read."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2, service_pb2_grpc

import listener_bridge
from coordinator.app import start_replica
from tests.support.spark import LOCAL, LOCAL_CLUSTER, Gate, gate, in_background, shuffle_files, spark_session, wait_for

T = TypeVar("T")
_COUNT = itertools.count()


@dataclass
class Log:
    """An application's log, asked of its coordinator."""

    address: str
    application: str
    token: Callable[[], str]

    def events(self, *kinds: str) -> list[Any]:
        """The events of these kinds, or all, in order."""
        found = [(record.WhichOneof("event"), record) for record in self.records()]
        return [getattr(record, kind) for kind, record in found if kind in kinds or not kinds]

    def records(self) -> list[Any]:
        """All events with their numbers, in order."""
        caller = service_pb2.Caller(application=self.application, token=self.token())
        with grpc.insecure_channel(self.address) as channel:
            ask = service_pb2_grpc.ShuffleLifecycleStub(channel)
            reply = ask.ListEvents(service_pb2.ListEventsRequest(caller=caller, limit=10_000))
        return list(reply.records)

    def generations(self) -> dict[int, int]:
        """shuffle id -> app shuffle"""
        started = self.events("generation_started", "generation_adopted")
        return {event.shuffle_id: event.app_shuffle for event in started}

    def app_shuffles(self, kind: str) -> list[int]:
        """The app shuffles that events of this kind are about, in order."""
        generations = self.generations()
        return [generations[event.shuffle_id] for event in self.events(kind)]

    def map_stages(self) -> list[int]:
        """The app shuffles that were really written, in order, an entry for each attempt."""
        return [event.writes for event in self.events("stage_submitted") if event.HasField("writes")]

    def ask(self, method: str, request: Any) -> Any:
        with grpc.insecure_channel(self.address) as channel:
            return getattr(service_pb2_grpc.ShuffleLifecycleStub(channel), method)(request)

    @property
    def caller(self) -> service_pb2.Caller:
        return service_pb2.Caller(application=self.application, token=self.token())


@dataclass
class Run:
    """A session without the plugin; `attached` adds it for a block."""

    spark: Any
    folder: Path
    logs: Path
    kept: list[Any] = field(default_factory=list)  # what Spark's cleaner shall not find
    left: frozenset[Path] = frozenset()  # by killed executors of earlier sessions, whose shuffles have the same numbers

    def gate(self) -> Gate:
        return gate(self.folder / f"gate-{next(_COUNT)}")

    def keyed(self, rows: int = 400, maps: int = 4, reduces: int = 3) -> Any:
        numbers = self.spark.sparkContext.parallelize(range(rows), maps)
        return self.keep(numbers.map(lambda n: (n % 20, n)).partitionBy(reduces))

    def again(self, rdd: Any, held: Gate | None = None, reduces: int = 3) -> Any:
        """One more shuffle behind this one, whose writers wait at the gate when they have begun to read."""
        folder = held.folder if held is not None else ""

        def step(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            if folder:
                Gate(folder).pass_through(index)
            return ((value % 19, key + value) for key, value in rows)

        return self.keep(rdd.mapPartitionsWithIndex(step).partitionBy(reduces))

    @contextmanager
    def job(self, work: Callable[[], T], *gates: Gate) -> Iterator[Future[T]]:
        """A job of its own thread. A test that fails opens the gates, so that its reason is told and not a time-out."""
        with in_background(work) as running:
            try:
                yield running
            finally:
                for closed in gates:
                    closed.open()

    def keep(self, rdd: Any) -> Any:
        self.kept.append(rdd)
        return rdd

    def files(self, app_shuffle: int) -> dict[Path, int]:
        found = shuffle_files(self.folder, app_shuffle)
        return {path: size for path, size in found.items() if path not in self.left}

    @contextmanager
    def attached(self, policy: str = "frontier", **overrides: Any) -> Iterator[tuple[Any, Log]]:
        """Attached to a coordinator of its own, connected."""
        replica = start_replica(f"sqlite://{self.logs}/{next(_COUNT)}.db")
        try:
            with self.attached_to(replica.address, policy, **overrides) as (attachment, log):
                wait_for(lambda: attachment.status().state == "connected", "the session")
                yield attachment, log
        finally:
            replica.stop()

    @contextmanager
    def attached_to(self, address: str, policy: str = "frontier", **overrides: Any) -> Iterator[tuple[Any, Log]]:
        with listener_bridge.attach(self.spark, policy=policy, address=address, **overrides) as attachment:
            assert attachment.application, attachment.status().why
            yield attachment, Log(address.split(",")[-1], attachment.application, lambda: attachment.token)

    def settled(self, attachment: Any) -> None:
        """All that happened is told and answered, and all that was asked for is done."""
        bridge = attachment._bridge
        bridge._last_passed.clear()
        bridge._tap.post_marker("last")
        assert bridge._last_passed.wait(20)
        wait_for(lambda: attachment.status().unanswered == 0, "all answers")


def kill_an_executor(folder: Path) -> None:
    """One executor whose local directory is ours: only those that this test's own session has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            is_ours = entry.name.isdigit() and str(folder) in (entry / "environ").read_text(errors="replace")
            if is_ours and "CoarseGrainedExecutorBackend" in (entry / "cmdline").read_text(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    os.kill(min(found), signal.SIGKILL)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all sessions of the process: Spark keeps the first local directory for the life of the JVM."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with spark_session(folder, LOCAL, **{"spark.sql.adaptive.enabled": "true"}) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"), left=frozenset(shuffle_files(folder)))


@pytest.fixture(scope="module")
def cluster(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with spark_session(folder, LOCAL_CLUSTER) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"), left=frozenset(shuffle_files(folder)))
