package shufflelifecycle;

import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/**
 * What reading a cached table, or a cached DataFrame, needs. For one look, which works it out once for each cache.
 *
 * Spark drops a cache when somebody writes over its source, replaces a view, or uncaches an equal plan. A query that was
 * planned over the cache then computes it again with the plan that filled it: from that plan's stages; or, without these, from
 * its source, which may have changed. So if the source may change (`Sources`), the stages of that plan are needed even
 * though the cache is filled.
 *
 * The plan that filled it is a query of its own: Spark reuses its stages within it, and never for a plan over the cache.
 */
public class Caches {
  private final Lineage lineage;
  private final Deadline deadline;
  private final Sources sources;
  private final Map known = new IdentityHashMap(); // the plan that filled a cache -> Ids

  public Caches(Lineage lineage, Deadline deadline) {
    this.lineage = lineage;
    this.deadline = deadline;
    this.sources = new Sources(deadline);
  }

  /** The app shuffles that a query over this cache needs. */
  public Ids needs(InMemoryRelation relation) {
    SparkPlan filledBy = relation.cacheBuilder().cachedPlan();
    Ids needs = (Ids) known.get(filledBy);
    if (needs == null) {
      needs = needs(Fields.get(relation.cacheBuilder(), "_cachedColumnBuffers"), filledBy);
      known.put(filledBy, needs);
    }
    return needs;
  }

  private Ids needs(Object buffers, SparkPlan filledBy) {
    boolean filled = buffers instanceof RDD;
    Ids needs = filled ? lineage.of((RDD) buffers) : Ids.NONE;
    return filled && !sources.mayChange(filledBy) ? needs : needs.and(cutOf(filledBy));
  }

  private Ids cutOf(SparkPlan filledBy) {
    Stages stages = new Stages(lineage, deadline);
    stages.collect(filledBy);
    PlanCut cut = new PlanCut(lineage, deadline, stages, this);
    cut.physical(filledBy);
    return cut.needs();
  }
}
