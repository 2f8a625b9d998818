package shufflelifecycle;

import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;

/** The cuts of queries: of their plans as far as these were made, and of what the program may build from them. For one look. */
public class Queries {
  private final Lineage lineage;
  private final Deadline deadline;
  private final Caches caches;
  private final Map held = new IdentityHashMap(); // query -> Ids

  public Queries(Lineage lineage, Deadline deadline) {
    this.lineage = lineage;
    this.deadline = deadline;
    this.caches = new Caches(lineage, deadline);
  }

  /** What a program needs that holds the query: to run it again, or to build another one from it. */
  public Ids held(QueryExecution query) {
    Ids known = (Ids) held.get(query);
    if (known == null) {
      known = cutOf(query);
      held.put(query, known);
    }
    return known;
  }

  private Ids cutOf(QueryExecution query) {
    Stages stages = new Stages(lineage, deadline);
    PlanCut cut = new PlanCut(lineage, deadline, stages, caches);
    cut.logical(logicalOf(query));
    SparkPlan plan = planOf(query);
    if (plan != null) {
      stages.collect(plan);
      cut.physical(plan);
    } else {
      chosen(query, cut);
    }
    Object rdd = part(query, "toRdd", "lazyToRdd");
    return rdd == null ? cut.needs() : cut.needs().and(lineage.of((RDD) rdd));
  }

  /** Which caches a query reads may be fixed before it has a physical plan, as `DataFrame.inputFiles` does. */
  private static void chosen(QueryExecution query, PlanCut cut) {
    Object plan = part(query, "optimizedPlan", "lazyOptimizedPlan");
    if (plan == null) {
      plan = part(query, "withCachedData", "lazyWithCachedData");
    }
    if (plan instanceof LogicalPlan) {
      cut.logical((LogicalPlan) plan);
    }
  }

  /** What the rest of a running query needs. `shown` gets the app shuffles that its plan shows. */
  public Ids running(QueryExecution query, Stages shown) {
    PlanCut cut = new PlanCut(lineage, deadline, shown, caches);
    SparkPlan plan = planOf(query);
    if (plan != null) {
      shown.collect(plan);
      cut.physical(plan);
      for (int i = 0; i < shown.begun().size(); i++) {
        cut.physical((SparkPlan) shown.begun().get(i));
      }
    }
    return cut.needs();
  }

  /** What a query was built upon: its DataFrame may be computed again. */
  public Ids source(QueryExecution query) {
    return logical(logicalOf(query));
  }

  public Ids logical(LogicalPlan plan) {
    PlanCut cut = new PlanCut(lineage, deadline, new Stages(lineage, deadline), caches);
    cut.logical(plan);
    return cut.needs();
  }

  public Ids physical(SparkPlan plan) {
    Stages stages = new Stages(lineage, deadline);
    PlanCut cut = new PlanCut(lineage, deadline, stages, caches);
    stages.collect(plan);
    cut.physical(plan);
    return cut.needs();
  }

  private static SparkPlan planOf(QueryExecution query) {
    return (SparkPlan) part(query, "executedPlan", "lazyExecutedPlan");
  }

  /** The plan behind the run of a command, if the query is one: a command runs when its query is made, and leaves its rows. */
  private static LogicalPlan logicalOf(QueryExecution query) {
    Object plan = part(query, "commandExecuted", "lazyCommandExecuted");
    if (plan == null) {
      plan = part(query, "analyzed", "lazyAnalyzed");
    }
    return (LogicalPlan) (plan == null ? query.logical() : plan);
  }

  private static Object part(QueryExecution query, String name, String lazyName) {
    if (!Fields.has(query, name) && !Fields.has(query, lazyName)) {
      throw new IllegalStateException(query.getClass().getName() + " has neither " + name + " nor " + lazyName);
    }
    return Fields.has(query, name) ? Fields.get(query, name) : Fields.get(query, lazyName);
  }
}
