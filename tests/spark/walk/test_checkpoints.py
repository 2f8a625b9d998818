"""An RDD that is marked to be checkpointed is a root while Spark may compute it once more for that, and no longer."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from listener_bridge.reach.findings import Program, Root, TargetId
from tests.spark.walk.test_walk import bound, keyed
from tests.support.spark import Gate, gate, in_background, wait_for
from tests.support.walking import Walking

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]

HOLDER = """
package program.own;
public class Holder extends Thread {
  private volatile boolean holds = false;
  private volatile boolean over = false;
  public void run() {
    synchronized (org.apache.spark.rdd.RDDCheckpointData$.MODULE$) {
      holds = true;
      while (!over) { try { Thread.sleep(5L); } catch (InterruptedException ended) { return; } }
    }
  }
  public boolean holds() { return holds; }
  public boolean isWaitedFor() {
    java.lang.management.ThreadInfo[] all =
        java.lang.management.ManagementFactory.getThreadMXBean().dumpAllThreads(false, false);
    for (int i = 0; i < all.length; i++) {
      if (all[i] != null && all[i].getLockOwnerId() == getId() && isToCheckpoint(all[i].getStackTrace())) {
        return true;
      }
    }
    return false;
  }
  private static boolean isToCheckpoint(StackTraceElement[] stack) {
    for (int i = 0; i < stack.length; i++) {
      if (stack[i].getMethodName().contains("doCheckpoint")) { return true; }
    }
    return false;
  }
  public void end() { over = true; }
}
"""


@pytest.fixture
def marking(run: Walking, tmp_path: Path) -> Path:
    run.spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    return tmp_path


@contextmanager
def before_its_first_step(run: Walking) -> Iterator[Any]:
    """Spark goes down to the first mark and no further, until the block ends."""
    gateway = run.tap.driver.gateway
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(HOLDER)
    nothing = gateway.new_array(gateway.jvm.java.lang.Object, 0)
    holder = compiler.getClassLoader().loadClass("program.own.Holder").getConstructors()[0].newInstance(nothing)
    holder.start()
    try:
        wait_for(holder.holds, "the lock")
        yield holder
    finally:
        holder.end()


def awaited(run: Walking, rdd: int, program: Program | None = None) -> list[Root]:
    gc.collect()
    return [root for root in run.roots(program) if root.root == f"checkpoint {rdd}"]


def all_but(run: Walking, handle: Any) -> Program:
    """The names of all others are dead."""
    return Program(frozenset(TargetId(root.root) for root in run.roots()) - {bound(handle._jrdd)})


def held(pair: tuple[int, int], last: Gate) -> int:
    last.pass_through(os.getpid())
    return pair[1]


def test_between_the_first_job_and_the_checkpoint_it_is_found(run: Walking, marking: Path) -> None:
    first = keyed(run)
    (read,) = run.written_by(first.count)
    marked = first.mapValues(lambda n: n)
    marked.checkpoint()
    last = gate(marking / "gate")
    job = marked.partitionBy(2, lambda k: k + 1).map(lambda pair: held(pair, last))
    number = marked.id()
    del first, marked
    with in_background(job.sum) as running:
        wait_for(lambda: last.arrived() == 2, "the result stage")
        with before_its_first_step(run) as holder:
            last.open()
            wait_for(holder.isWaitedFor, "the checkpoint")
            (root,) = awaited(run, number)
            assert root.needs == {read}
        assert running.result(60) == sum(range(40))
    assert awaited(run, number) == []
    wait_for(lambda: read not in run.needs(), "py4j to let go of what made it")


def test_a_mark_behind_one_that_was_reached_is_not_waited_for(run: Walking, marking: Path) -> None:
    """Spark goes no further down than the first mark, and never comes back."""
    first = keyed(run).mapValues(lambda n: n)
    first.checkpoint()
    second = first.partitionBy(3).mapValues(lambda n: n)
    second.checkpoint()
    third = second.partitionBy(2)
    assert third.count() == 40
    assert awaited(run, first.id(), all_but(run, third)) == []


def test_what_is_marked_too_late_is_not_waited_for(run: Walking, marking: Path) -> None:
    """Spark never checkpoints it: it was there before."""
    first = keyed(run).mapValues(lambda n: n)
    second = first.partitionBy(3)
    assert second.count() == 40
    first.checkpoint()
    assert second.count() == 40
    assert awaited(run, first.id()) == []


def test_what_a_job_that_failed_would_have_checkpointed_is_waited_for_as_long_as_it_is_held(
    run: Walking, marking: Path
) -> None:
    first = keyed(run)
    (read,) = run.written_by(first.count)
    marked = first.mapValues(lambda n: n)
    marked.checkpoint()
    second = marked.partitionBy(2, lambda k: k + 1)
    number = marked.id()
    del first, marked
    with pytest.raises((PySparkException, Py4JJavaError), match="ZeroDivisionError"):
        second.map(lambda pair: 1 // 0).collect()
    (root,) = awaited(run, number)
    assert root.needs == {read}
    del second
    wait_for(lambda: awaited(run, number) == [], "py4j to let it go")
