"""What a thread of the JVM's own runs, under another call of the program's or none: as libraries do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import Program
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(180)]

LIBRARY = """
package program.own;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;

/** A pool with one thread, which takes its properties from whoever comes first. */
public class Library implements Runnable {
  private final ExecutorService pool = Executors.newSingleThreadExecutor();
  private final Dataset frame;
  private final Semaphore step = new Semaphore(0);
  private volatile boolean hasPlanned = false;
  private volatile long counted = -1;

  public Library(Dataset frame) {
    this.frame = frame;
  }

  public void warm() throws Exception {
    pool.submit(new Thread()).get();
  }

  public void submit() {
    pool.submit((Runnable) this);
  }

  public void run() {
    Dataset own = frame.groupBy("k", new String[0]).count();
    RDD rdd = own.queryExecution().toRdd(); // with adaptive execution this runs the exchange
    hasPlanned = true;
    step.acquireUninterruptibly();
    counted = rdd.count();
  }

  public boolean hasPlanned() {
    return hasPlanned;
  }

  public void go() {
    step.release();
  }

  public long counted() {
    return counted;
  }
}
"""


@pytest.fixture(scope="module")
def library(run: Run) -> Callable[[Any], Any]:
    """Makes one over a frame. Compiled once: py4j knows a class's methods by its name."""
    gateway = run.spark.sparkContext._gateway
    assert gateway is not None
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(LIBRARY)
    constructor = compiler.getClassLoader().loadClass("program.own.Library").getConstructors()[0]

    def make(frame: Any) -> Any:
        arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
        arguments[0] = frame._jdf
        return constructor.newInstance(arguments)

    return make


@pytest.mark.parametrize("starter", ["the program", "an execution that is over"])
def test_what_its_adaptive_plan_wrote_stays(program: Program, library: Callable[[Any], Any], starter: str) -> None:
    context = program.spark.sparkContext
    task = library(program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k"))
    if starter != "the program":
        program.spark.range(10).collect()
        context.setLocalProperty("spark.sql.execution.id", "0")
    task.warm()
    context.setLocalProperty("spark.sql.execution.id", None)
    task.submit()
    wait_for(task.hasPlanned, "its exchange")
    (written,) = program.written()
    program.look()
    program.look()
    assert written not in program.gone()
    task.go()
    wait_for(lambda: task.counted() == 20, "its last job")
    assert not program.recomputed()
