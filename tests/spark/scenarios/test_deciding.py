"""When a shuffle goes, and when it does not, as real jobs: scenarios 2, 5, 7, 13, 15, 17, and SQL in one job.

Responsible for: what the policies let go in each story. Refuses to know: how it is let go (`test_deleting`).
Invariant: results equal those without the plugin, and nothing is recomputed but where the story says so.
"""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from tests.spark.bridge.conftest import Log
from tests.spark.scenarios.conftest import deleted
from tests.support.gates import held_at
from tests.support.spark import Gate, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("policy", ["frontier", "eager"])
def test_2_what_a_writing_result_stage_read_goes_under_eager_only(run: Any, policy: str, tmp_path: Path) -> None:
    expected = sorted(map(str, run.again(run.again(run.keyed())).collect()))
    with run.attached(policy) as (attachment, log):
        chain = run.again(run.again(run.keyed()))
        chain.saveAsTextFile(str(tmp_path / "written"))
        run.settled(attachment)
        a, b, c = log.map_stages()
        gone = [a, b] if policy == "frontier" else [a, b, c]
        wait_for(lambda: deleted(log) == gone, f"{gone} to go")
        assert bool(run.files(c)) is (policy == "frontier")
        assert log.events("premature_deletion") == []
    assert sorted(run.spark.sparkContext.textFile(str(tmp_path / "written")).collect()) == expected


def test_5_a_shuffle_stays_until_the_reader_in_the_other_thread_has_read_it(run: Any) -> None:
    expected = sorted(run.again(run.keyed(reduces=1)).collect())
    with run.attached("eager") as (attachment, log):
        first = run.keyed(reduces=1)  # one task waits, the other one is free
        assert first.count() == 400
        held = run.gate()
        slow, fast = run.again(first, held), run.again(first)
        with held_at(held, lambda: sorted(slow.collect())) as other:
            wait_for(held.arrived, "the slow reader")
            assert sorted(fast.collect()) == expected
            run.settled(attachment)
            a = log.map_stages()[0]
            assert log.app_shuffles("generation_expired") == []
            assert run.files(a)
            held.open()
            assert other.result() == expected
        run.settled(attachment)
        wait_for(lambda: deleted(log) == [a], "A to go after the second reader")
        assert len(log.map_stages()) == 3


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_7_a_reader_that_ends_badly_reads_no_more_and_lets_nothing_go(run: Any, how: str) -> None:
    with run.attached() as (attachment, log):
        first = run.keyed()
        expected = sorted(first.collect())
        end_badly(run, first, how)
        run.settled(attachment)
        a, b = log.map_stages()
        [shuffle] = [s for s in shuffles(log) if s.app_shuffle == a]
        assert (list(shuffle.readers), shuffle.life) == ([], common_pb2.LIFE_READABLE)
        of_b = [s for s, app_shuffle in log.generations().items() if app_shuffle == b]
        wait_for(lambda: over(log) >= set(of_b), "B, of which nothing was written, to be given up")
        assert [(e.shuffle_id, e.why) for e in log.events("generation_expired")] == [
            (of_b[0], common_pb2.EXPIRY_ABANDONED)
        ]
        assert sorted(first.collect()) == expected
        del first
        drop_everything(run)
        wait_for(lambda: collected(run, log, a), "A to go when nobody holds it")
        assert log.events("premature_deletion", "recovery_opened") == []


def end_badly(run: Any, first: Any, how: str) -> None:
    """A job whose reader of this shuffle is cancelled, or fails, while it runs."""
    context, held = run.spark.sparkContext, run.gate()
    broken = broken_reader(first, held, fails=how == "failed")

    def job() -> None:
        context.setJobGroup("story 7", "", interruptOnCancel=True)
        with pytest.raises(Exception, match=r"on purpose|cancelled"):
            broken.count()

    with held_at(held, job) as ended:
        wait_for(held.arrived, "the reader")
        if how == "cancelled":
            context.cancelJobGroup("story 7")
        held.open()
        ended.result()


def over(log: Log) -> set[int]:
    """The generations that are deleted or lost."""
    return {event.shuffle_id for event in log.events("generation_deleted", "generation_lost")}


def broken_reader(rdd: Any, held: Gate, fails: bool) -> Any:
    def step(index: int, rows: Any) -> Any:
        held.pass_through(index)
        if fails:
            raise ValueError("broken on purpose")
        return ((value, key) for key, value in rows)

    return rdd.mapPartitionsWithIndex(step).partitionBy(3)


def drop_everything(run: Any) -> None:
    """The program holds nothing any more; what py4j binds goes with it."""
    run.kept.clear()
    gc.collect()


def collected(run: Any, log: Log, *wanted: int) -> bool:
    """Have the JVM look for garbage; whether Spark's cleaner has let all of these go."""
    run.spark.sparkContext._jvm.System.gc()
    return {event.app_shuffle for event in log.events("shuffle_cleaned")} >= set(wanted)


def shuffles(log: Log) -> list[service_pb2.Shuffle]:
    return list(log.ask("ListShuffles", service_pb2.ListShufflesRequest(caller=log.caller)).shuffles)


def test_13_a_second_collect_under_frontier_is_missed_right_and_explained(run: Any) -> None:
    frame = run.spark.range(0, 8_000, 1, 3).selectExpr("id % 97 AS k").groupBy("k").count().orderBy("k")
    with run.attached() as (attachment, log):
        expected = [tuple(row) for row in frame.collect()]
        run.settled(attachment)
        written = log.map_stages()
        wait_for(lambda: sorted(deleted(log)) == sorted(written), "all of the execution")
        last = [e for e in log.events("generation_expired") if log.generations()[e.shuffle_id] == written[-1]]
        assert last[0].why == common_pb2.EXPIRY_EXECUTION_ENDED
        assert [tuple(row) for row in frame.collect()] == expected
        run.settled(attachment)
        missed = {log.generations()[event.shuffle_id] for event in log.events("premature_deletion")}
        assert written[-1] in missed
        named = [gone for event in log.events("recovery_opened") for gone in event.gone]
        assert len(named) == len(set(named))
        assert {event.shuffle_id for event in log.events("premature_deletion")} <= set(named)
        assert [tuple(row) for row in frame.collect()] == expected


def test_15_what_sparks_own_cleaner_lets_go_is_never_premature(run: Any) -> None:
    with run.attached() as (attachment, log):
        second = run.again(run.keyed())
        assert second.count() == 400
        run.settled(attachment)
        a, b = log.map_stages()
        wait_for(lambda: deleted(log) == [a], "A to go")
        del second
        drop_everything(run)
        wait_for(lambda: collected(run, log, a, b), "Spark's cleaner")
        run.settled(attachment)
        ends = {log.generations()[e.shuffle_id]: e.cause for e in log.events("generation_deleted")}
        assert (ends[a], ends[b]) == (common_pb2.DELETION_POLICY, common_pb2.DELETION_SPARK)
        assert log.events("premature_deletion", "recovery_opened") == []
        wait_for(lambda: not run.files(b), "B's files, which Spark deletes")


def test_17_use_restarts_the_grace_period(run: Any) -> None:
    grace_ms = 8_000  # the second job has to start within it, on any machine
    with run.attached("delayed", delayed_rule="frontier", grace=f"{grace_ms}ms") as (attachment, log):
        first = run.keyed()
        assert run.again(first).count() == 400
        held = run.gate()
        reader = run.again(first, held)
        with held_at(held, reader.count) as job:
            wait_for(held.arrived, "the second reader, within the period")
            run.settled(attachment)
            a = log.map_stages()[0]
            [expired] = log.events("generation_expired")
            wait_for(lambda: now_ms(run, log) > expired.due_ms + 500, "the first period to pass")
            assert log.events("fence_requested") == []
            held.open()
            assert job.result() == 400
        run.settled(attachment)
        wait_for(lambda: a in deleted(log), "A to go after the second period")
        of_a = [record for record in records(log) if log.generations().get(shuffle_of(record)) == a]
        told = [record.WhichOneof("event") for record in of_a]
        assert told[told.index("generation_expired") :] == [
            "generation_expired",
            "expiry_taken_back",
            "reader_registered",
            "generation_expired",
            "fence_requested",
            "generation_fenced",
            "delete_requested",
            "generation_deleted",
        ]
        again = [record for record in of_a if record.WhichOneof("event") == "generation_expired"][1]
        fence = next(record for record in of_a if record.WhichOneof("event") == "fence_requested")
        assert again.generation_expired.due_ms == again.time_ms + grace_ms <= fence.time_ms


def records(log: Log) -> list[Any]:
    return list(log.ask("ListEvents", service_pb2.ListEventsRequest(caller=log.caller, limit=10_000)).records)


def shuffle_of(record: Any) -> int:
    return int(getattr(getattr(record, record.WhichOneof("event")), "shuffle_id", 0))


def now_ms(run: Any, log: Log) -> int:
    """Event time, as the next fact would have it."""
    return int(run.spark.sparkContext._jvm.System.currentTimeMillis())


def test_sql_without_adaptive_execution_lets_its_exchanges_go_and_recomputes_nothing(run: Any) -> None:
    session = run.spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")

    def query() -> list[Any]:
        numbers = session.range(0, 8_000, 1, 3).selectExpr("id % 97 AS k", "id AS v")
        sums, counts = numbers.groupBy("k").sum("v"), numbers.groupBy("k").count()
        return [tuple(row) for row in sums.join(counts, "k").orderBy("k").collect()]

    expected = query()
    with run.attached() as (attachment, log):
        assert query() == expected
        run.settled(attachment)
        wait_for(lambda: sorted(deleted(log)) == sorted(log.map_stages()), "all exchanges to go")
        assert Counter(log.map_stages()).most_common(1)[0][1] == 1  # also though sorting samples its input first
        assert log.events("premature_deletion") == []


def test_18_deletion_that_missed_too_much_suspends_itself_and_says_so(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with run.attached("frontier", budget_premature=0) as (attachment, log):
        first = run.keyed()
        expected = sorted(first.collect())
        assert run.again(first).count() == 400
        run.settled(attachment)
        a = log.map_stages()[0]
        wait_for(lambda: deleted(log) == [a], "A to go")
        assert sorted(first.collect()) == expected
        run.settled(attachment)
        assert [event.why for event in log.events("deletion_suspended")] == [common_pb2.SUSPENSION_BUDGET]
        told = f"`shufflectl resume {attachment.application}` lets deletion go on"
        wait_for(lambda: told in caplog.text, "a line in the driver's log")
        assert run.again(first).count() == 400
        assert sorted(first.collect()) == expected
        run.settled(attachment)
        assert deleted(log) == [a]
        assert (log.map_stages().count(a), len(log.events("premature_deletion"))) == (2, 1)
