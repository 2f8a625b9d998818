package shufflelifecycle;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.RangeExec;
import org.apache.spark.sql.execution.ReusedSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;

/**
 * Whether computing a plan again may give another result: its files may have been written over, and a function of the user
 * may read anything. For one look.
 *
 * Only these are known to give the same: what Spark itself computes from ranges, from rows in the plan, from collections
 * that the driver has parallelised, and from checkpoints.
 */
public class Sources {
  private static final String[] FOREIGN = { // parts of the class names of nodes and expressions that run code of the user
    "Python", "Pandas", "Arrow", "Script", "UDF", "UDAF", "UDTF", "UserDefined", "Hive", "MapPartitions", "MapElements",
    "MapGroups", "Generic", "Invoke", "Reflect", "Object"
  };

  private final Deadline deadline;
  private final Map told = new IdentityHashMap(); // the plan that filled a cache -> Boolean

  public Sources(Deadline deadline) {
    this.deadline = deadline;
  }

  public boolean mayChange(SparkPlan plan) {
    Boolean known = (Boolean) told.get(plan);
    if (known == null) {
      known = Boolean.valueOf(new Descent(this, deadline).mayChange(plan));
      told.put(plan, known);
    }
    return known.booleanValue();
  }

  /** Down one plan, up to the caches that it reads. */
  private static class Descent {
    private final Sources sources;
    private final Deadline deadline;
    private final Set met = Collections.newSetFromMap(new IdentityHashMap());

    Descent(Sources sources, Deadline deadline) {
      this.sources = sources;
      this.deadline = deadline;
    }

    boolean mayChange(SparkPlan plan) {
      deadline.check();
      if (!met.add(plan)) {
        return false; // told where it was met first
      }
      if (plan instanceof InMemoryTableScanExec) {
        return sources.mayChange(((InMemoryTableScanExec) plan).relation().cacheBuilder().cachedPlan());
      }
      SparkPlan behind = behind(plan);
      if (behind != null) {
        return mayChange(behind);
      }
      return isUsers(plan) || anyOf(plan.subqueries()) || (plan.children().isEmpty() ? leafMayChange(plan) : anyOf(plan.children()));
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

    private boolean leafMayChange(SparkPlan leaf) {
      if (leaf instanceof RangeExec || leaf instanceof LocalTableScanExec || leaf instanceof CommandResultExec) {
        return false;
      }
      if (leaf.getClass().getSimpleName().equals("OneRowRelationExec")) { // Spark 4.1 and later
        return false;
      }
      Object rdd = leaf instanceof RDDScanExec ? Fields.get(leaf, "rdd") : null;
      return !(rdd instanceof RDD) || anyBelowMayChange((RDD) rdd);
    }

    private boolean anyBelowMayChange(RDD rdd) {
      ArrayDeque todo = new ArrayDeque();
      todo.push(rdd);
      while (!todo.isEmpty()) {
        deadline.check();
        RDD next = (RDD) todo.pop();
        if (met.add(next) && isUsersOrUnknown(next, todo)) {
          return true;
        }
      }
      return false;
    }
  }

  /** The plan that a node stands for; null where it stands for itself. */
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
    return plan instanceof ReusedSubqueryExec ? (SparkPlan) ((ReusedSubqueryExec) plan).child() : null;
  }

  /** Nodes that run functions or scripts of the user's, by their names: they are many, and not the same in each Spark. */
  private static boolean isUsers(SparkPlan plan) {
    return isForeign(plan.getClass().getSimpleName()) || anyIsUsers(plan.expressions());
  }

  private static boolean anyIsUsers(scala.collection.Seq expressions) {
    scala.collection.Iterator it = expressions.iterator();
    while (it.hasNext()) {
      Expression expression = (Expression) it.next();
      boolean own = isForeign(expression.getClass().getSimpleName()) || !expression.deterministic();
      if (own || anyIsUsers(expression.children())) {
        return true;
      }
    }
    return false;
  }

  private static boolean isForeign(String name) {
    for (int i = 0; i < FOREIGN.length; i++) {
      if (name.contains(FOREIGN[i])) {
        return true;
      }
    }
    return false;
  }

  /** Of an RDD, and where it leads; what a function of the user's has made may be anything. */
  private static boolean isUsersOrUnknown(RDD rdd, ArrayDeque todo) {
    String name = rdd.getClass().getSimpleName();
    try {
      List parents = Parents.of(rdd);
      for (int i = 0; i < parents.size(); i++) {
        Object parent = parents.get(i);
        todo.push(Parents.rdd(parent));
      }
      boolean handedOut = name.equals("ParallelCollectionRDD") || name.endsWith("CheckpointRDD");
      return parents.isEmpty() ? !handedOut : name.contains("Python") || name.equals("PipedRDD");
    } catch (Parents.Unknown unknown) {
      return true;
    }
  }
}
