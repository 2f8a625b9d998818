"""The fence against readers and writers of every kind, and what comes after it in the stream of facts."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from listener_bridge.shuffle_services.api import Busy, Failed, Fenced, Freed, Superseded
from listener_bridge.tap import facts
from tests.support.spark import Gate, in_background, wait_for

pytestmark = pytest.mark.spark
TIMEOUT = 20.0
T = TypeVar("T")


def hold(at: Gate) -> Any:
    """A step of an RDD whose tasks wait at the gate, then go on."""

    def step(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        at.pass_through(f"{index}-{os.getpid()}")
        return rows

    return step


def fence_when_quiet(run: Any, shuffle: int) -> Fenced:
    outcome = wait_for(
        lambda: o if not isinstance(o := run.service.fence(shuffle, TIMEOUT), Busy) else None, "the end of all users"
    )
    assert isinstance(outcome, Fenced)
    return outcome


def test_a_running_writer_is_busy(run: Any) -> None:
    gate = run.gate()
    keyed = run.spark.sparkContext.parallelize(range(100), 4).mapPartitionsWithIndex(hold(gate))
    keyed = keyed.map(lambda n: (n % 5, n)).partitionBy(2)
    with in_background(lambda: sorted(keyed.collect())) as job:
        wait_for(gate.arrived, "a writer's task")
        outcome = run.service.fence(run.newest_shuffle(), TIMEOUT)
        gate.open()
        assert isinstance(outcome, Busy)
        assert "writes it" in outcome.who[0]
    assert job.result() == sorted((n % 5, n) for n in range(100))
    assert run.fetch_failures() == []


def test_files_that_spark_has_no_outputs_of_go_when_they_are_fenced(run: Any) -> None:
    """As those of tasks that were killed between their last write and their end."""
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    run.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)
    assert run.files(shuffle)
    assert isinstance(run.service.fence(shuffle, TIMEOUT), Superseded)
    assert not run.files(shuffle)
    assert sorted(keyed.collect()) == right
    assert run.fetch_failures() == []


def test_19_a_reader_just_submitted_is_busy_until_it_is_done(run: Any) -> None:
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    for _ in range(10):
        with in_background(lambda: sorted(keyed.collect())) as job:
            outcome = fence_when_quiet(run, shuffle)
            assert job.result() == right
        run.service.free(outcome.locator, TIMEOUT)
    assert run.fetch_failures() == []


def test_a_stage_that_waits_for_another_input_is_busy_unless_the_generation_is_suspect(run: Any) -> None:
    gate = run.gate()
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    late = run.spark.sparkContext.parallelize(range(2), 2).mapPartitionsWithIndex(hold(gate)).map(lambda n: (n, n))
    with in_background(lambda: sorted(keyed.union(late.partitionBy(3)).collect())) as job:
        wait_for(gate.arrived, "the other input's writer")
        refused = run.service.fence(shuffle, TIMEOUT)
        suspect = run.service.fence(shuffle, TIMEOUT, run.service.holds(shuffle).locator)
        gate.open()
        assert job.result() == sorted([*right, (0, 0), (1, 1)])
    assert isinstance(refused, Busy)
    assert "waits to read it" in refused.who[0]
    assert isinstance(suspect, Fenced)
    assert run.fetch_failures() == []


def test_19_the_reader_of_a_cancelled_job_counts_until_its_last_task_has_ended(run: Any) -> None:
    context = run.spark.sparkContext
    keyed, gate = run.keyed(), run.gate()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()

    def cancelled() -> bool:
        context.setJobGroup("given up", "", interruptOnCancel=False)
        try:
            keyed.mapPartitionsWithIndex(hold(gate)).count()
        except Exception as error:  # noqa: BLE001 - py4j's, which wraps Spark's
            return "cancelled" in str(error).lower()
        return False

    with in_background(cancelled) as job:
        wait_for(gate.arrived, "a reader's task")
        context.cancelJobGroup("given up")
        assert job.result()
        outcome = run.service.fence(shuffle, TIMEOUT)
        gate.open()
    assert isinstance(outcome, Busy | Fenced)  # a worker that is killed with its job reads no more
    fenced = fence_when_quiet(run, shuffle)
    assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)
    assert sorted(keyed.collect()) == right


def test_19b_a_reader_that_ended_just_before_comes_before_the_marker(run: Any) -> None:
    keyed = run.keyed()
    keyed.collect()
    fenced = run.service.fence(run.newest_shuffle(), TIMEOUT)
    assert isinstance(fenced, Fenced)
    run.log.settle()
    told = list(run.log.facts)
    marker = next(i for i, f in enumerate(told) if isinstance(f, facts.MarkerPassed) and f.name == fenced.marker)
    last = max(i for i, f in enumerate(told) if isinstance(f, facts.StageCompleted | facts.JobEnded))
    assert last < marker
    keyed.count()
    run.log.settle()
    later = [f for f in run.log.facts[marker:] if isinstance(f, facts.StageSubmitted) and f.stage.writes is not None]
    assert len(later) == 1


@pytest.mark.newest
def test_large_files_are_gone_when_the_call_has_returned(run: Any) -> None:
    rows = run.spark.sparkContext.parallelize(range(72), 6).map(lambda n: (n, random.Random(n).randbytes(1 << 20)))
    keyed = rows.partitionBy(2)
    assert keyed.count() == 72
    shuffle = run.newest_shuffle()
    written = sum(run.files(shuffle).values())
    assert written > 72 << 20
    fenced = fence_when_quiet(run, shuffle)
    outcome = run.service.free(fenced.locator, TIMEOUT)
    assert run.files(shuffle) == {}
    assert isinstance(outcome, Freed)
    assert outcome.bytes > 72 << 20


def test_22_late_and_repeated_directives_leave_the_next_writer_alone(run: Any) -> None:
    gate, again = run.gate(), run.gate()
    gate.open()
    gates = [gate.folder, again.folder]

    def step(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        Gate(gates[1] if Path(gates[0], "used").exists() else gates[0]).pass_through(index)
        return rows

    keyed = run.spark.sparkContext.parallelize(range(100), 4).mapPartitionsWithIndex(step)
    keyed = keyed.map(lambda n: (n % 5, n)).partitionBy(2)
    right = sorted(keyed.collect())
    Path(gate.folder, "used").touch()
    shuffle = run.newest_shuffle()
    first = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(first, Fenced)
    with in_background(lambda: sorted(keyed.collect())) as job:
        wait_for(again.arrived, "a writer of the second generation")
        assert isinstance(run.service.free(first.locator, TIMEOUT), Superseded)
        assert isinstance(run.service.forget(first.locator, TIMEOUT), Busy | Superseded)
        assert isinstance(run.service.fence(shuffle, TIMEOUT, first.locator), Superseded)
        again.open()
        assert job.result() == right
    second = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(second, Fenced)
    assert isinstance(run.service.free(second.locator, TIMEOUT), Freed)
    assert run.files(shuffle) == {}  # those of the first generation too
    assert run.fetch_failures() == []


def test_25_a_chain_is_computed_again_from_its_source(run: Any) -> None:
    first = run.keyed()
    second = first.map(lambda kv: (kv[1] % 7, kv[0])).partitionBy(3)
    right = sorted(second.collect())
    newest = run.newest_shuffle()
    for shuffle in (newest - 1, newest):
        fenced = run.service.fence(shuffle, TIMEOUT)
        assert isinstance(fenced, Fenced)
        assert isinstance(run.service.free(fenced.locator, TIMEOUT), Freed)
        assert run.files(shuffle) == {}
    assert sorted(second.collect()) == right
    assert run.fetch_failures() == []


def test_a_fence_whose_caller_gave_up_never_acts(run: Any) -> None:
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    for _ in range(20):
        outcome = run.service.fence(shuffle, 0.0)
        if isinstance(outcome, Failed):
            run.tap.snapshot()  # whatever stood in the scheduler's queue has been handled
            assert run.tap.driver.map_output_tracker.getNumAvailableOutputs(shuffle) == 4
        else:
            assert isinstance(outcome, Fenced)
            assert sorted(keyed.collect()) == right


def executor_processes(folder: Path) -> list[int]:
    """Processes of executors whose local directory is ours: only those that this test's own session has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_ours = str(folder) in (entry / "environ").read_text(errors="replace")
                if is_ours and "CoarseGrainedExecutorBackend" in (entry / "cmdline").read_text(errors="replace"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return sorted(found)


def test_a_map_stage_waits_while_an_executor_has_not_answered(run: Any) -> None:
    executors = executor_processes(run.folder)
    if not executors:
        pytest.skip("local mode: the driver deletes at once")
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    with in_background(lambda: stopped(executors[0], lambda: run.service.free(fenced.locator, TIMEOUT))) as free:
        wait_for(lambda: len(run.files(shuffle)) < 8, "the other executor's deletion")
        with in_background(lambda: sorted(keyed.collect())) as job:
            try:
                wait_for(lambda: run.tap.snapshot(timeout_s=0.2) is None, "the scheduler to wait for the outputs", 4.0)
                assert not free.done()
            finally:
                os.kill(executors[0], signal.SIGCONT)
            assert free.result() == Freed(fenced.bytes)
            assert job.result() == right
    assert run.fetch_failures() == []


def test_an_executor_that_hangs_keeps_one_deletion_waiting_and_not_each(run: Any) -> None:
    executors = executor_processes(run.folder)
    if not executors:
        pytest.skip("local mode: the driver deletes at once")
    shuffles = []
    for _ in range(2):
        run.keyed().collect()
        shuffles.append(run.newest_shuffle())
    fences = [fence_when_quiet(run, shuffle) for shuffle in shuffles]

    def free() -> list[Any]:
        return [run.service.free(fenced.locator, TIMEOUT) for fenced in fences]

    first, second = stopped(executors[0], free)
    assert isinstance(first, Failed)
    assert "no answer in time" in first.why
    assert isinstance(second, Failed)
    assert "asked again in a while" in second.why
    wait_for(lambda: all(isinstance(outcome, Freed) for outcome in free()), "the executor to be asked again", 40.0)
    assert not any(run.files(shuffle) for shuffle in shuffles)


def test_what_spark_lets_go_between_its_fence_and_its_deletion_is_not_kept(run: Any) -> None:
    run.keyed().collect()
    shuffle = run.newest_shuffle()
    fenced = fence_when_quiet(run, shuffle)
    run.tap.driver.context.cleaner().get().doCleanupShuffle(shuffle, True)
    assert not run.files(shuffle)
    assert shuffle not in list(run.service._java.fenced())
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(0)
    assert shuffle not in list(run.service._java.fenced())


def stopped(process: int, call: Callable[[], T]) -> T:
    """Make the call while the process is stopped; whoever else knows its id may let it go on."""
    os.kill(process, signal.SIGSTOP)
    try:
        return call()
    finally:
        os.kill(process, signal.SIGCONT)


ENDS = """
package shufflelifecycle;
import org.apache.spark.Resubmitted$;
import org.apache.spark.SparkContext;
import org.apache.spark.Success$;
import org.apache.spark.TaskEndReason;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;

/** A task by its events alone: made up, as one that has gone from wherever the task scheduler knew it. */
public class Ends {
  private final SparkContext context;
  private final int stage;

  public Ends(Object context, Object stage) {
    this.context = (SparkContext) context;
    this.stage = ((Number) stage).intValue();
  }

  private static TaskInfo task(long id) {
    return new TaskInfo(id, 0, 0, 0, 0L, "driver", "localhost", TaskLocality.PROCESS_LOCAL(), false);
  }

  public void start(long id) {
    context.listenerBus().post(new SparkListenerTaskStart(stage, 0, task(id)));
  }

  public void end(long id, boolean again) {
    TaskEndReason reason = again ? (TaskEndReason) Resubmitted$.MODULE$ : (TaskEndReason) Success$.MODULE$;
    context.listenerBus().post(new SparkListenerTaskEnd(stage, 0, "ResultTask", reason, task(id), null, null));
  }
}
"""
ONE, OTHER = 10**9, 10**9 + 1


@pytest.fixture
def reading(run: Any) -> Iterator[tuple[int, Any]]:
    """A shuffle that a live stage will read, and tasks of that stage as the bus tells of them: none runs yet."""
    gate, keyed = run.gate(), run.keyed()
    keyed.collect()
    shuffle = run.newest_shuffle()
    late = run.spark.sparkContext.parallelize(range(2), 2).mapPartitionsWithIndex(hold(gate)).map(lambda n: (n, n))
    driver = run.tap.driver
    loader = driver.load([ENDS])
    with in_background(lambda: keyed.union(late.partitionBy(3)).collect()):
        try:
            wait_for(gate.arrived, "the other input's writer")
            run.log.settle()
            stage = run.log.of(facts.JobStarted)[-1].result_stage_id
            yield shuffle, driver.construct(loader, "Ends", run.spark.sparkContext._jsc.sc(), stage)
        finally:
            gate.open()


def fence_named(run: Any, shuffle: int) -> Any:
    """As what is suspect is fenced: who only waits for it does not count."""
    run.log.settle()
    return run.service.fence(shuffle, TIMEOUT, run.service.holds(shuffle).locator)


def test_a_task_whose_end_was_not_handled_is_a_user_and_one_more_end_of_another_is_none(run: Any, reading: Any) -> None:
    shuffle, tasks = reading
    tasks.start(ONE)
    tasks.end(OTHER, True)  # its output was lost, which is told as one more end
    refused = fence_named(run, shuffle)
    assert isinstance(refused, Busy)
    assert "whose end has not come by" in refused.who[0]
    tasks.end(ONE, False)
    assert isinstance(fence_named(run, shuffle), Fenced)


def test_an_end_that_may_have_been_dropped_is_not_waited_for(run: Any, reading: Any) -> None:
    shuffle, tasks = reading
    tasks.start(ONE)
    assert isinstance(fence_named(run, shuffle), Busy)
    missed = run.tap.driver.construct(run.tap.loader, "Outputs$Missed")
    run.spark.sparkContext._jsc.sc().listenerBus().post(missed)
    assert isinstance(fence_named(run, shuffle), Fenced)


def test_an_end_that_never_comes_is_waited_for_only_while_the_stage_lives(run: Any, reading: Any) -> None:
    shuffle, tasks = reading
    tasks.start(ONE)
    assert isinstance(fence_named(run, shuffle), Busy)
    run.spark.sparkContext._jsc.sc().cancelAllJobs()
    wait_for(lambda: isinstance(fence_named(run, shuffle), Fenced), "the fence of what no live stage reads")


def test_files_of_an_executor_that_was_struck_off_for_a_moment_are_not_taken_for_gone(run: Any) -> None:
    """As after a failed fetch from it: it lives, the block manager's master asks it nothing until it comes back."""
    if run.spark.sparkContext.master.startswith("local["):
        pytest.skip("the driver is the executor")
    keyed = run.keyed()
    right = sorted(keyed.collect())
    shuffle = run.newest_shuffle()
    fenced = fence_when_quiet(run, shuffle)
    struck_off = min(run.tap.java.scheduler().executors())
    run.tap.driver.block_manager.master().removeExecutor(struck_off)

    def free() -> Any:
        outcome = run.service.free(fenced.locator, TIMEOUT)
        return outcome if isinstance(outcome, Freed) else None

    wait_for(free, "the executor to be known again, and asked")
    assert not run.files(shuffle)
    assert sorted(keyed.collect()) == right


def test_the_size_of_what_has_more_blocks_than_spark_counts(run: Any) -> None:
    """Above 2,000 blocks a map status keeps an average, and not of how many: Spark does not send that."""
    context = run.spark.sparkContext
    keyed = context.parallelize(range(6000), 2).map(lambda n: (n, n)).partitionBy(2001)
    assert len(context.runJob(keyed, list, [0, 2000])) == 5  # a task for each of them would take a minute
    shuffle = run.newest_shuffle()
    stored = sum(size for path, size in run.files(shuffle).items() if path.suffix == ".data")
    fenced = fence_when_quiet(run, shuffle)
    assert 0.8 * stored < fenced.bytes < 1.2 * stored
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
    assert not run.files(shuffle)
