"""Records that are damaged, torn or odd cost their own line."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from coordinator.archive.files import events_content, folder_of
from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.values import Policy, Rule
from coordinator.wire.codec import Segment, encode_segment
from coordinator.wire.logfile import write_log
from replay import learn
from replay.learn import learned
from replay.simulate.places import recordings_at
from replay.simulate.recordings import Recording, all_of, simulated
from tests.support.history_logs import chain, packed
from tests.unit.cli.calling import log_file
from tests.unit.replay.logs import APP, deleted_and_missed
from tests.unit.replay.test_holders import looked_at, root

FRONTIER = (("frontier", Policy(Rule.FRONTIER, observe=False)),)


def recording(log: list[Recorded]) -> Recording:
    content = b"".join(write_log((Segment(log[0].sequence, b"c", "replica-1", tuple(log)),)))
    return Recording("app.log", len(content), content=content)


def test_a_log_that_ends_within_a_look_is_simulated_to_its_end() -> None:
    log = looked_at(root("o1", "`a` in chain.py:3", 0)).log
    cut = next(place for place, one in enumerate(log, 1) if isinstance(one.event, e.CutReported))
    found = simulated(recording(log[:cut]), FRONTIER)
    assert (found.failed, len(found.summaries)) == ("", 1)
    assert learned(recording(log[:cut])).why_not == "it has not ended, so later reads are not in it: left out"


def test_what_nobody_thought_of_costs_nothing_else() -> None:
    odd = Recording("a\0b", 1, paths=("a\0b",))
    assert simulated(odd, FRONTIER).failed == "it could not be simulated: ValueError: embedded null byte"
    assert "embedded null byte" in learned(odd).why_not


def archive(root: Path, *spans: tuple[int, int]) -> Path:
    """These parts of a log, with what an archive keeps beside them."""
    folder = root / folder_of(APP)
    folder.mkdir()
    log = deleted_and_missed().log
    for first, last in spans:
        segment = Segment(log[first - 1].sequence, b"c", "replica-1", tuple(log[first - 1 : last]))
        (folder / f"events-{first:020}-{last:020}.log").write_bytes(events_content([encode_segment(segment)]))
    (folder / "ended.records").write_bytes(b"whatever")
    return root


@pytest.mark.parametrize("spans", [((1, 32),), ((1, 20), (21, 32)), ((1, 20), (1, 25), (26, 32))], ids=str)
def test_an_archive_s_folder_is_one_run(tmp_path: Path, spans: tuple[tuple[int, int], ...]) -> None:
    found = recordings_at(str(archive(tmp_path, *spans)))
    assert isinstance(found, list)
    [made] = [simulated(one, FRONTIER) for one in found]
    assert (made.recording, made.application, made.warnings, made.failed) == (APP, APP, (), "")
    assert made.summaries == simulated(recording(deleted_and_missed().log), FRONTIER).summaries


def test_a_try_at_archiving_that_was_torn_costs_nothing_where_another_is_whole(tmp_path: Path) -> None:
    folder = archive(tmp_path, (1, 20), (1, 25), (21, 32))
    [torn] = folder.rglob(f"events-{1:020}-{25:020}.log")
    torn.write_bytes(torn.read_bytes()[:400])
    found = recordings_at(str(folder))
    assert isinstance(found, list)
    [made] = [simulated(one, FRONTIER) for one in found]
    assert (made.warnings, made.failed) == ((), "")
    assert made.summaries == simulated(recording(deleted_and_missed().log), FRONTIER).summaries


def test_what_is_missing_from_a_log_is_said_and_nothing_behind_it_counts(tmp_path: Path) -> None:
    found = recordings_at(str(archive(tmp_path, (1, 20), (24, 32))))
    assert isinstance(found, list)
    [made] = [simulated(one, FRONTIER) for one in found]
    [warning] = made.warnings
    assert warning.startswith(f"read up to here: {APP}: a segment begins with record 24; expected record 21. ")
    assert made.summaries == simulated(recording(deleted_and_missed().log[:20]), FRONTIER).summaries


def test_what_does_not_begin_at_its_beginning_is_not_simulated(tmp_path: Path) -> None:
    archive(tmp_path, (21, 32))
    [only] = tmp_path.rglob("*.log")
    found = recordings_at(str(only))
    assert isinstance(found, list)
    assert [
        "a segment begins with record 21; expected record 1" in simulated(one, FRONTIER).failed for one in found
    ] == [True]


def test_a_folder_that_may_not_be_opened_is_a_record_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_file(tmp_path / "a.log", deleted_and_missed())
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def listed(path: str) -> Any:
        if str(path).endswith("/closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)
    found = recordings_at(str(tmp_path))
    assert isinstance(found, list)
    assert [simulated(one, FRONTIER).failed.partition(";")[0] for one in found] == [
        "", "it cannot be read (Permission denied)",
    ]  # fmt: skip


def test_a_file_that_went_before_it_was_read_says_so_in_words(tmp_path: Path) -> None:
    log_file(tmp_path / "a.log", deleted_and_missed())
    chain().write(tmp_path / "history")
    found = recordings_at(str(tmp_path))
    assert isinstance(found, list)
    for file in tmp_path.iterdir():
        file.unlink()
    said = {simulated(one, FRONTIER).failed for one in found} | {learned(one).why_not for one in found}
    assert said == {"it cannot be read (No such file or directory); expected a file that may be"}


def test_a_history_log_is_named_by_its_place_with_its_ending(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for file in (tmp_path / "notes.txt", tmp_path / "deep" / "notes.gz"):
        file.write_text("no log at all\n")
    found = recordings_at(str(tmp_path))
    assert isinstance(found, list)
    assert {one.name for one in found} == {f"{tmp_path}/notes.txt", f"{tmp_path}/deep/notes.gz"}


def history_logs(root: Path, *parts: tuple[int, int | None]) -> list[Recording]:
    """Logs of one run, with these lines of it, each in a folder of its own."""
    for number, (begin, end) in enumerate(parts):
        (root / str(number)).mkdir(parents=True)
        (root / str(number) / "app-1").write_bytes(packed(chain().lines[begin:end]))
    found = recordings_at(str(root))
    assert isinstance(found, list)
    return found


def test_the_head_and_the_tail_of_a_run_are_simulated_as_one(tmp_path: Path) -> None:
    [whole] = all_of(history_logs(tmp_path / "whole", (0, None)), FRONTIER)
    [made] = all_of(history_logs(tmp_path / "parts", (7, None), (0, 7)), FRONTIER)
    assert (made.summaries, made.facts, made.failed) == (whole.summaries, whole.facts, "")
    assert made.recording == str(tmp_path / "parts" / "1" / "app-1")
    assert "which were read as one" in made.warnings[0]


def test_a_copy_of_a_run_or_of_a_part_of_it_is_named_and_not_simulated(tmp_path: Path) -> None:
    made = all_of(history_logs(tmp_path, (0, None), (7, None), (0, 7)), FRONTIER)
    assert [(one.failed.partition(" as ")[0], one.is_no_log, len(one.summaries)) for one in made] == [
        ("", False, 1),
        (f"it tells a part of the run that is in {tmp_path}/0/app-1 too, and nothing else", True, 0),
        ("it is the same run of app-1", True, 0),
    ]


def test_the_head_and_the_tail_of_a_run_teach_as_one(tmp_path: Path) -> None:
    [whole] = learn.all_of(history_logs(tmp_path / "whole", (0, None)))
    head, tail = history_logs(tmp_path / "parts", (0, 7), (7, None))
    [made] = learn.all_of([head, tail])
    assert (made.taught, made.why_not) == (whole.taught, "")
    assert learned(tail).taught != whole.taught
