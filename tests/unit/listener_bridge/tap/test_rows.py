"""The tap's rows, read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from listener_bridge.tap import facts, rows

STAGE: dict[str, Any] = {
    "id": 4, "attempt": 1, "tasks": 6, "writes": 2, "parents": [3], "name": "reduceByKey at job.py:7",
    "site": "org.apache.spark.rdd.RDD", "level": "UNORDERED", "barrier": False, "rdds": [9, 8], "cached": [8],
}  # fmt: skip
STAGE_FACT = facts.StageFact(
    4, 1, 6, 2, (3,), "reduceByKey at job.py:7", "org.apache.spark.rdd.RDD", facts.Level.UNORDERED, False, (9, 8), (8,)
)
ABOUT = {
    "execution": 5,
    "group": "nightly",
    "callSite": None,
    "stream": True,
    "query": "9b4f",
    "properties": {"spark.shuffleLifecycle.policy": "eager"},
}


def stage(stage_id: int, parents: list[int], writes: int = -1) -> dict[str, Any]:
    return {**STAGE, "id": stage_id, "parents": parents, "writes": writes, "name": f"stage {stage_id}"}


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ({"e": "jobEnded", "job": 1, "time": 9, "succeeded": True, "reason": ""}, facts.JobEnded(0, 1, 9, True, "")),
        ({"e": "queryStarted", "query": "9b4f", "time": 9}, facts.QueryStarted(0, "9b4f", 9)),
        ({"e": "stageSubmitted", "time": 9, "stage": STAGE}, facts.StageSubmitted(0, 9, STAGE_FACT)),
        (
            {"e": "stageSubmitted", "time": 9, "stage": {**STAGE, "direct": [6, 7]}},
            facts.StageSubmitted(0, 9, replace(STAGE_FACT, direct_rdd_ids=(6, 7))),
        ),
        (
            {"e": "stageCompleted", "time": 9, "stage": STAGE, "failure": None, "written": 1, "read": 2, "outBytes": 3,
             "outRecords": 4, "taskMs": 5},
            facts.StageCompleted(0, 9, STAGE_FACT, None, 1, 2, 3, 4, 5),
        ),
        (
            {"e": "mixed", "shuffle": 2, "job": 7, "stage": 4, "delivered": 1, "partitions": 4, "late": False,
             "failed": True},
            facts.GenerationsMixed(0, 2, 7, 4, 1, 4, late=False, failed=True),
        ),
        ({"e": "differs", "shuffle": 2}, facts.ResultsMayDiffer(0, 2)),
        (
            {"e": "fetchFailed", "stage": 4, "attempt": 0, "shuffle": 2, "map": -1, "reduce": 5, "executor": None},
            facts.FetchFailed(0, 4, 0, 2, None, 5, None),
        ),
        (
            {"e": "executorRemoved", "executor": "1", "reason": "gone", "time": 9},
            facts.ExecutorRemoved(0, "1", "gone", 9),
        ),
        ({"e": "outputs", "shuffle": 2, "available": 3, "total": 6}, facts.OutputsChanged(0, 2, 3, 6)),
        (
            {"e": "executionStarted", "execution": 5, "time": 9, "description": "d", "site": "s", "writes": True},
            facts.ExecutionStarted(0, 5, "d", "s", 9, True),
        ),
        ({"e": "executionEnded", "execution": 5, "time": 9, "failed": False}, facts.ExecutionEnded(0, 5, False, 9)),
        ({"e": "blocksGone", "executor": "1", "rdds": [3, 8]}, facts.BlocksGone(0, "1", (3, 8))),
        ({"e": "unpersisted", "rdd": 8}, facts.RddUnpersisted(0, 8)),
        ({"e": "cleaned", "shuffle": 2}, facts.ShuffleCleaned(0, 2)),
        ({"e": "marker", "name": "m", "payload": None}, facts.MarkerPassed(0, "m", "")),
        ({"e": "dropped", "count": 7, "where": "bus"}, facts.EventsDropped(0, 7, "bus")),
        ({"e": "applicationEnded", "time": 9}, facts.ApplicationEnded(0, 9)),
    ],
)  # fmt: skip
def test_a_row_of_each_kind_is_its_fact(row: dict[str, Any], fact: facts.Fact) -> None:
    assert rows.parse(json.dumps({"seq": 0, **row}), 0) == (fact,)


def test_a_job_knows_its_result_stage_and_takes_its_name_where_there_is_no_call_site() -> None:
    stages = [stage(2, [1], 1), stage(3, [1, 2]), stage(1, [], 0)]
    row = {"seq": 0, "e": "jobStarted", "job": 1, "time": 9, "stages": stages, "about": ABOUT}
    (job,) = rows.parse(json.dumps(row), 0)
    assert isinstance(job, facts.JobStarted)
    assert (job.result_stage_id, job.call_site, job.is_of_stream, job.query_id) == (3, "stage 3", True, "9b4f")
    assert (job.execution_id, job.group, job.properties) == (5, "nightly", ABOUT["properties"])


def test_the_final_stage_of_a_map_stage_job_is_the_map_stage() -> None:
    row = {"seq": 0, "e": "jobStarted", "job": 1, "time": 9, "stages": [stage(7, [], 3)], "about": ABOUT}
    (job,) = rows.parse(json.dumps(row), 0)
    assert isinstance(job, facts.JobStarted)
    assert job.result_stage_id == 7


def test_a_job_without_stages_has_no_result_stage() -> None:
    assert rows.result_stage(()) is None


def test_a_snapshot_is_read_whole() -> None:
    row = {
        "marker": "m",
        "shuffles": [[2, 3, 6]],
        "running": [STAGE],
        "jobs": [{"job": 1, "stages": [STAGE], "about": ABOUT}],
    }
    assert rows.parse_snapshot(json.dumps(row)) == facts.Snapshot(
        "m",
        (facts.KnownShuffle(2, 3, 6),),
        (STAGE_FACT,),
        (facts.ActiveJob(1, (STAGE_FACT,), 4, 5, "nightly", {"spark.shuffleLifecycle.policy": "eager"}),),
    )


def batch(*numbers: int) -> str:
    return "\n".join(json.dumps({"seq": n, "e": "cleaned", "shuffle": n}) for n in numbers)


def test_a_batch_continues_the_one_before() -> None:
    assert [fact.seq for fact in rows.parse(batch(5, 6, 7), 5)] == [5, 6, 7]


def test_no_rows_are_no_facts() -> None:
    assert rows.parse("", 5) == ()


@pytest.mark.parametrize("numbers", [(6, 7), (5, 7), (5, 5), (4, 5)])
def test_a_gap_is_an_error_that_names_both_numbers(numbers: tuple[int, ...]) -> None:
    with pytest.raises(rows.GapInStreamError, match=r"got row \d, expected row \d"):
        rows.parse(batch(*numbers), 5)


@pytest.mark.parametrize("line", ["{", '{"seq": 0, "e": "surprise"}', '{"seq": 0, "e": "cleaned"}'])
def test_what_is_not_a_row_is_an_error_that_shows_it(line: str) -> None:
    with pytest.raises(rows.MalformedRowError, match="row of the tap"):
        rows.parse(line, 0)
