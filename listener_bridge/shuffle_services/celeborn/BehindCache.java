package shufflelifecycle;

import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;

/**
 * Persisted RDDs that were computed from a shuffle, with no other shuffle in between.
 *
 * A stage above them is submitted when all their blocks are there; a task that finds one gone by then reads the shuffle,
 * whether it was written again or not. Spark's own readers, and clients from 0.6 on, call that a failed fetch, and the
 * shuffle is written again. The client 0.5 fails the task, every time, and the job with it.
 *
 * To be used in the scheduler's thread.
 */
class BehindCache {
  private final SparkContext context;
  private final Near near = new Near();

  BehindCache(SparkContext context) {
    this.context = context;
  }

  /** Who would fail, for people. */
  Set of(int shuffle) throws Exception {
    TreeSet found = new TreeSet();
    scala.collection.Iterator it = context.persistentRdds().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      TreeSet read = new TreeSet();
      near.of(rdd, read);
      if (read.contains(Integer.valueOf(shuffle))) {
        found.add("RDD " + rdd.id() + " is persisted and was computed from it: with this client a task that finds a block"
            + " gone would fail its job");
      }
    }
    return found;
  }
}
