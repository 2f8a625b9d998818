package shufflelifecycle;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.RangeExec;
import org.apache.spark.sql.execution.ReusedSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;

/**
 * Whether what a plan was computed from may be something else by now: files and tables are written over.
 *
 * Known not to change: ranges, rows that the plan holds itself, collections that the driver has handed out, checkpoints.
 * Whatever is not known may change.
 */
public class Sources {
  private final Deadline deadline;
  private final Set met = Collections.newSetFromMap(new IdentityHashMap());

  public Sources(Deadline deadline) {
    this.deadline = deadline;
  }

  public boolean mayChange(SparkPlan plan) {
    deadline.check();
    if (!met.add(plan)) {
      return false; // told where it was met first
    }
    SparkPlan behind = behind(plan);
    if (behind != null) {
      return mayChange(behind);
    }
    return anyOf(plan.subqueries()) || (plan.children().isEmpty() ? leafMayChange(plan) : anyOf(plan.children()));
  }

  private boolean anyOf(scala.collection.Seq plans) {
    scala.collection.Iterator it = plans.iterator();
    while (it.hasNext()) {
      if (mayChange((SparkPlan) it.next())) {
        return true;
      }
    }
    return false;
  }

  /** The plan that a leaf stands for; null where it stands for itself, or is none. */
  private static SparkPlan behind(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      return ((AdaptiveSparkPlanExec) plan).inputPlan();
    }
    if (plan instanceof QueryStageExec) {
      return ((QueryStageExec) plan).plan();
    }
    if (plan instanceof ReusedExchangeExec) {
      return (SparkPlan) ((ReusedExchangeExec) plan).child();
    }
    if (plan instanceof ReusedSubqueryExec) {
      return (SparkPlan) ((ReusedSubqueryExec) plan).child();
    }
    return plan instanceof InMemoryTableScanExec ? ((InMemoryTableScanExec) plan).relation().cacheBuilder().cachedPlan() : null;
  }

  private boolean leafMayChange(SparkPlan leaf) {
    if (leaf instanceof RangeExec || leaf instanceof LocalTableScanExec || leaf instanceof CommandResultExec) {
      return false;
    }
    Object rdd = Fields.has(leaf, "rdd") ? Fields.get(leaf, "rdd") : null;
    return !(rdd instanceof RDD) || anyBelowMayChange((RDD) rdd);
  }

  private boolean anyBelowMayChange(RDD rdd) {
    ArrayDeque todo = new ArrayDeque();
    todo.push(rdd);
    while (!todo.isEmpty()) {
      deadline.check();
      RDD next = (RDD) todo.pop();
      if (met.add(next) && mayChange(next, todo)) {
        return true;
      }
    }
    return false;
  }

  private static boolean mayChange(RDD rdd, ArrayDeque todo) {
    try {
      List parents = Parents.of(rdd);
      for (int i = 0; i < parents.size(); i++) {
        Object parent = parents.get(i);
        todo.push(parent instanceof RDD ? parent : ((Dependency) parent).rdd());
      }
      String name = rdd.getClass().getSimpleName();
      return parents.isEmpty() && !name.equals("ParallelCollectionRDD") && !name.endsWith("CheckpointRDD");
    } catch (Parents.Unknown unknown) {
      return true;
    }
  }
}
