"""A time that cannot be costs itself; a clock that was set is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from replay.history.finding import Log as Found
from replay.history.finding import Part
from replay.history.reading import read
from replay.history.run import Run
from tests.support.history_logs import FIRST, LAST, SECOND, Line, Log, at, chain


def run_of(path: Path) -> Run:
    return read(Found(path.name, (Part(str(path), path.stat().st_size),)))


def _told_of(line: Line) -> Any:
    """What has the times in it."""
    return line.get("Task Info") or line.get("Stage Info") or line


def test_a_time_that_what_follows_contradicts_is_not_believed(tmp_path: Path) -> None:
    """A damaged digit is a time all the same, years ahead: nothing behind it would take any time, or all would."""
    expected = run_of(chain().write(tmp_path / "app-1"))
    for place, line in enumerate(chain().lines):
        for name in {"Finish Time", "Submission Time", "Completion Time"} & _told_of(line).keys():
            log = chain()
            _told_of(log.lines[place])[name] += 10**12
            run = run_of(log.write(tmp_path / "app-1"))
            assert run.ended_ms == at(110), line
            assert [time_ms for time_ms, _ in run.facts] == sorted(time_ms for time_ms, _ in run.facts)
            assert len(run.warnings) <= 1, run.warnings
            late = max(abs(a - b) for (a, _), (b, _) in zip(run.facts, expected.facts, strict=True))
            assert late <= 10_000, "only what was told of by the damaged line is moved, to the event before it"


def test_a_damaged_time_is_named(tmp_path: Path) -> None:
    log = chain()
    [*_, last] = [line for line in log.lines if "Task Info" in line]
    last["Task Info"]["Finish Time"] += 10**12
    (warning,) = run_of(log.write(tmp_path / "app-1")).warnings
    assert warning == "the time 2055-07-24 00:00:30 UTC is not believed: all that was written after it is earlier"


def test_a_long_rest_is_no_damage(tmp_path: Path) -> None:
    rest_s = 3 * 86_400
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 10, written=1000)
    log.stage(SECOND, rest_s, rest_s + 10).job_end(0, rest_s + 9).end(rest_s + 20)
    run = run_of(log.write(tmp_path / "app-1"))
    assert (run.warnings, run.ended_ms) == ((), at(rest_s + 20))


def test_a_clock_that_was_set_back_is_told(tmp_path: Path) -> None:
    log = Log().start().job(0, 7_300, FIRST, LAST).stage(FIRST, 7_310, 7_320, written=1000).job_end(0, 7_320)
    log.job(1, 7_330, FIRST, SECOND).stage(SECOND, -3_600, -3_590).end(-3_580)
    (warning,) = run_of(log.write(tmp_path / "app-1")).warnings
    assert warning == "its times go back by 3 h 02 min (a clock was set?): what that makes of it is doubtful"
