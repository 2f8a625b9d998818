package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** What streams hold between two batches. While a batch runs, it is an SQL execution, or jobs, like any other. */
public class Streams {
  /** Whether the object drives a streaming query: it remembers its last batch, which nobody will read again. */
  public static boolean isQuery(Object object) {
    return Fields.has(object, "sparkSessionForStream");
  }

  /** Static tables that every batch is joined with, and the like. */
  public static Ids cutOf(Object query, Queries queries) {
    Ids cut = Ids.NONE;
    Object analysed = Fields.get(query, "analyzedPlan");
    if (analysed instanceof LogicalPlan) {
      cut = queries.logical((LogicalPlan) analysed);
    }
    Object planned = Fields.get(query, "logicalPlan");
    return planned instanceof LogicalPlan ? cut.and(queries.logical((LogicalPlan) planned)) : cut;
  }

  /** The streaming graph that runs in this JVM, or null: with it the RDDs that it has not cleared yet. */
  public static Object graph() {
    try {
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      Class type = Class.forName("org.apache.spark.streaming.StreamingContext$", true, loader);
      Field active = type.getDeclaredField("activeContext");
      active.setAccessible(true);
      return ((AtomicReference) active.get(type.getField("MODULE$").get(null))).get();
    } catch (ClassNotFoundException absent) {
      return null;
    } catch (Exception changed) {
      throw new IllegalStateException("Spark keeps its active streaming context elsewhere than expected: " + changed, changed);
    }
  }
}
