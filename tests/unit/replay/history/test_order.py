"""A log whose lines stand in another order counts as far as that can be told; what does not count is named."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.values import Policy, Rule
from replay.history.clock import MOST_WRONG
from replay.history.finding import Log as Found
from replay.history.finding import Part
from replay.history.reading import read
from replay.history.run import Run
from replay.simulate import simulate
from tests.support.history_logs import FIRST, SECOND, Line, Log, Stage, at, chain, chain_read_again, packed

_DOUBT = "lines of it are missing or stand in another order than Spark writes them"
_SO = "what was held and read, and when, is doubtful"


def run_of(tmp_path: Path, lines: Iterable[Line]) -> Run:
    path = tmp_path / "app-1"
    path.write_bytes(packed(lines))
    return read(Found(path.name, (Part(str(path), path.stat().st_size),)))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_of(tmp_path, chain().lines)


def _is(*names: str) -> Callable[[Line], bool]:
    return lambda line: str(line["Event"]).endswith(names)


def _first(lines: list[Line], is_wanted: Callable[[Line], bool]) -> list[Line]:
    return [*filter(is_wanted, lines), *(line for line in lines if not is_wanted(line))]


def test_ends_of_tasks_before_all_else_count(tmp_path: Path, run: Run) -> None:
    sorted_ = run_of(tmp_path, _first(chain().lines, _is("TaskEnd")))
    assert (sorted_.shuffles, sorted_.facts, sorted_.warnings) == (run.shuffles, run.facts, ())
    assert sorted_.task_ms == run.task_ms


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_stage_whose_beginning_is_not_told_counts_by_its_end(tmp_path: Path, run: Run, elsewhere: bool) -> None:
    lines = chain().lines
    begins = _is("StageSubmitted")
    rest = [line for line in lines if not begins(line)]
    found = run_of(tmp_path, [*rest, *filter(begins, lines)] if elsewhere else rest)
    assert found.shuffles == run.shuffles
    assert [command for _, command in found.facts] == [command for _, command in run.facts]
    assert bool(found.warnings) == elsewhere


def test_ends_of_tasks_behind_their_stage_are_named_with_what_they_wrote(tmp_path: Path) -> None:
    lines = chain().lines
    found = run_of(tmp_path, [*_first(lines, lambda line: not _is("TaskEnd")(line))])
    assert sum(one.bytes for one in found.shuffles) == 0
    [warning] = found.warnings
    assert warning == (
        "6 ends of tasks, with 1.5 kB written, stand behind the end of their stage, or it tells of no such stage: "
        "not counted"
    )


def test_ends_of_tasks_of_a_stage_that_is_never_told_of_are_named(tmp_path: Path) -> None:
    lines = [line for line in chain().lines if line.get("Stage Info", {}).get("Stage ID") != FIRST.id]
    [warning] = run_of(tmp_path, lines).warnings
    assert warning.startswith("2 ends of tasks, with 1.0 kB written, stand behind")


def test_a_late_end_of_an_attempt_that_failed_is_nothing_odd(tmp_path: Path) -> None:
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 10, written=1000, failure="fetch failed", ends=1)
    log.task(FIRST.id, 11, 500, 0, is_map=True, index=1)
    log.stage(FIRST, 12, 20, written=500, attempt=1, tasks=1).stage(SECOND, 20, 30).job_end(0, 30).end(40)
    assert run_of(tmp_path, log.lines).warnings == ()


_STAGES_FIRST = (
    "3 jobs and stages before its start; 3 stages that no job before had listed; "
    "1 time earlier than above, by up to 30.0 s"
)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (_is("JobEnd"), "1 end of a job that had not begun; 6 times earlier than above, by up to 30.0 s"),
        (_is("StageSubmitted", "StageCompleted", "TaskEnd"), _STAGES_FIRST),
        (_is("ApplicationEnd"), "4 jobs and stages behind its end; 8 times earlier than above, by up to 1 min 50 s"),
    ],
)
def test_what_stands_too_early_is_named(tmp_path: Path, first: Callable[[Line], bool], said: str) -> None:
    assert run_of(tmp_path, _first(chain().lines, first)).warnings == (f"{_DOUBT} ({said}): {_SO}",)


def test_what_is_told_again_counts_once(tmp_path: Path, run: Run) -> None:
    lines = [line for line in chain().lines for _ in range(1 + _is("StageSubmitted", "StageCompleted")(line))]
    found = run_of(tmp_path, lines)
    assert (found.shuffles, found.facts) == (run.shuffles, run.facts)
    assert found.warnings == (f"{_DOUBT} (6 stages told again): {_SO}",)


def test_of_a_log_whose_head_is_elsewhere_only_that_is_told(tmp_path: Path) -> None:
    lines = chain_read_again().lines
    place = next(at for at, line in enumerate(lines) if line.get("Stage Info", {}).get("Stage ID") == SECOND.id)
    [warning] = run_of(tmp_path, lines[place:]).warnings
    assert warning.startswith("the start of the application is missing")


def _sums(written: int) -> list[dict[str, object]]:
    told = {"executorRunTime": 1000, "shuffle.write.bytesWritten": written}
    return [{"Name": f"internal.metrics.{name}", "Value": value} for name, value in told.items()]


def told_by_rdds() -> Log:
    """The same as `chain_read_again`, of stages that tell their sums, and their RDDs what they read, as Spark's do."""
    second, last = Stage(1, rdd=3, parents=(0,), outside=(1,)), Stage(2, rdd=5, parents=(1,), outside=(3,))
    skipped, again = Stage(3, rdd=1), Stage(4, rdd=7, parents=(3,), outside=(1,))
    log = Log().start().job(0, 0, FIRST, second, last)
    log.stage(FIRST, 0, 10, written=1000, Accumulables=_sums(1000))
    log.stage(second, 10, 20, written=500, Accumulables=_sums(500)).stage(last, 20, 30).job_end(0, 30)
    return log.job(1, 50, skipped, again).stage(again, 50, 60).job_end(1, 60).end(110)


def held(run: Run) -> list[tuple[int, float, float, int]]:
    """By Spark alone and by the oracle, and by a policy with what it misses."""
    frontier = simulate(run.facts, Policy(Rule.FRONTIER, observe=False), keep_log=False)
    figures = (
        frontier.needed_peak_bytes,
        frontier.never_byte_seconds,
        frontier.needed_byte_seconds,
        frontier.premature,
    )
    return [figures, (frontier.deletions, frontier.held_byte_seconds, 0, run.ended_ms - run.started_ms)]


def test_parts_in_the_wrong_order_are_named_and_counted_at_their_times(tmp_path: Path) -> None:
    lines = told_by_rdds().lines
    expected = run_of(tmp_path, lines)
    for place in range(3, len(lines) - 1):
        found = run_of(tmp_path, [*lines[place:], *lines[:place]])
        assert found.warnings, place
        assert (found.shuffles, held(found)) == (expected.shuffles, held(expected)), place


def test_parts_that_lie_hours_apart_are_counted_at_their_times(tmp_path: Path) -> None:
    """As the shell lists rolled files: the tenth before the second."""
    log, hour_s = Log().start(), 3_600
    for number in range(12):
        first = Stage(2 * number, rdd=10 * number + 1)
        job = first, Stage(2 * number + 1, rdd=10 * number + 3, parents=(first.id,), outside=(first.rdd,))
        log.job(number, number * hour_s, *job).stage(job[0], number * hour_s, number * hour_s + 60, written=1000)
        log.stage(job[1], number * hour_s + 60, number * hour_s + 90).job_end(number, number * hour_s + 91)
    lines = log.end(12 * hour_s).lines
    of_job = len(lines[2:-1]) // 12
    parts = [lines[start : start + of_job] for start in range(4, len(lines), of_job)]
    found = run_of(tmp_path, [line for part in (lines[:4], *sorted(parts, key=_as_the_shell(parts))) for line in part])
    assert held(found) == held(run_of(tmp_path, lines))
    assert any(_DOUBT in warning for warning in found.warnings)


def _as_the_shell(parts: list[list[Line]]) -> Callable[[list[Line]], str]:
    return lambda part: str(parts.index(part) + 2)


def test_a_clock_that_was_set_back_brings_nothing_into_another_order(tmp_path: Path) -> None:
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 100, written=1000)
    run = run_of(tmp_path, log.stage(SECOND, 40, 50).job_end(0, 50).end(60).lines)
    assert [time_ms for time_ms, _ in run.facts] == sorted(time_ms for time_ms, _ in run.facts)
    assert run.ended_ms == at(100)
    [warning] = run.warnings
    assert "3 times earlier than above, by up to 1 min 00 s" in warning


def test_an_rdd_that_was_unpersisted_is_so_at_its_place_in_the_order_of_times(tmp_path: Path) -> None:
    kept, later = Stage(1, rdd=5, parents=(0,), persisted=True, outside=(1,)), Stage(2, rdd=7)
    log = Log().start().job(0, 0, FIRST, kept).stage(FIRST, 0, 10, written=1000).stage(kept, 10, 20).job_end(0, 20)
    log.event("SparkListenerUnpersistRDD", **{"RDD ID": 5}).job(1, 40, later).stage(later, 40, 50).job_end(1, 50)
    lines = log.end(110).lines
    swapped = [*lines[:2], *lines[13:], *lines[2:13]]
    assert run_of(tmp_path, swapped).facts == run_of(tmp_path, lines).facts


def test_a_stage_that_ends_behind_its_job_is_weighed(tmp_path: Path, run: Run) -> None:
    lines = chain().lines
    ends = [line for line in lines if _is("StageCompleted")(line)]
    found = run_of(tmp_path, [*(line for line in lines if line not in ends), *ends])
    assert found.shuffles == run.shuffles


def test_in_any_order_it_counts_or_it_is_told(tmp_path: Path) -> None:
    expected = run_of(tmp_path, chain_read_again().lines)
    for seed in range(300):
        lines = list(chain_read_again().lines)
        random.Random(seed).shuffle(lines)
        found = run_of(tmp_path, lines)
        assert found.warnings or (found.shuffles, found.facts) == (expected.shuffles, expected.facts), seed


def test_of_two_hours_whose_lines_stand_in_turn_all_counts_or_is_told(tmp_path: Path) -> None:
    """Each line contradicts the one before it, more often than is remembered; at the end all of them can have been."""
    early, late = (
        Log().stage(Stage(first, rdd=first), hours_s, hours_s + 1, written=1_000, tasks=MOST_WRONG).lines
        for first, hours_s in ((0, 10), (1, 7_200))
    )
    begin = Log().start().job(0, 0, Stage(0, rdd=0), Stage(1, rdd=1)).lines
    in_turn = [line for pair in zip(early, late, strict=True) for line in pair]
    ends = Log().end(7_300).job(1, 7_201, Stage(2, rdd=2)).job_end(1, 7_202).lines
    run = run_of(tmp_path, [*begin, *in_turn, *ends])
    assert (run.ended_ms, sum(one.bytes for one in run.shuffles)) == (at(7_300), 2_000)
    assert any("is not believed" in warning for warning in run.warnings), run.warnings


def test_what_ends_in_a_tail_counts_there_and_no_earlier(tmp_path: Path) -> None:
    """The head tells of the time before: a tail that began earlier than that ends would overlap it."""
    lines = chain().lines
    place = next(at for at, line in enumerate(lines) if line.get("Stage Info", {}).get("Stage ID") == SECOND.id)
    run = run_of(tmp_path, lines[place + 1 :])
    assert [(one.app_shuffle, one.bytes) for one in run.shuffles] == [(3, 500)]
    assert run.started_ms == at(20)


def test_a_tail_of_ends_of_tasks_alone_ends_with_the_last(tmp_path: Path) -> None:
    lines = list(filter(_is("TaskEnd"), chain().lines))
    run = run_of(tmp_path, lines)
    assert (run.ended_ms, run.task_ms) == (at(30), 3000)


@pytest.mark.parametrize("rest_s", [60, 20 * 3_600])
@pytest.mark.parametrize("place", [0, 7])
def test_an_end_in_the_wrong_place_is_no_damage(tmp_path: Path, place: int, rest_s: int) -> None:
    """The last of several parts holds the end alone, and stands before others: what follows contradicts nothing."""
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 10, written=1000).stage(SECOND, 7_200, 7_210)
    *lines, end = log.job_end(0, 7_210).end(7_210 + rest_s).lines
    run = run_of(tmp_path, [*lines, end])
    found = run_of(tmp_path, [*lines[:place], end, *lines[place:]])
    assert (found.ended_ms, found.facts) == (run.ended_ms, run.facts)
    assert not any("not believed" in warning for warning in found.warnings)
    assert any(_DOUBT in warning for warning in found.warnings)


@pytest.mark.parametrize("headless", [False, True])
def test_a_damaged_time_long_ago_costs_itself_where_lines_stand_in_another_order(
    tmp_path: Path, run: Run, headless: bool
) -> None:
    """The end of the first stage, by that time, stands before all else: what it wrote would not be there."""
    lines: list[dict[str, Any]] = [
        dict(line) for line in chain().lines if not (headless and _is("ApplicationStart")(line))
    ]
    begins, end = (next(line for line in lines if _is(name)(line)) for name in ("StageSubmitted", "StageCompleted"))
    end["Stage Info"] = {**end["Stage Info"], "Completion Time": 1_000}
    found = run_of(tmp_path, [*lines, begins])
    assert [time_ms for time_ms, _ in found.facts] == sorted(time_ms for time_ms, _ in found.facts)
    assert found.started_ms == found.facts[0][0] == at(0)
    assert found.shuffles == run.shuffles
    held = simulate(found.facts, Policy()).never_byte_seconds
    assert held == pytest.approx(simulate(run.facts, Policy()).never_byte_seconds, rel=0.1)


def test_of_a_log_without_its_start_the_earliest_line_is_the_start_wherever_it_stands(tmp_path: Path, run: Run) -> None:
    lines = [line for line in chain().lines if not _is("ApplicationStart")(line)]
    found = run_of(tmp_path, reversed(lines))
    assert found.started_ms == found.facts[0][0] == at(0)
    assert [time_ms for time_ms, _ in found.facts] == sorted(time_ms for time_ms, _ in found.facts)
