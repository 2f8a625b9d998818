"""`simulate` and `learn` over exports in Arrow and Parquet: what they hold is simulated as the log itself is."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.cli.exits import Exit
from coordinator.core.commands import EndApplication
from coordinator.core.ids import ApplicationId
from replay.frames.sources.tables import VERSION_KEY
from replay.frames.writing import ArrowFile, ParquetFolder
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import APP, Told, deleted_and_missed

RULES = "--policy", "frontier", "--policy", "as recorded", "--master", "none", "-o", "json"
Made = Callable[[Path], Path]


def ended() -> Told:
    told = deleted_and_missed()
    told.say(EndApplication())
    return told


def over_midnight() -> Told:
    """Another application, whose log has two days."""
    told = Told(application=ApplicationId("over-midnight"), name="night")
    told.whole_chain()
    told.now_ms += 86_400_000
    told.carried_out()
    return told


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    log_file(tmp_path / "logs" / "ended.log", ended())
    log_file(tmp_path / "logs" / "night.log", over_midnight())
    return tmp_path / "logs"


def arrow(to: Path) -> Path:
    return written(ArrowFile(to / "all.arrow"), to / "all.arrow")


def parquet(to: Path) -> Path:
    return written(ParquetFolder(to / "all"), to / "all")


def written(file: ArrowFile | ParquetFolder, path: Path) -> Path:
    for told in (ended(), over_midnight()):
        file.write(told.application, told.log)
    file.finish()
    return path


@pytest.mark.parametrize("made", [arrow, parquet])
def test_an_export_is_simulated_as_the_logs_themselves(
    shufflectl: Shufflectl, logs: Path, tmp_path: Path, made: Made
) -> None:
    wanted = shufflectl("simulate", logs, *RULES).data
    export = shufflectl("simulate", made(tmp_path), *RULES)
    assert (export.code, export.err) == (0, "")
    assert export.data["policies"] == wanted["policies"]
    assert {one["application"] for one in export.data["applications"]} == {APP, "over-midnight"}


@pytest.mark.parametrize("made", [arrow, parquet])
def test_an_export_teaches_what_the_logs_do(shufflectl: Shufflectl, logs: Path, tmp_path: Path, made: Made) -> None:
    export = made(tmp_path)
    called = shufflectl("learn", export, "-o", tmp_path / "export.lessons")
    assert called.code == 0
    assert "over-midnight: it has not ended, so later reads are not in it: left out" in called.err
    shufflectl("learn", logs, "-o", tmp_path / "logs.lessons")
    assert (tmp_path / "export.lessons").read_text() == (tmp_path / "logs.lessons").read_text()


def test_the_same_run_as_log_and_as_export_counts_once(shufflectl: Shufflectl, logs: Path) -> None:
    wanted = shufflectl("simulate", logs, *RULES).data
    parquet(logs)
    called = shufflectl("simulate", logs, *RULES)
    assert called.err.count("it is the same run as") == 2
    assert called.data["policies"] == wanted["policies"]


def test_the_same_run_in_two_exports_is_told_apart(shufflectl: Shufflectl, tmp_path: Path) -> None:
    first, second = arrow(tmp_path), parquet(tmp_path)
    called = shufflectl("simulate", first, second, *RULES)
    line = next(line for line in called.err.splitlines() if "the same run as" in line and APP in line)
    assert all(f"{APP} in {path}" in line for path in (first, second))


@pytest.mark.parametrize("made", [arrow, parquet])
def test_an_export_may_have_any_name(shufflectl: Shufflectl, logs: Path, tmp_path: Path, made: Made) -> None:
    wanted = shufflectl("simulate", logs, *RULES).data
    export = made(tmp_path)
    for file in [export] if export.is_file() else [file for file in export.rglob("*") if file.is_file()]:
        file.rename(file.with_suffix(""))
    called = shufflectl("simulate", export if export.is_dir() else export.with_suffix(""), *RULES)
    assert (called.code, called.err, called.data["policies"]) == (0, "", wanted["policies"])


def test_a_file_that_was_taken_out_of_its_folder_costs_its_own_line(
    shufflectl: Shufflectl, logs: Path, tmp_path: Path
) -> None:
    wanted = shufflectl("simulate", logs, *RULES).data
    alone = logs / "alone.parquet"
    next(parquet(tmp_path).rglob("*.parquet")).rename(alone)
    called = shufflectl("simulate", logs, *RULES)
    assert (called.code, called.data["policies"]) == (Exit.DAMAGED, wanted["policies"])
    assert f"{alone} lies outside the folder that says whose it is; expected application=… above it" in called.err


def test_what_is_missing_in_the_middle_cuts_the_run(shufflectl: Shufflectl, tmp_path: Path) -> None:
    export = parquet(tmp_path)
    first, *_ = sorted(export.rglob("application=over*/*/*.parquet"))
    first.unlink()
    called = shufflectl("simulate", export, *RULES)
    assert called.code == Exit.DAMAGED
    assert "over-midnight: a segment begins with record" in called.err
    assert [one["application"] for one in called.data["applications"]] == [APP]


def claims(path: Path, version: bytes | None) -> None:
    table = pq.ParquetFile(path).read()
    pq.write_table(table.replace_schema_metadata({VERSION_KEY: version} if version else None), path)


def test_an_export_of_a_newer_release_is_named(shufflectl: Shufflectl, tmp_path: Path) -> None:
    export = parquet(tmp_path)
    for path in export.rglob("*.parquet"):
        claims(path, b"99")
    called = shufflectl("simulate", export, *RULES)
    assert called.code == Exit.NEWER
    assert "its form has version 99; expected at most 1" in called.err


def test_a_table_of_somebody_else_s_is_no_log(shufflectl: Shufflectl, tmp_path: Path) -> None:
    export = parquet(tmp_path)
    pq.write_table(pa.table({"price": [1, 2]}), export / "prices.parquet")
    called = shufflectl("simulate", export, *RULES)
    assert called.code == 0
    assert "prices.parquet is no export of a log" in called.err
    assert len(called.data["applications"]) == 2


def test_a_damaged_export_costs_its_own_line(shufflectl: Shufflectl, tmp_path: Path) -> None:
    export = arrow(tmp_path)
    whole = export.read_bytes()
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "torn.arrow").write_bytes(whole[: len(whole) // 2])
    log_file(tmp_path / "torn" / "app.log", ended())
    called = shufflectl("simulate", tmp_path / "torn", *RULES)
    assert called.code == Exit.DAMAGED
    assert "torn.arrow: it cannot be read" in called.err
    assert [one["application"] for one in called.data["applications"] if not one["failed"]] == [APP]


def test_rows_that_cannot_be_read_are_damage_and_not_an_empty_file(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """What says where they are, at the file's end, is whole."""
    export = parquet(tmp_path)
    for path in export.rglob("application=over*/*/*.parquet"):
        content = bytearray(path.read_bytes())
        places = pq.ParquetFile(path).metadata.row_group(0)
        for column in map(places.column, range(places.num_columns)):
            content[column.data_page_offset : column.data_page_offset + column.total_compressed_size] = bytes(
                column.total_compressed_size
            )
        path.write_bytes(content)
    called = shufflectl("simulate", export, *RULES)
    assert called.code == Exit.DAMAGED
    assert "it cannot be read" in called.err
    assert [one["application"] for one in called.data["applications"] if not one["failed"]] == [APP]


def test_without_pyarrow_it_is_said_what_to_install(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = arrow(tmp_path)
    importing = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
        return importing(name, *arguments, **more)

    for name in [name for name in sys.modules if name.startswith(("replay.simulate.exports", "replay.frames"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    called = shufflectl("simulate", export, *RULES)
    assert called.code != 0
    assert "is an export, and pyarrow is not there to read it; install the extra `frames`" in called.err
