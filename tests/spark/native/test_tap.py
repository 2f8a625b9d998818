"""The tap on real jobs: what it tells, in which order, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.tap import facts
from listener_bridge.tap.jvm import JAVA_PACKAGE, _class
from listener_bridge.tap.tap import Tap
from tests.support.spark import FactLog, in_background, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_chain_is_told_in_order(run: Any) -> None:
    run.spark.sparkContext.setLocalProperty("spark.shuffleLifecycle.policy", "observe")
    run.log.settle()
    start = len(run.log.facts)
    run.keyed().map(lambda kv: (kv[1] % 3, 1)).partitionBy(2).collect()
    run.spark.sparkContext.setLocalProperty("spark.shuffleLifecycle.policy", None)
    run.log.settle()
    told = [f for f in run.log.facts[start:] if not isinstance(f, facts.MarkerPassed | facts.ShuffleCleaned)]
    kinds = [type(fact).__name__ for fact in told]
    assert kinds == ["JobStarted", *["StageSubmitted", "StageCompleted"] * 3, "JobEnded"]
    job = told[0]
    by_id = {stage.stage_id: stage for stage in job.stages}
    chain = [by_id[job.result_stage_id]]
    while chain[-1].parent_stage_ids:
        chain.append(by_id[chain[-1].parent_stage_ids[0]])
    assert [stage.writes is None for stage in chain] == [True, False, False]
    assert job.properties == {"spark.shuffleLifecycle.policy": "observe"}
    completed = [fact for fact in told if isinstance(fact, facts.StageCompleted)]
    assert completed[0].shuffle_bytes_written > 0
    assert completed[0].shuffle_bytes_written == completed[1].shuffle_bytes_read
    assert [fact.seq for fact in run.log.facts] == list(range(len(run.log.facts)))


def test_an_execution_that_writes_says_so(run: Any) -> None:
    run.spark.range(10).groupBy("id").count().collect()
    run.spark.range(10).write.mode("overwrite").parquet(str(run.folder / "written"))
    run.log.settle()
    started = run.log.of(facts.ExecutionStarted)[-2:]
    assert [execution.writes_output for execution in started] == [False, True]
    assert {e.execution_id for e in run.log.of(facts.ExecutionEnded) if not e.failed} >= {
        e.execution_id for e in started
    }


def test_what_is_cut_short_stays_text(run: Any) -> None:
    """Where the cut falls between the two halves of a character, the half goes too."""
    context = run.spark.sparkContext
    context.setJobDescription("x" * 299 + "\N{FACE WITH TEARS OF JOY}")
    run.spark.range(10).groupBy("id").count().collect()
    context.setJobDescription(None)
    run.log.settle()
    assert run.log.of(facts.ExecutionStarted)[-1].description == "x" * 299


def test_what_python_raised_stands_in_the_first_line_of_a_reason(run: Any) -> None:
    def fails(row: int) -> int:
        try:
            raise KeyError(row)
        except KeyError as error:
            raise ValueError("no such day: ü") from error

    with pytest.raises(Exception, match="no such day"):
        run.spark.sparkContext.parallelize(range(2), 1).map(fails).count()
    run.log.settle()
    for reason in (run.log.of(facts.JobEnded)[-1].reason, run.log.of(facts.StageCompleted)[-1].failure):
        first, _, rest = str(reason).partition("\n")
        assert first.endswith(" ValueError: no such day: ü"), first
        assert rest.startswith("Traceback (most recent call last):")
        assert len(str(reason)) == 1_000


@pytest.mark.parametrize("odd", ["", "none", "1.5"])
def test_what_is_no_execution_id_is_none(run: Any, odd: str) -> None:
    """As Spark has it: its own listeners read no number there, and the job runs."""
    context = run.spark.sparkContext
    context.setLocalProperty("spark.sql.execution.id", odd)
    run.keyed().count()
    context.setLocalProperty("spark.sql.execution.id", None)
    run.log.settle()
    assert run.log.of(facts.JobStarted)[-1].execution_id is None


def test_a_lost_file_is_told_as_fetch_failure_and_then_as_outputs(run: Any) -> None:
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    next(path for path in run.files(shuffle) if path.suffix == ".data").unlink()
    assert sorted(keyed.collect()) == right
    run.log.settle()
    failed = run.log.wait(lambda f: isinstance(f, facts.FetchFailed) and f.app_shuffle == shuffle, "the fetch failure")
    changed = run.log.wait(lambda f: isinstance(f, facts.OutputsChanged) and f.app_shuffle == shuffle, "what is left")
    assert failed.seq < changed.seq
    assert (changed.available < 4, changed.total) == (True, 4)


def test_as_many_outputs_lost_again_are_another_loss(run: Any) -> None:
    keyed = run.keyed()

    def lost() -> list[facts.OutputsChanged]:
        return [f for f in run.log.of(facts.OutputsChanged) if f.app_shuffle == shuffle]

    for count in (1, 2):
        keyed.count()
        shuffle = run.newest_shuffle()
        tracker = run.tap.driver.map_output_tracker
        output = tracker.shuffleStatuses().get(shuffle).get().mapStatuses()[0]
        tracker.unregisterMapOutput(shuffle, 0, output.location())
        context = run.spark.sparkContext
        removed = context._jvm.org.apache.spark.scheduler.SparkListenerExecutorRemoved(0, "gone", "a test")
        context._jsc.sc().listenerBus().post(removed)
        wait_for(partial(_has, lost, count), f"loss {count}")
    assert [(f.available, f.total) for f in lost()] == [(3, 4), (3, 4)]


def test_what_is_lost_while_a_look_at_outputs_waits_is_told(run: Any) -> None:
    """The scheduler is busy with another job: the first look stands before the loss, the second behind it."""
    keyed = run.keyed()
    keyed.count()
    shuffle, context = run.newest_shuffle(), run.spark.sparkContext
    dag = context._jsc.sc().dagScheduler()
    location = run.tap.driver.map_output_tracker.shuffleStatuses().get(shuffle).get().mapStatuses()[0].location()
    start = len(run.log.of(facts.JobStarted))
    many = context.parallelize(range(30_000), 30_000).map(lambda _: time.sleep(60))
    with in_background(many.count) as busy:
        wait_for(lambda: len(run.log.of(facts.JobStarted)) > start, "the job that keeps the scheduler busy")
        run.tap.java.lookAtOutputs()
        dag.workerRemoved("a worker", location.host(), "a test")
        run.tap.java.lookAtOutputs()
        try:
            run.log.wait(lambda f: isinstance(f, facts.OutputsChanged) and f.app_shuffle == shuffle, "the loss")
        finally:
            context.cancelAllJobs()
        with pytest.raises(Exception, match="cancelled"):
            busy.result(60)


def _has(found: Callable[[], list[Any]], count: int) -> bool:
    return len(found()) == count


def test_what_the_cleaner_lets_go_is_told(run: Any) -> None:
    keyed = run.keyed()
    keyed.cache().count()
    shuffle, rdd = run.newest_shuffle(), keyed.id()
    keyed.unpersist(True)
    run.log.wait(lambda f: isinstance(f, facts.RddUnpersisted) and f.rdd_id == rdd, "the unpersisted RDD")
    del keyed

    def collected() -> bool:
        run.spark.sparkContext._jvm.System.gc()
        run.spark.sparkContext.parallelize([1], 1).count()
        return any(fact.app_shuffle == shuffle for fact in run.log.of(facts.ShuffleCleaned))

    wait_for(collected, "Spark's cleaner")


def test_a_snapshot_is_ordered_by_its_marker(run: Any) -> None:
    gate = run.gate()
    folder = gate.folder

    def held(index: int, rows: Any) -> Any:
        type(gate)(folder).pass_through(index)
        return rows

    keyed = run.keyed()
    with in_background(lambda: keyed.mapPartitionsWithIndex(held).count()):
        wait_for(gate.arrived, "a reader's task")
        seen = run.tap.snapshot()
        gate.open()
    run.log.settle()
    assert [shuffle.available for shuffle in seen.shuffles if shuffle.app_shuffle == run.newest_shuffle()] == [4]
    (job,), (stage,) = seen.active_jobs, seen.running_stages
    assert stage.stage_id == job.result_stage_id
    marker = next(f for f in run.log.of(facts.MarkerPassed) if f.name == seen.marker)
    ended = next(f for f in run.log.of(facts.JobEnded) if f.job_id == job.job_id)
    started = next(f for f in run.log.of(facts.JobStarted) if f.job_id == job.job_id)
    assert started.seq < marker.seq < ended.seq


def test_a_snapshot_names_the_executions_that_run(run: Any) -> None:
    gate = run.gate()
    folder = gate.folder

    def held(row: Any) -> Any:
        type(gate)(folder).pass_through(row[0])
        return row

    frame = run.spark.createDataFrame(run.spark.sparkContext.parallelize([(1, 2)], 1).map(held), "k int, v int")
    with in_background(lambda: frame.groupBy("k").count().collect()):
        wait_for(gate.arrived, "the task")
        seen = run.tap.snapshot()
        gate.open()
    [job] = seen.active_jobs
    assert seen.executions == {job.execution_id}
    assert run.tap.snapshot().executions == frozenset()


def test_16_what_does_not_fit_is_counted_and_the_stream_has_no_gap(run: Any) -> None:
    other = Tap.open(run.spark, capacity_chars=2000)
    for n in range(100):
        other.post_marker(f"m{n}")
    run.log.settle()
    log = FactLog(other)
    log.wait(lambda f: isinstance(f, facts.EventsDropped), "what was dropped")
    log.settle()
    dropped = sum(fact.count for fact in log.of(facts.EventsDropped) if fact.where == "tap")
    assert dropped + len(log.of(facts.MarkerPassed)) >= 100
    other.close()
    log.thread.join(10)
    assert not log.thread.is_alive()


ENDINGS = {
    "stop without close": "spark.stop(); log.thread.join(20); assert not log.thread.is_alive()",
    "close after stop": "spark.stop(); tap.close(); tap.close(); assert tap.snapshot(0.2) is None",
    "close before stop": "tap.close(); log.thread.join(20); assert not log.thread.is_alive(); spark.stop()",
    "exit without stop": "pass",
    "sys.exit": "import sys; sys.exit(0)",
}
PROGRAM = """
from pathlib import Path
from listener_bridge.tap.tap import Tap
from tests.support.spark import FactLog, start_session
spark = start_session(Path({folder!r}))
tap = Tap.open(spark)
log = FactLog(tap)
spark.range(10).repartition(2).count()
{ending}
"""


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_program_ends_it_ends(ending: str, tmp_path: Path) -> None:
    program = PROGRAM.format(folder=str(tmp_path), ending=ENDINGS[ending])
    root = str(Path(__file__).parents[3])
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "Traceback" not in ended.stderr


ROWS, AHEAD = 1_000, 5


@pytest.mark.parametrize(("is_prompt", "a_batch_s", "ahead"), [(True, 0.05, 41), (False, 0.5, AHEAD)])
def test_rows_that_keep_coming_are_given_in_few_batches_and_none_is_lost(
    run: Any, is_prompt: bool, a_batch_s: float, ahead: int
) -> None:
    """So many batches a second and a few ahead, however fast rows come and however often somebody asks."""
    driver = run.tap.driver
    rows = driver.construct(run.tap.loader, "RowBuffer", 1_000_000)

    def tell() -> None:
        for number in range(ROWS):
            rows.put(driver.construct(run.tap.loader, "Row", "counted").number("n", number), is_prompt)

    taken: list[str] = []
    began_s = time.monotonic()
    with in_background(tell) as telling:
        while sum(batch.count("\n") for batch in taken) < ROWS:
            taken.append(rows.take(1_000, 1_000))
        telling.result()
    took_s = time.monotonic() - began_s
    told = [json.loads(row) for batch in taken for row in batch.splitlines()]
    assert [row["n"] for row in told] == list(range(ROWS))
    assert [row["seq"] for row in told] == list(range(ROWS))
    assert len(taken) <= took_s / a_batch_s + ahead


def test_a_prompt_row_takes_along_all_that_waits_before_it(run: Any) -> None:
    driver = run.tap.driver
    rows = driver.construct(run.tap.loader, "RowBuffer", 1_000_000)
    for number in range(AHEAD):
        rows.put(driver.construct(run.tap.loader, "Row", "counted").number("n", number), False)
        rows.take(1_000, 1_000)
    for number, is_prompt in ((5, False), (6, False), (7, True)):
        rows.put(driver.construct(run.tap.loader, "Row", "counted").number("n", number), is_prompt)
    assert [json.loads(row)["n"] for row in rows.take(1_000, 1_000).splitlines()] == [5, 6, 7]


# ---- who is in a hurry -----------------------------------------------------------------------------------------------

MUCH = 64_000
SOME_AHEAD, SOME_A_S = 31, 0.5  # of ends of stages that moved some: at once, and then a second


class Hurry:
    """A listener of its own, which is told of ends of stages, and whether it is in a hurry to tell them."""

    def __init__(self, run: Any) -> None:
        driver, loader = run.tap.driver, run.tap.loader
        self._gateway = driver.gateway
        self._rows = driver.construct(loader, "RowBuffer", 1_000_000)
        outputs = driver.construct(loader, "Outputs", run.tap.java.scheduler(), driver.map_output_tracker)
        removals = self._removals(loader, driver.map_output_tracker)
        self._listener = driver.construct(
            loader, "FactListener", self._rows, run.tap.java.scheduler(), outputs, removals, MUCH
        )

    def end_stage(self, moved: int) -> bool:
        """A stage that has written so many bytes has ended: whether its row is prompt."""
        metrics = self._gateway.jvm.org.apache.spark.executor.TaskMetrics.empty()
        metrics.shuffleWriteMetrics().incBytesWritten(moved)
        ended = self._gateway.jvm.org.apache.spark.scheduler.SparkListenerStageCompleted(self._stage(metrics))
        self._listener.onStageCompleted(ended)
        is_prompt = bool(self._field(self._rows, "isPrompt").get(self._rows))
        assert "stageCompleted" in self._rows.take(1_000, 1_000)
        return is_prompt

    def lasts_ns(self) -> tuple[int, int]:
        """Until when it is in a hurry, and now."""
        until = self._field(self._listener, "promptUntilNs").getLong(self._listener)
        return int(until), int(self._gateway.jvm.java.lang.System.nanoTime())

    def go_on(self, seconds: int) -> None:
        """As if what has ended so far made it hurry for so long from now on."""
        until_ns = self._gateway.jvm.java.lang.System.nanoTime() + seconds * 1_000_000_000
        self._field(self._listener, "promptUntilNs").setLong(self._listener, until_ns)

    def _field(self, of: Any, name: str) -> Any:
        field = of.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return field

    def _removals(self, loader: Any, tracker: Any) -> Any:
        """Its constructor is the tap's own."""
        constructor = loader.loadClass(f"{JAVA_PACKAGE}.SparkRemovals").getDeclaredConstructors()[0]
        constructor.setAccessible(True)
        given = self._gateway.new_array(self._gateway.jvm.java.lang.Object, 1)
        given[0] = tracker
        return constructor.newInstance(given)

    def _stage(self, metrics: Any) -> Any:
        """Its constructor takes more from one Spark to the next: each argument by its type."""
        jvm = self._gateway.jvm
        constructor = _class(self._gateway, "org.apache.spark.scheduler.StageInfo").getConstructors()[0]
        types = [str(one.getName()) for one in constructor.getParameterTypes()]
        nothing = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
        plain = {"int": 0, "boolean": False, "java.lang.String": "", "scala.Option": jvm.scala.Option.empty()}
        given = self._gateway.new_array(jvm.java.lang.Object, len(types))
        for place, of_type in enumerate(types):
            given[place] = metrics if of_type.endswith("TaskMetrics") else plain.get(of_type, nothing)
        return constructor.newInstance(given)


@pytest.mark.parametrize(
    ("moved", "is_prompt"), [(MUCH, True), (MUCH - 1, True), (MUCH // 64, True), (MUCH // 64 - 1, False), (0, False)]
)
def test_the_end_of_a_stage_that_moved_much_or_some_is_told_at_once(run: Any, moved: int, is_prompt: bool) -> None:
    """ADR 14: some is a 64th of what is much."""
    assert Hurry(run).end_stage(moved) is is_prompt


@pytest.mark.parametrize(("moved", "lasts_ns"), [(MUCH, 1_000_000_000), (MUCH // 2, 250_000_000)])
def test_what_follows_soon_behind_it_is_told_with_it(run: Any, moved: int, lasts_ns: int) -> None:
    hurry = Hurry(run)
    _, began_ns = hurry.lasts_ns()
    hurry.end_stage(moved)
    until_ns, now_ns = hurry.lasts_ns()
    assert began_ns + lasts_ns <= until_ns <= now_ns + lasts_ns
    hurry.go_on(60)
    assert hurry.end_stage(0)
    hurry.go_on(0)
    assert not hurry.end_stage(0)


def test_some_is_told_at_once_only_while_that_is_seldom(run: Any) -> None:
    """A train of small jobs is in no hurry after its first thirty; what is much, always."""
    hurry, began_s = Hurry(run), time.monotonic()
    prompt = 0
    for _ in range(SOME_AHEAD + 20):
        prompt += hurry.end_stage(MUCH // 2)
        hurry.go_on(0)
    assert SOME_AHEAD <= prompt <= SOME_AHEAD + 1 + SOME_A_S * (time.monotonic() - began_s)
    assert hurry.end_stage(MUCH)
