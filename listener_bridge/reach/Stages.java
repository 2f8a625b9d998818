package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.ReusedSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike;

/**
 * The query stages of a plan, also those behind other stages, in subqueries and in cached tables: which app shuffles they
 * show, and which of them an exchange without a stage would reuse.
 */
public class Stages {
  private final Lineage lineage;
  private final Deadline deadline;
  private final Set met;
  private final Set shown; // shuffles, as Integers
  private final ArrayList materialised = new ArrayList(); // of ShuffleQueryStageExec
  private final ArrayList begun; // of QueryStageExec
  private Map byForm = null; // canonical exchange -> its dependency; made when first asked for

  public Stages(Lineage lineage, Deadline deadline) {
    this(lineage, deadline, Collections.newSetFromMap(new IdentityHashMap()), new HashSet(), new ArrayList());
  }

  private Stages(Lineage lineage, Deadline deadline, Set met, Set shown, ArrayList begun) {
    this.lineage = lineage;
    this.deadline = deadline;
    this.met = met;
    this.shown = shown;
    this.begun = begun;
  }

  public Ids shown() {
    return Ids.of(shown);
  }

  /**
   * Stages that are not materialised, also those that the plan no longer shows: Spark runs each stage that it has begun, since
   * 4.0 in a thread of a pool, perhaps after the plan has changed.
   */
  public ArrayList begun() {
    return begun;
  }

  /** The dependency of an exchange that has a stage. */
  public static ShuffleDependency dependencyOf(SparkPlan exchange) {
    ShuffleDependency made = madeBy(exchange);
    if (made == null) {
      throw new IllegalStateException("an exchange of class " + exchange.getClass().getName() + " does not show its shuffle");
    }
    return made;
  }

  /** The dependency that the exchange has already made, or null. */
  public static ShuffleDependency madeBy(SparkPlan exchange) {
    if (exchange instanceof ReusedExchangeExec) {
      return madeBy((SparkPlan) ((ReusedExchangeExec) exchange).child());
    }
    if (!Fields.has(exchange, "shuffleDependency")) {
      throw new IllegalStateException("an exchange of class " + exchange.getClass().getName() + " is not known here");
    }
    return (ShuffleDependency) Fields.get(exchange, "shuffleDependency");
  }

  public ShuffleDependency equalTo(SparkPlan exchange) {
    if (materialised.isEmpty()) {
      return null;
    }
    if (byForm == null) {
      byForm = new HashMap();
      for (int i = 0; i < materialised.size(); i++) {
        ShuffleQueryStageExec stage = (ShuffleQueryStageExec) materialised.get(i);
        byForm.put(Forms.of(stage), dependencyOf((SparkPlan) stage.shuffle()));
      }
    }
    return (ShuffleDependency) byForm.get(Forms.of(exchange));
  }

  public void collect(SparkPlan plan) {
    deadline.check();
    if (!met.add(plan)) {
      return;
    }
    if (plan instanceof AdaptiveSparkPlanExec) {
      cacheOf((AdaptiveSparkPlanExec) plan);
      collect(((AdaptiveSparkPlanExec) plan).executedPlan());
    } else if (plan instanceof QueryStageExec) {
      stage((QueryStageExec) plan);
    } else if (plan instanceof ReusedExchangeExec) {
      collect((SparkPlan) ((ReusedExchangeExec) plan).child());
    } else if (plan instanceof ReusedSubqueryExec) {
      collect((SparkPlan) ((ReusedSubqueryExec) plan).child());
    } else if (plan instanceof InMemoryTableScanExec) {
      within(((InMemoryTableScanExec) plan).relation().cacheBuilder().cachedPlan());
    } else {
      below(plan);
    }
  }

  /** The plan that filled a cache shows its shuffles too; a plan over the cache never reuses them. */
  private void within(SparkPlan cached) {
    new Stages(lineage, deadline, met, shown, begun).collect(cached);
  }

  /** Stages that the plan no longer shows, or not yet, can be reused all the same. */
  private void cacheOf(AdaptiveSparkPlanExec plan) {
    Object cache = Fields.get(Fields.get(plan, "context"), "stageCache");
    scala.collection.Iterator it = cache == null ? null : ((scala.collection.Map) cache).valuesIterator();
    while (it != null && it.hasNext()) {
      Object stage = it.next();
      reusable(stage);
      if (stage instanceof QueryStageExec && !((QueryStageExec) stage).isMaterialized()) {
        begun.add(stage);
      }
    }
  }

  private void reusable(Object stage) {
    if (stage instanceof ShuffleQueryStageExec && ((ShuffleQueryStageExec) stage).isMaterialized()) {
      materialised.add(stage);
      byForm = null;
    }
  }

  private void stage(QueryStageExec stage) {
    reusable(stage);
    if (stage instanceof ShuffleQueryStageExec && stage.isMaterialized()) {
      shown.add(Integer.valueOf(dependencyOf((SparkPlan) ((ShuffleQueryStageExec) stage).shuffle()).shuffleId()));
    }
    collect(stage.plan());
  }

  private void below(SparkPlan plan) {
    ShuffleDependency made = plan instanceof ShuffleExchangeLike ? madeBy(plan) : null;
    if (made != null) {
      shown.add(Integer.valueOf(made.shuffleId()));
    }
    scala.collection.Iterator it = plan.children().iterator();
    if (!it.hasNext()) {
      rddsOf(plan);
    }
    while (it.hasNext()) {
      collect((SparkPlan) it.next());
    }
    it = plan.subqueries().iterator();
    while (it.hasNext()) {
      collect((SparkPlan) it.next());
    }
  }

  /** The shuffles of an RDD that the plan scans are shown as well: its lineage says which of them are needed. */
  private void rddsOf(SparkPlan leaf) {
    if (Fields.get(leaf, "rdd") instanceof RDD) {
      lineage.addAll((RDD) Fields.get(leaf, "rdd"), shown);
    }
  }
}
