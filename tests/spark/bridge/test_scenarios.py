"""The stories of tracking and deleting, as real jobs; results equal those without the plugin."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from tests.support.spark import in_background, wait_for

pytestmark = pytest.mark.spark


def test_1_a_chain_leaves_the_disk_as_it_goes(run: Any) -> None:
    expected = sorted(run.again(run.again(run.keyed())).collect())
    with run.attached() as (attachment, log):
        second, third = run.gate(), run.gate()
        chain = run.again(run.again(run.keyed()), second)

        def step(index: int, rows: Any, folder: str = third.folder) -> Any:
            type(third)(folder).pass_through(index)
            return rows

        with run.job(lambda: sorted(chain.mapPartitionsWithIndex(step).collect()), second, third) as job:
            wait_for(second.arrived, "the stage that reads B")
            run.settled(attachment)
            a, b = log.map_stages()[:2]
            wait_for(lambda: not run.files(a), "A's files to go while the job runs")
            assert run.files(b)
            second.open()
            wait_for(third.arrived, "the stage that reads C")
            wait_for(lambda: not run.files(b), "B's files to go while the job runs")
            third.open()
            assert job.result() == expected
        run.settled(attachment)
        c = log.map_stages()[-1]
        assert log.map_stages() == [a, b, c]
        assert log.app_shuffles("generation_deleted") == [a, b]
        assert all(event.bytes > 0 for event in log.events("generation_deleted"))
        assert run.files(c)  # 2: under frontier the last one stays to the end


def test_3_sampling_first_recomputes_nothing(run: Any) -> None:
    with run.attached() as (attachment, log):
        held = run.keyed()
        assert held.count() == 400
        run.settled(attachment)
        [a] = log.map_stages()
        assert run.files(a)
        b = run.again(held)
        assert b.count() == 400
        run.settled(attachment)
        assert Counter(log.map_stages()).most_common(1)[0][1] == 1
        wait_for(lambda: log.app_shuffles("generation_deleted") == [a], "A to go behind B")
        assert log.events("premature_deletion") == []


def test_4_a_diamond_keeps_what_its_second_reader_needs(run: Any) -> None:
    expected_a = run.keyed()
    expected = sorted(expected_a.union(run.again(expected_a)).collect())
    with run.attached() as (attachment, log):
        last = run.gate()
        first = run.keyed()

        def step(index: int, rows: Any, folder: str = last.folder) -> Any:
            type(last)(folder).pass_through(index)
            return rows

        both = first.union(run.again(first)).mapPartitionsWithIndex(step)
        with run.job(lambda: sorted(both.collect()), last) as job:
            wait_for(last.arrived, "the stage that reads A and B")
            run.settled(attachment)
            a, b = log.map_stages()
            assert log.events("generation_expired") == []
            assert run.files(a)
            assert run.files(b)
            last.open()
            assert job.result() == expected
        run.settled(attachment)
        assert log.map_stages() == [a, b]
        assert log.events("premature_deletion") == []


def test_6_a_loop_keeps_the_newest_only(run: Any) -> None:
    with run.attached() as (attachment, log):
        current = run.keyed()
        for _ in range(8):
            assert current.count() == 400
            current = run.again(current)
        run.settled(attachment)
        written = log.map_stages()
        assert len(set(written)) == len(written) == 8
        wait_for(lambda: log.app_shuffles("generation_deleted") == written[:-1], "all but the newest to go")
        assert [bool(run.files(shuffle)) for shuffle in written] == [False] * 7 + [True]
        assert log.events("premature_deletion", "recovery_opened") == []


def test_9_what_is_missed_after_all_is_recovered_and_told(run: Any) -> None:
    with run.attached() as (attachment, log):
        first = run.keyed()
        second = run.again(first)
        expected = sorted(second.collect())
        run.settled(attachment)
        a, b = log.map_stages()
        wait_for(lambda: log.app_shuffles("generation_deleted") == [a], "A to go")
        assert sorted(second.collect()) == expected  # lists a reader of A, which is skipped
        run.settled(attachment)
        assert log.events("premature_deletion") == []
        assert first.count() == 400  # really reads it
        run.settled(attachment)
        assert log.map_stages() == [a, b, a]
        assert len(log.events("premature_deletion")) == 1
        [recovery] = log.events("recovery_opened")
        generations = log.generations()
        assert [generations[gone] for gone in recovery.gone] == [a]
        assert sorted(second.collect()) == expected


@pytest.mark.parametrize("how", ["observe", "group", "job", "pin"])
def test_14_what_shall_stay_stays_and_is_told(run: Any, how: str) -> None:
    context = run.spark.sparkContext
    policy = "observe" if how == "observe" else "frontier"
    with run.attached(policy, delayed_rule="frontier") as (attachment, log):
        first = run.keyed()
        if how == "group":
            off = common_pb2.Policy(rule=common_pb2.RULE_FRONTIER, observe=True)
            command = service_pb2.SetPolicy(policy=off, group="kept", by="a test")
            log.ask("SetPolicy", service_pb2.SetPolicyCall(caller=log.caller, command=command))
            context.setJobGroup("kept", "")
        elif how == "job":
            context.setLocalProperty("spark.shuffleLifecycle.policy", "observe")
            context.setLocalProperty("spark.shuffleLifecycle.delayed.rule", "frontier")
        try:
            assert first.count() == 400
            run.settled(attachment)
            [a] = log.map_stages()
            if how == "pin":
                pin = service_pb2.SetPin(app_shuffle=a, why="a test")
                log.ask("SetPin", service_pb2.SetPinCall(caller=log.caller, command=pin))
            assert run.again(first).count() == 400
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)
            context.setLocalProperty("spark.shuffleLifecycle.policy", None)
            context.setLocalProperty("spark.shuffleLifecycle.delayed.rule", None)
        run.settled(attachment)
        wait_for(lambda: log.app_shuffles("generation_expired") == [a], "the decision")
        [expired] = log.events("generation_expired")
        assert expired.hold == (common_pb2.HOLD_PIN if how == "pin" else common_pb2.HOLD_OBSERVE)
        assert log.events("fence_requested") == []
        assert run.files(a)


def test_16_after_an_overflow_nothing_goes_until_the_truth_is_told(run: Any) -> None:
    with run.attached() as (attachment, log):
        outbox = attachment._bridge.reporter._outbox
        first = run.keyed()
        assert first.count() == 400
        run.settled(attachment)
        with attachment._bridge.reporter._changed:
            outbox.open_gap(1)  # as an overflow does
        second = run.again(first)
        assert second.count() == 400
        wait_for(lambda: [gap for gap in log.events("gap_recorded") if gap.where == "outbox"], "the gap in the log")
        run.settled(attachment)
        expected = sorted(second.collect())
        third = run.again(second)
        assert third.count() == 400
        run.settled(attachment)
        wait_for(lambda: log.events("generation_deleted"), "deletion to go on after it")
        assert sorted(second.collect()) == expected
        assert log.events("gap_recorded")[-1].resynced


def test_19_fences_against_readers_of_other_threads_cost_nothing(run: Any) -> None:
    with run.attached("eager") as (attachment, log):
        for _ in range(6):
            first = run.keyed()
            expected = sorted(first.collect())
            readers = [run.again(first) for _ in range(2)]
            with in_background(readers[0].count) as one, in_background(readers[1].count) as two:
                assert (one.result(), two.result()) == (400, 400)
            assert sorted(first.collect()) == expected
        run.settled(attachment)
        submitted = log.events("stage_submitted")
        assert [event.stage.attempt for event in submitted] == [0] * len(submitted)  # no fetch failure
        assert attachment.status().fenced > 0


def test_sql_with_adaptive_execution_gives_the_same(run: Any) -> None:
    def query() -> list[Any]:
        numbers = run.spark.range(0, 20_000, 1, 4)
        left = numbers.groupBy((numbers.id % 100).alias("k")).count()
        right = numbers.groupBy((numbers.id % 50).alias("k")).count().withColumnRenamed("count", "n")
        return sorted(tuple(row) for row in left.join(right, "k").orderBy("k").collect())

    expected = query()
    with run.attached() as (attachment, log):
        assert query() == expected
        run.settled(attachment)
        wait_for(lambda: log.events("generation_deleted"), "exchanges to go")
        assert log.events("premature_deletion") == []
