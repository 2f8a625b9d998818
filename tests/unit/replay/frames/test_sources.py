"""The same rows from a store, an archive, a log file, Parquet and Arrow; what is wrong with any of them is named."""

from __future__ import annotations

import asyncio
import errno
import os
import pickle
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.archive import files
from coordinator.core.ids import ApplicationId, Sequence
from coordinator.wire.codec import Segment, encode_segment, segment_to_message
from coordinator.wire.framing import frame
from coordinator.wire.logfile import MAGIC, write_log
from coordinator.wire.records import Head, decode, encode
from coordinator.wire.sealing import seal
from replay.frames.options import WrongOption, reading_of
from replay.frames.reading import register
from replay.frames.salvage import Unread
from replay.frames.sources.opening import plan
from replay.frames.writing import ArrowFile
from state_backend.keys import join_key
from state_backend.open import open_backend
from state_backend.values import Keyspace
from tests.unit.cli.calling import Shufflectl, log_file, store
from tests.unit.cli.test_bad_input import damage_a_key
from tests.unit.replay.frames.reading import events, problems, rows
from tests.unit.replay.logs import APP, Told, deleted_and_missed

OTHER = "6f1c2d3e-0000-4000-8000-00000000000b"


@pytest.fixture
def told() -> Told:
    return deleted_and_missed()


@pytest.fixture
def log(told: Told, tmp_path: Path) -> Path:
    return log_file(tmp_path / "chain.log", told)


def sequences(found: list[dict[str, object]]) -> list[object]:
    return [row["sequence"] for row in events(found)]


# ---- the same everywhere ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["log", "arrow", "parquet"])
def test_every_export_gives_the_rows_of_its_store(
    form: str, told: Told, shufflectl: Shufflectl, tmp_path: Path
) -> None:
    other = Told(application=OTHER, name="other")  # type: ignore[arg-type]
    address = store(tmp_path / "store.db", told, other)
    expected = rows(address)
    assert len(events(expected)) == len(told.log) + len(other.log)
    out = tmp_path / "out"
    if form == "log":
        out.mkdir()
        for name in ("chain", "other"):
            assert shufflectl("export", "--store", address, name, "-o", out / f"{name}.log").code == 0
    else:
        called = shufflectl("export", "--store", address, "--all", "--format", form, "-o", out.with_suffix(f".{form}"))
        assert f"{len(expected)} events written" in called.out, called
        out = out.with_suffix(f".{form}")
    assert rows(out, partitionEvents=9) == expected
    assert rows(out, application=OTHER) == [row for row in expected if row["application"] == OTHER]
    assert sequences(rows(out, application=APP, first=5, last=7)) == [5, 6, 7]


def test_parquet_is_partitioned_by_application_and_day(told: Told, shufflectl: Shufflectl, log: Path) -> None:
    out = log.parent / "out"
    for _ in range(2):  # written over, it is not there twice
        assert shufflectl("export", "--log", log, "-", "--format", "parquet", "-o", out, "--force").code == 0
        found = [str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()]
        assert found == [f"application={APP}/day=2026-09-21/events-{1:020}.parquet"]
    assert shufflectl("export", "--log", log, "-", "--format", "parquet", "-o", out).code == 2
    assert shufflectl("export", "--log", log, "-", "--format", "csv", "-o", out).code == 2
    assert shufflectl("export", "--log", log, "--all", "-", "-o", out).code == 2


def test_a_store_is_read_in_ranges_that_meet(told: Told, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", told)
    whole = rows(address)
    assert not problems(whole)
    for size in (1, 3, 7, 1_000):
        reading = reading_of({"path": address, "partitionEvents": size})
        assert len(plan(reading)) == -(-len(told.log) // size)
        assert rows(address, partitionEvents=size) == whole
    assert sequences(rows(address, first=4, last=6, partitionEvents=2)) == [4, 5, 6]
    assert rows(address, application="nobody") == []


def test_a_store_is_read_where_a_loop_runs(told: Told, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", told)

    async def notebook() -> list[dict[str, object]]:
        return rows(address, partitionEvents=9)

    assert asyncio.run(notebook()) == rows(address)


def test_a_log_file_is_read_in_parts_that_meet(log: Path) -> None:
    whole = rows(log)
    for size in (1, 9, 20):
        assert rows(log, partitionEvents=size) == whole
    assert len(plan(reading_of({"path": str(log), "partitionEvents": 1}))) == 4
    assert len(plan(reading_of({"path": str(log), "partitionEvents": 1, "first": 10, "last": 12}))) == 1
    assert sequences(rows(log, first=10, last=12)) == [10, 11, 12]


def test_pieces_travel_and_hold_no_secret(tmp_path: Path, log: Path) -> None:
    reading = reading_of({"path": "etcd://host:2379/x", "user": "u", "password": "sesame"})
    assert "sesame" not in repr(reading)
    pieces = plan(reading_of({"path": str(log)}))
    assert pickle.loads(pickle.dumps(pieces)) == pieces


# ---- archives --------------------------------------------------------------------------------------------------------


def archive(told: Told, folder: Path, *spans: tuple[int, int]) -> Path:
    """Files of segments 8 events long, as an archive holds them."""
    segments = told.segments()
    for first, last in spans:
        sealed = [encode_segment(one) for one in segments if first <= one.first_sequence <= last]
        path = folder / files.events_name(files.folder_of(told.application), first, last)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.events_content(sealed))
    return folder


def test_an_archive_alone_is_a_folder_of_logs(told: Told, log: Path) -> None:
    whole = rows(log)
    assert rows(archive(told, log.parent / "archive", (1, 16), (17, 32))) == whole
    assert rows(archive(told, log.parent / "overlapping", (1, 8), (1, 24), (17, 32))) == whole
    gap = rows(archive(told, log.parent / "gap", (1, 8), (25, 32)))
    assert sequences(gap) == [*range(1, 9), *range(25, 33)]
    assert len(problems(gap)) == 1
    assert "events 9 to 24 are missing: no file holds them" in problems(gap)[0]


@pytest.mark.parametrize("torn", [(), (1, 24)], ids=["whole", "the longest is torn"])
def test_files_of_an_archive_that_hold_the_same_events_are_read_once(
    told: Told, tmp_path: Path, torn: tuple[int, ...]
) -> None:
    """As where archiving was interrupted, and has begun again with other files."""
    address = store(tmp_path / "store.db", told)
    whole = rows(address)
    asyncio.run(moved(address, told, 25))
    spans = ((1, 16), (1, 24), (9, 24)) if torn else ((1, 16), (9, 24))
    folder = archive(told, tmp_path / "archive", *spans)
    if torn:
        path = folder / files.events_name(files.folder_of(APP), *torn)
        path.write_bytes(path.read_bytes()[:400])
    for size in (5, 1_000):
        found = rows(address, archive=str(folder), partitionEvents=size)
        assert (sequences(found), problems(found)) == (sequences(whole), [])


def test_an_archive_that_is_not_there_is_a_problem_where_logs_could_be_in_it(told: Told, tmp_path: Path) -> None:
    address, nowhere = store(tmp_path / "store.db", told), str(tmp_path / "nowhere")
    words = f"the archive {nowhere} is not there: nothing has moved to it yet, or it has another name"
    found = rows(address, archive=nowhere)
    assert (events(found), problems(found)) == (rows(address), [words])
    assert problems(rows(address, archive=nowhere, application=f"{APP},{OTHER}")) == [words]
    assert problems(rows(address, archive=nowhere, application=APP)) == []
    with pytest.raises(Unread, match="has another name"):
        rows(address, archive=nowhere, mode="FAILFAST")


async def moved(address: str, told: Told, below: int) -> None:
    """The store holds the same segments as the archive, and says which of them are there."""
    async with await open_backend(address) as backend:
        for key in (await backend.scan_keys(Keyspace.EVENTS)).keys:
            await backend.delete(Keyspace.EVENTS, key)
        for segment in told.segments():
            await backend.put(Keyspace.EVENTS, join_key(APP, segment.first_sequence), encode_segment(segment))
        entry = (await backend.get(Keyspace.HEADS, join_key(APP))).entry
        assert entry is not None
        head = decode(Head, entry.value, "head")
        await backend.put(Keyspace.HEADS, entry.key, encode(replace(head, archived_below=Sequence(below))))


def test_one_log_in_several_files_is_read_once(told: Told, log: Path) -> None:
    whole = rows(log)
    longer = replace_log(told, slice(0, 2))
    (log.parent / "earlier.log").write_bytes(b"".join(write_log(longer)))
    assert rows(log.parent) == whole


def test_one_log_in_several_forms_is_read_once(told: Told, shufflectl: Shufflectl, tmp_path: Path) -> None:
    other = Told(application=OTHER, name="other")  # type: ignore[arg-type]
    address = store(tmp_path / "store.db", told, other)
    whole = rows(address)
    folder = tmp_path / "exports"
    folder.mkdir()
    for form in ("arrow", "parquet"):
        shufflectl("export", "--store", address, "--all", "--format", form, "-o", folder / f"all.{form}")
        assert rows(folder) == whole, form
    one = folder / "one.log"
    assert shufflectl("export", "--store", address, "chain", "-o", one).code == 0
    assert rows(folder) == whole
    size = len(one.read_bytes())
    one.write_bytes(one.read_bytes()[: size * 2 // 3])  # the beginning of its log, and a torn record
    assert events(rows(folder)) == events(whole)
    part = [row for row in events(whole) if row["sequence"] in (5, 6, 7)]
    assert events(rows(folder, first=5, last=7)) == part


def test_a_file_with_later_events_that_is_named_first_costs_none_of_the_earlier_ones(
    told: Told, tmp_path: Path
) -> None:
    for name, part in (("a", told.log[10:]), ("b", told.log[:20])):
        file = ArrowFile(tmp_path / f"{name}.arrow")
        file.write(APP, part)
        file.finish()
    assert sequences(rows(tmp_path)) == [*range(1, len(told.log) + 1)]


def test_what_no_table_of_several_holds_is_missing(told: Told, tmp_path: Path) -> None:
    """As where somebody has taken a day away."""
    for name, part in (("a", told.log[:10]), ("b", told.log[20:])):
        file = ArrowFile(tmp_path / f"{name}.arrow")
        file.write(APP, part)
        file.finish()
    found = rows(tmp_path)
    assert sequences(found) == [*range(1, 11), *range(21, len(told.log) + 1)]
    assert problems(found) == ["events 11 to 20 are missing: no file holds them, b.arrow begins behind them"]
    assert problems(rows(tmp_path, first=22)) == problems(rows(tmp_path, application="other")) == []
    assert len(problems(rows(tmp_path, first=15, last=25))) == 1


def replace_log(told: Told, part: slice) -> list[Segment]:
    return told.segments()[part]


# ---- what can be wrong -----------------------------------------------------------------------------------------------


def damaged(log: Path, at: int) -> Path:
    """One bit is another."""
    content = bytearray(log.read_bytes())
    content[at] ^= 1
    log.write_bytes(content)
    return log


def test_a_damaged_segment_costs_itself_alone(log: Path) -> None:
    found = rows(damaged(log, 500))
    assert sequences(found) == [*range(1, 9), *range(17, 33)]
    assert len(problems(found)) == 1
    assert "checksum" in problems(found)[0]
    assert rows(log, partitionEvents=8) == found
    assert problems(rows(log, mode="dropmalformed")) == []
    with pytest.raises(Unread, match=r"checksum.*FAILFAST.*PERMISSIVE"):
        rows(log, mode="FAILFAST")
    assert sequences(rows(log, mode="FAILFAST", first=17)) == list(range(17, 33))


def test_a_damaged_registration_leaves_the_file_s_name(log: Path) -> None:
    found = rows(damaged(log, 60))
    assert {row["application"] for row in found} == {"chain"}
    assert sequences(found) == list(range(9, 33))
    assert any("whose log it is" in problem for problem in problems(found))


@pytest.mark.parametrize("cut", [1, 30, 240])
def test_a_torn_end_is_named_and_what_stands_before_it_is_read(log: Path, cut: int) -> None:
    log.write_bytes(log.read_bytes()[:-cut])
    found = rows(log)
    assert sequences(found) == list(range(1, 25))
    assert "no whole record" in problems(found)[0]


def test_files_that_are_no_logs_are_named(log: Path) -> None:
    whole = rows(log)
    (log.parent / "notes.txt").write_text("not a log at all, but long enough to be looked at")
    (log.parent / "empty.parquet").write_bytes(b"")
    (log.parent / "foreign.arrow").write_bytes(b"ARROW1 but not really")
    (log.parent / "_SUCCESS").write_bytes(b"")
    found = rows(log.parent)
    assert events(found) == whole
    assert len(problems(found)) == 3
    assert all(any(name in one for one in problems(found)) for name in ("notes.txt", "empty.parquet", "foreign.arrow"))


def test_a_folder_that_may_not_be_opened_costs_itself_alone(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(log)
    (log.parent / "closed").mkdir()
    iterdir = Path.iterdir

    def listed(path: Path) -> Iterator[Path]:
        if path.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", listed)
    found = rows(log.parent)
    assert events(found) == whole
    assert problems(found) == [f"{log.parent / 'closed'} cannot be read (Permission denied)"]


def test_what_is_no_file_is_named_as_that(log: Path) -> None:
    os.mkfifo(log.parent / "pipe")
    assert problems(rows(log.parent)) == [f"{log.parent / 'pipe'} is a pipe, a socket or a device; expected a file"]


def test_a_parquet_file_of_another_program_is_named(log: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"application": ["x"]}), log.parent / "other.parquet")
    assert "no export of a log" in problems(rows(log.parent))[0]


def test_a_newer_form_and_an_unknown_event_are_named_and_cost_nothing_else(told: Told, tmp_path: Path) -> None:
    segments = [segment_to_message(one) for one in told.segments()]
    segments[1].version = 99
    record = segments[2].records[3]
    unknown = bytes([0x08, record.sequence, 0x10, 0x01]) + b"\xfa\x7f\x00"  # field 2047, of a later release
    record.ParseFromString(unknown)
    ignorable = segments[3].records[0]
    ignorable.ParseFromString(bytes([0x08, ignorable.sequence, 0x20, 0x01]) + b"\xfa\x7f\x00")
    path = tmp_path / "newer.log"
    path.write_bytes(MAGIC + b"".join(frame(seal(one)) for one in segments))
    found = rows(path)
    assert sequences(found) == [*range(1, 9), *range(17, 20), *range(21, 25), *range(26, 33)]
    newer, of_another, passed_over = problems(found)
    assert "events 9 to 16" in newer
    assert "version 99" in newer
    assert "record 20" in of_another
    assert "2047" in of_another
    assert "passed over" in passed_over
    with pytest.raises(Unread, match="record 20"):
        rows(path, mode="FAILFAST", first=17)
    assert len(rows(path, mode="FAILFAST", first=25)) == 7  # what may be passed over stops nobody


def test_damage_and_gaps_in_a_store_are_named(told: Told, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", told)
    whole = rows(address)
    gone, hurt = asyncio.run(harm(address))
    found = rows(address)
    lost = {row["sequence"] for row in whole} - {row["sequence"] for row in events(found)}
    assert lost >= {gone, hurt}
    assert len(lost) < 12
    assert any(f"events {gone} to " in one and "missing" in one for one in problems(found))
    assert any("checksum" in one for one in problems(found))
    assert rows(address, partitionEvents=1_000) == found


async def harm(address: str) -> tuple[int, int]:
    """Takes one segment away and changes another; gives where they began."""
    async with await open_backend(address) as backend:
        entries = (await backend.scan_all(Keyspace.EVENTS)).entries
        gone, hurt = entries[4], entries[8]
        await backend.delete(Keyspace.EVENTS, gone.key)
        await backend.put(Keyspace.EVENTS, hurt.key, hurt.value[:-9] + b"\x00" + hurt.value[-8:])
        return int(gone.key[-20:]), int(hurt.key[-20:])


@pytest.mark.parametrize("begins", [1, 17, 32], ids="first {}".format)
@pytest.mark.parametrize("damage", ["/0 /p", "/0 /.", "/00 /0x", "/00 /01", "/0 /%ff0", f"/0 /{0:020}/0"])
@pytest.mark.parametrize("options", [{}, {"partitionEvents": 4}], ids=["one piece", "many"])
def test_a_damaged_key_is_named_and_costs_nothing_else(
    told: Told, tmp_path: Path, begins: int, damage: str, options: dict[str, object]
) -> None:
    """As etcd would give it, which keeps no checksum of keys."""
    address = store(tmp_path / "store.db", told)
    whole = rows(address)
    moved, held = asyncio.run(rename(address, begins, damage))
    found = rows(address, **options)
    assert len(set(sequences(found))) == len(sequences(found))
    assert set(range(1, 33)) - set(sequences(found)) <= set(held)
    assert any(f"events/{moved}: the key is damaged" in one for one in problems(found)), problems(found)
    if not options:
        assert sorted(map(str, sequences(found))) == sorted(map(str, sequences(whole)))


def test_each_head_that_the_store_finds_damaged_is_named(told: Told, tmp_path: Path) -> None:
    others = [Told(application=ApplicationId(name), name=name) for name in ("one", "two")]
    address = store(tmp_path / "store.db", told, *others)
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("UPDATE version SET value = x'00' WHERE keyspace = 'heads' AND key IN ('one', 'two')")
    connection.commit()
    connection.close()
    found = rows(address)
    assert sequences(found) == list(range(1, 33))
    assert all(f"heads/{name}" in told for name, told in zip(("one", "two"), problems(found), strict=True))


def test_a_key_that_the_store_finds_damaged_is_named(told: Told, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", told)
    damage_a_key(tmp_path / "store.db")
    found = rows(address, partitionEvents=4)
    assert any("fails its checksum" in one for one in problems(found))
    assert len(sequences(found)) > 24


async def rename(address: str, begins: int, damage: str) -> tuple[str, range]:
    """Damages the key of the segment that holds this event; gives it, and the segment's events."""
    async with await open_backend(address) as backend:
        entries = (await backend.scan_all(Keyspace.EVENTS)).entries
        firsts = [int(entry.key[-20:]) for entry in entries]
        place = max(place for place, first in enumerate(firsts) if first <= begins)
        whole, _, hurt = damage.partition(" ")
        key = entries[place].key.replace(whole, hurt, 1)
        await backend.delete(Keyspace.EVENTS, entries[place].key)
        await backend.put(Keyspace.EVENTS, key, entries[place].value)
        return key, range(firsts[place], [*firsts, 33][place + 1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": ""}, "no log is named"),
        ({"path": "x", "aplication": "y"}, "Did you mean application"),
        ({"path": "x", "mode": "HASTY"}, "PERMISSIVE, DROPMALFORMED, FAILFAST"),
        ({"path": "x", "partitionEvents": "0"}, "a whole number from 1 on"),
        ({"path": "etcd://u:sesame@host:2379"}, "options user and password"),
    ],
)
def test_a_wrong_option_is_refused_and_no_password_is_told(options: dict[str, object], words: str) -> None:
    with pytest.raises(WrongOption) as refused:
        reading_of(options)
    assert words in str(refused.value)
    assert "sesame" not in str(refused.value)


def test_a_store_and_a_path_that_are_not_there(tmp_path: Path) -> None:
    for url in (f"sqlite://{tmp_path}/none.db", tmp_path / "none"):
        with pytest.raises(WrongOption, match="there is no"):
            rows(url)
    assert not (tmp_path / "none.db").exists()


def test_spark_is_not_shown_every_call_that_led_to_a_refusal(tmp_path: Path) -> None:
    """It shows the whole trace of what a source raises."""
    datasource = pytest.importorskip("replay.frames.datasource", exc_type=ImportError)
    with pytest.raises(WrongOption) as wrong:
        datasource.ShuffleLifecycle({"path": "x", "aplication": "y"})
    with pytest.raises(WrongOption) as missing:
        datasource.ShuffleLifecycle({"path": f"sqlite://{tmp_path}/none.db"}).reader(None).partitions()
    assert [len(refused.traceback) for refused in (wrong, missing)] == [3, 3]
    assert missing.value.__cause__ is None


def test_a_spark_without_data_sources_in_python_is_told_what_reads_there() -> None:
    session: Any = SimpleNamespace(version="3.5.8")
    with pytest.raises(WrongOption, match=r"Spark is 3\.5\.8, .*; expected Spark 4\.0 or later\. Read with `frames"):
        register(session)
