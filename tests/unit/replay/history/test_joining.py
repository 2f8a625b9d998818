"""One run in several files is one run, whatever it is packed in and wherever they lie; copies of a part count once."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.advise.judging import Judge
from replay.advise.report import put_together
from replay.history.finding import Log, Part, local_parts, sort
from replay.history.gathering import Read, left_out
from replay.history.joining import Piece, joined, piece_of, whole
from replay.history.reading import read
from replay.history.run import Run
from tests.support.history_logs import Log as Lines
from tests.support.history_logs import chain, packed

#: Of the lines of `chain`: behind the first stage, and behind the second one.
_FIRST, _SECOND = 7, 11


def read_all(*places: Path) -> list[Read[Run]]:
    """What a report reads: each log by itself, and then what belongs together as one."""

    def one(log: Log) -> Read[Run]:
        run = read(log)
        return Read(log.place, run, piece=piece_of(log, run))

    parts, missing = zip(*(local_parts(str(place)) for place in places), strict=True)
    assert not any(missing)
    found = [one(log) for log in sort(part for some in parts for part in some)]
    return whole(found, lambda logs: [one(log) for log in logs], left_out)


def runs(found: list[Read[Run]]) -> list[Run]:
    return [one.found for one in found if one.found is not None]


def written(path: Path, lines: Lines, begin: int = 0, end: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(lines.lines[begin:end]))
    return path


def test_the_head_and_the_tail_of_a_run_are_one(tmp_path: Path) -> None:
    head = written(tmp_path / "a" / "app-1.inprogress", chain(), 0, _FIRST)
    tail = written(tmp_path / "b" / "app-1", chain(), _FIRST)
    [run] = runs(read_all(tmp_path))
    alone = read(sort(local_parts(str(written(tmp_path / "c" / "app-1", chain())))[0])[0])
    assert (run.facts, run.shuffles, run.ended) == (alone.facts, alone.shuffles, True)
    assert (run.place, run.files) == (str(head), (str(head), str(tail)))
    told = f"it lies in 2 files, each with a part of it, which were read as one: {head}, {tail}"
    assert run.warnings == (told,)


def test_a_log_that_was_named_twice_is_no_copy_of_itself(tmp_path: Path) -> None:
    """As by a folder and a file in it; or both would be left out as copies of one another."""
    written(tmp_path / "app-1", chain())
    [one] = read_all(tmp_path)
    assert whole([one, one], lambda logs: [], left_out) == [one]


@pytest.mark.parametrize("names", [("x", "app-1"), ("app-1", "app-1.part2"), ("app-1.1.lz4", "app-1.2.lz4")])
def test_a_tail_is_known_by_the_name_of_its_file(tmp_path: Path, names: tuple[str, str]) -> None:
    written(tmp_path / "a" / names[0], chain(), 0, _SECOND)
    written(tmp_path / "b" / names[1], chain(), _SECOND)
    assert len(runs(read_all(tmp_path))) == 1


def test_a_tail_is_known_by_what_its_jobs_say(tmp_path: Path) -> None:
    lines = chain()
    written(tmp_path / "one", lines, 0, -1)
    told = {"spark.app.id": "app-1"}
    lines.event("SparkListenerJobStart", **{"Job ID": 1, "Submission Time": 1_700_000_120_000, "Properties": told})
    written(tmp_path / "two", lines, -1)
    [run] = runs(read_all(tmp_path))
    assert run.application_id == "app-1"


def test_a_middle_belongs_to_it_too(tmp_path: Path) -> None:
    for number, (begin, end) in enumerate([(0, _FIRST), (_FIRST, _SECOND), (_SECOND, None)]):
        written(tmp_path / f"{2 - number}" / "app-1", chain(), begin, end)
    [run] = runs(read_all(tmp_path))
    assert [Path(file).parent.name for file in run.files] == ["2", "1", "0"]


@pytest.mark.parametrize("tail", ["app-1_2", "app-2", "app-1", "app-10_1"])
def test_another_attempt_and_another_application_are_not_joined(tmp_path: Path, tail: str) -> None:
    written(tmp_path / "a" / "head", chain(attempt="1"), 0, _FIRST)
    written(tmp_path / "b" / tail, chain(), _FIRST)
    assert len(runs(read_all(tmp_path))) == 2
    written(tmp_path / "c" / "app-1_1", chain(), _FIRST)
    assert len(runs(read_all(tmp_path))) == 2


def test_a_tail_without_a_head_and_a_tail_behind_the_end_stay_alone(tmp_path: Path) -> None:
    written(tmp_path / "a" / "app-1", chain(), _FIRST, _SECOND)
    written(tmp_path / "b" / "app-1", chain(), _SECOND)
    assert len(runs(read_all(tmp_path))) == 2
    later = Lines().job(9, 500)
    written(tmp_path / "c" / "app-3", chain("app-3"))
    written(tmp_path / "d" / "app-3", later)
    assert len(runs(read_all(tmp_path / "c", tmp_path / "d"))) == 2


def test_a_copy_of_a_part_counts_once_and_is_named(tmp_path: Path) -> None:
    head = written(tmp_path / "a" / "app-1", chain(), 0, _FIRST)
    written(tmp_path / "b" / "app-1", chain(), _FIRST)
    copy = written(tmp_path / "c" / "app-1", chain(), _FIRST)
    found = read_all(tmp_path)
    assert len(runs(found)) == 1
    assert [(one.place, one.why) for one in found if one.found is None] == [
        (str(copy), f"it tells a part of the run that is in {head} too, and nothing else")
    ]


def test_a_tail_beside_the_whole_log_is_a_copy_and_every_file_is_in_the_report(tmp_path: Path) -> None:
    written(tmp_path / "a" / "app-1", chain(), 0, _FIRST)
    written(tmp_path / "b" / "app-1", chain(), _FIRST)
    written(tmp_path / "c" / "app-1", chain())
    judge, found = Judge(), read_all(tmp_path)
    report = put_together([Read(one.place, judge(one.found) if one.found else None, one.why) for one in found])
    assert [advice.place for advice in report.advices] == [str(tmp_path / "c" / "app-1")]
    assert [Path(one.place).parent.name for one in report.refused] == ["a", "b"]


def test_parts_that_cannot_be_read_again_stay_as_they_were(tmp_path: Path) -> None:
    written(tmp_path / "a" / "app-1", chain(), 0, _FIRST)
    written(tmp_path / "b" / "app-1", chain(), _FIRST)
    logs = sort(local_parts(str(tmp_path))[0])
    found = [Read(log.place, 1, piece=piece_of(log, read(log))) for log in logs]
    assert whole(found, lambda logs: [Read(log.place, None, "it is gone") for log in logs], left_out) == found


def test_of_two_logs_of_one_run_that_which_holds_more_counts(tmp_path: Path) -> None:
    written(tmp_path / "a" / "app-1", chain(), 0, _SECOND)
    kept = written(tmp_path / "b" / "app-1.zst", chain())
    copy = written(tmp_path / "c" / "app-1.gz", chain())
    found = read_all(tmp_path)
    assert [run.place for run in runs(found)] == [str(kept)]
    told = f"it is the same run of app-1 as {kept}, which holds no less"
    assert [(one.place, one.why) for one in found if one.found is None] == [
        (str(tmp_path / "a" / "app-1"), told), (str(copy), told),
    ]  # fmt: skip


def test_a_copy_with_lines_that_cannot_be_read_does_not_hold_more(tmp_path: Path) -> None:
    broken = written(tmp_path / "a" / "app-1", chain())
    lines = broken.read_bytes().splitlines(keepends=True)
    lines[5] = b'{"Event":"SparkListenerJobStart","Job ID":' + b"x" * 90_000 + b"}\n"
    broken.write_bytes(b"".join(lines))
    kept = written(tmp_path / "b" / "app-1", chain())
    assert [run.place for run in runs(read_all(tmp_path))] == [str(kept)]


def test_what_has_its_tail_holds_more_than_a_longer_head(tmp_path: Path) -> None:
    parts = written(tmp_path / "a" / "app-1", chain(), 0, _FIRST), written(tmp_path / "b" / "app-1", chain(), _FIRST)
    longer = written(tmp_path / "c" / "app-1", chain(), 0, -1)
    found = read_all(tmp_path)
    assert [run.files for run in runs(found)] == [tuple(map(str, parts))]
    assert [one.place for one in found if one.found is None] == [str(longer)]


def test_a_tail_that_is_there_twice_without_its_head_counts_once(tmp_path: Path) -> None:
    written(tmp_path / "a" / "app-1", chain(), _FIRST)
    written(tmp_path / "b" / "app-1", chain(), _FIRST)
    assert len(runs(read_all(tmp_path))) == 1


def test_a_head_on_a_disk_and_a_tail_behind_a_url_stay_apart() -> None:
    head, tail = (Log("app-1", (Part(path, 1),)) for path in ("/logs/app-1", "hdfs://here/logs/app-1"))
    pieces = Piece(head, "app-1", True, False, 0, 5), Piece(tail, "app-1", False, True, 6, 9)
    assert joined(pieces).runs == ()
