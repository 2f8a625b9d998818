"""Advice on small logs whose figures are worked out by hand, and the report of several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.values import Policy
from replay.advise import drawing, judging, page, rows
from replay.advise.advice import DELAYED, EAGER, FRONTIER, ORACLE, SPARK, Advice, ShuffleAdvice, Verdict
from replay.advise.judging import Judge
from replay.advise.report import Report, put_together
from replay.advise.wording import say
from replay.history.finding import Log as Found
from replay.history.finding import Part
from replay.history.gathering import Read, Refused, batches
from replay.history.reading import read
from replay.history.run import Run
from replay.simulate import Fact, Outcome, Timed, simulate, simulate_all
from tests.support.history_logs import FIRST, LAST, SECOND, Log, Stage, at, chain, chain_read_again

#: A deletion takes the simulated driver this long at most.
PACE_S = 1.0


def run_of(log: Log, folder: Path) -> Run:
    path = log.write(folder / "log")
    return read(Found("log", (Part(str(path), path.stat().st_size),)))


def heavy(log: Log) -> Log:
    """The same with a billion times the bytes, so that it is worth talking about."""
    for line in log.lines:
        written = line.get("Task Metrics", {}).get("Shuffle Write Metrics")
        if written:
            written["Shuffle Bytes Written"] *= 10**9
    return log


@pytest.fixture
def advice(tmp_path: Path) -> Advice:
    return Judge()(run_of(chain(), tmp_path))


def test_what_spark_and_the_oracle_hold(advice: Advice) -> None:
    """1,000 bytes from 10 s and 500 from 20 s: to the end at 110 s, or until they were read at 20 s and at 30 s.

    At 20 s, when the stage ends that reads the ones and writes the others, both are there.
    """
    spark, oracle = advice.of(SPARK), advice.of(ORACLE)
    assert (spark.byte_seconds, spark.peak_bytes) == (1000 * 100 + 500 * 90, 1500)
    assert (oracle.byte_seconds, oracle.peak_bytes) == (1000 * 10 + 500 * 10, 1500)
    assert advice.possible_byte_seconds == 145_000 - 15_000


def test_what_the_rules_hold(advice: Advice) -> None:
    """What only a result stage read, outside SQL, stays under all of them; `delayed` lets the first go at 80 s."""
    for rule, seconds in ((FRONTIER, 10), (EAGER, 10), (DELAYED, 70)):
        figures = advice.of(rule)
        expected = 1000 * seconds + 500 * 90
        assert expected <= figures.byte_seconds <= expected + 1000 * PACE_S, rule
        assert (figures.deletions, figures.missed) == (1, 0), rule


def test_what_is_said_of_each_shuffle(advice: Advice) -> None:
    assert advice.shuffles == (
        ShuffleAdvice(1, "map at job.scala:7", 2, 1000, 1.0, at(10), at(20), 1, 90_000, 90_000.0),
        ShuffleAdvice(3, "map at job.scala:7", 2, 500, 1.0, at(20), at(30), 1, 80_000, 40_000.0),
    )


def test_what_is_read_again_was_deleted_too_early(tmp_path: Path) -> None:
    advice = Judge()(run_of(chain_read_again(), tmp_path))
    for rule in (FRONTIER, EAGER):
        figures = advice.of(rule)
        assert (figures.missed, figures.recomputed_bytes, figures.recomputed_task_seconds) == (1, 1000, 1.0), rule
    assert advice.of(DELAYED).missed == 0
    assert advice.shuffles[0].too_early == (FRONTIER, EAGER)
    assert advice.shuffles[0].reads == 2
    assert advice.of(ORACLE).byte_seconds == 1000 * 50 + 500 * 10


def test_what_a_failed_attempt_wrote_is_held_from_its_end_on(tmp_path: Path) -> None:
    """900 bytes from 10 s, the other 100 from 40 s, read until 50 s; the application ends at 110 s."""
    first, reader = Stage(0, rdd=1, tasks=10), Stage(1, rdd=3, parents=(0,))
    log = Log().start().job(0, 0, first, reader).stage(first, 0, 10, 1000, failure="FetchFailed", ends=9)
    log.stage(first, 30, 40, 100, attempt=1, tasks=1).stage(reader, 40, 50).job_end(0, 50).end(110)
    advice = Judge()(run_of(log, tmp_path))
    spark, oracle = advice.of(SPARK), advice.of(ORACLE)
    assert (spark.byte_seconds, spark.peak_bytes) == (900 * 100 + 100 * 70, 1000)
    assert (oracle.byte_seconds, oracle.peak_bytes) == (900 * 40 + 100 * 10, 1000)


def test_what_tasks_of_a_failed_attempt_wrote_behind_its_end_is_there_too(tmp_path: Path) -> None:
    """Of four outputs of 100 bytes the first attempt wrote one in its time and two behind it, one for nothing."""
    first, reader = Stage(0, rdd=1, tasks=4), Stage(1, rdd=3, parents=(0,))
    log = Log().start().job(0, 0, first, reader).stage(first, 0, 10, 400, failure="FetchFailed", ends=1)
    log.task(0, 15, 100, 0, True, 1).stage(first, 16, 20, 200, attempt=1, tasks=2)
    log.lines[-1:-1] = Log().task(0, 18, 100, 0, True, 2).lines
    log.stage(reader, 20, 30).job_end(0, 30).end(110)
    advice = Judge()(run_of(log, tmp_path))
    assert advice.written_bytes == 400
    assert advice.of(SPARK).byte_seconds == 100 * 100 + 300 * 90


def test_what_a_failed_job_has_left_is_held(tmp_path: Path) -> None:
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 10, 1000, failure="no space", ends=1)
    advice = Judge()(run_of(log.job_end(0, 10).end(110), tmp_path))
    assert advice.of(SPARK).byte_seconds == 500 * 100
    assert advice.written_bytes == 500


def test_what_a_stage_read_that_failed_for_good_was_needed_until_then(tmp_path: Path) -> None:
    """1,000 bytes from 10 s, read until 60 s, when the reader's job is given up; the application ends at 110 s."""
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 10, 1000)
    log.stage(SECOND, 10, 60, 0, failure="a task was given up", ends=1).job_end(0, 60)
    advice = Judge()(run_of(log.end(110), tmp_path))
    assert advice.of(ORACLE).byte_seconds == 1000 * 50
    assert [(one.reads, one.last_read_ms, one.idle_ms) for one in advice.shuffles if one.bytes] == [(1, at(60), 50_000)]


def test_what_still_runs_holds_until_the_last_event_what_it_reads_and_what_it_does_not(tmp_path: Path) -> None:
    """1,000 bytes from 10 s, 500 from 20 s; a stage reads these when the log stops, at 60 s, with the end of a task."""
    log = Log().start().job(0, 0, FIRST, SECOND, LAST).stage(FIRST, 0, 10, 1_000).stage(SECOND, 10, 20, 500)
    log.event("SparkListenerStageSubmitted", **{"Stage Info": LAST.info(**{"Submission Time": at(21)})})
    advice = Judge()(run_of(log.task(LAST.id, 60, 0, 0, False, 0), tmp_path))
    assert (advice.ended, advice.ended_ms) == (False, at(60))
    assert advice.of(SPARK).byte_seconds == 1_000 * 50 + 500 * 40
    assert advice.of(ORACLE).byte_seconds == 1_000 * 10 + 500 * 40
    assert [shuffle.idle_byte_seconds for shuffle in advice.shuffles] == [1_000 * 40, 0]


def test_what_was_running_in_a_job_that_is_over_holds_nothing(tmp_path: Path) -> None:
    """The line that says that it has ended may be missing."""
    log = Log().start().job(0, 0, FIRST, SECOND, LAST).stage(FIRST, 0, 10, 1_000).stage(SECOND, 10, 20, 500)
    log.event("SparkListenerStageSubmitted", **{"Stage Info": LAST.info(**{"Submission Time": at(21)})})
    advice = Judge()(run_of(log.job_end(0, 25).task(LAST.id, 60, 0, 0, False, 0), tmp_path))
    assert advice.of(ORACLE).byte_seconds == 1_000 * 10
    assert [shuffle.idle_byte_seconds for shuffle in advice.shuffles] == [1_000 * 40, 500 * 40]


def test_what_is_written_again_is_what_all_attempts_wrote(tmp_path: Path) -> None:
    log = chain_read_again()
    place = next(index for index, line in enumerate(log.lines) if "Stage Info" in line)
    parts = Log().stage(FIRST, 0, 5, 1000, failure="FetchFailed", ends=1).stage(FIRST, 5, 10, 500, attempt=1, tasks=1)
    log.lines[place : place + 4] = parts.lines
    for rule in (FRONTIER, EAGER):
        figures = Judge()(run_of(log, tmp_path)).of(rule)
        assert (figures.missed, figures.recomputed_bytes) == (1, 1000), rule


def test_only_rules_that_delete_are_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there at a time is looked at again and again: to hold everything costs the square of it."""
    tried: list[Policy] = []

    def remembering(facts: Iterable[Fact | Timed], policies: Iterable[Policy | None], **more: Any) -> list[Outcome]:
        chosen = list(policies)
        tried.extend(policy for policy in chosen if policy is not None)
        return simulate_all(facts, chosen, **more)

    monkeypatch.setattr(judging, "simulate_all", remembering)
    Judge()(run_of(chain(), tmp_path))
    assert [policy.observe for policy in tried] == [False] * 3


@pytest.mark.parametrize("log", [chain, chain_read_again])
def test_when_a_shuffle_was_written_and_read_is_what_a_run_without_deletions_tells(
    tmp_path: Path, log: Callable[[], Log]
) -> None:
    run = run_of(log(), tmp_path)
    lives = {life.app_shuffle: (life.written_ms, life.last_read_ms) for life in simulate(run.facts, Policy()).lives}
    assert {one.app_shuffle: (one.written_ms, one.last_read_ms) for one in Judge()(run).shuffles} == lives


def test_a_longer_grace_holds_longer(tmp_path: Path) -> None:
    run = run_of(chain(), tmp_path)
    assert Judge(1_000)(run).of(DELAYED).byte_seconds < Judge(30_000)(run).of(DELAYED).byte_seconds


# ---- what is recommended ---------------------------------------------------------------------------------------------


def test_little_is_left_as_it_is(advice: Advice) -> None:
    assert advice.verdict is Verdict.LEAVE
    assert "There is little to give back" in advice.reason
    assert advice.gain_byte_seconds == 0


def test_a_jvm_program_gets_the_cheapest_guess_that_helps(tmp_path: Path) -> None:
    advice = Judge()(run_of(heavy(chain()), tmp_path))
    assert advice.verdict is Verdict.FRONTIER
    assert "Nothing would have been deleted too early" in advice.reason
    assert advice.gain_byte_seconds == pytest.approx(90_000 * 1e9, rel=0.02)


def test_a_guess_that_costs_too_much_is_not_recommended(tmp_path: Path) -> None:
    """1 s of 3.5 s of work would be done again under `frontier`; `delayed` is still holding it when it is read."""
    advice = Judge()(run_of(heavy(chain_read_again()), tmp_path))
    assert advice.verdict not in (Verdict.FRONTIER, Verdict.EAGER)


def test_what_a_guess_would_have_cost_is_a_whole_sentence(tmp_path: Path) -> None:
    said = Judge(grace_ms=1)(run_of(heavy(chain_read_again()), tmp_path))
    assert said.verdict is Verdict.OBSERVE
    assert "every guess deletes too early: `frontier` would have deleted 1 shuffle too early and written" in said.reason


def test_what_delayed_delays_is_said(tmp_path: Path) -> None:
    """The configuration's default is `reachable`, not the rule that was tried."""
    run = run_of(heavy(chain()), tmp_path)
    figures = {one.holder: one for one in Judge()(run).figures}
    for rule in (FRONTIER, EAGER):
        figures[rule] = replace(figures[rule], missed=1, recomputed_task_seconds=run.task_ms / 1000)
    said = say(run, figures, 0.0)
    assert said.verdict is Verdict.DELAYED
    assert said.reason.startswith("`delayed` (with `spark.shuffleLifecycle.delayed.rule` `eager`) would have given")


def test_pyspark_gets_the_policy_that_looks_at_names(tmp_path: Path) -> None:
    run = replace(run_of(heavy(chain_read_again()), tmp_path), is_python=True)
    advice = Judge()(run)
    assert advice.verdict is Verdict.REACHABLE
    assert "`reachable` keeps those" in advice.reason
    assert 0 <= advice.gain_byte_seconds <= advice.possible_byte_seconds == 90_000 * 1e9


def test_python_is_known_by_its_call_sites(tmp_path: Path) -> None:
    stage = Stage(0, rdd=1, name="collect at NativeMethodAccessorImpl.java:0")
    assert run_of(Log().start().job(0, 0, stage).stage(stage, 0, 1).end(2), tmp_path).is_python
    assert not run_of(chain(), tmp_path).is_python


def test_without_readers_nothing_is_recommended(tmp_path: Path) -> None:
    run = replace(run_of(heavy(chain()), tmp_path), readers_known=False)
    assert Judge()(run).verdict is Verdict.UNKNOWN


def test_without_shuffles_there_is_nothing_to_do(tmp_path: Path) -> None:
    advice = Judge()(run_of(Log().start().end(10), tmp_path))
    assert (advice.verdict, advice.shuffles) == (Verdict.LEAVE, ())


def test_every_reason_is_one_that_a_person_can_read(advice: Advice) -> None:
    figures = {one.holder: one for one in advice.figures}
    said = say(Run("a", shuffles=(), facts=()), figures, 0.0)
    assert said.reason.endswith(".")


# ---- the report ------------------------------------------------------------------------------------------------------


def report_of(*advices: Advice, refused: tuple[Refused, ...] = ()) -> Report:
    return put_together([Read(advice.place, advice) for advice in advices], refused)


def test_who_gives_back_most_comes_first(advice: Advice) -> None:
    named = [replace(advice, application_id=f"app-{n}", gain_byte_seconds=float(n)) for n in (3, 9, 5)]
    assert [one.application_id for one in report_of(*named).advices] == ["app-9", "app-5", "app-3"]


def test_the_headline_counts_who_would_gain(advice: Advice) -> None:
    gains = {"gain_byte_seconds": 3.6e15, "possible_byte_seconds": 7.2e15, "verdict": Verdict.FRONTIER}
    givers = [replace(advice, application_id=f"giver-{n}", **gains) for n in range(2)]  # type: ignore[arg-type]
    assert report_of(advice, *givers).headline == (
        "These 2 applications would give back 2.0 TB-hours at least, 4.0 TB-hours at most."
    )
    assert "This application would not give back enough" in report_of(advice).headline


def test_what_could_not_be_read_is_in_it(advice: Advice) -> None:
    found: list[Read[Advice]] = [Read(advice.place, advice), Read("/logs/x", None, "it is empty")]
    assert put_together(found).refused == (Refused("/logs/x", "it is empty"),)


def test_rows_hold_plain_values_only(advice: Advice) -> None:
    flat = rows.flat(advice)
    assert flat["oracle_byte_seconds"] == 15_000
    assert {type(value) for value in flat.values()} <= {str, int, float, bool}
    assert rows.report(report_of(advice))["applications"][0]["figures"][0]["holder"] == "spark"


def test_large_logs_have_a_task_of_their_own() -> None:
    logs = [Found(str(n), (Part(f"/{n}", size),)) for n, size in enumerate((10, 64 << 20, 20, 30))]
    assert [[log.name for log in batch] for batch in batches(logs)] == [["1"], ["3", "2", "0"]]


# ---- the page --------------------------------------------------------------------------------------------------------


class Balanced(HTMLParser):
    """Every element that is opened is closed, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(advice: Advice) -> None:
    text = page.page(report_of(advice, refused=(Refused("/logs/x", "it is empty"),)))
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert all(link.startswith("#") for link in parser.links)
    assert "http" not in text
    assert "it is empty" in text


def test_what_a_log_says_cannot_change_the_page(advice: Advice) -> None:
    bad = "<script>alert(1)</script>"
    shuffle = replace(advice.shuffles[0], call_site=bad)
    named = replace(advice, name=bad, user=bad, warnings=(bad,), place=bad, shuffles=(shuffle,), spark_version=bad)
    assert bad not in page.page(report_of(named, refused=(Refused(bad, bad),)))


def test_the_page_stays_small(advice: Advice) -> None:
    many = replace(advice, shuffles=advice.shuffles * 100)
    advices = [replace(many, application_id=f"app-{n}") for n in range(3_000)]
    assert len(page.page(report_of(*advices))) < 20_000_000


def test_bars_are_on_paper_too(advice: Advice) -> None:
    """Browsers leave backgrounds out where a page does not ask for them, and bars are nothing else."""
    assert "print-color-adjust: exact" in page.page(report_of(advice)).split("</style>")[0]


def test_paper_is_not_scrolled(advice: Advice) -> None:
    """A table that scrolls on a screen is cut on paper: what is too early, and the advice, were not there."""
    on_paper = page.page(report_of(advice)).split("</style>")[0].rpartition("@media print")[2]
    assert ".wide { overflow-x: visible; }" in on_paper


def test_an_empty_report_is_a_page() -> None:
    assert "No application was found." in page.page(report_of())


def test_what_a_stage_read_and_what_it_wrote_are_drawn_together(advice: Advice) -> None:
    """1,500 bytes are needed at 20 s: the line of what is needed comes as high as that of what is held."""
    held, needed = re.findall(r'class="(?:held|needed)" d="([^"]*)"', drawing.areas(advice))
    tops = [min(float(y) for y in re.findall(r",([\d.]+)", path)) for path in (held, needed)]
    assert tops[0] == tops[1]


def test_drawings_are_bounded(advice: Advice) -> None:
    one = advice.shuffles[0]
    shuffles = tuple(replace(one, app_shuffle=n, written_ms=at(n / 100)) for n in range(5_000))
    many = replace(advice, shuffles=shuffles)
    assert drawing.bars(many).count("<g>") == drawing.MOST_BARS
    assert len(drawing.areas(many)) < 60_000
