"""`shufflectl advise`: a table, files for programs, one page; a bad file costs a line and never the run."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import yaml

from coordinator.cli import advising
from coordinator.cli.advising import _cell_text
from coordinator.cli.exits import Exit
from coordinator.cli.targets import overlap
from replay.advise import frames
from replay.history import gathering
from tests.support.fake_spark import FakeSpark
from tests.support.history_logs import Log, chain, chain_read_again
from tests.unit.cli.calling import Shufflectl


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(advising, "_session", lambda master, conf: nullcontext(FakeSpark()))
    folder = tmp_path / "logs"
    chain("app-1").write(folder / "app-1")
    heavy = chain_read_again()
    _grow(heavy)
    heavy.write(folder / "deep" / "app-2")
    (folder / "notes.txt").write_text("no log\n")
    return folder


def _grow(log: Log) -> None:
    for line in log.lines:
        written = line.get("Task Metrics", {}).get("Shuffle Write Metrics")
        if written:
            written["Shuffle Bytes Written"] *= 10**9
        if "App ID" in line:
            line["App ID"], line["App Name"] = "app-2", "a heavy job"  # type: ignore[index]


def test_a_name_that_looks_like_a_formula_is_text_in_the_csv_file() -> None:
    assert [_cell_text(one) for one in ('=HYPERLINK("x")', "@sum", "-1+1", "plain", -5, 0.5)] == [
        '\'=HYPERLINK("x")',
        "'@sum",
        "'-1+1",
        "plain",
        -5,
        0.5,
    ]


def test_a_table_with_the_reasons(shufflectl: Shufflectl, logs: Path) -> None:
    called = shufflectl("advise", logs)
    assert called.code == Exit.OK
    assert "2 applications" in called.out
    assert "a heavy job" in called.out.split("app-1")[0]
    assert "frontier 1, eager 1" in called.out
    assert f"{logs}/notes.txt: its first 7 bytes hold no event of Spark's; it is no history log" in called.out


def test_a_run_without_a_name_is_told_by_its_id_once(shufflectl: Shufflectl, logs: Path) -> None:
    tail = chain("app-3")
    tail.lines = [line for line in tail.lines if line["Event"] != "SparkListenerApplicationStart"]
    tail.write(logs / "app-3")
    told = shufflectl("advise", logs).out.splitlines()
    assert "app-3" in told, "the head of what is said of it"


def test_only_the_first_are_shown(shufflectl: Shufflectl, logs: Path) -> None:
    assert "and 1 application more" in shufflectl("advise", logs, "--top", "1").out


def test_programs_read_json_and_yaml(shufflectl: Shufflectl, logs: Path) -> None:
    told = shufflectl("advise", logs, "-o", "json").data
    assert [one["application_id"] for one in told["applications"]] == ["app-2", "app-1"]
    assert [figures["holder"] for figures in told["applications"][0]["figures"]] == [
        "spark", "frontier", "eager", "delayed", "oracle",
    ]  # fmt: skip
    assert told["left_out"][0]["place"] == f"{logs}/notes.txt"
    assert yaml.safe_load(shufflectl("advise", logs, "-o", "yaml").out) == told


def test_files_are_written(shufflectl: Shufflectl, logs: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "report.html", tmp_path / "ranked.csv"
    called = shufflectl("advise", logs, "--html", page, "--csv", table)
    assert f"wrote {page}" in called.err
    assert page.read_text().startswith("<!doctype html>")
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["application_id"], row["frontier_missed"], row["shuffle_count"]) for row in rows] == [
        ("app-2", "1", "2"), ("app-1", "0", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--html", "--csv"])
def test_a_log_is_never_written_over(shufflectl: Shufflectl, logs: Path, option: str) -> None:
    log = next(path for path in sorted(logs.rglob("*")) if path.is_file())
    before = log.read_bytes()
    called = shufflectl("advise", logs, option, log)
    assert (called.code, f"{log} is read; expected" in called.err, log.read_bytes()) == (2, True, before)


def test_a_folder_that_is_not_there_is_named(shufflectl: Shufflectl, logs: Path) -> None:
    called = shufflectl("advise", logs / "none")
    assert called.code == Exit.NOT_FOUND
    assert "No application was found." in called.out
    assert f"{logs}/none: it is not there" in called.out


def test_a_longer_grace_is_taken(shufflectl: Shufflectl, logs: Path) -> None:
    assert shufflectl("advise", logs, "--grace", "10min", "-o", "json").data["grace_ms"] == 600_000


def test_a_wrong_grace_is_told(shufflectl: Shufflectl, logs: Path) -> None:
    called = shufflectl("advise", logs, "--grace", "soon")
    assert called.code == Exit.USAGE
    assert "--grace is 'soon'; expected a duration as 30s" in called.err


def test_a_file_that_cannot_be_written_is_told_before_a_log_is_read(
    shufflectl: Shufflectl, logs: Path, tmp_path: Path
) -> None:
    for flag in ("--csv", "--html"):
        called = shufflectl("advise", logs, flag, tmp_path / "no" / "where")
        assert (called.code, called.out, "no/where is not there" in called.err) == (Exit.NOT_FOUND, "", True)


def test_the_table_is_shown_before_anything_can_go_wrong(
    shufflectl: Shufflectl, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def meanwhile(master: object, conf: object) -> Iterator[FakeSpark]:
        yield FakeSpark()
        (tmp_path / "out").rmdir()

    monkeypatch.setattr(advising, "_session", meanwhile)
    (tmp_path / "out").mkdir()
    called = shufflectl("advise", logs, "--html", tmp_path / "out" / "page.html")
    assert (called.code, "2 applications" in called.out) == (Exit.FAILED, True)
    assert "page.html cannot be written (No such file or directory)" in called.err


_ON_FAKE_SPARK = """
from contextlib import nullcontext
from coordinator.cli import advising, main
from replay.advise import frames
from replay.history import gathering
from tests.support.fake_spark import FakeSpark
advising._session = lambda master, conf: nullcontext(FakeSpark())
main.main()
"""


@pytest.mark.parametrize(("takes_nothing", "code"), [("a closed pipe", Exit.OK), ("/dev/full", Exit.FAILED)])
def test_files_are_written_where_nothing_takes_the_table(
    logs: Path, tmp_path: Path, takes_nothing: str, code: Exit
) -> None:
    page, table = tmp_path / "report.html", tmp_path / "ranked.csv"
    if takes_nothing == "a closed pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(takes_nothing, os.O_WRONLY)
    command = [sys.executable, "-c", _ON_FAKE_SPARK, "advise", str(logs), "--html", str(page), "--csv", str(table)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (page.is_file(), table.is_file(), done.returncode) == (True, True, code), done.stderr


def test_a_name_that_is_not_utf_8_costs_nothing(shufflectl: Shufflectl, logs: Path, tmp_path: Path) -> None:
    (logs / "app-1").rename(logs / os.fsdecode(b"caf\xe9"))
    called = shufflectl("advise", logs, "--html", tmp_path / "page.html", "--csv", tmp_path / "rows.csv", "-o", "json")
    assert called.code == Exit.OK
    assert called.data["applications"][1]["place"] == f"{logs}/caf\\xe9"
    assert "caf\\xe9" in (tmp_path / "rows.csv").read_text()


@pytest.mark.parametrize("flags", [(), ("--force",)], ids=str)
def test_parquet_never_takes_the_place_of_logs(shufflectl: Shufflectl, logs: Path, flags: tuple[str, ...]) -> None:
    there = sorted(logs.rglob("*"))
    for target in (logs, logs.parent, logs / "new", f"file:{logs}"):
        called = shufflectl("advise", logs, "--parquet", target, *flags)
        assert (called.code, "or lies within it" in called.err) == (Exit.USAGE, True)
    assert sorted(logs.rglob("*")) == there


def test_parquet_is_written_over_nothing_unasked(shufflectl: Shufflectl, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    called = shufflectl("advise", logs, "--parquet", tmp_path / "mine")
    assert (called.code, f"{tmp_path}/mine is there already" in called.err) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    ("is_there", "flags", "code", "told"),
    [
        (True, ("--parquet", "reports"), Exit.USAGE, "hdfs://nn/user/me/reports is there already"),
        (False, ("--parquet", "reports"), Exit.OK, "wrote hdfs://nn/user/me/reports"),
        (True, ("--parquet", "reports", "--force"), Exit.OK, "wrote hdfs://nn/user/me/reports"),
        (True, ("hdfs://nn/user/me/reports", "--parquet", "reports", "--force"), Exit.USAGE, "or lies within it"),
    ],
)
def test_parquet_without_a_scheme_is_where_spark_writes_it(
    shufflectl: Shufflectl,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_there: bool,
    flags: Sequence[str],
    code: Exit,
    told: str,
) -> None:
    monkeypatch.setattr(gathering, "settled", lambda spark, folder: (f"hdfs://nn/user/me/{folder}", is_there))
    written: list[str] = []
    monkeypatch.setattr(frames, "write", lambda spark, places, folder, *more: written.append(folder))
    called = shufflectl("advise", logs, *flags)
    assert (called.code, told in called.err) == (code, True), called.err
    assert written == (["hdfs://nn/user/me/reports"] if code == Exit.OK else [])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("--html", "{0}/x"), ("--csv", "{0}/x")),
        (("--html", "x"), ("--csv", "{0}/x")),
        (("--html", "{0}/x"), ("--csv", "logs/../x")),
        (("--html", "{0}/x"), ("--csv", "link")),
        (("--html", "{0}/x"), ("--parquet", "x")),
        (("--csv", "x/table.csv"), ("--parquet", "file:{0}/x")),
    ],
)
def test_two_results_never_go_to_one_place(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Sequence[str], second: Sequence[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "x")
    flags = [word.format(tmp_path) for word in (*first, *second)]
    called = shufflectl("advise", "nowhere", *flags, "--force")
    told = f"{flags[0]} {flags[1]} and {flags[2]} {flags[3]} are one place, or one lies within the other"
    assert (called.code, called.out, told in called.err) == (Exit.USAGE, "", True), called.err
    assert not (tmp_path / "x").exists()


def test_what_is_thrown_away_may_be_thrown_away_twice(shufflectl: Shufflectl, logs: Path) -> None:
    assert shufflectl("advise", logs, "--html", os.devnull, "--csv", os.devnull).code == Exit.OK


@pytest.mark.parametrize(
    ("one", "other", "overlaps"),
    [
        ("/logs", "/logs/a", True),
        ("/logs/a/../b", "/logs/b/c", True),
        ("/logs", "/logs-of-last-year", False),
        ("file:///logs", "/logs", True),
        ("hdfs:///logs/x", "hdfs://nn:9000/logs", True),
        ("hdfs://a/logs", "hdfs://b/logs", False),
        ("s3a://bucket/logs", "/logs", False),
    ],
)
def test_what_lies_within_what(one: str, other: str, overlaps: bool) -> None:
    assert (overlap(one, other), overlap(other, one)) == (overlaps, overlaps)
