package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;

/**
 * Persisted RDDs that were computed from a shuffle, with no other shuffle in between.
 *
 * A stage above them is submitted when all their blocks are there; a task that finds one gone by then reads the shuffle,
 * whether it was written again or not. Spark's own readers, and clients from 0.6 on, call that a failed fetch, and the
 * shuffle is written again. The client 0.5 fails the task, every time, and the job with it.
 *
 * To be used in the scheduler's thread. It reads fields alone, so nothing is computed.
 */
class BehindCache {
  private final SparkContext context;
  private final Field dependencies;

  BehindCache(SparkContext context) throws Exception {
    this.context = context;
    this.dependencies = dependencies();
  }

  private static Field dependencies() throws Exception {
    Field[] fields = RDD.class.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getName().endsWith("dependencies_")) {
        fields[i].setAccessible(true);
        return fields[i];
      }
    }
    throw new NoSuchFieldException("RDD has no field dependencies_; this Spark was never tried");
  }

  /** Who would fail, for people. */
  Set of(int shuffle) throws Exception {
    TreeSet found = new TreeSet();
    scala.collection.Iterator it = context.persistentRdds().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (isComputedFrom(rdd, shuffle)) {
        found.add("RDD " + rdd.id() + " is persisted and was computed from it: with this client a task that finds a block"
            + " gone would fail its job");
      }
    }
    return found;
  }

  private boolean isComputedFrom(RDD root, int shuffle) throws Exception {
    Map seen = new IdentityHashMap();
    List left = new ArrayList();
    left.add(root);
    while (!left.isEmpty()) {
      RDD rdd = (RDD) left.remove(left.size() - 1);
      boolean isNew = seen.put(rdd, rdd) == null;
      scala.collection.Seq parents = (scala.collection.Seq) dependencies.get(rdd);
      scala.collection.Iterator it = isNew && parents != null ? parents.iterator() : null; // null: nothing came through it
      while (it != null && it.hasNext()) {
        Dependency parent = (Dependency) it.next();
        if (!(parent instanceof ShuffleDependency)) {
          left.add(parent.rdd());
        } else if (((ShuffleDependency) parent).shuffleId() == shuffle) {
          return true;
        }
      }
    }
    return false;
  }
}
