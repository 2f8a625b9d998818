"""Lines of the program in place of Spark's names."""

from __future__ import annotations

import concurrent.futures.thread
import threading
from dataclasses import replace
from typing import Any

import pytest

from listener_bridge.lines import Lines, is_no_line
from listener_bridge.reach.calls import PROPERTY
from listener_bridge.tap.facts import (
    ActiveJob,
    ExecutionStarted,
    Fact,
    JobEnded,
    JobStarted,
    Level,
    QueryStarted,
    ShuffleCleaned,
    Snapshot,
    StageFact,
    StageSubmitted,
)

POOL = "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"
PLUMBING = "count at NativeMethodAccessorImpl.java:0"
LINE = "count at /home/ann/etl.py:41"


class Calls:
    """Lines as a test says they are: by thread or method, and time."""

    def __init__(self, **lines: str) -> None:
        self.lines = lines
        self.asked: list[tuple[str | None, str | None, float]] = []
        self.called_back: list[bool] = []

    def __call__(self, thread: str | None, method: str | None, at_ms: float, called_back: bool) -> str:
        self.asked.append((thread, method, at_ms))
        self.called_back.append(called_back)
        if self.lines.get("fails"):
            raise FileNotFoundError
        return self.lines.get(thread or method or "", "")


def stage(stage_id: int, writes: int | None = None, name: str = POOL) -> StageFact:
    return StageFact(stage_id, 0, 2, writes, (), name, name, Level.DETERMINATE, False, (), ())


def job(number: int, *stages: StageFact, site: str = PLUMBING, thread: str | None = "t1") -> JobStarted:
    properties = {PROPERTY: thread} if thread else {}
    return JobStarted(0, number, 200, stages, None, None, None, properties, site)


def execution(description: str, site: str = "") -> ExecutionStarted:
    return ExecutionStarted(0, 7, description, site, 200, False)


def lines_of(fact: Any) -> list[str]:
    stages = fact.stages if isinstance(fact, (JobStarted, ActiveJob)) else (fact.stage,)
    return [one.line for one in stages]


def named(lines: Lines, fact: Fact) -> Any:
    (found,) = lines.named([fact])
    return found


def test_a_job_and_what_it_writes_first_are_called_by_the_line_of_its_thread() -> None:
    calls = Calls(t1=LINE)
    lines = Lines(calls)
    found = named(lines, job(1, stage(0, writes=5), stage(1)))
    assert (found.call_site, lines_of(found)) == (LINE, [LINE, LINE])
    assert [one.name for one in found.stages] == [POOL, POOL], "Spark's own name stays beside it"
    assert calls.asked == [("t1", None, 200)]
    assert lines_of(named(lines, StageSubmitted(0, 210, stage(0, writes=5)))) == [LINE]


def test_an_app_shuffle_keeps_its_first_line() -> None:
    lines = Lines(Calls(t1=LINE, t2="show at /home/ann/etl.py:50"))
    named(lines, job(1, stage(0, writes=5)))
    later = named(lines, job(2, stage(2, writes=5), stage(3), thread="t2"))
    assert lines_of(later) == [LINE, "show at /home/ann/etl.py:50"]
    named(lines, ShuffleCleaned(0, 5))
    assert lines_of(named(lines, job(3, stage(4, writes=5), thread="t2"))) == ["show at /home/ann/etl.py:50"]


def test_what_spark_calls_by_a_line_of_the_program_stays_as_it_is() -> None:
    calls = Calls(t1=LINE)
    told = job(1, stage(0, 5, "reduceByKey at /home/ann/etl.py:12"), site="collect at /home/ann/etl.py:13")
    assert named(Lines(calls), told) is told
    assert calls.asked == []


def test_the_line_that_spark_knows_of_a_job_is_that_of_its_exchanges_too() -> None:
    calls = Calls(t1=LINE)
    found = named(Lines(calls), job(1, stage(0, writes=5), site="collect at /home/ann/etl.py:13"))
    assert (found.call_site, lines_of(found)) == ("collect at /home/ann/etl.py:13", ["collect at /home/ann/etl.py:13"])
    assert calls.asked == []


def test_a_step_of_an_algorithm_keeps_its_name_beside_the_line() -> None:
    fit = "fit at /home/ann/rank.py:30"
    found = named(Lines(Calls(t1=fit)), job(1, stage(0, 5, "map at ALS.scala:1693"), site="count at ALS.scala:1050"))
    assert (found.call_site, lines_of(found)) == (
        f"{fit} (count at ALS.scala:1050)",
        [f"{fit} (map at ALS.scala:1693)"],
    )


def test_where_no_call_is_known_all_is_told_as_spark_tells_it() -> None:
    lines = Lines(Calls())
    for told in (job(1, stage(0, 5), stage(1)), job(2, stage(2), thread=None), execution(PLUMBING)):
        assert named(lines, told) == told


def test_of_a_streams_job_only_a_thread_that_the_jvm_has_called_knows_the_line() -> None:
    calls = Calls(t1=LINE)
    named(Lines(calls), replace(job(1, stage(0, 5)), is_of_stream=True))
    named(Lines(calls), job(1, stage(0, 5)))
    assert calls.called_back == [True, False]


@pytest.mark.parametrize("method", ["start", "toTable"])
def test_a_querys_jobs_are_called_by_the_line_that_has_started_it_last(method: str) -> None:
    first, again = "start at /home/ann/live.py:9", "start at /home/ann/live.py:12"
    calls = Calls(**{method: first})
    lines = Lines(calls)
    batch = replace(job(1, stage(0, 5), thread=None), is_of_stream=True, query_id="q")
    assert named(lines, batch).call_site == PLUMBING
    named(lines, QueryStarted(0, "q", 190))
    assert (None, method, 190) in calls.asked
    assert lines_of(named(lines, batch)) == [first]
    calls.lines = {method: again}
    named(lines, QueryStarted(0, "q", 290))
    assert named(lines, replace(batch, job_id=2)).call_site == again
    assert named(lines, replace(batch, query_id="another")).call_site == PLUMBING
    calls.lines = {}
    named(lines, QueryStarted(0, "q", 390))
    assert named(lines, replace(batch, job_id=3)).call_site == PLUMBING, "where it runs now nobody knows"


def test_where_a_query_s_batch_calls_the_program_that_line_goes_before() -> None:
    lines = Lines(Calls(start="start at /home/ann/live.py:9", t1=LINE))
    named(lines, QueryStarted(0, "q", 190))
    assert named(lines, replace(job(1, stage(0, 5)), is_of_stream=True, query_id="q")).call_site == LINE


def test_where_the_line_cannot_be_told_the_fact_is() -> None:
    lines = Lines(Calls(fails="now"))
    told: list[Fact] = [job(1, stage(0, 5)), execution(PLUMBING), ShuffleCleaned(0, 5)]
    assert lines.named(told) == told


def test_an_execution_is_called_by_the_line_that_calls_the_method_it_is_named_after() -> None:
    calls = Calls(count=LINE)
    assert named(Lines(calls), execution(PLUMBING)).description == LINE
    assert calls.asked == [(None, "count", 200)]


@pytest.mark.parametrize("description", ["", "nightly load", "collect at /home/ann/etl.py:13"])
def test_what_people_call_an_execution_stays(description: str) -> None:
    assert named(Lines(Calls(count=LINE)), execution(description)).description == description


def test_the_line_of_a_result_stage_goes_with_its_job() -> None:
    lines = Lines(Calls(t1=LINE))
    named(lines, job(1, stage(0, writes=5), stage(1)))
    assert lines_of(named(lines, StageSubmitted(0, 210, stage(1)))) == [LINE]
    named(lines, JobEnded(0, 1, 220, True, None))
    assert lines_of(named(lines, StageSubmitted(0, 230, stage(1)))) == [""]


def test_a_snapshot_has_the_lines_that_are_known() -> None:
    lines = Lines(Calls(t1=LINE))
    named(lines, job(1, stage(0, writes=5), stage(1)))
    active = ActiveJob(1, (stage(0, writes=5), stage(9, writes=8)), None, None, None)
    present = Snapshot("m", (), (stage(0, writes=5),), (active,))
    found = lines.snapshot(present)
    assert found == replace(
        present,
        running_stages=(replace(stage(0, writes=5), line=LINE),),
        active_jobs=(replace(active, stages=(replace(stage(0, writes=5), line=LINE), stage(9, writes=8))),),
    )


@pytest.mark.parametrize(
    ("name", "tells_nothing"),
    [
        (PLUMBING, True),
        (POOL, True),
        ("flatMap at ALS.scala:1782", True),
        ("call at /opt/venv/site-packages/py4j/clientserver.py:644", True),
        ("count at <unknown>:0", True),
        (f"copy_local_properties at {threading.__file__}:982", True),
        (f"wrapped at {concurrent.futures.thread.__file__}:58", True),
        ("", True),
        (LINE, False),
        ("main at /opt/venv/lib/python3.11/site-packages/their/job.py:5", False),
        ("collect at <stdin>:1", False),
        ("nightly load", False),
    ],
)
def test_which_names_tell_nothing_of_the_program(name: str, tells_nothing: bool) -> None:
    assert is_no_line(name) == tells_nothing
