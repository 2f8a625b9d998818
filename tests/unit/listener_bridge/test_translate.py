"""Each fact becomes what the coordinator is told, whole and in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

import pytest
from google.protobuf import text_format
from shuffle_lifecycle.v1 import service_pb2

from listener_bridge import words
from listener_bridge.settings import Policy
from listener_bridge.tap import facts
from listener_bridge.tap.facts import Fact, Level
from listener_bridge.translate import Translator
from listener_bridge.words import Request
from tests.unit.listener_bridge.fakes import stage


def told(translator: Translator, *given: Fact) -> list[str]:
    """The requests, each on a line."""
    return [text_format.MessageToString(one, as_one_line=True) for one in translator.requests_of(given)]


def job(number: int, *stages: facts.StageFact, final: int, **more: object) -> facts.JobStarted:
    about: dict[str, object] = {"execution_id": None, "group": None, **more}
    return facts.JobStarted(0, number, 0, stages, final, **about)  # type: ignore[arg-type]


CHAIN = (stage(0, writes=7), stage(1, writes=8, parents=(0,)), stage(2, parents=(1,)))


def lineage(app_shuffle: int, site: int, reads: str = "", level: str = "DETERMINATE", maps: int = 4) -> str:
    return f'lineage {{ app_shuffle: {app_shuffle}{reads} level: LEVEL_{level} maps: {maps} call_site: "site {site}" }}'


def test_1_a_chain_from_its_start_to_its_end() -> None:
    translator = Translator()
    done = facts.StageCompleted(0, 0, CHAIN[1], None, 100, 90, 0, 0)
    assert told(translator, job(3, *CHAIN, final=2), facts.StageSubmitted(0, 0, CHAIN[1]), done) == [
        (
            "report_job_started { job: 3 final_stage: 2 reads: 8 stages { last: 2 } "
            f"{lineage(7, 0)} {lineage(8, 1, ' reads: 7')} }}"
        ),
        "report_stage_submitted { stage { stage: 1 } reads: 7 writes: 8 tasks: 4 }",
        "get_shuffle_id { app_shuffle: 7 stage { stage: 1 } }",
        "get_shuffle_id { app_shuffle: 8 stage { stage: 1 } write: true }",
        "report_stage_completed { stage { stage: 1 } shuffle_bytes_written: 100 shuffle_bytes_read: 90 }",
    ]
    assert told(translator, facts.JobEnded(0, 3, 0, False, "cancelled")) == [
        'report_job_ended { job: 3 succeeded: false failure: "cancelled" }'
    ]


def test_where_the_line_is_known_sparks_own_name_is_told_beside_it() -> None:
    (first, *rest) = CHAIN
    known = replace(first, line="show at etl.py:41")
    (started,) = Translator().requests_of([job(3, known, *rest, final=2)])
    assert [(one.call_site, one.stage_name) for one in started.report_job_started.lineage] == [
        ("show at etl.py:41", "site 0"),
        ("site 1", ""),
    ]
    (submitted, _) = Translator().requests_of([facts.StageSubmitted(0, 0, known)])
    assert submitted.report_stage_submitted.name == "show at etl.py:41"


def test_lineage_is_told_once_and_again_when_it_changes_or_spark_let_it_go() -> None:
    translator = Translator()
    told(translator, job(1, *CHAIN, final=2))
    same = (stage(10, writes=7), stage(11, parents=(10,)))
    assert told(translator, job(2, stage(10, writes=7, name="x"), same[1], final=11))[0].count("lineage") == 1
    changed = job(3, stage(20, writes=8, level=Level.INDETERMINATE), final=20)
    assert told(translator, changed) == [
        (
            f"report_job_started {{ job: 3 final_stage: 20 writes: 8 stages {{ first: 20 last: 20 }} "
            f"{lineage(8, 20, level='INDETERMINATE')} }}"
        )
    ]
    assert "lineage" not in told(translator, job(4, stage(20, writes=8, level=Level.INDETERMINATE), final=20))[0]
    assert told(translator, facts.ShuffleCleaned(0, 8)) == ["report_shuffle_cleaned { app_shuffle: 8 }"]
    assert "lineage" in told(translator, job(5, stage(20, writes=8, level=Level.INDETERMINATE), final=20))[0]


def test_a_stage_that_is_tried_again_does_not_shrink_its_shuffle() -> None:
    translator = Translator()
    told(translator, job(1, stage(0, writes=7, tasks=6), final=0))
    assert "lineage" not in told(translator, job(2, stage(0, writes=7, tasks=2), final=0))[0]


def with_caches(direct: tuple[int, ...]) -> list[str]:
    """What is told of a stage that reads 7 and 8 and has a persisted RDD; `direct`: the RDDs that it reads anyhow."""
    translator = Translator()
    reader = replace(stage(2, parents=(0, 1)), cached_rdd_ids=(20,), direct_rdd_ids=direct)
    told(translator, job(1, stage(0, writes=7), stage(1, writes=8), reader, final=2))
    return told(translator, facts.StageSubmitted(0, 0, reader))


def test_11_blocks_that_go_with_an_executor_are_told_by_what_lies_behind_them() -> None:
    translator = Translator()
    reader = replace(stage(2, parents=(0, 1)), cached_rdd_ids=(20, 21), direct_rdd_ids=(1,))
    told(
        translator, job(1, stage(0, writes=7), stage(1, writes=8), reader, final=2), facts.StageSubmitted(0, 0, reader)
    )
    gone = 'report_cached_blocks_lost { executor: "1" app_shuffles: 7 }'
    assert told(translator, facts.BlocksGone(0, "1", (20, 21, 22))) == [gone]
    assert told(translator, facts.BlocksGone(0, "1", (22,))) == []
    assert told(translator, facts.RddUnpersisted(0, 20), facts.BlocksGone(0, "1", (20,))) == []
    assert told(translator, facts.BlocksGone(0, "1", (20, 21))) == [gone]


def over_a_cache_of_all_day(translator: Translator, rounds: int) -> None:
    """RDD 20 stays persisted; in each round a stage reads it beside an RDD of its own, behind which a shuffle lies."""
    for number in range(rounds):
        writer = stage(2 * number, writes=number)
        reader = replace(stage(2 * number + 1, parents=(2 * number,)), cached_rdd_ids=(20, 100 + number))
        told(translator, job(number, writer, reader, final=reader.stage_id), facts.StageSubmitted(0, 0, reader))


def test_11_what_spark_has_let_go_lies_behind_no_persisted_rdd() -> None:
    """Else what lies behind one that stays grows with each round of a loop, and is told whole with every executor."""
    translator = Translator()
    over_a_cache_of_all_day(translator, 4)
    told(translator, *(facts.ShuffleCleaned(0, number) for number in range(3)))
    gone = 'report_cached_blocks_lost { executor: "1" app_shuffles: 3 }'
    assert told(translator, facts.BlocksGone(0, "1", (20,))) == [gone]
    assert told(translator, facts.BlocksGone(0, "1", (100,))) == []


def test_16_what_was_let_go_unheard_lies_behind_none_after_the_next_truth() -> None:
    translator = Translator()
    over_a_cache_of_all_day(translator, 4)
    translator.resync(facts.Snapshot("m", (facts.KnownShuffle(2, 4, 4), facts.KnownShuffle(9, 4, 4)), (), ()))
    gone = 'report_cached_blocks_lost { executor: "1" app_shuffles: 2 }'
    assert told(translator, facts.BlocksGone(0, "1", (20,))) == [gone]


def test_11_what_lies_behind_persisted_rdds_is_told_and_not_asked_for() -> None:
    assert with_caches(direct=(1,)) == [
        "report_stage_submitted { stage { stage: 2 } reads: 7 reads: 8 tasks: 4 cached: true behind: 7 }",
        "get_shuffle_id { app_shuffle: 8 stage { stage: 2 } }",
    ]
    assert with_caches(direct=()) == [
        "report_stage_submitted { stage { stage: 2 } reads: 7 reads: 8 tasks: 4 cached: true behind: 7 behind: 8 }",
    ]


def test_11_a_stage_whose_persisted_rdds_hide_nothing_reads_as_any_other() -> None:
    assert with_caches(direct=(0, 1)) == [
        "report_stage_submitted { stage { stage: 2 } reads: 7 reads: 8 tasks: 4 }",
        "get_shuffle_id { app_shuffle: 7 stage { stage: 2 } }",
        "get_shuffle_id { app_shuffle: 8 stage { stage: 2 } }",
    ]


def test_stage_ids_with_gaps_are_spans() -> None:
    stages = (stage(1), stage(2), stage(5))
    assert told(Translator(), job(1, *stages, final=5)) == [
        "report_job_started { job: 1 final_stage: 5 stages { first: 1 last: 2 } stages { first: 5 last: 5 } }"
    ]


def test_two_attempts_of_a_stage_are_two_readers() -> None:
    translator = Translator()
    told(translator, job(1, *CHAIN, final=2))
    again = stage(2, parents=(1,), attempt=1, tasks=1)
    assert told(translator, facts.StageSubmitted(0, 0, again)) == [
        "report_stage_submitted { stage { stage: 2 attempt: 1 } reads: 8 tasks: 1 }",
        "get_shuffle_id { app_shuffle: 8 stage { stage: 2 attempt: 1 } }",
    ]


def test_a_stage_of_two_jobs_is_known_until_both_have_ended() -> None:
    translator = Translator()
    told(translator, job(1, *CHAIN, final=2), job(2, *CHAIN, final=2), facts.JobEnded(0, 1, 0, True, None))
    assert "reads: 8" in told(translator, facts.StageSubmitted(0, 0, CHAIN[2]))[0]
    told(translator, facts.JobEnded(0, 2, 0, True, None))
    assert "reads" not in told(translator, facts.StageSubmitted(0, 0, CHAIN[2]))[0]


def missed(map_index: int | None = 2) -> facts.FetchFailed:
    return facts.FetchFailed(0, 2, 0, 8, map_index, 1, "exec-1")


def test_26_a_loss_is_reported_once_an_attempt_with_the_generation_that_it_was_given() -> None:
    translator = Translator()
    [*_, asked] = translator.requests_of([job(1, *CHAIN, final=2), facts.StageSubmitted(0, 0, CHAIN[2])])
    translator.learn(asked.get_shuffle_id, 41)
    assert told(translator, missed(), missed(3)) == [
        (
            "report_missing { app_shuffle: 8 shuffle_id: 41 stage { stage: 2 } "
            'detail: "the output of map task 2 for reduce task 1, executor exec-1" }'
        )
    ]


def test_a_loss_whose_generation_nobody_told_is_reported_without() -> None:
    assert told(Translator(), missed(None)) == [
        'report_missing { app_shuffle: 8 stage { stage: 2 } detail: "all outputs for reduce task 1, executor exec-1" }'
    ]


def test_what_is_left_of_several_shuffles_is_one_report() -> None:
    lost = [facts.OutputsChanged(0, 7, 2, 4), facts.OutputsChanged(1, 8, 0, 4)]
    gone = facts.ExecutorRemoved(0, "exec-1", "killed", 0)
    assert told(Translator(), gone, *lost, facts.RddUnpersisted(0, 3)) == [
        'report_executor_lost { executor: "exec-1" reason: "killed" }',
        "report_outputs { outputs { app_shuffle: 7 available: 2 total: 4 } outputs { app_shuffle: 8 total: 4 } }",
    ]


def test_what_could_not_be_kept_apart() -> None:
    mixed = facts.GenerationsMixed(0, 7, 3, 9, 1, 4, late=False, failed=True)
    assert told(Translator(), mixed, facts.ResultsMayDiffer(1, 7)) == [
        "report_generations_mixed { app_shuffle: 7 job: 3 stage: 9 delivered: 1 partitions: 4 failed: true }",
        "report_results_may_differ { app_shuffle: 7 }",
    ]


def test_executions_are_told_with_their_beginning_and_their_end() -> None:
    began = facts.ExecutionStarted(0, 5, "save", "site", 0, True)
    assert told(Translator(), began, facts.ExecutionEnded(0, 5, True, 0)) == [
        'report_execution_started { execution: 5 name: "save" writes_output: true }',
        "report_execution_ended { execution: 5 failed: true }",
    ]


def test_16_dropped_facts_are_a_gap_and_the_end_is_an_end() -> None:
    assert told(Translator(), facts.EventsDropped(0, 4, "bus"), facts.ApplicationEnded(0, 0)) == [
        'report_gap { dropped: 4 where: "bus" }',
        "end_application { ending: ENDING_ENDED }",
    ]


def test_a_fact_that_cannot_be_told_is_a_gap_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    half = "a description cut in the middle of an emoji \ud83d"
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        translator = Translator()
        started = [facts.ExecutionStarted(0, n, half if n == 2 else "", "site", 0, False) for n in (1, 2, 3)]
        assert told(translator, *started) == [
            'report_execution_started { execution: 1 name: "site" }',
            'report_gap { dropped: 1 where: "translate" }',
            'report_execution_started { execution: 3 name: "site" }',
        ]
    [line] = [record.message for record in caplog.records]
    assert line.startswith("ExecutionStarted cannot be told (UnicodeEncodeError: ")


def test_14_a_job_has_a_policy_of_its_own_and_a_group(caplog: pytest.LogCaptureFixture) -> None:
    wish = {"spark.shuffleLifecycle.policy": "eager", "spark.shuffleLifecycle.grace": "2s"}
    chosen = job(1, stage(0), final=0, group="nightly", execution_id=9, properties=wish, call_site="count at x.py:1")
    assert told(Translator(), chosen) == [
        (
            'report_job_started { job: 1 stages { } execution: 9 group: "nightly" '
            'policy { rule: RULE_EAGER observe: false grace_ms: 2000 } call_site: "count at x.py:1" }'
        )
    ]
    wrong = job(2, stage(0), final=0, properties={"spark.shuffleLifecycle.policy": "eagr"})
    translator = Translator()
    with caplog.at_level(logging.WARNING):
        assert "policy" not in told(translator, wrong, wrong)[0]
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "a local property is left out: spark.shuffleLifecycle.policy: 'eagr' is not known"
    ]


@pytest.mark.parametrize(
    ("wish", "execution", "own"),
    [
        ({"policy": "observe", "grace": "1s", "store": "x"}, 9, None),  # as Spark copies the conf into every SQL job
        ({"policy": "eager", "grace": "1s"}, 9, Policy("eager", False, 1_000)),
        ({"policy": "observe", "grace": "2s"}, 9, Policy(grace_ms=2_000)),
        ({"policy": "observe", "grace": "1s"}, None, Policy(grace_ms=1_000)),
    ],
)
def test_14_what_spark_copies_from_the_conf_is_not_the_jobs_own_choice(
    wish: dict[str, str], execution: int | None, own: Policy | None
) -> None:
    translator, prefix = Translator(), "spark.shuffleLifecycle."
    translator.conf = {prefix + "policy": "observe", prefix + "grace": "1s", prefix + "looks": "true"}
    chosen = {prefix + key: value for key, value in wish.items()}
    [told_] = translator.requests_of([job(1, stage(0), final=0, execution_id=execution, properties=chosen)])
    started = told_.report_job_started
    assert (started.policy if started.HasField("policy") else None) == (words.policy(own) if own else None)


def test_the_whole_truth_and_everything_is_told_anew_after_it() -> None:
    translator = Translator()
    told(translator, job(1, *CHAIN, final=2), facts.ExecutionStarted(0, 5, "query", "site", 0, False))
    running = facts.ActiveJob(4, (stage(9, writes=7), stage(10, parents=(9,))), 10, 6, None)
    present = facts.Snapshot(
        "m", (facts.KnownShuffle(7, 1, 4), facts.KnownShuffle(8, 0, 4)), (stage(10, parents=(9,)),), (running,)
    )
    parts, truth, still_running = translator.resync(present)
    assert text_format.MessageToString(truth, as_one_line=True) == (
        "resync { jobs { job: 4 final_stage: 10 reads: 7 stages { first: 9 last: 10 } "
        f"{lineage(7, 9)} execution: 6 }} "
        "stages { stage { stage: 10 } reads: 7 tasks: 4 } "
        'executions { execution: 5 name: "query" } executions { execution: 6 } '
        "outputs { app_shuffle: 7 available: 1 total: 4 } outputs { app_shuffle: 8 total: 4 } }"
    )
    assert parts.report_outputs.outputs == truth.resync.outputs
    assert still_running.report_stage_submitted == truth.resync.stages[0]
    assert "lineage { app_shuffle: 8" in told(translator, job(5, *CHAIN, final=2))[0]


def test_an_execution_whose_end_was_dropped_is_over_with_the_next_truth() -> None:
    assert executions_of_truths(frozenset({6})) == [[5, 6], [6]]


def test_an_execution_whose_start_was_dropped_runs_with_the_next_truth() -> None:
    assert executions_of_truths(frozenset({5, 6, 9})) == [[5, 6], [5, 6, 9]]


def executions_of_truths(said: frozenset[int]) -> list[list[int]]:
    """5 and 6 were told: what runs by a truth that does not say, then by one that does."""
    translator = Translator()
    told(translator, *(facts.ExecutionStarted(0, number, "query", "site", 0, False) for number in (5, 6)))
    snapshots = [facts.Snapshot("m", (), (), (), executions) for executions in (None, said)]
    truths = [truth for snapshot in snapshots for truth in translator.resync(snapshot)]
    return [[one.execution for one in truth.resync.executions] for truth in truths]


def test_a_long_truth_is_told_in_parts_before_and_after_it() -> None:
    shuffles = tuple(facts.KnownShuffle(number, 4, 4) for number in range(45))
    stages = tuple(stage(number, writes=100 + number) for number in range(30))
    running = facts.ActiveJob(4, stages, 29, None, None)
    requests = Translator().resync(facts.Snapshot("m", shuffles, stages, (running,)))
    names = [str(request.WhichOneof("command")) for request in requests]
    assert names == ["report_outputs"] * 3 + ["resync"] + ["report_stage_submitted"] * 30
    assert [output.app_shuffle for one in requests[:3] for output in one.report_outputs.outputs] == list(range(45))


def test_many_executions_of_long_names_fit_the_truth() -> None:
    """2,000 texts of SQL made a commit of 16 MB."""
    translator = Translator()
    for number in range(2_000):
        translator.requests_of([facts.ExecutionStarted(0, number, "SELECT " + "x" * 9_000, "site", 0, True)])
    [truth] = translator.resync(facts.Snapshot("m", (), (), ()))
    assert truth.ByteSize() < 500_000
    assert {len(one.name) for one in truth.resync.executions} == {200}
    assert [one.writes_output for one in truth.resync.executions] == [True] * 2_000


def wide(count: int, first: int = 0) -> tuple[facts.StageFact, ...]:
    """So many map stages, and a result stage that reads them all."""
    maps = tuple(stage(first + n, writes=first + n, name="reduceByKey at etl.py:41") for n in range(count))
    return (*maps, stage(first + count, parents=tuple(range(first, first + count))))


def ahead() -> Translator:
    translator = Translator()
    translator.tells_ahead = True
    return translator


def lineages(requests: Iterable[Request]) -> list[tuple[str, int]]:
    """Which requests bring lineage, and how many."""
    brought = [(one, getattr(one, str(one.WhichOneof("command")))) for one in requests]
    return [(str(one.WhichOneof("command")), len(said.lineage)) for one, said in brought if hasattr(said, "lineage")]


def test_more_lineage_than_a_commit_holds_goes_ahead_of_its_job() -> None:
    """10,000 in one command were refused each time that they were told."""
    translator = ahead()
    requests = translator.requests_of([job(1, *wide(10_000), final=10_000)])
    *parts, (last, left) = lineages(requests)
    assert (last, left, len(parts)) == ("report_job_started", 0, 3)
    assert {name for name, _ in parts} == {"report_lineage"}
    told_of = [one.app_shuffle for request in requests for one in request.report_lineage.lineage]
    assert told_of == list(range(10_000))
    assert len(requests[-1].report_job_started.reads) == 10_000
    assert max(request.ByteSize() for request in requests) < 300_000
    assert lineages(translator.requests_of([job(2, *wide(10_000), final=10_000)])) == [("report_job_started", 0)]


def test_nothing_goes_ahead_where_the_coordinator_has_not_said_so_or_it_is_little() -> None:
    for translator, count in ((Translator(), 10_000), (ahead(), 3_000)):
        assert lineages(translator.requests_of([job(1, *wide(count), final=count)])) == [("report_job_started", count)]


def test_what_was_told_otherwise_before_goes_with_its_job() -> None:
    """Less of it might let go what the job needs by another way, before it is told. After a gap nothing goes."""
    translator = ahead()
    told(translator, job(1, *CHAIN, final=2))
    present = facts.Snapshot("m", (facts.KnownShuffle(7, 4, 4), facts.KnownShuffle(8, 4, 4)), (), ())
    translator.resync(present)
    cut = stage(5_000, writes=8)
    requests = translator.requests_of([job(2, *wide(5_000, 100), cut, final=5_100)])
    assert [sum(count for name, count in lineages(requests) if name == kind) for kind in ("report_lineage",)] == [5_000]
    assert [one.app_shuffle for one in requests[-1].report_job_started.lineage] == [8]


def test_what_a_truth_has_named_goes_with_its_job_whoever_was_told_to_have_made_it() -> None:
    """The start of that job may be what was missed: the coordinator knows from stages alone who has read what."""
    translator = ahead()
    translator.resync(facts.Snapshot("m", (facts.KnownShuffle(8, 4, 4),), (), ()))
    requests = translator.requests_of([job(2, *wide(5_000, 100), stage(5_101, writes=8), final=5_100)])
    assert sum(count for name, count in lineages(requests) if name == "report_lineage") == 5_000
    assert [one.app_shuffle for one in requests[-1].report_job_started.lineage] == [8]


def test_after_a_gap_lineage_goes_ahead_of_the_truth() -> None:
    translator = ahead()
    stages = wide(10_000)
    told(translator, job(1, *stages, final=10_000))
    present = facts.Snapshot("m", (), (), (facts.ActiveJob(1, stages, 10_000, None, None),))
    requests = translator.resync(present)
    assert [str(one.WhichOneof("command")) for one in requests] == ["report_lineage"] * 3 + ["resync"]
    assert sum(len(one.report_lineage.lineage) for one in requests) == 10_000
    [truth] = requests[-1].resync.jobs
    assert (len(truth.lineage), len(truth.reads)) == (0, 10_000)


def test_the_truth_in_the_middle_of_a_partial_retry_names_all_maps() -> None:
    retry = stage(0, writes=7, attempt=1, tasks=3)
    running = facts.ActiveJob(4, (retry, stage(1, parents=(0,))), 1, None, None)
    present = facts.Snapshot("m", (facts.KnownShuffle(7, 7, 10),), (retry,), (running,))
    [truth] = [one.resync for one in Translator().resync(present) if one.HasField("resync")]
    assert [lineage.maps for lineage in truth.jobs[0].lineage] == [10]
    assert [submitted.tasks for submitted in truth.stages] == [3]


def test_an_answer_of_a_writer_teaches_nothing_about_readers() -> None:
    translator = Translator()
    told(translator, job(1, *CHAIN, final=2))
    asked = service_pb2.GetShuffleId(app_shuffle=8, write=True)
    asked.stage.stage = 2
    translator.learn(asked, 9)
    assert "shuffle_id" not in told(translator, missed())[0]


def test_many_losses_at_once_are_told_in_parts() -> None:
    lost = [facts.OutputsChanged(number, number, 0, 4) for number in range(45)]
    requests = Translator().requests_of(lost)
    named = [[output.app_shuffle for output in one.report_outputs.outputs] for one in requests]
    assert named == [list(range(20)), list(range(20, 40)), list(range(40, 45))]
