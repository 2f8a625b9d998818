"""The checks of `doctor`: each says what is so and what to do."""

from __future__ import annotations

import shutil
import socket
import stat
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from coordinator.cli import showing
from coordinator.cli.checks import machine, network, store
from coordinator.cli.checks.finding import Verdict
from coordinator.config import Config, ServeConfig
from listener_bridge import mounts
from tests.unit.cli.calling import Shufflectl
from tests.unit.cli.calling import store as stored
from tests.unit.replay.logs import Told


def java_that_says(folder: Path, text: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize(
    ("says", "verdict"),
    [
        ('openjdk version "17.0.15" 2025-04-15', Verdict.OK),
        ('openjdk version "21" 2023-09-19', Verdict.OK),
        ('java version "1.8.0_362"', Verdict.FAIL),
        ('openjdk version "11.0.2"', Verdict.FAIL),
        ("no version here", Verdict.FAIL),
    ],
)
def test_a_java_that_spark_does_not_run_on_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, verdict: Verdict
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, says)))
    found = machine.java()
    assert found.verdict is verdict
    assert verdict is Verdict.OK or "JAVA_HOME" in found.advice


def test_java_tells_first_which_options_it_has_picked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = 'Picked up JAVA_TOOL_OPTIONS: -Duser.language=en\nopenjdk version "17.0.15" 2025-04-15'
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, says)))
    assert machine.java().found.startswith('openjdk version "17.0.15" 2025-04-15 at ')


def test_where_there_is_no_java_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (machine.java().verdict, "openjdk-17" in machine.java().advice) == (Verdict.FAIL, True)


@pytest.mark.parametrize(
    ("version", "verdict"), [("4.3.0", Verdict.OK), ("3.5.8", Verdict.OK), ("4.2.0", Verdict.WARN)]
)
def test_a_spark_that_was_never_tried_is_told(monkeypatch: pytest.MonkeyPatch, version: str, verdict: Verdict) -> None:
    monkeypatch.setattr(machine, "release", lambda _: version)
    assert machine.spark().verdict is verdict


def test_spark_of_a_distribution_is_found_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is on the path, or only SPARK_HOME says where: no package tool knows it."""
    pyspark = tmp_path / "python" / "pyspark"
    pyspark.mkdir(parents=True)
    (pyspark / "version.py").write_text("__version__: str = '3.5.8'\n")
    monkeypatch.setattr(machine, "release", lambda _: "")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert machine.spark().verdict is Verdict.WARN
    monkeypatch.setattr("importlib.util.find_spec", lambda _: SimpleNamespace(origin=pyspark / "__init__.py"))
    assert machine.spark().found == "3.5.8"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert (machine.spark().verdict, machine.spark().found) == (Verdict.OK, "3.5.8")


def test_a_demo_needs_a_pyspark_that_can_be_imported(
    shufflectl: Shufflectl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, 'openjdk version "17.0.15"')))
    monkeypatch.setattr(showing, "pyspark_folder", lambda: None)
    called = shufflectl("demo")
    assert (called.code, "this Python has no PySpark" in called.err) == (1, True)


def test_janino_is_looked_for_among_the_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    assert machine.janino().verdict is Verdict.FAIL
    for name in ("janino-3.1.9.jar", "commons-compiler-3.1.9.jar"):
        (tmp_path / "jars" / name).touch()
    assert machine.janino().verdict is Verdict.OK


async def test_a_store_that_is_not_there_is_made_later(tmp_path: Path) -> None:
    (found,) = await store.look(Config(store=f"sqlite://{tmp_path}/s.db"))
    assert (found.verdict, "made when it is first needed" in found.found) == (Verdict.OK, True)
    assert not (tmp_path / "s.db").exists()


async def test_a_store_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a store, not by far " * 100)
    for address in ("nonsense", f"sqlite://{tmp_path}/no/s.db", f"sqlite://{tmp_path}/text.db"):
        (found,) = await store.look(Config(store=address))
        assert found.verdict is Verdict.FAIL


def test_a_store_and_its_logs(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = stored(tmp_path / "s.db", Told())
    found = {row["check"]: row for row in shufflectl("doctor", "--store", address, "-o", "json").data}
    assert found["store"]["found"] == "readable, 1 application"
    assert found["logs"]["verdict"] == "ok"


async def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        found = await network.port(Config(serve=ServeConfig(listen=listen)))
    assert (found.verdict, "--port 0" in found.advice) == (Verdict.WARN, True)
    assert (await network.port(Config(serve=ServeConfig(listen=listen)))).verdict is Verdict.OK


async def test_a_server_that_is_away() -> None:
    (found,) = await network.servers(Config(server="127.0.0.1:1"))
    assert found.verdict is Verdict.FAIL


def test_what_fails_gives_the_exit_code(shufflectl: Shufflectl) -> None:
    called = shufflectl("doctor", "--server", "127.0.0.1:1")
    assert called.code == 1
    assert "127.0.0.1:1 does not serve" in called.out


def test_everything_that_is_not_ok_says_what_to_do(shufflectl: Shufflectl) -> None:
    for row in shufflectl("doctor", "--server", "127.0.0.1:1", "-o", "json").data:
        assert row["verdict"] == "ok" or row["advice"]


def test_a_store_that_is_away_says_what_to_do_where_one_looks_for_it(shufflectl: Shufflectl) -> None:
    rows = shufflectl("doctor", "--store", "etcd://127.0.0.1:1/x", "-o", "json").data
    store_row, etcd = (next(row for row in rows if row["check"] == check) for check in ("store", "etcd"))
    assert "check that it runs" in store_row["advice"]
    assert "check that it runs" not in store_row["found"]
    assert etcd["found"] == "127.0.0.1:1 does not answer (Connection refused)"


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.0 200 OK\r\n\r\n[]", b'HTTP/1.0 200 OK\r\n\r\n{"etcdserver": "new"}']
)
def test_a_member_that_is_another_program_is_a_finding(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        answers = threading.Thread(target=answer_once, args=(listening, said))
        answers.start()
        (found,) = network.etcd(Config(store=f"etcd://127.0.0.1:{port}/x"))
        answers.join()
    assert (found.verdict, found.found) == (Verdict.FAIL, f"127.0.0.1:{port} does not answer as etcd does")


def answer_once(listening: socket.socket, said: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(said)


async def test_a_store_on_a_disk_that_other_machines_share_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mountinfo").write_text(f"1 0 0:40 / {tmp_path} rw - nfs4 filer:/export rw\n")
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mountinfo")
    shared, missing = await store.look(Config(store=f"sqlite://{tmp_path}/coordinator.db"))
    assert (shared.verdict, missing.verdict) == (Verdict.WARN, Verdict.OK)
    assert "nfs4, which other machines share" in str(shared)


async def test_a_disk_that_is_full_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=20_000_000))
    full, missing = await store.look(Config(store=f"sqlite://{tmp_path}/coordinator.db"))
    assert (full.verdict, full.found) == (Verdict.WARN, f"{tmp_path} has 20.0 MB left")
    assert missing.verdict is Verdict.OK
