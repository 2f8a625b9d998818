package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** What streams hold between two batches. While a batch runs, it is an SQL execution, or jobs, like any other. */
public class Streams {
  /** Whether the object runs a streaming query. `cutOf` tells what it needs: its last batch, which it keeps, is read by nobody. */
  public static boolean isQuery(Object object) {
    return Fields.has(object, "sparkSessionForStream");
  }

  /** What a streaming query needs: static tables that every batch is joined with, and the like. */
  public static Ids cutOf(Object query, Queries queries) {
    Ids cut = Ids.NONE;
    Object analysed = Fields.get(query, "analyzedPlan");
    if (analysed instanceof LogicalPlan) {
      cut = queries.logical((LogicalPlan) analysed);
    }
    Object planned = Fields.get(query, "logicalPlan");
    return planned instanceof LogicalPlan ? cut.and(queries.logical((LogicalPlan) planned)) : cut;
  }

  /** The streaming context that runs in this JVM, or null. Its graph holds the RDDs of batches that it has not cleared yet. */
  public static Object running() {
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

  /** The streaming context in what PySpark binds for one; null for anything else. */
  public static Object contextOf(Object bound) {
    boolean isOne = bound != null && bound.getClass().getName().equals("org.apache.spark.streaming.api.java.JavaStreamingContext");
    return isOne ? Fields.get(bound, "ssc") : null;
  }

  /** Whether its thread makes the jobs of a batch just now. That thread's stack tells: its lock must not be taken. */
  public static boolean isMakingBatch(Object context) {
    Object loop = part(part(part(context, "scheduler"), "jobGenerator"), "eventLoop");
    Thread thread = (Thread) part(loop, "eventThread");
    StackTraceElement[] stack = thread == null ? new StackTraceElement[0] : thread.getStackTrace();
    for (int i = 0; i < stack.length; i++) {
      if (stack[i].getClassName().equals("org.apache.spark.streaming.DStreamGraph") && stack[i].getMethodName().equals("generateJobs")) {
        return true;
      }
    }
    return false;
  }

  /** Null before the start and after the end; an error where this Spark has no such field. */
  private static Object part(Object whole, String name) {
    if (whole != null && !Fields.has(whole, name)) {
      throw new IllegalStateException(whole.getClass().getName() + " of this Spark has no field " + name + ", which says whether a batch is made");
    }
    return Fields.get(whole, name);
  }
}
