"""A coordinator as a process: asked through it, beside it, and after it, shufflectl gives the same answers."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import signal
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from coordinator.core.commands import EndApplication, SetPin
from coordinator.core.ids import AppShuffle
from state_backend.errors import NoSpace, OutcomeUnknown
from state_backend.open import open_backend
from state_backend.values import Keyspace
from tests.integration.cli.processes import PATIENCE_S, Serving, serving, shufflectl, start, tell, tell_more
from tests.support.etcd import running_etcd
from tests.unit.replay.logs import APP, deleted_and_missed

QUESTIONS = (("shuffles", "-"), ("graph", "-"), ("events", "-"), ("explain", "-", "0"), ("explain", "-", "#2"))


@pytest.fixture(params=["sqlite", pytest.param("etcd", marks=pytest.mark.etcd)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/store.db"
        return
    with running_etcd(tmp_path / "etcd") as cluster:
        yield f"etcd://{cluster.endpoints[0]}/shuffles"


@pytest.fixture
def server(tmp_path: Path, store: str) -> Iterator[Serving]:
    with serving(tmp_path, store) as server:
        tell(server.address, deleted_and_missed())
        yield server


def test_server_store_and_export_give_the_same_answers(server: Serving, store: str, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    assert shufflectl(tmp_path, "export", "--server", server.address, "-", "-o", log).code == 0
    for question in QUESTIONS:
        asked = [
            shufflectl(tmp_path, *question, *source, "-o", "json")
            for source in (("--server", server.address), ("--store", store), ("--log", log))
        ]
        assert [one.code for one in asked] == [0, 0, 0], asked
        assert asked[0].data == asked[1].data == asked[2].data
    assert server.end().code == 0
    after = shufflectl(tmp_path, "explain", "--store", store, "chain", "0").out
    assert "Deleted early at event 18 by policy frontier" in after


def test_changes_through_the_server_and_beside_it_are_in_the_log(server: Serving, store: str, tmp_path: Path) -> None:
    through, beside = ("--server", server.address), ("--store", store)
    pinned = shufflectl(tmp_path, "pin", *through, "chain", 1, "--why", "nightly")
    assert "App shuffle 1 is pinned" in pinned.out, pinned
    rows = shufflectl(tmp_path, "shuffles", *beside, "chain", "-o", "json").data
    assert [row["pinned"] for row in rows if row["app_shuffle"] == 1] == [True]
    assert shufflectl(tmp_path, "unpin", *beside, "chain", 1).code == 0
    assert shufflectl(tmp_path, "policy", *through, "chain", "delayed", "--grace", "2min", "--group", "etl").code == 0
    assert shufflectl(tmp_path, "policy", *through, "chain", "observe").code == 0
    assert shufflectl(tmp_path, "apps", *beside, "-o", "json").data[0]["application"] == APP
    kinds = [row["kind"] for row in shufflectl(tmp_path, "events", *through, APP, "--after", 32, "-o", "json").data]
    assert [kind for kind in kinds if kind != "HoldChanged"] == [
        "PinSet",
        "PinRemoved",
        "PolicyChanged",
        "PolicyChanged",
    ]
    resumed = shufflectl(tmp_path, "resume", *through, "chain")
    assert resumed.code in (0, 5), "nothing is suspended; the coordinator says what it thinks of that"
    unknown = shufflectl(tmp_path, "pin", *through, "chain", 77)
    assert (unknown.code, "77" in unknown.err) == (3, True)


def test_following_goes_on_with_what_comes(server: Serving, tmp_path: Path) -> None:
    following = start(tmp_path, "events", "--server", server.address, APP, "--follow", "--after", 30, "-o", "json")
    assert following.stdout is not None
    try:
        assert [json.loads(following.stdout.readline())["sequence"] for _ in range(2)] == [31, 32]
        tell_more(server.address, APP, SetPin(AppShuffle(1), "a test"))
        assert json.loads(following.stdout.readline())["kind"] == "PinSet"
    finally:
        following.send_signal(signal.SIGINT)
        following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 130


def test_following_ends_with_the_application(server: Serving, tmp_path: Path) -> None:
    following = start(tmp_path, "events", "--server", server.address, APP, "--follow", "--after", 31, "-o", "json")
    assert following.stdout is not None
    try:
        assert json.loads(following.stdout.readline())["sequence"] == 32
        tell_more(server.address, APP, EndApplication())
        told, _ = following.communicate(timeout=PATIENCE_S)
    finally:
        following.kill()
    assert json.loads(told.splitlines()[0])["kind"] == "ApplicationEnded"
    assert following.returncode == 0


def test_a_server_that_is_away_is_passed_by(server: Serving, tmp_path: Path) -> None:
    called = shufflectl(tmp_path, "apps", "--server", f"127.0.0.1:1,{server.address}", "-o", "json")
    assert called.data[0]["application"] == APP


def test_a_port_in_use_gets_a_sentence_that_helps(server: Serving, tmp_path: Path) -> None:
    again = shufflectl(tmp_path, "serve", "--listen", server.address, "--store", "memory:")
    assert (again.code, len(again.err.splitlines())) == (1, 1)
    assert f"a coordinator serves at {server.address} already" in again.err
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = shufflectl(tmp_path, "serve", "--port", port, "--store", "memory:")
    assert (taken.code, "--port 0" in taken.err, "Traceback" in taken.err) == (1, True, False)


def test_doctor_finds_the_server_and_its_store(server: Serving, store: str, tmp_path: Path) -> None:
    called = shufflectl(tmp_path, "doctor", "--server", server.address, "--store", store, "-o", "json")
    found = {row["check"]: row for row in called.data}
    assert found["server"]["verdict"] == found["store"]["verdict"] == "ok"
    assert found["store"]["found"] == "readable, 1 application"
    if store.startswith("etcd"):
        assert found["etcd"]["verdict"] == "ok"
        assert "auto-compaction" in found["etcd compaction"]["advice"]


@pytest.mark.etcd
def test_doctor_finds_an_etcd_that_has_no_room(tmp_path: Path) -> None:
    with running_etcd(tmp_path / "etcd", arguments=("--quota-backend-bytes", "200000")) as cluster:
        store = f"etcd://{cluster.endpoints[0]}/shuffles"
        with pytest.raises((NoSpace, OutcomeUnknown)):
            asyncio.run(asyncio.wait_for(fill(store), PATIENCE_S))
        called = shufflectl(tmp_path, "doctor", "--store", store, "-o", "json")
    (found,) = (row for row in called.data if row["check"] == "etcd")
    assert (called.code, found["verdict"]) == (1, "fail")
    assert "not healthy: ALARM NOSPACE" in found["found"]
    assert "etcdctl alarm disarm" in found["advice"]


async def fill(store: str) -> None:
    """Write until it is refused: etcd counts its room ten times a second, so the first hundreds may pass."""
    async with await open_backend(store) as backend:
        for number in itertools.count():
            await backend.put(Keyspace.AUDIT, f"{number % 100}", bytes(20_000))


def test_a_replica_that_nobody_is_told_of_says_so(tmp_path: Path) -> None:
    everywhere = ("--listen", "0.0.0.0:0", "--beyond-loopback", "--store", "memory:")
    (tmp_path / "told.toml").write_text('[serve]\nadvertise = "replica-1:7070"\n')
    for more, is_said in (((), True), (("--config", tmp_path / "told.toml"), False)):
        process = start(tmp_path, "serve", *everywhere, *more)
        assert process.stdout is not None
        assert "Serving at 0.0.0.0:" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE_S)[1]
        assert ("serve.advertise" in said) is is_said, said


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path, "memory:") as server:
        token = tell(server.address, deleted_and_missed())
        here = ("--server", server.address, APP, "--token")
        wrong = shufflectl(tmp_path, "shuffles", *here, "s3cret")
        assert (wrong.code, "--token" in wrong.err, "s3cret" in wrong.err) == (5, True, False)
        assert shufflectl(tmp_path, "shuffles", *here, token).code == 0


def test_a_store_that_cannot_be_served(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a store " * 500)
    assert shufflectl(tmp_path, "serve", "--port", 0, "--store", f"sqlite://{tmp_path}/text.db").code == 6
    with serving(tmp_path, f"sqlite://{tmp_path}/store.db") as server:
        assert server.end().code == 0
    with sqlite3.connect(tmp_path / "store.db") as file:
        file.execute("PRAGMA user_version = 99")
    newer = shufflectl(tmp_path, "serve", "--port", 0, "--store", f"sqlite://{tmp_path}/store.db")
    assert (newer.code, "upgrade this program" in newer.err) == (7, True)
    beyond = shufflectl(tmp_path, "serve", "--listen", "0.0.0.0:0", "--store", "memory:")
    assert (beyond.code, "which other machines may reach" in beyond.err) == (2, True)


def test_the_data_folder_is_made(tmp_path: Path) -> None:
    process = start(tmp_path, "serve", "--port", 0, "--data", tmp_path / "new" / "data")
    assert process.stdout is not None
    assert "new/data/coordinator.db" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert (tmp_path / "new" / "data" / "coordinator.db").exists()


def test_a_program_that_starts_it_reads_where_it_serves(tmp_path: Path) -> None:
    process = start(tmp_path, "serve", "--port", 0, "--pages-port", 0, "--store", "memory:", "-o", "json")
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert (told["store"], told["metrics"], told["pages"].startswith("http://127.0.0.1:")) == ("memory:", None, True)
    assert shufflectl(tmp_path, "apps", "--server", told["address"], "-o", "json").out == "[]\n"
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=PATIENCE_S)[0] == ""
    assert process.returncode == 0


def test_pages_are_served_beside_it_where_they_are_wished(tmp_path: Path) -> None:
    with serving(tmp_path, "memory:", "--pages-port", 0) as server:
        tell(server.address, deleted_and_missed())
        assert server.process.stdout is not None
        said = re.fullmatch(r"Pages at (http://127\.0\.0\.1:\d+/)\.\n", server.process.stdout.readline())
        assert said is not None
        with urlopen(f"{said[1]}{APP}/numbers.json", timeout=PATIENCE_S) as answer:
            assert json.load(answer)["name"] == "chain"
        assert server.end().code == 0
    (tmp_path / "open.toml").write_text('[serve]\npages = "0.0.0.0:0"\n')
    refused = shufflectl(tmp_path, "serve", "--port", 0, "--store", "memory:", "--config", tmp_path / "open.toml")
    assert (refused.code, "0.0.0.0:0 listens on" in refused.err) == (2, True)
