"""Executions within an execution: what a command's own code computes, and comes back to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import Program
from tests.support.spark import gate, in_background, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(180)]

SINK = """
package program.sink;

import java.util.Iterator;
import java.util.concurrent.Semaphore;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.types.StructType;

/** A source of tables that goes through what it is to write row by row, a partition at a time, or asks it twice. */
public class DefaultSource implements CreatableRelationProvider {
  private static final Semaphore STEP = new Semaphore(0);
  private static volatile boolean isThere = false;

  public static class Written extends BaseRelation {
    private final SQLContext context;
    private final StructType fields;

    public Written(SQLContext context, StructType fields) {
      this.context = context;
      this.fields = fields;
    }

    public SQLContext sqlContext() {
      return context;
    }

    public StructType schema() {
      return fields;
    }
  }

  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset rows) {
    Dataset counts = rows.groupBy("k", new String[0]).count();
    Iterator it = null;
    if (options.contains("anew")) {
      Dataset over = context.createDataFrame(rows.toJavaRDD().repartition(3), rows.schema());
      counts = over.groupBy("k", new String[0]).count();
      counts.selectExpr(new String[] {"hold(count)"}).collectAsList();
    } else if (options.contains("twice")) {
      counts.collectAsList();
    } else {
      it = counts.toLocalIterator();
    }
    isThere = true;
    STEP.acquireUninterruptibly();
    int read = 0;
    if (it == null) {
      read = counts.collectAsList().size();
    } else {
      while (it.hasNext()) {
        it.next();
        read++;
      }
    }
    if (read != 20) {
      throw new IllegalStateException("read " + read);
    }
    return new Written(context, rows.schema());
  }

  public boolean isThere() {
    return isThere;
  }

  public void go() {
    isThere = false;
    STEP.release();
  }
}
"""


@pytest.fixture(scope="module")
def sink(run: Run) -> Any:
    """One of its instances, which speaks for all, and their class loader."""
    gateway = run.spark.sparkContext._gateway
    assert gateway is not None
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(SINK)
    loader = compiler.getClassLoader()
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 0)
    return loader.loadClass("program.sink.DefaultSource").getConstructors()[0].newInstance(arguments), loader


@contextmanager
def finding(gateway: Any, loader: Any) -> Iterator[None]:
    """This thread's JVM thread finds the classes of a loader."""
    thread = gateway.jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(loader)
    try:
        yield
    finally:
        thread.setContextClassLoader(before)


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("option", ["iterated", "twice"])
def test_what_an_inner_execution_needs_stays_until_the_outer_one_is_over(
    program: Program, sink: Any, option: str, adaptive: str
) -> None:
    source, loader = sink
    before = program.written()

    def save() -> None:
        frame = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k").repartition(3)
        with finding(program.spark.sparkContext._gateway, loader):
            frame.write.format("program.sink").option(option, "true").save()

    program.spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        with in_background(save) as running:
            wait_for(lambda: source.isThere() or running.done(), "the first execution within")
            first = [shuffle for shuffle in program.written() if shuffle not in before]
            program.look()
            source.go()
            running.result(60)
        written = [shuffle for shuffle in program.written() if shuffle not in before]
        assert len(written) == 2
        assert set(first) <= set(written)
        assert not program.recomputed()
        program.wait_gone(*written)
    finally:
        program.spark.conf.unset("spark.sql.adaptive.enabled")


def test_what_it_will_be_built_upon_again_stays_while_it_runs(program: Program, sink: Any, tmp_path: Path) -> None:
    """An RDD, behind the exchange of a frame over it that is computed; another frame over it follows."""
    source, loader = sink
    before = program.written()
    last = gate(tmp_path / "gate")

    def hold(count: int) -> int:
        last.pass_through("the last stage")
        return count

    def save() -> None:
        frame = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k")
        with finding(program.spark.sparkContext._gateway, loader):
            frame.write.format("program.sink").option("anew", "true").save()

    program.spark.udf.register("hold", hold, "long")
    with in_background(save) as running:
        try:
            wait_for(lambda: last.arrived() or running.done(), "the last stage of the first execution within")
            program.look()
        finally:
            last.open()
            source.go()
        running.result(60)
    written = [shuffle for shuffle in program.written() if shuffle not in before]
    assert len(written) == 3
    assert not program.recomputed()
    program.wait_gone(*written)
