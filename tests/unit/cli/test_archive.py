"""Store and archive are one log to every verb, and `verify` says where they are not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from coordinator.archive.folder import Folder
from coordinator.core.commands import EndApplication, RegisterApplication, Request
from coordinator.core.ids import ClientId
from coordinator.runtime import archiving, places
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.wire.records import Head, decode
from state_backend.api import StateBackend
from state_backend.open import open_backend
from state_backend.values import Keyspace
from tests.unit.cli.calling import Shufflectl, store
from tests.unit.replay.logs import APP, Told, deleted_and_missed


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "FILE_BYTES", 300)


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("events-*"))


def archived(tmp_path: Path, told: Told, ended: bool = False) -> tuple[str, ...]:
    """The flags of a store, most of which, or all where it has ended, has moved to an archive."""
    address = f"sqlite://{tmp_path}/archived.db"
    asyncio.run(_archive(address, tmp_path / "archive", told, ended))
    return "--store", address, "--archive", str(tmp_path / "archive")


async def _archive(address: str, folder: Path, told: Told, ended: bool) -> None:
    options = Options("w", snapshot_every_events=6, archive_every_s=0.02, retention_s=0.01 if ended else 0)
    async with await open_backend(address) as backend, Replica(backend, options, archive=Folder(folder)) as replica:
        for command in [*told.said, *([EndApplication()] if ended else [])]:
            request = Request(ClientId(""), 0, command)
            if isinstance(command, RegisterApplication):
                await replica.register(request)
            else:
                await replica.submit(told.application, [request])
        while not await _has_moved(backend, ended):  # noqa: ASYNC110 - housekeeping tells nobody
            await asyncio.sleep(0.01)


async def _has_moved(backend: StateBackend, ended: bool) -> bool:
    heads = (await backend.scan(Keyspace.HEADS)).entries
    if ended or not heads:
        return not heads
    head = decode(Head, heads[0].value, "head")
    segments = (await backend.scan_keys(Keyspace.EVENTS)).keys
    begins = places.first_sequence_of(segments[0])
    return begins is not None and 12 < head.previous_snapshot == head.archived_below - 1 < begins


@pytest.mark.parametrize("question", [("events", "-"), ("shuffles", "-"), ("graph", "-")])
def test_verbs_answer_as_if_nothing_had_moved(
    shufflectl: Shufflectl, tmp_path: Path, question: tuple[str, ...]
) -> None:
    moved = archived(tmp_path, deleted_and_missed())
    assert len(kept(tmp_path)) > 1
    asked = shufflectl(*question, *moved, "-o", "json")
    plain = shufflectl(*question, "--store", store(tmp_path / "plain.db", deleted_and_missed()), "-o", "json")
    assert (asked.code, _timeless(asked.data)) == (0, _timeless(plain.data)), asked.err


def _timeless(data: object) -> object:
    if isinstance(data, dict):
        return {name: _timeless(value) for name, value in data.items() if not name.endswith("_ms") and name != "text"}
    return [_timeless(one) for one in data] if isinstance(data, list) else data


def test_an_archive_is_read_alone_where_no_store_is_named_and_none_is_there(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    """What embedded coordinators would share is not there, and is not made."""
    *store_flags, flag, folder = archived(tmp_path, deleted_and_missed(), ended=True)
    both = shufflectl("events", APP, *store_flags, flag, folder, "-o", "json").data
    assert both
    assert [row["application"] for row in shufflectl("apps", flag, folder, "-o", "json").data] == [APP]
    assert shufflectl("events", APP, flag, folder, "-o", "json").data == both
    assert shufflectl("verify", flag, folder).code == 0
    nobody = shufflectl("explain", "nobody", "1", flag, folder)
    assert f"no application at archive {folder} is called 'nobody'" in nobody.err
    assert "there is no store at" in shufflectl("apps", flag, tmp_path / "elsewhere").err
    assert not list((tmp_path / "state").rglob("*.db"))


def test_without_the_archive_it_is_said_where_the_events_are(shufflectl: Shufflectl, tmp_path: Path) -> None:
    _, address, *_ = archived(tmp_path, deleted_and_missed())
    asked = shufflectl("events", "--store", address, "-")
    assert (asked.code, "are in the archive, and none is named here" in asked.err) == (3, True), asked
    assert shufflectl("shuffles", "--store", address, "-").code == 0, "snapshots are in the store"
    later = shufflectl("events", "--store", address, "-", "--after", 31, "-o", "json")
    assert [row["sequence"] for row in later.data] == [32]


def test_verify_reads_all_of_it(shufflectl: Shufflectl, tmp_path: Path) -> None:
    moved = archived(tmp_path, deleted_and_missed())
    (row,) = shufflectl("verify", *moved, "-o", "json").data
    assert (row["application"], row["verdict"], row["events"], row["problems"]) == (APP, "ok", 32, [])
    assert row["archived_below"] > 12
    assert row["snapshots"] >= 2
    table = shufflectl("verify", *moved, "chain").out.splitlines()
    assert ("IN THE ARCHIVE" in table[0], f"{row['archived_below'] - 1:,}" in table[1].split()) == (True, True), table
    assert shufflectl("verify", "--store", store(tmp_path / "plain.db", deleted_and_missed())).code == 0


def test_a_piece_that_is_missing_or_damaged_is_named_and_the_rest_is_shown(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    moved = archived(tmp_path, deleted_and_missed())
    first = kept(tmp_path)[0]
    content = first.read_bytes()
    first.write_bytes(content[:-20])
    damaged = shufflectl("events", *moved, "-", "-o", "json")
    assert (damaged.code, first.name in damaged.err) == (6, True)
    assert damaged.data[-1]["sequence"] == 32
    first.unlink()
    gone = shufflectl("verify", *moved, "-o", "json")
    assert (gone.code, "event 1 of application" in gone.err, gone.data[0]["verdict"]) == (6, True, "fail")
    assert "neither in the store nor in the archive" in gone.err
    assert shufflectl("explain", *moved, "-", "0").code == 6


def test_damage_among_events_that_nobody_asked_for_is_not_met(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """They are read for the names that they tell, as far as they can be."""
    moved = archived(tmp_path, deleted_and_missed())
    whole = shufflectl("events", *moved, "-", "-o", "json").data
    for file in kept(tmp_path):
        file.write_bytes(file.read_bytes()[:-20])
    asked = shufflectl("events", *moved, "-", "--after", whole[-3]["sequence"], "-o", "json")
    assert (asked.code, asked.err) == (0, "")
    assert [row["sequence"] for row in asked.data] == [row["sequence"] for row in whole[-2:]]


def test_an_application_that_has_left_the_store_is_still_there_for_people(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    moved = archived(tmp_path, deleted_and_missed(), ended=True)
    (row,) = shufflectl("apps", *moved, "-o", "json").data
    assert (row["application"], row["name"], row["state"]) == (APP, "chain", "ended")
    assert "Deleted early at event 18" in shufflectl("explain", *moved, "chain", "0").out
    assert [row["state"] for row in shufflectl("shuffles", *moved, "chain", "-o", "json").data] == ["deleted"] * 2
    assert shufflectl("verify", *moved, "-o", "json").data[0]["problems"] == []
    for named in ("chain", APP):
        asked = shufflectl("explain", *moved[:2], named, "0")
        assert (asked.code, "may be in" in asked.err, "--archive" in asked.err) == (3, True, True), asked
    log = tmp_path / "app.log"
    assert shufflectl("export", *moved, "chain", "-o", log).code == 0
    assert shufflectl("apps", *moved[:2]).out == f"No applications at store {moved[1]}.\n"
    exported = shufflectl("events", "--log", log, "chain", "-o", "json").data
    assert exported == shufflectl("events", *moved, "chain", "-o", "json").data


def test_a_last_record_that_is_damaged_is_named_and_hides_no_other(shufflectl: Shufflectl, tmp_path: Path) -> None:
    moved = archived(tmp_path, deleted_and_missed(), ended=True)
    torn = tmp_path / "archive" / "a-torn-one" / "ended.records"
    torn.parent.mkdir()
    torn.write_bytes(b"shuffle-lifecycle ended 1\n\0")
    asked = shufflectl("apps", *moved, "-o", "json")
    assert [row["application"] for row in asked.data] == [APP]
    assert "a-torn-one/ended.records" in asked.err


def test_wrong_wishes_are_told(shufflectl: Shufflectl, tmp_path: Path) -> None:
    shufflectl.env("SHUFFLECTL_SERVE__RETENTION_S", "60")
    alone = shufflectl("serve", "--port", 0, "--store", "memory:")
    assert (alone.code, "no archive is named" in alone.err) == (2, True)
    shufflectl.env("SHUFFLECTL_SERVE__RETENTION_S", "0")
    wrong = shufflectl("apps", "--store", store(tmp_path / "s.db", deleted_and_missed()), "--archive", "file://x")
    assert (wrong.code, "Three slashes" in wrong.err) == (2, True), wrong
    served = shufflectl("verify", "--store", str(tmp_path / "none.db"))
    assert served.code == 2
    missing = shufflectl("apps", *moved_nowhere(tmp_path))
    told = f"the archive {tmp_path}/nowhere is not there: nothing has moved to it yet, or it has another name"
    assert (missing.code, missing.err) == (0, f"shufflectl: {told}\n")
    shown = shufflectl("config", "show", "--origin", "--archive", "/a", "-o", "json").data
    assert {row["key"]: row["origin"] for row in shown}["archive"] == "flag --archive"


def moved_nowhere(tmp_path: Path) -> tuple[str, ...]:
    return "--store", f"sqlite://{tmp_path}/s.db", "--archive", str(tmp_path / "nowhere")


def test_doctor_looks_at_the_archive(shufflectl: Shufflectl, tmp_path: Path) -> None:
    moved = archived(tmp_path, deleted_and_missed())
    found = {row["check"]: row for row in shufflectl("doctor", *moved, "-o", "json").data}
    assert (found["archive"]["verdict"], found["archive"]["found"]) == ("ok", f"{tmp_path}/archive: 1 application")
    found = {row["check"]: row for row in shufflectl("doctor", "--archive", tmp_path / "nowhere", "-o", "json").data}
    assert (found["archive"]["verdict"], found["archive"]["found"]) == ("warn", f"{tmp_path}/nowhere is not there")
    (tmp_path / "file").write_text("no folder")
    found = {row["check"]: row for row in shufflectl("doctor", "--archive", tmp_path / "file", "-o", "json").data}
    assert found["archive"]["verdict"] == "fail"
