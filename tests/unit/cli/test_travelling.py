"""Replay, diff and verify show the same from an exported log and from a store, and say what is wrong."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.cli.sources.log import LogSource
from coordinator.cli.travelling import _Walk
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, LookId, StageId
from replay.points import AtEvent
from tests.unit.cli.calling import Shufflectl, log_file, store
from tests.unit.replay.logs import APP, Told, deleted_and_missed
from tests.unit.replay.test_premature import goes_on


@pytest.fixture(params=["log", "store"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    told = deleted_and_missed()
    if request.param == "log":
        return "--log", str(log_file(tmp_path / "app.log", told))
    return "--store", store(tmp_path / "store.db", told)


def test_a_point_shows_all_that_was_so_there(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    at = shufflectl("replay", *source, "chain", "--at", 15, "-o", "json").data
    assert (at["sequence"], at["held_bytes"], at["policy"]) == (15, 180_000_000, "frontier")
    assert [(one["kind"], one["shuffle_id"]) for one in at["directives"]] == [("fence", 1)]
    deleted = shufflectl("replay", *source, "chain", "--until", "GenerationDeleted #1").out
    assert "event 18" in deleted
    assert "120 MB freed early; 1 readable (60.0 MB), 1 deleted (120 MB)" in deleted
    assert "event 32" in shufflectl("replay", *source, "-").out


def test_executions_that_run_are_told_without_their_folders_as_all_else(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told()
    told.say(c.ReportExecutionStarted(ExecutionId(3), "show at /home/ann/etl.py:41"))
    assert "3 show at etl.py:41\n" in shufflectl("replay", "--log", log_file(tmp_path / "app.log", told)).out


def test_of_many_that_are_gone_a_table_shows_the_newest_and_json_all(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told()
    log = [*told.log]
    told.log.clear()
    told.log = [*log, *goes_on(told, 25)]
    file = log_file(tmp_path / "app.log", told)
    table = shufflectl("replay", "--log", file, "-").out
    assert "25 deleted (25.0 kB)" in table
    title, rows = table.split("GONE, ")[1].split("\n", 1)
    assert (title, [line.split()[1] for line in rows.splitlines()[1:] if "#" in line]) == (
        "the last 20 of 25", [f"#{number}" for number in range(6, 26)],
    )  # fmt: skip
    data = shufflectl("replay", "--log", file, "-", "-o", "json").data
    assert [one["shuffle_id"] for one in data["gone"]] == list(range(1, 26))


def test_what_came_and_went_between_two_points_is_counted(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = deleted_and_missed()
    told.say(c.ReportJobEnded(JobId(1)))
    told.say(c.ReportShuffleCleaned(AppShuffle(1)), c.ReportShuffleCleaned(AppShuffle(0)))
    told.carried_out()
    log = log_file(tmp_path / "app.log", told)
    whole = shufflectl("diff", "--log", log, "-", "1", "end")
    assert "not listed: 3 generations" in whole.err
    assert shufflectl("diff", "--log", log, "-", "30", "end").err == ""


def test_a_piped_walk_shows_every_event_with_what_it_changed(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    walked = shufflectl("replay", *source, "chain", "--step", "--at", 18)
    assert sum(line.startswith("     ") and line[5:7].strip().isdecimal() for line in walked.out.splitlines()) == 18
    assert walked.out.endswith("the application: freed 120 MB\n")
    lines = shufflectl("replay", *source, "chain", "--step", "-o", "json").out.splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, 33))
    assert json.loads(lines[17])["changes"][1]["what"] == "shuffle #1 of app shuffle 0"


def test_what_changed_between_two_points(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    told = shufflectl("diff", *source, "chain", 8, "GenerationDeleted")
    assert "shuffle #1 of app shuffle 0" in told.out
    assert "is deleted" in told.out
    data = shufflectl("diff", *source, "chain", 8, "-o", "json").data
    assert (data["before"], data["after"]) == (8, 32)
    back = shufflectl("diff", *source, "chain", "end", 8)
    assert (back.code, "Swap them" in back.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--at", "yesterday"), 2, "expected an event's number, a time"),
        (("--until", "GenerationLost"), 3, "the log has no GenerationLost"),
        (("--until", "12"), 2, "the point is '12'; expected a kind of event"),
        (("--at", "99"), 3, "it ends with event 32"),
        (("--at", "03:00:00"), 3, "goes from 2026-09-21 14:13:20 UTC to 2026-09-21 14:13:2"),
        (("--at", "2020-01-01"), 3, "one in the log, which begins with event 1, 2026-09-21 14:13:20 UTC"),
        (("--at", "1", "--until", "GenerationLost"), 2, "one point"),
    ],
)
def test_a_point_that_cannot_be(
    shufflectl: Shufflectl, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    told = shufflectl("replay", "--log", log, "-", *arguments)
    assert (told.code, words in told.err, told.err.count("\n")) == (code, True, 1)


@pytest.mark.parametrize("point", ["2030-01-01", "23:59:59"])
def test_a_time_behind_the_last_event_is_told_to_be_so(
    shufflectl: Shufflectl, source: tuple[str, str], point: str
) -> None:
    told, end = shufflectl("replay", *source, "-", "--at", point), shufflectl("replay", *source, "-")
    assert (told.code, told.out, told.err.count("\n")) == (0, end.out, 1)
    assert "lies behind the last event there is (event 32, " in told.err
    assert "lies behind the last event" in shufflectl("diff", *source, "-", "8", point).err
    within = shufflectl("replay", *source, "-", "--at", _last_second(source, shufflectl))
    assert (within.code, within.err) == (0, "")


def _last_second(source: tuple[str, str], shufflectl: Shufflectl) -> str:
    last = shufflectl("events", *source, "-").out.splitlines()[-1]
    return last.split()[1].partition(".")[0]


def test_a_whole_log_is_verified_wherever_it_is(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    (row,) = shufflectl("verify", *source, APP, "-o", "json").data
    assert (row["verdict"], row["events"], row["problems"], row["broken"]) == ("ok", 32, [], [])
    head = shufflectl("verify", *source).out.splitlines()[0]
    assert head.split() == ["APPLICATION", "VERDICT", "EVENTS", "SNAPSHOTS"], "the archive only where there is one"


def spoilt() -> Told:
    """Nobody was asked to fence what had expired."""
    told = deleted_and_missed()
    told.log = [
        replace(one, event=e.LookBegan(LookId(1))) if isinstance(one.event, e.FenceRequested) else one
        for one in told.log
    ]
    return told


def test_the_first_event_that_breaks_an_invariant_is_named(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", spoilt())
    told = shufflectl("verify", "--log", log)
    assert told.code == 6
    assert "event 14 (GenerationExpired) breaks '9 deleted in the end': generations 1 is expired" in told.err
    (row,) = shufflectl("verify", "--log", log, "-o", "json").data
    (broken,) = row["broken"]
    assert (broken["sequence"], broken["kind"], broken["rule"]) == (14, "GenerationExpired", "9 deleted in the end")


def test_a_log_without_its_end_or_its_middle_is_named(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    whole = log.read_bytes()
    log.write_bytes(whole[:-7])
    torn = shufflectl("verify", "--log", log)
    assert (torn.code, "1 problem found" in torn.err, "offset" in torn.err) == (6, True, True)
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 0xFF
    log.write_bytes(middle)
    damaged = shufflectl("verify", "--log", log)
    assert (damaged.code, "is missing" in damaged.err, "checksum" in damaged.err) == (6, True, True)


def test_a_point_before_damage_is_still_shown(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)
    told = shufflectl("replay", "--log", log, "-", "--at", 6)
    assert "event 6" in told.out
    assert told.code == 6


async def test_a_walk_on_a_terminal_goes_on_back_and_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    says(monkeypatch, "", "5", "s", "99", "abc", "32", "", "0", "s", "q")
    await _Walk(LogSource(log_file(tmp_path / "app.log", deleted_and_missed())), APP).walk(AtEvent(18))
    shown = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    steps = [int(line[:7]) for line in shown if line[:7].strip().isdecimal()]
    assert steps == [18, 19, 5, 5, 32], "99 is not there: it stays where it is"
    assert any(line.startswith("event 5  ") for line in shown)
    assert "There is no event 99." in shown
    assert any(line.startswith("'abc' is none of these; enter: next") for line in shown)
    assert shown.count("That was the last one.") == 1
    assert shown[-1].startswith("Nothing has happened yet"), "before the first event there is no state to show"


async def test_a_walk_on_a_terminal_holds_no_more_of_a_long_log_than_it_reads_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = Told()
    for job in range(300):
        told.say(c.ReportJobStarted(JobId(job), StageId(job)), c.ReportJobEnded(JobId(job)))
    log = log_file(tmp_path / "app.log", told)
    del told
    before, held = events_in_memory(), list[int]()
    says(monkeypatch, "400", "", "20", "", "q", tell=lambda: held.append(events_in_memory() - before))
    await _Walk(LogSource(log), APP).walk(AtEvent(1))
    assert len(held) == 5
    assert max(held) <= 32, "some segments of eight events"


def test_a_walk_on_a_terminal_ends_with_ctrl_c_and_with_the_end_of_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    walk = _Walk(LogSource(log_file(tmp_path / "app.log", deleted_and_missed())), APP)
    monkeypatch.setattr("builtins.input", lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(walk.walk(AtEvent(1)))
    monkeypatch.setattr("builtins.input", raising(EOFError))
    asyncio.run(walk.walk(AtEvent(1)))


def raising(error: type[BaseException]) -> Callable[[str], str]:
    def answer(_: str) -> str:
        raise error

    return answer


def says(monkeypatch: pytest.MonkeyPatch, *words: str, tell: Callable[[], None] = lambda: None) -> None:
    """What the reader of a walk types; ``tell`` is called before each."""
    said = iter(words)

    def answer(_: str) -> str:
        tell()
        return next(said)

    monkeypatch.setattr("builtins.input", answer)


def events_in_memory() -> int:
    gc.collect()
    return sum(type(one) is e.Recorded for one in gc.get_objects())
