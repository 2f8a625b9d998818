"""A time that cannot be costs itself; a clock that was set is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def _with_end(log: Log, time_ms: int | None) -> Log:
    [*lines, end] = log.lines
    told = {**end, "Timestamp": time_ms}
    return Log([*lines, {key: value for key, value in told.items() if value is not None}])


_YEAR_7204_MS = 165_190_000_000_000


_ONLY_THE_LAST = (
    "the time 7204-08-30 07:06:40 UTC is not believed: only the last line tells of it, 1,892,245 days behind all else"
)
_NO_TIME = "the end of the application does not say when it was: counted to its last event"


@pytest.mark.parametrize(
    ("time_ms", "told"), [(_YEAR_7204_MS, _ONLY_THE_LAST), (0, _NO_TIME), (-7, _NO_TIME), (None, _NO_TIME)]
)
def test_an_end_at_a_time_that_cannot_be_is_at_the_last_event(tmp_path: Path, time_ms: int | None, told: str) -> None:
    run = run_of(_with_end(chain(), time_ms).write(tmp_path / "app-1"))
    assert (run.ended, run.ended_ms, run.warnings) == (True, at(30), (told,))
    assert max(time_ms for time_ms, _ in run.facts) == at(30)


@pytest.mark.parametrize("name", ["SparkListenerJobEnd", "SparkListenerStageCompleted", "SparkListenerTaskEnd"])
def test_a_last_line_at_a_time_that_cannot_be_is_at_the_one_before(tmp_path: Path, name: str) -> None:
    lines = list(chain().lines)
    while lines[-1]["Event"] != name:
        lines.pop()
    expected = run_of(Log(lines).write(tmp_path / "app-1"))
    last = json.loads(json.dumps(lines[-1]))
    told = _told_of(last)
    told["Finish Time" if "Finish Time" in told else "Completion Time"] += 10**14
    run = run_of(Log([*lines[:-1], last]).write(tmp_path / "app-1"))
    assert (run.ended_ms, run.facts) == (expected.ended_ms, expected.facts)
    [_, warning] = run.warnings
    assert warning.startswith("the time 51") or warning.endswith("days behind all else")


def test_a_rest_at_the_end_that_can_be_is_believed(tmp_path: Path) -> None:
    rest_s = 30 * 86_400
    run = run_of(_with_end(chain(), at(rest_s)).write(tmp_path / "app-1"))
    assert (run.ended_ms, run.warnings) == (at(rest_s), ())


def test_a_start_that_all_else_contradicts_is_not_believed(tmp_path: Path) -> None:
    log = chain()
    log.lines[1] = {**log.lines[1], "Timestamp": _YEAR_7204_MS}
    run, expected = run_of(log.write(tmp_path / "app-1")), run_of(chain().write(tmp_path / "app-1"))
    assert (run.started_ms, run.ended_ms, run.facts) == (at(0), at(110), expected.facts)
    assert run.warnings == (
        "the time 7204-08-30 07:06:40 UTC is not believed: all that was written after it is earlier",
    )


def test_a_start_is_believed_against_one_line(tmp_path: Path) -> None:
    log = chain()
    log.lines[2] = {**log.lines[2], "Submission Time": at(-(10**9))}
    run = run_of(log.write(tmp_path / "app-1"))
    assert (run.started_ms, run.ended_ms) == (at(0), at(110))
    [warning] = run.warnings
    assert warning.startswith("its times go back by 277777 h")


@pytest.mark.parametrize("wrong_s", [(10**9, 2 * 10**9), (2 * 10**9, 10**9), (10**9, 10**9 + 10**7, 2 * 10**9)])
def test_damaged_times_that_follow_one_another_cost_themselves(tmp_path: Path, wrong_s: tuple[int, ...]) -> None:
    """Each goes further, or less far: what is behind them contradicts them all."""
    expected = run_of(chain().write(tmp_path / "app-1"))
    for place in (3, 6, 9):
        log = chain()
        damaged = [line for line in log.lines if "Submission Time" in _told_of(line) or "Finish Time" in _told_of(line)]
        for line, by_s in zip(damaged[place:], wrong_s, strict=False):
            about = _told_of(line)
            name = "Completion Time" if "Completion Time" in about else "Finish Time"
            about[name if name in about else "Submission Time"] += 1_000 * by_s
        run = run_of(log.write(tmp_path / "app-1"))
        assert (run.ended_ms, len(run.warnings)) == (expected.ended_ms, 1), (place, run.warnings)
        assert f"and {len(wrong_s) - 1} more is not believed" in run.warnings[0]
        late = max(abs(a - b) for (a, _), (b, _) in zip(run.facts, expected.facts, strict=True))
        assert late <= 10_000
