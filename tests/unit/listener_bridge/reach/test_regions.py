"""Regions: jobs laid to calls under way, from facts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from listener_bridge.reach.actions import reads_again
from listener_bridge.reach.calls import PROPERTY
from listener_bridge.reach.regions import CROWD, Regions
from listener_bridge.reach.slots import Call
from listener_bridge.tap.facts import (
    ExecutionEnded,
    ExecutionStarted,
    JobEnded,
    JobStarted,
    KnownShuffle,
    Level,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
    StageFact,
    StageSubmitted,
)


@dataclass
class FakeCalls:
    """Calls as a test says they are."""

    now: list[Call] = field(default_factory=list)
    returned: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=lambda: {"fit"})  #: Of those.

    def under_way(self) -> tuple[Call, ...]:
        return tuple(self.now)

    def of_thread(self, thread: str | None, at_ms: float, tolerance_ms: float) -> tuple[Call, ...] | None:
        mine = tuple(call for call in self.now if call.thread == thread and call.started_ms <= at_ms + tolerance_ms)
        return mine or (() if thread in self.returned else None)

    def methods_of(self, thread: str | None, at_ms: float, tolerance_ms: float) -> frozenset[str]:
        return frozenset(self.methods if thread in self.returned else ())


def call(
    number: int, method: str = "fit", thread: str = "t1", started_ms: float = 100.0, in_steps: bool = False
) -> Call:
    return Call(number, thread, 0, started_ms, "o7", method, in_steps=in_steps)


def stage(stage_id: int, writes: int | None = None, *parents: int) -> StageFact:
    return StageFact(stage_id, 0, 2, writes, parents, "", "", Level.DETERMINATE, False, (), ())


def job(
    job_id: int, *stages: StageFact, thread: str | None = "t1", at_ms: int = 200, execution: int | None = None
) -> Any:
    properties = {PROPERTY: thread} if thread else {}
    return JobStarted(0, job_id, 200, stages, None, execution, None, properties)


def submitted(what: StageFact) -> StageSubmitted:
    return StageSubmitted(0, 200, what)


def completed(what: StageFact) -> StageCompleted:
    return StageCompleted(0, 200, what, None, 0, 0, 0, 0)


def exchange(job_id: int, *stages: StageFact, thread: str | None = "t1", execution: int | None = None) -> JobStarted:
    """A job that ends with a map stage."""
    properties = {PROPERTY: thread} if thread else {}
    return JobStarted(0, job_id, 200, stages, stages[-1].stage_id, execution, None, properties)


A, B, RESULT = stage(0, 10), stage(1, 11, 0), stage(2, None, 1)


def heard(calls: FakeCalls, *facts: Any) -> Regions:
    regions = Regions(calls)  # type: ignore[arg-type]
    for fact in facts:
        regions.hear(fact)
    return regions


def wrote(regions: Regions) -> dict[str, set[int]]:
    return {region.region: set(region.wrote) for region in regions.read()}


def test_what_a_fit_writes_is_its_until_it_returns() -> None:
    calls = FakeCalls([call(1)])
    regions = heard(calls, job(0, A, B, RESULT), submitted(A), completed(A), submitted(B))
    assert wrote(regions) == {"call-1": {10, 11}}
    regions.hear(JobEnded(0, 0, 300, True, None))
    assert wrote(regions) == {"call-1": {10, 11}}
    calls.now.clear()
    assert regions.read() == ()


def test_a_call_that_begins_while_a_look_asks_for_them_keeps_what_its_first_job_wrote() -> None:
    regions: Regions

    class Meanwhile(FakeCalls):
        def under_way(self) -> tuple[Call, ...]:
            found = super().under_way()
            if not self.now:
                self.now.append(call(1))
                for fact in (job(0, A), submitted(A), completed(A)):
                    regions.hear(fact)
            return found

    regions = Regions(Meanwhile())  # type: ignore[arg-type]
    regions.read()
    regions.hear(job(1, A, B, RESULT))
    regions.hear(submitted(B))
    assert wrote(regions) == {"call-1": {10, 11}}


def test_calls_that_have_returned_are_forgotten_though_nobody_looks() -> None:
    calls = FakeCalls()
    regions = heard(calls)
    for number in range(10 * CROWD):
        calls.now[:] = [call(number)]
        regions.hear(job(number, RESULT))
        regions.hear(JobEnded(0, number, 300, True, None))
    assert len(regions._open) <= CROWD


def test_a_stage_that_is_skipped_was_not_written_by_it() -> None:
    assert wrote(heard(FakeCalls([call(1)]), job(0, A, B, RESULT), submitted(B))) == {"call-1": {11}}


def test_a_stage_that_runs_already_counts() -> None:
    calls = FakeCalls([call(1, "count", "t2"), call(2)])
    regions = heard(calls, job(0, A, RESULT, thread="t2"), submitted(A), job(1, A, B, RESULT))
    assert wrote(regions) == {"call-2": {10}}


def test_other_threads_shuffles_are_not_held() -> None:
    calls = FakeCalls([call(1), call(2, "collectAndServe", "t2")])
    regions = heard(calls, job(0, A, RESULT, thread="t2"), submitted(A), job(1, B, RESULT), submitted(B))
    assert wrote(regions) == {"call-1": {11}}


def test_a_job_of_a_call_that_has_returned_is_nobodys() -> None:
    calls = FakeCalls([call(1)], returned={"t2"})
    assert wrote(heard(calls, job(0, A, RESULT, thread="t2"), submitted(A))) == {}


@pytest.mark.parametrize("thread", [None, "t9"])
def test_a_job_that_nobody_claims_is_of_every_call_that_began_before(thread: str | None) -> None:
    calls = FakeCalls([call(1), call(2, thread="t2"), call(3, thread="t3", started_ms=500.0), call(4, "count", "t4")])
    assert wrote(heard(calls, job(0, A, RESULT, thread=thread), submitted(A))) == {"call-1": {10}, "call-2": {10}}


@pytest.mark.parametrize(
    ("thread", "others_began_ms", "wanted"),
    [("t1", 100.0, {"call-1", "call-2"}), ("t1", 9000.0, {"call-1"}), (None, 9000.0, {"call-1", "call-2"})],
)
def test_a_call_keeps_its_jobs_when_the_clock_is_set_back(
    thread: str | None, others_began_ms: float, wanted: set[str]
) -> None:
    calls = FakeCalls([call(1, started_ms=9000.0), call(2, thread="t2", started_ms=others_began_ms)])
    assert wrote(heard(calls, job(0, A, RESULT, thread=thread), submitted(A))).keys() == wanted


def test_one_action_is_no_region() -> None:
    assert heard(FakeCalls([call(1, "collectAndServe")]), job(0, A, RESULT), submitted(A)).read() == ()
    assert heard(FakeCalls([call(1, "collectToPython")]), job(0, A, RESULT, execution=3), submitted(A)).read() == ()


def test_an_adaptive_plan_without_an_execution_is_one() -> None:
    facts = (job(0, A), submitted(A), completed(A), job(1, A, B), submitted(B))
    assert wrote(heard(FakeCalls([call(1, "javaToPython")]), *facts)) == {"call-1": {10, 11}}


def test_a_command_is_one_only_beside_its_executions() -> None:
    calls = FakeCalls([call(1, "sql")])
    assert wrote(heard(calls, job(0, A, RESULT, execution=3), submitted(A))) == {}
    assert wrote(heard(calls, job(0, A, RESULT), submitted(A))) == {"call-1": {10}}


def test_executions_inside_a_fit_count() -> None:
    assert wrote(heard(FakeCalls([call(1)]), job(0, A, RESULT, execution=3), submitted(A))) == {"call-1": {10}}


def test_a_fit_inside_another_call_belongs_to_both() -> None:
    calls = FakeCalls([call(1, "outer"), call(2, "fit")])
    assert wrote(heard(calls, job(0, A, RESULT), submitted(A))) == {"call-1": {10}, "call-2": {10}}


def test_after_a_gap_everything_may_be_theirs() -> None:
    regions = Regions(FakeCalls([call(1), call(2, "count", "t2")]))  # type: ignore[arg-type]
    regions.resync(Snapshot("m", (KnownShuffle(5, 1, 1), KnownShuffle(6, 0, 2)), (), ()))
    assert wrote(regions) == {"call-1": {5, 6}}


def test_what_a_script_reads_bit_by_bit_is_its_until_it_returns() -> None:
    calls = FakeCalls([call(1, "sql", in_steps=True)])
    assert wrote(heard(calls, job(0, A, RESULT, execution=3), submitted(A))) == {"call-1": {10}}


def test_a_name_where_no_frame_is_known() -> None:
    (region,) = heard(FakeCalls([call(1, "trainALSModel")]), job(0, A, RESULT)).read()
    assert region.name == "`trainALSModel`"


def test_calls_that_are_known_read_nothing_again_and_all_others_may() -> None:
    assert reads_again("fit", in_execution=True)
    assert reads_again("", in_execution=False)
    assert not reads_again("collectAndServe", in_execution=False)
    assert not reads_again("save", in_execution=True)
    assert reads_again("save", in_execution=False)
    assert not reads_again("localCheckpoint", in_execution=True, at_once=True)
    assert reads_again("localCheckpoint", in_execution=True)
    assert reads_again("fit", in_execution=True, at_once=True)


def run(last: JobStarted, *facts: Any) -> tuple[Any, ...]:
    """A job whose last stage is written."""
    written = last.stages[-1]
    return (last, submitted(written), completed(written), JobEnded(0, last.job_id, 300, True, None), *facts)


@pytest.mark.parametrize("now", [[], [call(1, "collectToPython")], [call(1, "collectToPython", "t2")]])
def test_what_a_plan_wrote_that_no_call_runs_stays_until_spark_lets_go(now: list[Call]) -> None:
    regions = heard(FakeCalls(now), *run(exchange(0, A)))
    assert wrote(regions) == {"plans": {10}}
    for fact in run(exchange(1, A, B)):
        regions.hear(fact)
    assert wrote(regions) == {"plans": {10, 11}}
    regions.hear(ShuffleCleaned(0, 10))
    assert wrote(regions) == {"plans": {11}}
    regions.resync(Snapshot("", (), (), ()))
    assert regions.read() == ()


@pytest.mark.parametrize("now", [[call(1)], []])
def test_what_a_plan_wrote_that_a_call_may_run_stays_until_it_is_read(now: list[Call]) -> None:
    """It may be another's all the same, of a thread that has the caller's properties."""
    calls = FakeCalls(now, returned=set() if now else {"t1"})
    regions = heard(calls, *run(exchange(0, A)), *run(exchange(1, A, B)))
    calls.now.clear()
    assert wrote(regions) == {"plans": {11}}
    reader = stage(5, None, 4)
    for fact in (job(2, stage(3, 10), stage(4, 11, 3), reader), submitted(reader)):
        regions.hear(fact)
    regions.hear(StageCompleted(0, 200, reader, "failed", 0, 0, 0, 0))
    assert wrote(regions) == {"plans": {11}}
    regions.hear(completed(reader))
    assert regions.read() == ()


def test_who_has_read_it_may_have_been_missed() -> None:
    regions = heard(FakeCalls(returned={"t1"}), *run(exchange(0, A)))
    regions.resync(Snapshot("", (KnownShuffle(10, 2, 2),), (), ()))
    reader = stage(5, None, 4)
    for fact in (job(2, stage(4, 10), reader), submitted(reader), completed(reader)):
        regions.hear(fact)
    assert wrote(regions) == {"plans": {10}}
    regions.hear(ShuffleCleaned(0, 10))
    assert regions.read() == ()


def test_a_plan_of_an_execution_is_looked_at_as_long_as_that_runs() -> None:
    calls, plan = FakeCalls([call(1, "sql")]), run(exchange(0, A, execution=4))
    begun, ended = ExecutionStarted(0, 4, "", "", 100, False), ExecutionEnded(0, 4, False, 150)
    assert wrote(heard(calls, *plan)) == {}, "it runs a job before it is told of"
    assert wrote(heard(calls, begun, *plan)) == {}
    assert wrote(heard(calls, begun, ended, *plan)) == {"call-1": {10}, "plans": {10}}
    assert wrote(heard(FakeCalls(), begun, ended, *plan)) == {"plans": {10}}


def test_executions_that_run_already_are_known_from_the_snapshot() -> None:
    regions = Regions(FakeCalls())  # type: ignore[arg-type]
    regions.resync(Snapshot("", (), (), (), frozenset({4, 6})))
    for fact in run(exchange(0, A, execution=4)):
        regions.hear(fact)
    assert regions.read() == ()
    for fact in run(exchange(1, A, B, execution=5)):
        regions.hear(fact)
    assert wrote(regions) == {"plans": {11}}


@pytest.mark.parametrize("method", ["start", "awaitTermination"])
def test_what_a_streaming_query_runs_outside_its_batches_stays(method: str) -> None:
    numbered = replace(job(0, A, stage(2, None, 0)), query_id="q", is_of_stream=True)
    calls = FakeCalls([call(1, method)])
    regions = heard(calls, numbered, submitted(A), completed(A), completed(stage(2, None, 0)))
    calls.now.clear()
    assert wrote(regions) == {"plans": {10}}
    batch = replace(job(1, B, RESULT, execution=3), query_id="q", is_of_stream=True)
    for fact in (ExecutionStarted(0, 3, "", "", 100, False), batch, submitted(B)):
        regions.hear(fact)
    assert wrote(regions) == {"plans": {10}}
