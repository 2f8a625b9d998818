"""Which files make one log, by their names."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from replay.history.finding import Missing, Part, is_url, local_parts, sort, without_events


def logs(*paths: str) -> dict[str, list[str]]:
    found = sort(Part(path, 1) for path in paths)
    return {log.name: [part.path.rpartition("/")[2] for part in log.parts] for log in found}


def test_a_file_is_a_log() -> None:
    assert logs("/logs/app-1", "/logs/app-2.lz4", "/logs/app-3.zstd.inprogress") == {
        "app-1": ["app-1"],
        "app-2": ["app-2.lz4"],
        "app-3": ["app-3.zstd.inprogress"],
    }


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    """Opening a pipe that nobody writes to would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    found, missing = local_parts(str(tmp_path))
    assert found == []
    assert [(Path(one.place).name, one.why) for one in missing] == [
        ("lost", "it is a link that leads nowhere; expected a file"),
        ("pipe", "it is no file but a pipe, a socket or a device; expected a file"),
    ]
    assert local_parts(str(tmp_path / "pipe")) == ([], [missing[1]])


def test_a_rolling_directory_is_one_log_in_the_order_of_its_numbers() -> None:
    folder = "/logs/eventlog_v2_app-1"
    found = logs(
        f"{folder}/events_10_app-1.zstd", f"{folder}/events_9_app-1.zstd", f"{folder}/appstatus_app-1.inprogress",
        *(f"{folder}/events_{n}_app-1.zstd" for n in range(1, 9)),
    )  # fmt: skip
    assert found == {"app-1": [f"events_{n}_app-1.zstd" for n in range(1, 11)]}


def test_attempts_are_runs_of_their_own() -> None:
    found = logs("/logs/eventlog_v2_app-1_1/events_1_app-1_1", "/logs/eventlog_v2_app-1_2/events_1_app-1_2")
    assert found == {"app-1_1": ["events_1_app-1_1"], "app-1_2": ["events_1_app-1_2"]}


def test_a_compacted_file_stands_for_those_before_it() -> None:
    names = ("events_1_a", "events_2_a", "events_2_a.compact", "events_3_a")
    assert logs(*(f"/logs/d/{name}" for name in names)) == {"a": ["events_2_a.compact", "events_3_a"]}


def test_a_compaction_that_goes_on_or_was_cut_off_tells_nothing() -> None:
    names = ("events_1_a", "events_1_a.compact.inprogress", "events_2_a")
    assert logs(*(f"/logs/d/{name}" for name in names)) == {"a": ["events_1_a", "events_2_a"]}


def test_what_compaction_has_dropped_is_told() -> None:
    [log] = sort([Part("/d/events_2_a.compact", 1), Part("/d/events_3_a", 1)])
    assert len(log.lacks) == 1
    assert "Spark has compacted it" in log.lacks[0]


def test_numbers_that_are_no_rolled_files_cost_nothing() -> None:
    assert set(logs("/d/events_0_a.json", "/d/app-1")) == {"events_0_a", "app-1"}
    [log] = sort([Part("/d/events_20240131120000_x.json", 1)])
    assert log.lacks == ("of its rolled files number 1, 2, 3, 4, 5 is missing",)


def test_a_file_that_vanishes_while_the_folder_is_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app-1").write_text("x")
    (tmp_path / "app-2.inprogress").write_text("x")
    is_file = Path.is_file

    def renamed(path: Path) -> bool:
        found = is_file(path)
        if path.suffix:
            path.rename(path.with_suffix(".elsewhere"))
        return found

    monkeypatch.setattr(Path, "is_file", renamed)
    assert [Path(part.path).name for part in _parts(str(tmp_path))] == ["app-1"]


def test_a_missing_number_is_told() -> None:
    [log] = sort([Part("/d/events_1_a", 1), Part("/d/events_4_a", 1)])
    assert log.lacks == ("of its rolled files number 2, 3 is missing",)


def test_a_folder_that_rolled_over_is_one_log() -> None:
    found = logs("/d/job/eventlog", "/d/job/eventlog-2021-06-15--16-00.gz", "/d/job/eventlog-2021-06-15--15-00.gz")
    assert found == {"job": ["eventlog-2021-06-15--15-00.gz", "eventlog-2021-06-15--16-00.gz", "eventlog"]}


def test_side_files_are_left_alone() -> None:
    assert logs("/d/.app-1.crc", "/d/_SUCCESS", "/d/app-1") == {"app-1": ["app-1"]}


def test_a_rolling_directory_without_events_is_named() -> None:
    left = [Part("/d/eventlog_v2_a/appstatus_a", 0), Part("/d/eventlog_v2_a/.appstatus_a.crc", 8)]
    whole = [Part("/d/eventlog_v2_b/appstatus_b", 0), Part("/d/eventlog_v2_b/events_1_b", 9)]
    [missing] = without_events([*left, *whole, Part("/d/_SUCCESS", 0)])
    assert missing.place == "/d/eventlog_v2_a"
    assert "no events" in missing.why


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "app-1").write_text("x")
    parts = [*_parts(str(tmp_path)), *_parts(f"file://{tmp_path}/app-1")]
    assert len(parts) == 2
    assert len(sort(parts)) == 1


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    [nowhere], [empty] = local_parts(str(tmp_path / "nowhere"))[1], local_parts(str(tmp_path))[1]
    assert "it is not there" in nowhere.why
    assert "holds no file" in empty.why


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "*"])
def test_a_place_that_no_system_takes_costs_itself(tmp_path: Path, name: str) -> None:
    found, [missing] = local_parts(f"{tmp_path}/{name}")
    assert (found, missing.place) == ([], f"{tmp_path}/{name}")


def test_a_pattern_names_what_a_shell_would(tmp_path: Path) -> None:
    for name in ("app-1", "app-2", "other", "app-[3]"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log").write_text("x")
    patterns = ("app-?", "**/log", "app-[3]", "app-1", "{other,app-{1,4}}", "{app-*,app-1}/log")
    named = {pattern: _parts(f"{tmp_path}/{pattern}") for pattern in patterns}
    counts = {pattern: [Path(part.path).parent.name for part in parts] for pattern, parts in named.items()}
    assert counts == {
        "app-?": ["app-1", "app-2"],
        "**/log": ["app-1", "app-2", "app-[3]", "other"],
        "app-[3]": ["app-[3]"],
        "app-1": ["app-1"],
        "{other,app-{1,4}}": ["app-1", "other"],
        "{app-*,app-1}/log": ["app-1", "app-2", "app-[3]"],
    }
    [nothing] = local_parts(f"{tmp_path}/none-*")[1]
    assert (nothing.place, nothing.why[:24]) == (f"{tmp_path}/none-*", "nothing is called so; ex")


def test_what_may_not_be_looked_into_costs_itself_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "closed", "z"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app").write_text("x")
    scandir, stat = os.scandir, Path.stat

    def listed(path: str) -> Any:
        if str(path).endswith("/closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    def looked_at(path: Path, **options: Any) -> os.stat_result:
        if path == tmp_path / "z" / "app":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(Path, "stat", looked_at)
    found, missing = local_parts(str(tmp_path))
    assert [part.path for part in found] == [f"{tmp_path}/a/app"]
    told = "it cannot be read (Permission denied); expected a file or a directory that may be"
    assert missing == [Missing(f"{tmp_path}/closed", told), Missing(f"{tmp_path}/z/app", told)]


def test_urls_are_for_the_session() -> None:
    assert [is_url(place) for place in ("hdfs://n/logs", "s3a://b/l", "file:/tmp", "file:///tmp", "/tmp", "C:/x")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip


def _parts(place: str) -> list[Part]:
    found, missing = local_parts(place)
    assert not missing
    return found
