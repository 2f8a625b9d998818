"""The coordinator inside the driver: what it warns of is seen where people look."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import MutableMapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from coordinator import app, logs
from coordinator.archive.api import WrongArchive
from coordinator.core.commands import EndApplication, RegisterApplication, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.values import Driver
from coordinator.runtime import engine
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.wire.errors import Malformed
from coordinator.wire.lessons import Taught, text_of
from listener_bridge import embedded
from listener_bridge.embedded import Embedded
from listener_bridge.seldom import AT_ONCE
from state_backend.api import StateBackend
from state_backend.errors import WrongAddress
from state_backend.open import open_backend
from state_backend.values import Keyspace

SERVING = health_pb2.HealthCheckResponse.SERVING


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "shuffle_lifecycle"]


def test_warnings_and_errors_are_one_line_each_in_the_drivers_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here = Embedded(f"sqlite://{tmp_path}/coordinator.db")
    assert here.addresses()
    try:
        with caplog.at_level(logging.INFO):
            engine.log.warning("the store refused", failures=3)
            engine.log.info("nothing to see")
            try:
                raise ValueError("two\nlines")
            except ValueError:
                engine.log.exception("a defect")
                logging.getLogger("coordinator.server.service").exception("a call failed")
    finally:
        here.stop(10.0)
    assert {record.name for record in caplog.records} == {"shuffle_lifecycle"}
    first, second, third = lines(caplog)
    assert first == "coordinator: event='the store refused' failures=3"
    assert second.startswith("coordinator: event='a defect' exception=")
    assert "ValueError: two" in second
    assert third == "coordinator: a call failed (ValueError: two lines)"
    assert all("\n" not in line for line in lines(caplog))


def test_what_is_met_again_every_second_is_not_said_every_second(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As while the disk is full; the store's own warnings stand there too, and not as bare lines on stderr."""
    here = Embedded(f"sqlite://{tmp_path}/coordinator.db")
    assert here.addresses()
    here.stop(10.0)
    for failures in range(100):
        engine.log.warning("the store has refused a hundred times", failures=failures)
    logging.getLogger("state_backend.lease").warning("lease 7 was not renewed: no answer")
    assert [line.partition(" failures")[0] for line in lines(caplog)] == [
        *(["coordinator: event='the store has refused a hundred times'"] * AT_ONCE),
        "coordinator: lease 7 was not renewed: no answer",
    ]


AT_THE_END = """
import atexit, sys
from listener_bridge.embedded import Embedded
here = Embedded(sys.argv[1])
assert here.addresses()
atexit.register(here.stop, 10.0)
"""


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("sqlite:///ann@corp.db", "sqlite:///ann@corp.db"),
        ("memory:", "memory:"),
        ("etcd://ann:her-secret@a:1,b:2/x?tls=true", "etcd://ann:***@a:1,b:2/x?tls=true"),
        ("etcd://ann:her-secret@x@a:1", "etcd://ann:***@a:1"),
    ],
)
def test_people_see_its_store_without_the_password(store: str, shown: str) -> None:
    assert Embedded(store).shown == shown


@pytest.mark.parametrize("store", ["coordinator.db", "/nowhere/c.db", "sqlite:///nowhere/c.db", "redis://host:1"])
def test_a_store_that_cannot_be_one_is_told_before_anything_begins(store: str) -> None:
    """Or it would be tried again for as long as the job runs."""
    with pytest.raises(WrongAddress, match=r"the store address .*; expected etcd"):
        Embedded(store)


def test_it_stops_in_silence_when_the_interpreter_is_at_its_end(tmp_path: Path) -> None:
    """As `atexit.register(spark.stop)` has it: no executor starts anything there."""
    store = f"sqlite://{tmp_path}/coordinator.db"
    done = subprocess.run([sys.executable, "-c", AT_THE_END, store], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_line_that_a_program_s_own_processor_does_not_take_stops_nothing() -> None:
    """The replica's tasks say what they meet in the middle of their work, and end with what is raised there."""

    def with_a_request(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {**line, "of": line["request"]}

    structlog.configure(processors=[with_a_request])
    for _ in range(2):
        logs.logger("coordinator.runtime.engine").warning("the store refused", application="a")


def test_a_program_that_uses_structlog_as_it_comes_goes_on_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Embedded(f"sqlite://{tmp_path}/coordinator.db")
    assert here.addresses()
    here.stop(10.0)
    assert not structlog.is_configured()
    structlog.get_logger().info("counted", rows=3)
    assert "counted" in capsys.readouterr().out


@pytest.mark.parametrize("places", [("/tmp",), ("/nowhere", "/dev/shm"), ()])
def test_it_starts_where_the_folder_for_temporary_files_has_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: tuple[str, ...]
) -> None:
    """As a container's of YARN: a socket's path has a limit."""
    long = tmp_path / ("container_" + 80 * "0")
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    monkeypatch.setattr(embedded, "_SHORT_PLACES", places)
    here = Embedded(f"sqlite://{tmp_path}/coordinator.db")
    try:
        [address] = here.addresses()
        assert address.startswith(f"unix:{places[-1]}/" if places else "127.0.0.1:")
        with grpc.insecure_channel(address) as channel:
            asked = health_pb2.HealthCheckRequest()
            assert health_pb2_grpc.HealthStub(channel).Check(asked, timeout=10).status == SERVING
    finally:
        here.stop(10.0)


@pytest.mark.parametrize("name", ["job#1", "a,b", "what?", "a%20b"])
def test_it_starts_where_the_folder_for_temporary_files_has_a_name_that_grpc_reads_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / name))
    here = Embedded("memory:")
    try:
        [address] = here.addresses()
        with grpc.insecure_channel(address) as channel:
            asked = health_pb2.HealthCheckRequest()
            assert health_pb2_grpc.HealthStub(channel).Check(asked, timeout=10).status == SERVING
    finally:
        here.stop(10.0)


def nowhere() -> str:
    raise FileNotFoundError("No usable temporary directory found")


def test_it_starts_where_there_is_no_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose file system is read-only but for a volume."""
    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    monkeypatch.setattr(embedded, "_SHORT_PLACES", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    here = Embedded(embedded.default_store())
    try:
        [address] = here.addresses()
        assert address.startswith("127.0.0.1:")
    finally:
        here.stop(10.0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "shuffle-lifecycle" / "coordinator.db"))
    with pytest.raises(
        OSError, match=r"nor a folder for temporary files will do .*: set spark\.shuffleLifecycle\.store"
    ):
        embedded.default_store()


def test_a_start_that_was_given_up_takes_nothing_from_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a disk hangs: it comes to its end when the disk is back, and stops at once."""
    go_on = threading.Event()

    async def open_late(store: str) -> StateBackend:
        while not go_on.is_set():  # noqa: ASYNC110 - the event is another thread's
            await asyncio.sleep(0.01)
        return await open_backend(store)

    here = Embedded(f"sqlite://{tmp_path}/coordinator.db")
    monkeypatch.setattr(app, "open_backend", open_late)
    monkeypatch.setattr(app, "_PATIENCE_S", 0.05)
    with pytest.raises(TimeoutError, match="did not serve within"):
        here.addresses()
    (given_up,) = (one for one in threading.enumerate() if one.name == "shuffle-lifecycle-replica")
    monkeypatch.undo()
    try:
        [address] = here.addresses()
        go_on.set()
        given_up.join(10.0)
        with grpc.insecure_channel(address) as channel:
            asked = health_pb2.HealthCheckRequest()
            assert health_pb2_grpc.HealthStub(channel).Check(asked, timeout=10).status == SERVING
    finally:
        here.stop(10.0)


WITHOUT_FILES = """
import os, resource, sys
from coordinator.app import start_replica
start_replica("memory:").stop()  # all that it imports it has imported while there are files
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1,) * 2)
try:
    start_replica("memory:")
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs to count what is open")
def test_a_process_that_has_no_file_left_hears_that_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_FILES], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "Too many open files"
    assert "shuffle-lifecycle-replica" not in done.stderr  # CPython's own loop, half made, complains


def test_a_forked_child_that_ends_leaves_the_socket_to_its_parent(tmp_path: Path) -> None:
    here = Embedded(f"sqlite://{tmp_path}/coordinator.db")
    try:
        socket = Path(here.addresses()[0].removeprefix("unix:"))
        program = (
            "import os, sys\n"
            "from listener_bridge.embedded import _SocketFolder\n"
            f"folder, other, third = (_SocketFolder({str(tmp_path)!r}) for _ in range(3))\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    sys.exit(0)\n"
            "os.waitpid(child, 0)\n"
            "print(os.path.isdir(folder.path))\n"
        )
        told = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60)
        assert (told.stdout, told.stderr) == ("True\n", "")
        assert list(tmp_path.glob("shuffle-lifecycle-*")) == [], "the parent takes it away at its own end"
        assert socket.exists()
    finally:
        here.stop(10.0)
    assert not socket.exists()


def test_a_second_attachment_does_not_say_everything_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("first.db", "second.db"):
        here = Embedded(f"sqlite://{tmp_path}/{name}")
        assert here.addresses()
        here.stop(10.0)
    logging.getLogger("coordinator.server").warning("once")
    assert lines(caplog) == ["coordinator: once"]


def test_the_file_of_lessons_is_read_before_it_serves(tmp_path: Path) -> None:
    """A file that is not there is told, and keeps the coordinator from starting; one that is read does not."""
    file = tmp_path / "lessons.json"
    missing = Embedded(f"sqlite://{tmp_path}/coordinator.db", str(file))
    with pytest.raises(Malformed, match="cannot be read"):
        missing.addresses()
    file.write_text(text_of({"nightly": Taught(1, ())}))
    there = Embedded(f"sqlite://{tmp_path}/coordinator.db", str(file))
    try:
        assert there.addresses()
    finally:
        there.stop(10.0)


def test_what_has_ended_leaves_its_store_for_the_archive(tmp_path: Path) -> None:
    """The one file that all drivers of a user share would else only grow."""
    store, folder = f"sqlite://{tmp_path}/coordinator.db", tmp_path / "archive"
    asyncio.run(_ended(store))
    here = Embedded(store, archive=str(folder), retention_s=0.001)
    assert here.addresses()
    try:
        asyncio.run(_left(store))
    finally:
        here.stop(10.0)
    assert [file.name.partition("-")[0] for file in folder.glob("over/events-*")] == ["events"]


async def _ended(store: str) -> None:
    application = ApplicationId("over")
    async with await open_backend(store) as backend, Replica(backend, Options("earlier")) as replica:
        await replica.register(Request(ClientId(""), 0, RegisterApplication(application, Driver())))
        await replica.submit(application, [Request(ClientId(""), 0, EndApplication())])


async def _left(store: str) -> None:
    """Its events go first, its registration last."""
    async with await open_backend(store) as backend:
        for keyspace in (Keyspace.EVENTS, Keyspace.APPLICATIONS):
            while (await backend.scan_keys(keyspace)).keys:  # noqa: ASYNC110 - housekeeping tells nobody
                await asyncio.sleep(0.01)


def test_an_archive_that_cannot_be_one_is_told_before_anything_begins(tmp_path: Path) -> None:
    with pytest.raises(WrongArchive, match="file:///FOLDER"):
        Embedded(f"sqlite://{tmp_path}/coordinator.db", archive="file://folder")


class Starting(Embedded):
    """Starts when the test says so."""

    def __init__(self) -> None:
        super().__init__("sqlite:///nowhere")
        self.is_starting, self.may_start, self.is_stopped = threading.Event(), threading.Event(), threading.Event()

    def _start(self) -> Any:
        self.is_starting.set()
        self.may_start.wait(10.0)
        return SimpleNamespace(address="127.0.0.1:1", stop=self.is_stopped.set)


def test_what_is_still_starting_holds_up_no_stop_and_is_stopped_when_it_has_started() -> None:
    here = Starting()
    asking = threading.Thread(target=here.addresses)
    asking.start()
    assert here.is_starting.wait(10.0)
    begun_s = time.monotonic()
    here.stop(0.1)
    assert time.monotonic() - begun_s < 5.0
    assert not here.is_stopped.is_set()
    here.may_start.set()
    assert here.is_stopped.wait(10.0)
    asking.join(10.0)
    assert here.addresses() == ()
