"""Roots that are not a plain handle: views, checkpoints to come, streams, DStreams, V2 writes, pandas on Spark."""

from __future__ import annotations

import gc
import importlib.util
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel
from pyspark.sql import functions

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import Program, attached
from tests.support.spark import Gate, gate, in_background, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(180)]


def summed(program: Program) -> Any:
    """A frame over an RDD whose shuffle was not read yet."""
    pairs = program.spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n))
    return program.spark.createDataFrame(pairs.reduceByKey(lambda a, b: a + b, 3), "k int, v int")


def test_a_global_view_holds_what_it_reads(program: Program) -> None:
    frame = summed(program)
    assert frame.count() == 20
    frame.createOrReplaceGlobalTempView("sums")
    del frame
    program.look()
    for _ in range(2):
        assert program.spark.sql("select sum(v) from global_temp.sums").collect()[0][0] == sum(range(400))
        program.look()
    program.spark.catalog.dropGlobalTempView("sums")


def test_a_write_through_v2_reads_once_and_lets_go(program: Program) -> None:
    counts = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k").groupBy("k").count()
    counts.write.format("noop").mode("overwrite").save()
    program.wait_gone(*program.written())


def test_a_checkpoint_holds_no_more_than_its_plan(program: Program, tmp_path: Path) -> None:
    last = gate(tmp_path / "gate")

    def hold(count: int) -> int:
        last.pass_through("the last stage")
        return count

    held = functions.udf(hold, "long")
    times = summed(program).groupBy("v").count().withColumnRenamed("count", "times")
    counts = times.groupBy("times").count().select(held("count").alias("n"))
    with in_background(lambda: counts.localCheckpoint().collect()) as running:
        wait_for(last.arrived, "the last stage of the checkpoint")
        try:
            of_its_rdd, exchanged, *_ = program.written()
            program.wait_gone(exchanged)
            assert of_its_rdd not in program.gone(), "the frame may be asked again"
        finally:
            last.open()
        assert running.result(60) == [(20,)]


def test_what_a_checkpoint_of_later_will_read_stays(program: Program) -> None:
    later = summed(program).groupBy("v").count().localCheckpoint(eager=False)
    program.look()
    assert later.count() == later.count() == 20


def wholly_cached(program: Program, name: str) -> tuple[Any, Any, int]:
    """An RDD of that name, which is wholly cached with disk, over a shuffle; a frame over it; the shuffle."""
    pairs = program.spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n))
    rows = pairs.reduceByKey(lambda a, b: a + b, 3).setName(name).persist(StorageLevel.MEMORY_AND_DISK)
    assert rows.count() == 20
    (shuffle,) = program.written()
    number, context = rows._jrdd.rdd().id(), program.spark.sparkContext._jsc.sc()
    wait_for(lambda: context.statusStore().rdd(number).numCachedPartitions() == 3, "what is cached to be known")
    return rows, program.spark.createDataFrame(rows, "k int, v int"), shuffle


def wait_collected(program: Program, shuffle: int) -> None:
    """What nobody holds any more goes, when the JVM's collector has come by."""

    def gone() -> bool:
        gc.collect()
        program.spark.sparkContext._gateway.jvm.java.lang.System.gc()
        program.look()
        return shuffle in program.gone()

    wait_for(gone, "what the JVM has collected to go")


@pytest.mark.parametrize("name", ["Delta Table State #3 - s3://t", "Delta Source Snapshot #3 - s3://t"])
def test_what_a_library_drops_is_read_again(program: Program, name: str) -> None:
    rows, frame, shuffle = wholly_cached(program, name)
    program.look()
    rows.unpersist(blocking=True)
    program.look()
    assert frame.count() == 20
    assert shuffle not in program.gone()
    del rows, frame
    wait_collected(program, shuffle)


def test_what_a_library_has_dropped_and_still_holds_is_read_again(program: Program) -> None:
    """It holds it where no look comes to; so do a JVM's properties here, while nothing binds them."""
    rows, frame, shuffle = wholly_cached(program, "Delta Table State #4 - s3://t")
    jvm = program.spark.sparkContext._gateway.jvm
    jvm.java.lang.System.getProperties().put("held by a library", rows._jrdd.rdd())
    try:
        del rows, frame
        gc.collect()
        program.look()
        jvm.java.lang.System.getProperties().get("held by a library").unpersist(True)
        gc.collect()
        program.look()
        assert jvm.java.lang.System.getProperties().get("held by a library").count() > 0
        assert shuffle not in program.gone()
    finally:
        jvm.java.lang.System.getProperties().remove("held by a library")
    wait_collected(program, shuffle)


def test_what_a_program_has_cached_lets_go_what_is_behind(program: Program) -> None:
    _rows, frame, shuffle = wholly_cached(program, "the state of Delta Table State #3")
    program.wait_gone(shuffle)
    assert frame.count() == 20


def to_be_checkpointed(program: Program, folder: Path) -> Any:
    context = program.spark.sparkContext
    context.setCheckpointDir(str(folder))
    marked = context.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(4).mapValues(lambda n: n + 1)
    marked.checkpoint()
    return marked


def looked_at_in_its_last_task(program: Program, last: Gate, job: Callable[[], int]) -> None:
    """What the marked RDD is made of is there when the job has ended, and goes when the checkpoint is done."""
    with in_background(job) as running:
        wait_for(last.arrived, "the last task")
        try:
            program.look()
            first = program.written()[0]
            assert first not in program.gone()
        finally:
            last.open()
        assert running.result(60) == sum(range(1, 401))
    program.wait_gone(first)
    assert not program.recomputed()


def test_what_a_checkpoint_computes_again_is_held_until_it_has(program: Program, tmp_path: Path) -> None:
    """Spark checkpoints an RDD by a job of its own, behind the first one that has computed it."""
    last = gate(tmp_path / "gate")

    def hold(pair: tuple[int, int]) -> int:
        last.pass_through("the result stage")
        return pair[1]

    looked_at_in_its_last_task(
        program, last, to_be_checkpointed(program, tmp_path / "checkpoints").partitionBy(3).map(hold).sum
    )


def test_so_it_is_where_a_cache_lies_between(program: Program, tmp_path: Path) -> None:
    last = gate(tmp_path / "gate")
    kept = to_be_checkpointed(program, tmp_path / "checkpoints").coalesce(4).persist(StorageLevel.DISK_ONLY)

    def hold(place: int, pairs: Iterable[tuple[int, int]]) -> Iterable[int]:
        numbers = [number for _, number in pairs]
        if place == 3:
            last.pass_through("the last partition")
        return numbers

    looked_at_in_its_last_task(program, last, kept.mapPartitionsWithIndex(hold).sum)


def test_what_was_read_goes_by_the_end_of_its_reader_alone(program: Program, tmp_path: Path) -> None:
    """A look while the reader runs has said what holds it: whatever the reader writes, and nobody else."""
    last = gate(tmp_path / "gate")
    first = program.spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(4)
    assert first.count() == 400

    def hold(pair: tuple[int, int]) -> tuple[int, int]:
        last.pass_through("the reader")
        return pair

    second = first.map(hold).partitionBy(3)
    del first
    with in_background(second.count) as running:
        wait_for(last.arrived, "the reader")
        try:
            program.look()
            read, _ = program.written()
            assert read not in program.gone()
        finally:
            last.open()
        assert running.result(60) == 400
    program.wait_gone(read)
    records = {record.sequence: record for record in program.log.records()}
    of_generation = program.log.generations()
    expired = [record for record in records.values() if record.HasField("generation_expired")]
    first_expired = next(one for one in expired if of_generation[one.generation_expired.shuffle_id] == read)
    assert records[first_expired.because].WhichOneof("event") == "stage_completed"
    assert second.count() == 400


def test_behind_what_is_there_no_more_the_program_holds_on_while_a_job_lists_it(run: Run, tmp_path: Path) -> None:
    """The second shuffle goes missing unheard; its lineage is read again, and what it was written from is there."""

    def lose(attachment: Any, _: Any, shuffle: int) -> None:
        attachment._bridge._tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(shuffle)

    read_again_after(lose, run, tmp_path)


def test_so_it_does_where_the_program_has_it_cleaned(run: Run, tmp_path: Path) -> None:
    read_again_after(lambda _, second, __: second.cleanShuffleDependencies(), run, tmp_path)


def read_again_after(lose: Callable[[Any, Any, int], None], run: Run, folder: Path) -> None:
    last = gate(folder / "gate")

    def hold(pair: tuple[int, int]) -> tuple[int, int]:
        last.pass_through("the job that lists them all")
        return pair

    with run.attached("reachable") as (attachment, log):
        program = Program(run, attachment, log)
        pairs = program.spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n))
        between = pairs.partitionBy(4).mapValues(lambda n: n + 1).persist(StorageLevel.MEMORY_ONLY)
        second = between.map(lambda pair: (pair[1], pair[0])).partitionBy(3)
        third = second.map(lambda pair: (pair[1], pair[0])).partitionBy(2)
        assert third.count() == 400
        first_shuffle, second_shuffle, _ = program.written()
        with in_background(third.map(hold).partitionBy(2).count) as running:
            wait_for(last.arrived, "the job that lists them all")
            try:
                lose(attachment, second, second_shuffle)
                between.unpersist(True)
                del between
                program.look()
                assert first_shuffle not in program.gone()
            finally:
                last.open()
            assert running.result(60) == 400
        assert second.count() == 400
        assert first_shuffle not in program.recomputed()


def test_a_stream_holds_the_static_side_of_its_join(program: Program, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "1.csv").write_text("1\n2\n")
    static = summed(program)
    assert static.count() == 20
    lines = program.spark.readStream.schema("k int").csv(str(source))
    query = lines.join(static, "k").writeStream.format("memory").queryName("joined").start()
    del static, lines
    try:
        query.processAllAvailable()
        program.look()
        (source / "2.csv").write_text("3\n4\n")
        query.processAllAvailable()
    finally:
        query.stop()
    assert program.spark.sql("select k from joined order by k").collect() == [(1,), (2,), (3,), (4,)]


LOOP = """BEGIN
  DECLARE total BIGINT DEFAULT 0;
  FOR r AS SELECT id % 9 AS k, count(*) AS c FROM range(0, 90, 1, 3) GROUP BY id % 9 DO
    SET total = (SELECT max(hold(id)) FROM range(1, 2, 1, 1)) + total + r.c;
  END FOR;
  SELECT total;
END"""
CURSOR = """BEGIN
  DECLARE total, k, c BIGINT DEFAULT 0;
  DECLARE i INT DEFAULT 0;
  DECLARE counts CURSOR FOR SELECT id % 9 AS k, count(*) AS c FROM range(0, 90, 1, 3) GROUP BY id % 9;
  OPEN counts;
  WHILE i < 9 DO
    FETCH counts INTO k, c;
    SET total = (SELECT max(hold(id)) FROM range(1, 2, 1, 1)) + total + c;
    SET i = i + 1;
  END WHILE;
  CLOSE counts;
  SELECT total;
END"""
SCRIPTING = {
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.scripting.enabled": "true",
    "spark.sql.scripting.cursorEnabled": "true",
}


@pytest.mark.parametrize("script", [LOOP, CURSOR], ids=["loop", "cursor"])
def test_a_script_that_reads_a_result_bit_by_bit_holds_it(run: Run, tmp_path: Path, script: str) -> None:
    """Between two of its partitions nothing but a variable of the script's, in the JVM, leads to the result."""
    if run.spark.version < "4.3":
        pytest.skip("scripts, or their cursors, are not in this Spark")
    first = gate(tmp_path / "gate")

    def hold(number: int) -> int:
        first.pass_through("the loop's body")
        return number

    run.spark.udf.register("hold", hold, "long")
    for key, value in SCRIPTING.items():
        run.spark.conf.set(key, value)
    try:
        with attached(run) as program:
            with in_background(lambda: run.spark.sql(script).collect()) as running:
                try:
                    wait_for(lambda: first.arrived() or running.done(), "the loop's body")
                    program.look()
                finally:
                    first.open()
                assert running.result(120) == [(9 + 90,)]
            program.wait_gone(*program.written())
    finally:
        for key in SCRIPTING:
            run.spark.conf.unset(key)


def test_a_dstream_holds_the_rdds_of_its_queue(program: Program) -> None:
    streaming = pytest.importorskip("pyspark.streaming")
    context = program.spark.sparkContext
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        stream = streaming.StreamingContext(context, 1)
    counted: list[int] = []
    keyed = [context.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3) for _ in range(3)]
    assert [rdd.count() for rdd in keyed] == [400] * 3
    stream.queueStream(keyed).map(lambda row: row[1]).foreachRDD(lambda rdd: counted.append(rdd.count()))
    del keyed
    program.look()
    stream.start()
    try:
        wait_for(lambda: len(counted) >= 3, "three batches")
    finally:
        stream.stop(stopSparkContext=False, stopGraceFully=True)
    assert counted[:3] == [400] * 3


def test_while_a_dstream_makes_a_batch_everything_is_needed(program: Program) -> None:
    """RDDs on their way through the graph are for a moment in none of its tables."""
    streaming = pytest.importorskip("pyspark.streaming")
    context = program.spark.sparkContext
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        stream = streaming.StreamingContext(context, 1)
    left: list[int] = []
    gone: list[set[int]] = []

    def transformed(rdd: Any) -> Any:
        if not left:
            before = program.written()
            context.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3).count()
            left.extend(set(program.written()) - set(before))
            gc.collect()
            program.look()
            gone.append(program.gone())
        return rdd

    stream.queueStream([context.parallelize(range(4))]).transform(transformed).foreachRDD(lambda rdd: rdd.count())
    stream.start()
    try:
        wait_for(lambda: gone, "a batch")
    finally:
        stream.stop(stopSparkContext=False, stopGraceFully=True)
    assert len(left) == 1
    assert not gone[0] & set(left)
    program.wait_gone(*left)


def pandas_on_spark() -> Any:
    """PySpark's module, where it can be imported: no PySpark of today works with every pandas."""
    if importlib.util.find_spec("pandas") is None or importlib.util.find_spec("pyarrow") is None:
        pytest.skip("pandas or pyarrow is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pyspark.pandas as module
        except (ImportError, AttributeError) as error:
            pytest.skip(f"this PySpark does not work with this pandas or numpy: {error}")
    return module


@pytest.fixture
def lenient(program: Program) -> Iterator[None]:
    """As pandas computes: Spark 4.0's pandas API wants nothing else."""
    program.spark.conf.set("spark.sql.ansi.enabled", "false")
    yield
    program.spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("lenient")
def test_pandas_on_spark_holds_as_its_frame_does(program: Program) -> None:
    pandas_on_spark()
    frame = summed(program).pandas_api()
    assert len(frame) == 20
    program.look()
    assert int(frame["v"].sum()) == sum(range(400))
    doubled = frame.assign(w=frame["v"] * 2)
    del frame
    program.look()
    assert int(doubled["w"].sum()) == 2 * sum(range(400))


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Python's collector is on, and does not come by: as in a driver that waits for a long job."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.set_threshold(10_000_000, 1_000, 1_000)
    yield
    gc.set_threshold(*thresholds)


def test_what_only_a_cycle_holds_goes_without_waiting_for_the_collector(run: Run, no_collections: None) -> None:
    """A failed job's exception and its frames hold one another, and the RDD; so does a function that calls itself."""
    with attached(run, prompt_bytes="1k") as program:
        keep_in_a_cycle(program.spark.sparkContext)
        of_the_failed, of_the_function = program.written()
        wait_for(lambda: {of_the_failed, of_the_function} <= program.gone(), "both to go")


def keep_in_a_cycle(context: Any) -> None:
    pairs = context.parallelize(range(4_000), 4).map(lambda n: (n % 20, n)).partitionBy(4)
    assert pairs.count() == 4_000
    failed: Any = None
    try:
        pairs.map(lambda _: 1 / 0).count()
    except Exception as error:  # noqa: BLE001 - as programs do
        failed = error  # and the frame that its traceback holds is this one
    assert "ZeroDivisionError" in str(failed)
    counted = context.parallelize(range(4_000), 4).map(lambda n: (n % 20, n)).partitionBy(3)

    def twice(times: int) -> int:
        return int(counted.count()) if times == 0 else twice(times - 1)

    assert twice(2) == 4_000


def test_what_spark_itself_removes_is_no_miss_of_ours(run: Run, tmp_path: Path) -> None:
    """At the end of an execution it takes what the plan wrote. Two we had deleted: behind what it took, rightly."""
    setting = "spark.sql.classic.shuffleDependency.fileCleanup.enabled"
    if run.spark.version < "4.1":
        pytest.skip("Spark takes the plans of such programs since 4.1")
    last = gate(tmp_path / "gate")

    def hold(total: int) -> int:
        last.pass_through("the last stage")
        return total

    run.spark.conf.set(setting, "true")
    try:
        with run.attached("reachable") as (attachment, log):
            program = Program(run, attachment, log)
            numbers = run.spark.range(0, 300, 1, 2).selectExpr("id", "id % 8 as k")
            greatest = numbers.groupBy("k").agg(functions.max("id").alias("m"))
            joined = numbers.groupBy("k").agg(functions.sum("id").alias("s")).join(greatest, "k")
            totals = joined.groupBy("m").agg(functions.sum("s").alias("s")).select(functions.udf(hold, "long")("s"))
            with in_background(totals.collect) as running:
                wait_for(last.arrived, "the last stage")
                *behind, taken = program.written()
                program.wait_gone(*behind)
                last.open()
                first = running.result(120)
            tracker = attachment._bridge._tap.driver.map_output_tracker
            wait_for(lambda: not tracker.containsShuffle(taken), "Spark to take the last one")
            assert sorted(totals.collect()) == sorted(first)
            program.settled()
            missed = log.events("premature_deletion")
            assert len(missed) == len(behind) == 2
            assert all(one.after_loss for one in missed)
    finally:
        run.spark.conf.unset(setting)
