"""What a look finds, one rule at a time; and that it changes nothing."""

from __future__ import annotations

import functools
import gc
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel
from pyspark.sql import functions

from listener_bridge.reach import walk
from listener_bridge.reach.findings import Kind, Program, TargetId
from listener_bridge.tap import jvm
from tests.support.spark import gate as make_gate
from tests.support.spark import in_background, wait_for
from tests.support.walking import Walking

pytestmark = pytest.mark.spark
LINEAGE = 2000

ODD_RDD = """
package program.own;
public class OddRdd extends org.apache.spark.rdd.RDD {
  private final Object[] hidden;
  public OddRdd(Object parent) {
    super(((org.apache.spark.rdd.RDD) parent).context(), (SEQ) scala.collection.immutable.Nil$.MODULE$,
        scala.reflect.ClassTag$.MODULE$.apply(Object.class));
    hidden = new Object[] {parent};
  }
  public SEQ getDependencies() { throw new IllegalStateException("a look asked for dependencies"); }
  public org.apache.spark.Partition[] getPartitions() { throw new IllegalStateException("a look asked for them"); }
  public scala.collection.Iterator compute(org.apache.spark.Partition split, org.apache.spark.TaskContext context) {
    return null;
  }
}
"""


def keyed(run: Walking, rows: int = 40) -> Any:
    """A shuffled RDD that nobody has computed yet."""
    return run.spark.sparkContext.parallelize(range(rows), 2).map(lambda n: (n % 5, n)).partitionBy(2)


def is_garbage(run: Walking, shuffle: int) -> bool:
    return shuffle not in run.needs()


def is_wholly_cached(run: Walking, name: str) -> bool:
    return not needs_of(run, name)


def bound(java: Any) -> TargetId:
    return TargetId(java._target_id)


def test_the_handle_of_a_shuffled_rdd_is_a_root_and_dead_ones_are_not(run: Walking) -> None:
    handle = keyed(run)
    (shuffle,) = run.written_by(handle.count)
    java = handle._jrdd
    (root,) = [root for root in run.roots() if root.root == bound(java)]
    assert root.kind is Kind.HANDLE
    assert root.needs == {shuffle}
    named = run.roots(Program(names={bound(java): "`handle`"}))
    assert "`handle`" in {root.why for root in named if root.root == bound(java)}
    holders = frozenset(TargetId(root.root) for root in run.roots() if shuffle in root.needs)
    assert all(shuffle not in root.needs for root in run.roots(Program(dead=holders)))
    del handle, java
    wait_for(functools.partial(is_garbage, run, shuffle), "the shuffle of a handle that is gone to be garbage")


def test_a_lineage_stops_at_outputs_that_are_intact(run: Walking) -> None:
    first = keyed(run)
    second = first.mapValues(lambda n: n + 1).partitionBy(3)
    written = run.written_by(second.count)
    (earlier,) = needs_of(run, bound(first._jrdd))
    (later,) = needs_of(run, bound(second._jrdd))
    assert written == {earlier, later}
    assert earlier != later


def test_a_look_lists_no_files_and_takes_no_shuffle_ids(run: Walking, tmp_path: Path) -> None:
    (before,) = run.written_by(keyed(run).count)
    (tmp_path / "one.txt").write_text("a\nb\n")
    lazy = run.spark.sparkContext.textFile(str(tmp_path)).map(lambda line: (line, 1)).partitionBy(2)
    for _ in range(5):
        run.roots()
    (tmp_path / "two.txt").write_text("c\nd\ne\n")
    lines: list[int] = []
    assert run.written_by(lambda: lines.append(lazy.count())) == {before + 1}
    assert lines == [5]


def test_a_missing_path_fails_its_job_as_ever_and_no_look(run: Walking, tmp_path: Path) -> None:
    lazy = run.spark.sparkContext.textFile(str(tmp_path / "nowhere")).map(lambda line: (line, 1)).groupByKey(2)
    run.roots()
    with pytest.raises(Exception, match="Input path does not exist"):
        lazy.count()
    run.roots()


def test_a_second_collect_finds_what_the_first_one_left(run: Walking) -> None:
    frame = run.spark.range(100).selectExpr("id % 7 AS k").groupBy("k").count()
    written = run.written_by(frame.collect)
    assert len(written) == 1
    assert written <= run.needs()
    assert run.written_by(frame.collect) == set()
    del frame
    wait_for(functools.partial(is_garbage, run, *written), "the shuffle of a DataFrame that is gone to be garbage")


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_what_a_plan_computed_without_an_exchange_is_needed_where_spark_keeps_it(run: Walking, adaptive: str) -> None:
    """Spark 4 keeps the RDD of each node that has run; before it, the next run makes another shuffle."""
    run.spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = run.spark.range(100).selectExpr("id % 7 AS k", "-id AS v").orderBy("v").limit(10).filter("k > 2")
    (written,) = run.written_by(frame.collect)
    is_needed = written in run.needs()
    reads_it_again = run.written_by(frame.collect) == set()
    run.spark.conf.unset("spark.sql.adaptive.enabled")
    assert is_needed == reads_it_again == (not run.spark.version.startswith("3."))
    del frame


def test_what_a_plan_reads_behind_its_last_exchange_is_garbage_already(run: Walking) -> None:
    frame = run.spark.range(100).selectExpr("id % 50 AS k").groupBy("k").count().groupBy("count").count()
    earlier, later = sorted(run.written_by(frame.collect))
    needs = run.needs()
    assert later in needs
    assert earlier not in needs
    del frame


def test_the_form_of_a_plan_is_made_in_its_own_session(run: Walking) -> None:
    """The thread of a look has none, and nodes that run Python ask for one when they are made anew (Spark 4.3)."""
    same = functions.udf(lambda key: key, "long")
    frame = run.spark.range(40).withColumn("x", same("id")).repartition(3, "x")
    plan = frame._jdf.queryExecution().sparkPlan()  # nobody has asked for its form yet
    driver = run.tap.driver
    loader = driver.load(jvm.sources_beside(walk.__file__), parent=run.tap.loader)
    forms = driver.construct(loader, "Forms")

    def made() -> tuple[str, bool]:
        return forms.of(plan).getClass().getSimpleName(), plan.session().getActiveSession().isDefined()

    with in_background(made) as found:
        assert found.result(60) == (plan.getClass().getSimpleName(), False)


def test_a_temporary_view_holds_the_rdd_below_it_until_it_is_dropped(run: Walking) -> None:
    handle = keyed(run)
    (shuffle,) = run.written_by(handle.count)
    run.spark.createDataFrame(handle, "k int, n int").createOrReplaceTempView("held")
    del handle
    gc.collect()
    (root,) = [root for root in run.roots() if "temporary view `held`" in root.root]
    assert root.needs == {shuffle}
    assert run.spark.sql("SELECT count(*) FROM held").collect()[0][0] == 40
    run.spark.catalog.dropTempView("held")
    wait_for(functools.partial(is_garbage, run, shuffle), "the view's shuffle to be garbage")


def test_a_model_holds_its_summary(run: Walking) -> None:
    pytest.importorskip("numpy")
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression

    rows = run.spark.range(60).selectExpr("id % 10 AS k", "cast(id AS double) AS x").groupBy("k").sum("x")
    features = VectorAssembler(inputCols=["k"], outputCol="features").transform(rows)
    model = LinearRegression(labelCol="sum(x)", maxIter=2, solver="normal").fit(features)
    del rows, features
    gc.collect()
    written = run.written_by(lambda: model.summary.predictions.collect())
    gc.collect()
    assert written <= run.needs()
    assert run.written_by(lambda: model.summary.predictions.collect()) == set()


def test_a_persisted_rdd_is_a_root_until_it_is_wholly_on_disk(run: Walking) -> None:
    from pyspark import StorageLevel

    for level, stays in ((StorageLevel.MEMORY_ONLY, True), (StorageLevel.MEMORY_AND_DISK, False)):
        handle = keyed(run).mapValues(lambda n: n + 1).persist(level)
        root = f"rdd {handle._jrdd.rdd().id()}"
        (shuffle,) = run.written_by(handle.first)
        assert shuffle in needs_of(run, root), f"{level}, cached in part"
        handle.count()
        if stays:
            assert shuffle in needs_of(run, root)
        else:
            wait_for(functools.partial(is_wholly_cached, run, root), "a wholly cached RDD to need nothing")
            assert not needs_of(run, bound(handle._jrdd))
        handle.unpersist(blocking=True)
        assert not needs_of(run, root)


def test_one_that_is_persisted_nowhere_is_none(run: Walking) -> None:
    """As libraries do whose callers choose the level (MLlib's ALS): Spark lists it, and will cache nothing of it."""
    from pyspark import StorageLevel

    handle = keyed(run).mapValues(lambda n: n + 1).persist(StorageLevel.NONE)
    rdd = handle._jrdd.rdd().id()
    (shuffle,) = run.written_by(handle.count)
    assert rdd in set(run.spark.sparkContext._jsc.getPersistentRDDs())
    assert shuffle in needs_of(run, bound(handle._jrdd))
    assert not needs_of(run, f"rdd {rdd}")
    handle.unpersist(blocking=True)


def test_a_persisted_rdd_is_told_by_its_name_and_by_where_it_was_made(run: Walking) -> None:
    handle = keyed(run).setName("ranks\nof all").persist()
    rdd = handle._jrdd.rdd()
    run.written_by(handle.first)
    (why,) = [root.why for root in run.roots() if root.root == f"rdd {rdd.id()}"]
    assert why == f"persisted RDD {rdd.id()}, ranks ({rdd.creationSite().shortForm()})"
    handle.unpersist(blocking=True)


def test_a_cached_frame_without_a_name_is_told_by_what_its_plan_does(run: Walking) -> None:
    frame = run.spark.range(40).selectExpr("id % 5 as k").groupBy("k").count().persist(StorageLevel.MEMORY_ONLY)
    run.written_by(functools.partial(frame.take, 1))
    (why,) = [root.why for root in run.roots() if root.root.startswith("cached table")]
    frame.unpersist(blocking=True)
    assert why.startswith("cached: HashAggregate(keys=[")
    assert "\n" not in why


def needs_of(run: Walking, name: str) -> frozenset[int]:
    return frozenset(shuffle for root in run.roots() if root.root == name for shuffle in root.needs)


def test_nothing_is_below_a_checkpoint(run: Walking, tmp_path: Path) -> None:
    run.spark.sparkContext.setCheckpointDir(str(tmp_path))
    below = keyed(run)
    written = run.written_by(below.count)
    handle = below.mapValues(lambda n: n + 1)
    handle.checkpoint()
    assert needs_of(run, bound(handle._jrdd)) == written
    handle.count()
    assert needs_of(run, bound(handle._jrdd)) == frozenset()


@pytest.mark.parametrize("kind", ["ArrayList", "HashSet", "HashMap"])
def test_an_iterator_of_java_holds_what_its_collection_holds(run: Walking, kind: str) -> None:
    """As `for java in java_set():` has it: Python holds the iterator alone."""
    handle = keyed(run)
    (shuffle,) = run.written_by(handle.count)
    shelf = getattr(run.spark.sparkContext._jvm.java.util, kind)()
    shelf.put("here", handle._jrdd) if kind == "HashMap" else shelf.add(handle._jrdd)
    iterator = (shelf.entrySet() if kind == "HashMap" else shelf).iterator()
    needs = {root.root: root.needs for root in run.roots()}
    assert needs.get(bound(iterator)) == frozenset({shuffle})
    entry = iterator.next()
    needs = {root.root: root.needs for root in run.roots()}
    assert needs.get(bound(entry)) == frozenset({shuffle})


HOLDERS = {
    "a pair": lambda jvm, query: jvm.org.apache.commons.lang3.tuple.Pair.of("ranks", query),
    "a list": lambda jvm, query: jvm.com.google.common.collect.ImmutableList.of(query),
    "a map": lambda jvm, query: jvm.com.google.common.collect.ImmutableMap.of("ranks", query),
    "a future": lambda jvm, query: jvm.java.util.concurrent.CompletableFuture.completedFuture(query),
    "a future of Scala's": lambda jvm, query: jvm.scala.concurrent.Promise.successful(query),
}
"""What libraries keep queries in, and hand to Python."""


@pytest.mark.parametrize("kind", HOLDERS)
def test_a_container_of_another_library_holds_what_is_in_it(run: Walking, kind: str) -> None:
    handle = keyed(run)
    (shuffle,) = run.written_by(handle.count)
    holder = HOLDERS[kind](run.spark._jvm, handle._jrdd)
    del handle
    gc.collect()
    assert needs_of(run, bound(holder)) == {shuffle}


def test_sparks_cleaner_needs_nothing(run: Walking) -> None:
    """It knows all that was ever made, weakly: what cannot be read would hold everything."""
    run.written_by(keyed(run).count)
    cleaner = run.spark.sparkContext._jsc.sc().cleaner()
    assert cleaner.isDefined()
    assert bound(cleaner) not in {root.root for root in run.roots()}


def test_an_rdd_that_hides_its_parents_needs_everything(run: Walking) -> None:
    handle = keyed(run)
    run.written_by(handle.count)
    gateway = run.tap.driver.gateway
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())
    seq = "scala.collection.Seq" if run.tap.driver.version < (4, 0) else "scala.collection.immutable.Seq"
    compiler.cook(ODD_RDD.replace("SEQ", seq))
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
    arguments[0] = handle._jrdd.rdd()
    odd = compiler.getClassLoader().loadClass("program.own.OddRdd").getConstructors()[0].newInstance(arguments)
    (root,) = [root for root in run.roots() if root.root == bound(odd)]
    assert "program.own.OddRdd does not show its parents" in root.why
    everything = {int(shuffle) for shuffle in root.needs}
    assert run.newest_shuffle() in everything


def test_looks_leave_no_references_behind(run: Walking) -> None:
    bindings = run.tap.driver.gateway.java_gateway_server.getGateway().getBindings()
    gc.collect()
    run.roots()
    before = bindings.size()
    for _ in range(20):
        run.roots()
    assert bindings.size() <= before  # what others have dropped may go meanwhile


def test_a_walk_ends_at_what_a_live_job_announces(run: Walking) -> None:
    first = keyed(run)
    (read,) = run.written_by(first.count)
    second = first.mapValues(lambda n: n + 1).partitionBy(3)
    java = second._jrdd
    java.toDebugString()  # its shuffle has its number from now on, and is not written
    (whole,) = [root for root in run.roots() if root.root == bound(java)]
    assert read in whole.needs
    (written,) = whole.needs - {read}
    walked = run.walker.walk(Program(), frozenset({written}))
    (ended,) = [root for root in walked.roots if root.root == bound(java)]
    assert ended.needs == {written}


def test_a_look_that_comes_too_late_says_so(run: Walking) -> None:
    long = lineage(run, LINEAGE)
    run.walker._deadline_ms, deadline_ms = -1, run.walker._deadline_ms
    try:
        assert "the look took longer" in str(run.walker.walk(Program()).everything)
    finally:
        run.walker._deadline_ms = deadline_ms
    del long


def lineage(run: Walking, length: int) -> list[Any]:
    """The last RDD of a chain; the ones before are bound no more."""
    java = run.spark.sparkContext.parallelize(range(4), 2)._jrdd
    for _ in range(length):
        java = java.coalesce(2, False)
    return [java]


def test_16_what_was_there_when_the_queue_dropped_events_may_be_what_an_execution_has_written(run: Walking) -> None:
    """Its plan shows a shuffle a moment later than that is written, and of what was dropped nobody heard."""
    gate = make_gate(run.folder / "gate-dropped")
    counters = run.spark.sparkContext._jsc.sc().listenerBus().metrics().metricRegistry().getCounters()
    kept = [keyed(run), keyed(run)]  # else Spark's cleaner lets them go
    (before,) = run.written_by(kept[0].count)

    def held(row: Any) -> Any:
        gate.pass_through(row[0])
        return row

    def needs() -> set[int]:
        plans = [root for root in run.roots() if root.root.startswith("execution ")]
        return {shuffle for root in plans for shuffle in root.needs}

    frame = run.spark.createDataFrame(run.spark.sparkContext.parallelize([(1, 2)], 1).map(held), "k int, v int")
    with in_background(lambda: frame.groupBy("k").count().collect()):
        try:
            wait_for(gate.arrived, "the task of the execution")
            assert before not in needs()
            counters.get("queue.shuffleLifecycle.numDroppedEvents").inc()
            assert before in needs()
            (after,) = run.written_by(kept[1].count)
            assert after not in needs(), "what comes later is heard of"
        finally:
            gate.open()
    wait_for(lambda: not needs(), "the end of the execution")
