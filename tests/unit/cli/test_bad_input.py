"""What a person can get wrong, and what can be wrong with data: one clear line, the right exit code, no traceback."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from coordinator.cli.exits import Exit
from coordinator.wire.codec import Segment, encode_segment, segment_to_message
from coordinator.wire.logfile import MAGIC, salvage, write_log
from coordinator.wire.sealing import seal
from state_backend.open import open_backend
from state_backend.sqlite import file
from state_backend.values import Keyspace
from tests.unit.cli.calling import Called, Shufflectl, log_file, store
from tests.unit.replay.logs import APP, Told, deleted_and_missed, expired


def is_clear(called: Called, code: Exit, *words: str) -> bool:
    lines = called.err.splitlines()
    assert called.code == code, called
    assert all(word in called.err for word in words), called.err
    assert "Traceback" not in called.err
    assert 1 <= len(lines) <= 4
    return True


def test_a_user_whose_name_is_not_utf_8_may_decide(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who decided is a part of the log, whose texts are UTF-8."""
    monkeypatch.setenv("LOGNAME", os.fsdecode(b"andr\xe9"))
    address = store(tmp_path / "store.db", Told())
    assert shufflectl("policy", "--store", address, "-", "eager").code == Exit.OK
    assert "by andr?" in shufflectl("events", "--store", address, "-").out


@pytest.mark.parametrize("address", ["etcd:/x", "postgres://x", "sqlite://", "etcd://h:1?nope=1"])
def test_a_wrong_store_address(shufflectl: Shufflectl, address: str) -> None:
    assert is_clear(shufflectl("apps", "--store", address), Exit.USAGE, "expected etcd://", "sqlite:///FILE")


def test_a_store_that_is_a_path_alone_or_a_folder_is_told_as_that(shufflectl: Shufflectl, tmp_path: Path) -> None:
    store(tmp_path / "store.db", deleted_and_missed())
    path = tmp_path / "store.db"
    assert is_clear(shufflectl("apps", "--store", path), Exit.USAGE, f"a file is named as sqlite:{path}")
    assert shufflectl("apps", "--store", f"sqlite:{path}").code == Exit.OK
    for verb in ("apps", "serve"):
        called = shufflectl(verb, "--store", f"sqlite:{tmp_path}")
        assert is_clear(called, Exit.USAGE, "names a folder; a store is a file in one"), verb


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"hello, I am no log\n" * 3, "name one that is whole, or restore it from another copy"),
        (b"SQLite format 3\x00" + bytes(100), "where it is a store, name it with --store, as sqlite:FILE"),
        (b"\x1f\x8b\x08" + bytes(100), "It is packed: unpack it."),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "It is packed: unpack it."),
    ],
)
def test_a_file_that_is_no_log_is_told_as_what_it_is(
    shufflectl: Shufflectl, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "other").write_bytes(content)
    assert is_clear(shufflectl("events", "--log", tmp_path / "other"), Exit.DAMAGED, told)


def test_a_rule_beside_a_policy_that_is_one_is_refused(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", Told())
    called = shufflectl("policy", "--store", address, "-", "frontier", "--rule", "eager")
    assert is_clear(called, Exit.USAGE, "--rule with observe or delayed alone")
    assert shufflectl("apps", "--store", address, "-o", "json").data[0]["policy"] == "frontier"
    for rule, name in (((), "observe"), (("--rule", "eager"), "observe")):
        assert shufflectl("policy", "--store", address, "-", "observe", *rule).code == Exit.OK
        assert shufflectl("apps", "--store", address, "-o", "json").data[0]["policy"] == name


def test_output_that_has_no_room(tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    command = [sys.executable, "-m", "coordinator.cli.main", "--store", address, "apps"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert is_clear(Called(done.returncode, "", done.stderr), Exit.FAILED, "No space left on device")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("verb", ["apps", "version", "simulate"])
def test_who_reads_no_further_has_met_no_failure(tmp_path: Path, verb: str, unbuffered: str) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    source = () if verb == "version" else ("--store", address)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "coordinator.cli.main", verb, *source]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (Exit.OK, "")


def test_a_program_that_closes_its_output_ends_as_it_does_alone(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nsys.stdout.close()\n")
    command = [sys.executable, "-m", "coordinator.cli.main", "run", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (Exit.OK, False)


@pytest.mark.parametrize("closed", [(1,), (1, 2)])
def test_output_that_is_closed_is_said_to_nobody(tmp_path: Path, closed: tuple[int, ...]) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    command = [sys.executable, "-m", "coordinator.cli.main", "--store", address, "apps"]
    closing = " ".join(f"{descriptor}>&-" for descriptor in closed)
    done = subprocess.run(["sh", "-c", f'exec "$@" {closing}', "sh", *command], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (Exit.OK, "")


def test_lessons_that_are_not_there(shufflectl: Shufflectl, tmp_path: Path) -> None:
    given = ("--policy", "history", "--history", tmp_path / "nowhere.json")
    called = shufflectl("simulate", log_file(tmp_path / "a.log", deleted_and_missed()), *given, "--master", "none")
    assert is_clear(called, Exit.NOT_FOUND, "nowhere.json", "No such file")


def test_a_history_log_of_sparks_where_one_of_ours_is_expected(shufflectl: Shufflectl, tmp_path: Path) -> None:
    sparks = tmp_path / "app-1"
    sparks.write_text('{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}\n')
    called = shufflectl("timeline", sparks, "-o", tmp_path / "page.html")
    assert is_clear(called, Exit.DAMAGED, "a history log of Spark's", "simulate")


@pytest.mark.parametrize("given", [("--store", "foo://x"), ("--conf", "spark.shuffleLifecycle.store=sqlite://")])
def test_a_wrong_store_is_told_before_a_program_runs(shufflectl: Shufflectl, given: tuple[str, str]) -> None:
    assert is_clear(shufflectl("run", *given, "nowhere.py"), Exit.USAGE, "expected etcd://", "sqlite:///FILE")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--policy", "clever"), "'clever' is not known; expected one of observe"),
        (("--address", "a:99999"), "'a:99999' is no address; expected host:port with a port from 1 to 65535"),
        (("--conf", "spark.shuffleLifecycle.grcae=5s"), "did you mean spark.shuffleLifecycle.grace?"),
    ],
)
def test_a_wrong_wish_is_told_once_before_a_program_runs(
    shufflectl: Shufflectl, given: tuple[str, str], words: str
) -> None:
    called = shufflectl("run", *given, "nowhere.py")
    assert is_clear(called, Exit.USAGE, words, "docs/configuration.md")
    assert called.err.count("expected") == 1


@pytest.mark.parametrize(("given", "near"), [("--polcy", "--policy"), ("--adress", "--address"), ("-x", "")])
def test_an_option_that_run_does_not_know_is_no_program(shufflectl: Shufflectl, given: str, near: str) -> None:
    called = shufflectl("run", given, "eager", "nowhere.py")
    assert called.code == Exit.USAGE
    assert (f"No such option: {given}" in called.err, near in called.err) == (True, True), called.err


def test_options_behind_a_program_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import sys; print(sys.argv[1:])")
    theirs = ["--polcy", "eager", "-x", "--policy", "-h"]
    command = [sys.executable, "-m", "coordinator.cli.main", "run", "--policy", "eager", str(tmp_path / "app.py")]
    done = subprocess.run([*command, *theirs], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{theirs}\n"), done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("simulate", ""), "the name of a log is empty; expected a path, or an application"),
        (("learn", "", "--output", "lessons.json"), "the name of a log is empty"),
        (("policy", "--store", "memory:", "-", "observe", "--group", ""), "--group is empty; expected a value"),
        (("policy", "--store", "memory:", "-", "delayed", "--grace", ""), "--grace is empty"),
        (("policy", "--store", "memory:", "-", "delayed", "--rule", ""), "--rule is empty"),
        (("serve", "--port", "0", "--data", ""), "--data is empty"),
        (("simulate", "nowhere", "--policy", "pressure", "--capacity", ""), "--capacity is empty"),
        (("advise", "nowhere", "--parquet", ""), "--parquet is empty"),
        (("demo", "--on", ""), "--on is empty"),
        (("apps", "--config", ""), "the configuration file . is no file; expected a TOML file"),
        (("verify", "--store", "memory:", ""), "the application is ''; expected an id or its beginning"),
        (("advise", ""), "the name of a directory is empty; expected a path or a URL"),
        (("run", "--address", "", "nowhere.py"), "--address is empty"),
        (("run", "--store", "", "nowhere.py"), "--store is empty"),
        (("run", "--store", "memory:", "--address", "h:1", "nowhere.py"), "--address and --store are both given"),
        (("serve", "--store", "memory:", "--data", "here", "--port", "0"), "--store and --data are both given"),
        (("apps", "--output", ""), "the form of the output is ''; expected one of table, json, yaml"),
        (("apps", "--server", ",,"), "the server's address is ',,'; expected host:port"),
        (("demo", "--policy", "clever"), "'clever' is not known; expected one of observe"),
        (("demo", "--on", "nowhere"), "the store address 'nowhere'"),
        (("pin", "--server", "h:1", "-", "4294967296"), "the app shuffle is '4294967296'; expected a whole number"),
    ],
    ids=str,
)
def test_what_is_empty_or_contradicts_itself_is_refused(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], words: str
) -> None:
    """An empty name was the folder that a person stands in, and an empty address the coordinator of nobody."""
    monkeypatch.chdir(tmp_path)
    assert is_clear(shufflectl(*given), Exit.USAGE, words)


def test_a_locked_store_says_who_holds_it(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_BUSY_TIMEOUT_SECONDS", 0.1)
    address = store(tmp_path / "store.db", deleted_and_missed())
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        called = shufflectl("pin", "--store", address, "-", 1)
    assert is_clear(called, Exit.UNAVAILABLE, "locked", "find the process that holds the file")


def test_a_store_that_is_not_there_is_not_made(shufflectl: Shufflectl, tmp_path: Path) -> None:
    assert is_clear(shufflectl("apps", "--store", f"sqlite://{tmp_path}/none.db"), Exit.NOT_FOUND, "there is no store")
    assert not (tmp_path / "none.db").exists()
    assert is_clear(shufflectl("apps"), Exit.NOT_FOUND, "the file that drivers share")


def test_a_store_that_is_away(shufflectl: Shufflectl) -> None:
    called = shufflectl("apps", "--server", "127.0.0.1:1,127.0.0.1:2")
    assert is_clear(called, Exit.UNAVAILABLE, "127.0.0.1:1", "127.0.0.1:2", "shufflectl serve")


def test_a_server_s_address_that_is_none(shufflectl: Shufflectl) -> None:
    assert is_clear(shufflectl("apps", "--server", "nonsense"), Exit.USAGE, "'nonsense'", "host:port")


@pytest.mark.parametrize("content", ["", "no certificate"])
def test_a_file_of_tls_that_is_none_is_not_a_server_that_is_away(
    shufflectl: Shufflectl, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "file.pem"
    file.write_text(content)
    server = ("apps", "--server", "127.0.0.1:1")
    assert is_clear(shufflectl(*server, "--tls-ca", file), Exit.USAGE, f"tls_ca {file} cannot be used", "PEM")
    pair = ("--tls-certificate", file, "--tls-key", file)
    assert is_clear(shufflectl(*server, *pair), Exit.USAGE, "tls_certificate and tls_key", "cannot be used")


def test_a_store_of_a_newer_version(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", Told())
    with sqlite3.connect(tmp_path / "store.db") as file:
        file.execute("PRAGMA user_version = 99")
    assert is_clear(shufflectl("apps", "--store", address), Exit.NEWER, "99", "upgrade this program")


def test_a_file_that_is_no_store(shufflectl: Shufflectl, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one " * 40)
    assert is_clear(shufflectl("apps", "--store", f"sqlite://{tmp_path}/text.db"), Exit.DAMAGED, "not a store")


def test_a_damaged_record_in_the_middle_of_a_store_is_named_and_the_rest_shown(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    told = deleted_and_missed()
    address = store(tmp_path / "store.db", told)
    damaged = asyncio.run(damage(address, 8))
    called = shufflectl("events", "--store", address, "chain", "-o", "json")
    assert is_clear(called, Exit.DAMAGED, f"events/{damaged}", "checksum")
    shown = [row["sequence"] for row in called.data]
    assert {1, 32} <= set(shown)
    assert len(shown) < 32
    called = shufflectl("shuffles", "--store", address, "chain", "-o", "json")
    assert is_clear(called, Exit.DAMAGED, f"events/{damaged}")
    assert called.data, "what was before the damage is still shown"
    assert shufflectl("apps", "--store", address).code == 0, "the list of applications is not damaged"


def test_damage_is_not_met_by_who_asks_for_what_comes_after_it(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    whole = shufflectl("events", "--store", address, "chain", "-o", "json").data
    asyncio.run(damage(address, 8))
    called = shufflectl("events", "--store", address, "chain", "--after", 30, "-o", "json")
    assert (called.code, called.err) == (Exit.OK, "")
    assert called.data == whole[30:], "with the names that can be read"


@pytest.mark.parametrize(("number", "words"), [(8, "comes event"), (-1, "comes next, but its segments end before")])
def test_a_segment_that_is_not_there_is_told_and_what_was_before_it_shown(
    shufflectl: Shufflectl, tmp_path: Path, number: int, words: str
) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    asyncio.run(take_away(address, number))
    copy = tmp_path / "copy.log"
    for verb in (("events",), ("shuffles",), ("graph",), ("explain", "0"), ("replay",), ("export",)):
        more = ("--output", copy) if verb[0] == "export" else ()
        called = shufflectl(verb[0], "--store", address, "chain", *verb[1:], *more)
        assert is_clear(called, Exit.DAMAGED, words), verb
        assert called.out, verb
    assert shufflectl("events", "--log", copy).code == Exit.OK, "the copy ends before the gap"


async def take_away(address: str, number: int) -> None:
    """Of a log's segments one."""
    async with await open_backend(address) as backend:
        entry = (await backend.scan_all(Keyspace.EVENTS)).entries[number]
        await backend.delete(Keyspace.EVENTS, entry.key)


def test_an_application_that_cannot_be_read_is_not_said_to_be_unknown(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    asyncio.run(damage_the_registration(address))
    for verb in (("events",), ("explain", "0"), ("verify",)):
        called = shufflectl(verb[0], "--store", address, "chain", *verb[1:])
        assert is_clear(called, Exit.DAMAGED, "is called 'chain', and some cannot be read", "checksum"), verb


async def damage_the_registration(address: str) -> None:
    async with await open_backend(address) as backend:
        (entry,) = (await backend.scan_all(Keyspace.APPLICATIONS)).entries
        value = bytearray(entry.value)
        value[len(value) // 2] ^= 1
        await backend.put(Keyspace.APPLICATIONS, entry.key, bytes(value))


def test_a_damaged_key_of_a_store_is_named_and_the_rest_shown(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    damage_a_key(tmp_path / "store.db")
    for verb in (("events",), ("explain", "0"), ("replay",), ("diff", "1"), ("simulate",)):
        called = shufflectl(verb[0], "--store", address, "chain", *verb[1:])
        assert is_clear(called, Exit.DAMAGED, "fails its checksum"), verb
        assert called.out, verb


def damage_a_key(path: Path) -> None:
    """One bit of the number in the key of a log's last segment: that it no longer is one."""
    with closing(sqlite3.connect(path)) as file, file:
        (row,) = file.execute("SELECT max(id) FROM version WHERE keyspace = 'events'").fetchone()
        file.execute("UPDATE version SET key = replace(key, '/0', '/p') WHERE id = ?", (row,))


async def damage(address: str, number: int) -> str:
    """Changes one byte of one segment, as a disk might; gives its key."""
    async with await open_backend(address) as backend:
        entry = (await backend.scan_all(Keyspace.EVENTS)).entries[number]
        value = bytearray(entry.value)
        value[len(value) // 2] ^= 1
        await backend.put(Keyspace.EVENTS, entry.key, bytes(value))
        return entry.key


def test_a_damaged_segment_in_the_middle_of_a_log_is_named_and_the_rest_shown(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    path = second_damaged(tmp_path / "app.log")
    called = shufflectl("events", "--log", path, "-", "-o", "json")
    assert is_clear(called, Exit.DAMAGED, "app.log, offset", "checksum")
    assert [row["sequence"] for row in called.data] == [*range(1, 9), *range(17, 33)]
    assert is_clear(shufflectl("explain", "--log", path, "-", "0"), Exit.DAMAGED, "offset")


def test_what_a_damaged_log_shows_says_how_far_it_was_read(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """The sentence that ends it names what is shown above: each verb shows something."""
    path = second_damaged(tmp_path / "app.log")
    for verb in ("graph", "shuffles", "premature", "holders", "simulate"):
        called = shufflectl(verb, "--log", path, "chain", *(("--master", "none") if verb == "simulate" else ()))
        assert is_clear(called, Exit.DAMAGED, "app.log, offset", "What is shown above"), verb
        assert called.out, verb
    assert shufflectl("premature", "--log", path, "-").out == "Nothing was deleted too early up to event 8.\n"
    assert "this was so up to event 8" in shufflectl("holders", "--log", path, "-").err


def test_verify_accuses_no_event_whose_consequences_cannot_be_read(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """An export cuts where it is long enough: here behind an expiry, before the fence that follows from it."""
    told = deleted_and_missed()
    segments = told.segments(expired(told.log)[0])[:2]
    (tmp_path / "cut.log").write_bytes(b"".join(write_log(segments))[:-10])
    called = shufflectl("verify", "--log", tmp_path / "cut.log", "-o", "json")
    (row,) = called.data
    assert (called.code, row["broken"], len(row["problems"])) == (Exit.DAMAGED, [], 1)


def second_damaged(path: Path) -> Path:
    """A log of which the second of four segments is damaged: events 9 to 16."""
    content = bytearray(log_file(path, deleted_and_missed()).read_bytes())
    content[len(MAGIC) + 4 + struct.unpack_from(">I", content, len(MAGIC))[0] + 4 + 10] ^= 1
    path.write_bytes(bytes(content))
    return path


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("replay", "--at", "20"), "event 20 is not in the log"),
        (("replay", "--until", "GenerationDeleted"), "the log has no GenerationDeleted"),
        (("replay", "--step", "--at", "20"), "event 20 is not in the log"),
        (("diff", "1", "20"), "event 20 is not in the log"),
        (("explain", "7"), "app shuffle 7 does not occur"),
        (("explain", "#7"), "shuffle id 7"),
    ],
)
def test_what_is_not_found_in_a_damaged_log_may_be_in_what_is_damaged(
    shufflectl: Shufflectl, tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    called = shufflectl(given[0], "--log", second_damaged(tmp_path / "app.log"), *given[1:])
    assert is_clear(called, Exit.DAMAGED, words, "app.log, offset", "It may be in what could not be read.")


def test_damage_says_which_events_are_left_out(shufflectl: Shufflectl, tmp_path: Path) -> None:
    path = second_damaged(tmp_path / "app.log")
    for verb in (("replay",), ("diff", "1"), ("explain", "0")):
        called = shufflectl(verb[0], "--log", path, *verb[1:])
        assert is_clear(called, Exit.DAMAGED, "checksum", "Events 9 to 16 are left out."), verb
    path.write_bytes(path.read_bytes()[:-5])
    called = shufflectl("events", "--log", path)
    assert is_clear(called, Exit.DAMAGED, "Events 9 to 16 are left out.", "Events from 25 on are left out.")


def test_a_timeline_tells_of_damage_and_counts_what_it_was_drawn_from(shufflectl: Shufflectl, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    called = shufflectl("timeline", second_damaged(tmp_path / "app.log"), "-o", page)
    assert is_clear(called, Exit.DAMAGED, "Events 9 to 16 are left out.")
    assert "of 24 events drawn" in called.out
    assert "app.log, offset" in page.read_text()


def test_a_torn_end_of_a_log_is_named_and_the_rest_shown(shufflectl: Shufflectl, tmp_path: Path) -> None:
    path = log_file(tmp_path / "app.log", deleted_and_missed())
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    called = shufflectl("events", "--log", path, "-", "-o", "json")
    assert is_clear(called, Exit.DAMAGED, "app.log, offset", "cut here, or copy it again")
    assert [row["sequence"] for row in called.data] == list(range(1, 25))


def test_logs_behind_one_another_in_one_file_are_told_as_that(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    log.write_bytes(log.read_bytes() * 2)
    for called in (shufflectl("replay", "--log", log, "-"), shufflectl("verify", "--log", log)):
        assert is_clear(called, Exit.DAMAGED, "another file begins here", "give each file by itself")
    assert "event 32" in shufflectl("replay", "--log", log, "-").out


def test_zeros_behind_a_log_are_told_as_that(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    log.write_bytes(log.read_bytes() + bytes(512))
    assert is_clear(shufflectl("replay", "--log", log, "-"), Exit.DAMAGED, "a record of no bytes")


def test_an_empty_file_is_no_store_and_stays_empty(shufflectl: Shufflectl, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    called = shufflectl("apps", "--store", f"sqlite://{tmp_path}/empty.db")
    assert is_clear(called, Exit.NOT_FOUND, "there is no store at", "empty.db")
    assert (tmp_path / "empty.db").stat().st_size == 0


@pytest.mark.parametrize("option", ["log", "store", "server"])
def test_a_source_that_is_named_by_nothing_is_not_the_shared_file(shufflectl: Shufflectl, option: str) -> None:
    assert is_clear(shufflectl("apps", f"--{option}", ""), Exit.USAGE, f"--{option} is empty")


@pytest.mark.parametrize("option", ["--at", "--until"])
def test_a_point_that_is_named_by_nothing_is_not_the_end(shufflectl: Shufflectl, tmp_path: Path, option: str) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    assert is_clear(shufflectl("replay", "--log", log, "-", option, ""), Exit.USAGE, "the point is ''")


def test_a_timeline_of_a_folder_or_of_a_link_to_nowhere(shufflectl: Shufflectl, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    to = tmp_path / "page.html"
    assert is_clear(shufflectl("timeline", tmp_path, "-o", to), Exit.NOT_FOUND, f"{tmp_path} is a folder")
    assert is_clear(shufflectl("timeline", tmp_path / "link", "-o", to), Exit.NOT_FOUND, "a link that leads nowhere")


def test_every_cut_of_a_log_is_read_up_to_the_cut() -> None:
    whole = b"".join(write_log(deleted_and_missed().segments()))
    full = list(salvage(whole, "log"))
    assert all(isinstance(item, Segment) for item in full)
    for length in range(len(MAGIC), len(whole), 7):
        found = list(salvage(whole[:length], "log"))
        good = [item for item in found if isinstance(item, Segment)]
        assert good == full[: len(good)]
        assert len(found) - len(good) <= 1


def test_a_log_of_a_newer_release(shufflectl: Shufflectl, tmp_path: Path) -> None:
    message = segment_to_message(Told().segments()[0])
    message.version = 99
    content = seal(message)
    (tmp_path / "new.log").write_bytes(MAGIC + struct.pack(">I", len(content)) + content)
    assert is_clear(shufflectl("apps", "--log", tmp_path / "new.log"), Exit.NEWER, "version 99", "Upgrade")


@pytest.mark.parametrize("version", [2, 10])
def test_a_log_file_whose_first_line_is_of_a_newer_release(
    shufflectl: Shufflectl, tmp_path: Path, version: int
) -> None:
    (tmp_path / "new.log").write_bytes(MAGIC.replace(b"1\n", f"{version}\n".encode()) + b"whatever")
    words = f"version {version}; expected at most 1. Upgrade"
    for verb in ("apps", "verify"):
        assert is_clear(shufflectl(verb, "--log", tmp_path / "new.log"), Exit.NEWER, words)
    assert is_clear(shufflectl("simulate", tmp_path), Exit.NEWER, words)
    (tmp_path / "cut.log").write_bytes(MAGIC + b"12")
    assert is_clear(shufflectl("simulate", tmp_path), Exit.DAMAGED, words)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "it is empty and has no beginning"), (b"PK\x03\x04 something else entirely", "begins with")],
)
def test_a_file_that_is_no_log(shufflectl: Shufflectl, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "no.log").write_bytes(content)
    assert is_clear(shufflectl("apps", "--log", tmp_path / "no.log"), Exit.DAMAGED, words)
    assert is_clear(shufflectl("apps", "--log", tmp_path / "none.log"), Exit.NOT_FOUND, "none.log")


@pytest.mark.parametrize(("begin", "kind"), [(b"ARROW1", "Arrow"), (b"PAR1", "Parquet")])
def test_an_export_for_other_programs_is_no_damaged_log(
    shufflectl: Shufflectl, tmp_path: Path, begin: bytes, kind: str
) -> None:
    (tmp_path / "app.export").write_bytes(begin + bytes(100))
    called = shufflectl("verify", "--log", tmp_path / "app.export")
    assert is_clear(called, Exit.DAMAGED, f"It is in {kind}: give", "export again without --format")
    assert "Restore" not in called.err


def test_a_log_without_its_registration(shufflectl: Shufflectl, tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(MAGIC)
    assert is_clear(shufflectl("apps", "--log", tmp_path / "empty.log"), Exit.DAMAGED, "is empty")


def test_unknown_things_say_what_there_is(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = ("--log", log_file(tmp_path / "app.log", deleted_and_missed()))
    assert is_clear(shufflectl("explain", *log, "-", "9"), Exit.NOT_FOUND, "app shuffle 9", "0, 1")
    assert is_clear(shufflectl("explain", *log, "-", "#9"), Exit.NOT_FOUND, "shuffle id 9", "1, 2, 3")
    assert is_clear(shufflectl("explain", *log, "-", "x"), Exit.USAGE, "'x'", "'#7'")
    assert is_clear(shufflectl("shuffles", *log, "-", "--state", "dead"), Exit.USAGE, "'dead'", "readable")
    assert is_clear(shufflectl("events", *log, "-", "--kind", "Nope"), Exit.USAGE, "'Nope'")
    assert is_clear(shufflectl("events", *log, APP[:-1] + "9"), Exit.NOT_FOUND, "is not known")
    assert is_clear(shufflectl("apps", *log, "-o", "xml"), Exit.USAGE, "'xml'", "table, json, yaml")


LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("explain", "-", LONG), "the shuffle is '999"),
        (("explain", "-", f"#{LONG}"), "the shuffle is '#999"),
        (("replay", "-", "--at", LONG), "the point is '999"),
        (("diff", "-", "1", f"GenerationDeleted #{LONG}"), "the point is 'GenerationDeleted #999"),
        (("simulate", "-", "--policy", f"delayed:eager:{LONG}d"), "expected at most 36500d"),
        (("simulate", "-", "--policy", "pressure", "--capacity", f"{LONG}b"), "expected at most 1024p"),
    ],
)
def test_numbers_that_python_refuses_to_read(
    shufflectl: Shufflectl, tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    assert is_clear(shufflectl("--log", log, *given), Exit.USAGE, words)


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (("policy", "chain", "delayed", "--grace", "9999999999999d"), Exit.USAGE, "expected at most 36500d"),
        (("policy", "chain", "frontier", "--group", "caf\udce9"), Exit.USAGE, "--group is 'caf\\udce9'; expected text"),
        (("pin", "chain", "0", "--why", "caf\udce9"), Exit.USAGE, "--why is 'caf\\udce9'; expected text in UTF-8"),
        (("pin", "chain", "0", "--why", "x" * 65_537), Exit.USAGE, "--why has 65,537 bytes; expected at most 65,536"),
        (("policy", "chain", "eager", "--group", "é" * 32_769), Exit.USAGE, "--group has 65,538 bytes"),
    ],
)
def test_a_wish_that_no_log_can_hold(
    shufflectl: Shufflectl, tmp_path: Path, given: tuple[str, ...], code: Exit, words: str
) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    assert is_clear(shufflectl("--store", address, *given), code, words)


def test_a_name_that_is_too_long_for_a_path(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """An application may be called so; a path with it is none."""
    log, name, page = log_file(tmp_path / "app.log", Told(name="x" * 300)), "x" * 300, tmp_path / "page.html"
    assert shufflectl("timeline", "--log", log, name, "-o", page).code == 0
    assert shufflectl("simulate", "--log", log, name, "--master", "none").code == 0
    for given in (
        ("timeline", f"./{name}", "-o", tmp_path / "other.html"),
        ("apps", "--store", f"sqlite://{tmp_path}/{name}"),
        ("apps", "--log", log, "--config", tmp_path / name),
    ):
        called = shufflectl(*given)
        assert "Traceback" not in called.err
        assert (called.code in (Exit.USAGE, Exit.NOT_FOUND), "File name too long" in called.err) == (True, True), called


def test_a_log_in_a_pipe_is_refused_since_it_is_read_more_than_once(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """It is read more than once: who did not say so verified nothing, and called it right."""
    os.mkfifo(tmp_path / "pipe")
    called = shufflectl("verify", "--log", tmp_path / "pipe")
    assert is_clear(called, Exit.USAGE, "pipe is a pipe, a socket or a device; expected a file: it is read more")


def test_a_log_can_only_be_read(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = ("--log", log_file(tmp_path / "app.log", deleted_and_missed()))
    assert is_clear(shufflectl(*log, "pin", "-", "0"), Exit.USAGE, "nothing can be changed in it")
    assert is_clear(shufflectl("events", *log, "-", "--follow"), Exit.USAGE, "cannot be followed")


def test_two_sources_at_once(shufflectl: Shufflectl, tmp_path: Path) -> None:
    called = shufflectl("apps", "--log", tmp_path / "a.log", "--store", "memory:")
    assert is_clear(called, Exit.USAGE, "`store` and `log` are both named")


def test_a_segment_is_read_as_it_was_written() -> None:
    (segment, *_) = deleted_and_missed().segments()
    content = MAGIC + struct.pack(">I", len(encode_segment(segment))) + encode_segment(segment)
    assert [cast(Segment, item).records for item in salvage(content, "log")] == [segment.records]
