package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.ReusedSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike;

/**
 * The cut of plans: the app shuffles that running the rest of them, or running them again, would read.
 *
 * The walk goes from the root down to materialised stages. An exchange without a stage will reuse a materialised one of the
 * same canonical form, wherever in the plan that is. In a plan that is not adaptive the exchanges have made their shuffle
 * dependencies; RDDs that Spark keeps of nodes that have run show the rest. What was not made yet is not made by looking.
 */
public class PlanCut {
  private final Lineage lineage;
  private final Deadline deadline;
  private final Stages stages;
  private final Caches caches;
  private final Set walked = Collections.newSetFromMap(new IdentityHashMap());
  private Ids needs = Ids.NONE;

  public PlanCut(Lineage lineage, Deadline deadline, Stages stages, Caches caches) {
    this.lineage = lineage;
    this.deadline = deadline;
    this.stages = stages;
    this.caches = caches;
  }

  public Ids needs() {
    return needs;
  }

  private void need(Ids ids) {
    needs = needs.and(ids);
  }

  public void physical(SparkPlan plan) {
    deadline.check();
    if (!walked.add(plan)) {
      return;
    }
    computed(plan);
    if (plan instanceof AdaptiveSparkPlanExec) {
      physical(((AdaptiveSparkPlanExec) plan).executedPlan());
    } else if (plan instanceof QueryStageExec) {
      stage((QueryStageExec) plan);
    } else if (plan instanceof ShuffleExchangeLike) {
      exchange(plan);
    } else if (plan instanceof ReusedExchangeExec) {
      physical((SparkPlan) ((ReusedExchangeExec) plan).child());
    } else if (plan instanceof ReusedSubqueryExec) {
      physical((SparkPlan) ((ReusedSubqueryExec) plan).child());
    } else if (plan instanceof InMemoryTableScanExec) {
      need(caches.needs(((InMemoryTableScanExec) plan).relation()));
    } else if (!isFinished(plan) && !(plan instanceof CommandResultExec)) {
      below(plan);
    }
  }

  /** Spark 4 keeps the RDD of a node that has run, with shuffles that no exchange shows (`limit` after `orderBy`). */
  private void computed(SparkPlan plan) {
    value(Fields.get(plan, "executeRDD"));
    value(Fields.get(plan, "executeColumnarRDD"));
  }

  /** A logical plan needs what a query built from it would read: the RDDs and the caches in it. */
  public void logical(LogicalPlan plan) {
    deadline.check();
    if (!walked.add(plan) || plan instanceof CommandResult) {
      return;
    }
    if (plan instanceof InMemoryRelation) {
      need(caches.needs((InMemoryRelation) plan));
    } else {
      below(plan);
    }
  }

  private void stage(QueryStageExec stage) {
    boolean materialised = stage.isMaterialized();
    if (materialised && stage instanceof ShuffleQueryStageExec) {
      need(lineage.of(Stages.dependencyOf((SparkPlan) ((ShuffleQueryStageExec) stage).shuffle())));
    } else if (!(materialised && stage instanceof BroadcastQueryStageExec)) {
      physical(stage.plan());
    }
  }

  private void exchange(SparkPlan exchange) {
    ShuffleDependency made = Stages.madeBy(exchange);
    if (made != null) {
      need(lineage.of(made));
      return;
    }
    ShuffleDependency equal = stages.equalTo(exchange);
    if (equal != null) {
      need(lineage.of(equal));
    } else {
      below(exchange);
    }
  }

  /** A subquery or a broadcast whose rows are in the driver: nothing below it is read again. */
  private static boolean isFinished(SparkPlan plan) {
    Object rows = Fields.get(plan, "relationFuture");
    return rows instanceof Future && ((Future) rows).isDone();
  }

  private void below(QueryPlan plan) {
    boolean leaf = true;
    scala.collection.Iterator it = plan.children().iterator();
    while (it.hasNext()) {
      leaf = false;
      value(it.next());
    }
    it = plan.subqueries().iterator();
    while (it.hasNext()) {
      value(it.next());
    }
    if (leaf) {
      inFields(plan);
    }
  }

  /** Leaves hold what they read: an RDD, or, as commands do, a plan. */
  private void inFields(QueryPlan leaf) {
    Field[] fields = Fields.of(leaf.getClass());
    for (int i = 0; i < fields.length; i++) {
      value(Fields.read(fields[i], leaf));
    }
  }

  private void value(Object value) {
    if (value instanceof SparkPlan) {
      physical((SparkPlan) value);
    } else if (value instanceof LogicalPlan) {
      logical((LogicalPlan) value);
    } else if (value instanceof RDD) {
      need(lineage.of((RDD) value));
    }
  }
}
