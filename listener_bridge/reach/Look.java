package shufflelifecycle;

import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDDLike;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * One look: every root and its cut, as text. Used once, by one thread.
 *
 * Invariant: one root that cannot be told needs everything, and stops no other. Only a look that is late, or could not
 * see which roots there are, fails as a whole.
 */
public class Look {
  private final SparkContext context;
  private final Intact intact;
  private final Deadline deadline;
  private final Lineage lineage;
  private final Queries queries;
  private final Contents contents;
  private final StringBuilder roots = new StringBuilder();

  public Look(SparkContext context, Intact intact, boolean executorsStay, Deadline deadline) {
    this.context = context;
    this.intact = intact;
    this.deadline = deadline;
    this.lineage = new Lineage(intact, new CachedRdds(context, executorsStay), deadline);
    this.queries = new Queries(lineage, deadline);
    this.contents = new Contents(lineage, queries, deadline);
  }

  public void executions(Executions executions) {
    Iterator it = executions.running().entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      execution(executions, entry.getKey(), (QueryExecution) entry.getValue());
    }
  }

  private void execution(Executions executions, Object id, QueryExecution query) {
    Ids needs;
    String why = "SQL execution " + id;
    try {
      Stages shown = new Stages(deadline);
      needs = queries.running(query, shown);
      needs = executions.isUnheard(id) ? intact.all() : needs.and(executions.hidden(id, shown.shown()));
    } catch (Deadline.Passed late) {
      throw late;
    } catch (Throwable failure) {
      needs = intact.all();
      why = why + unable(failure);
    }
    root("execution " + id, "plan", why, needs);
  }

  public void bindings(Map bound, Set dead) {
    Iterator it = bound.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Object object = entry.getValue();
      if (object != null && !dead.contains(entry.getKey()) && !Contents.isDull(object.getClass())) {
        object((String) entry.getKey(), isHandle(object) ? "handle" : "jvm object", word(object), object);
      }
    }
  }

  private static boolean isHandle(Object object) {
    return object instanceof RDD || object instanceof JavaRDDLike || object.getClass().getSimpleName().equals("Dataset");
  }

  private static String word(Object object) {
    return "a " + object.getClass().getSimpleName();
  }

  private void object(String id, String kind, String word, Object object) {
    Ids needs;
    String why = word;
    try {
      needs = contents.of(object);
    } catch (Deadline.Passed late) {
      throw late;
    } catch (Throwable failure) {
      needs = intact.all();
      why = why + unable(failure);
    }
    if (!needs.isEmpty()) {
      root(id, kind, why, needs);
    }
  }

  public void persisted() {
    scala.collection.Iterator it = context.getPersistentRDDs().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      object("rdd " + rdd.id(), "persisted", "persisted RDD " + rdd.id(), rdd);
    }
  }

  private static String unable(Throwable failure) {
    return "; cannot be told: " + Row.shortened(String.valueOf(failure), 300);
  }

  private void root(String id, String kind, String why, Ids needs) {
    String fault = lineage.takeFault();
    roots.append(roots.length() == 0 ? "[" : ",[");
    Row.quote(roots, id);
    roots.append(",\"").append(kind).append("\",");
    Row.quote(roots, fault == null ? why : why + "; " + fault);
    roots.append(',').append(needs).append(']');
  }

  public String toString() {
    return "{\"roots\":[" + roots + "],\"everything\":null}";
  }
}
