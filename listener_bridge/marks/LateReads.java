package shufflelifecycle;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.CoGroupedRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ZippedPartitionsBaseRDD;

/**
 * RDDs of which one task reads several partitions one after the other, and opens the next one only when it comes to it:
 * that it has begun says nothing of what it has read.
 *
 * Classes are compared along those that they extend, as SQL extends Spark's. An RDD that zips or groups opens all of its inputs
 * at once; but one that has to be read before it gives its first row (`SortExec`, `ObjectHashAggregateExec`, a block that is not
 * cached yet) is read then, and the next one is opened after that. Nobody can tell from outside: each is taken for one.
 *
 * Shown of `CoalescedRDD`, `UnsafeCartesianRDD`, `ZippedPartitionsRDD2` and `SQLPartitioningAwareUnionRDD`; of the others as Spark's
 * code reads. All other RDDs are taken for opening what they read when their task begins, those of other libraries too.
 */
class LateReads {
  private static final Set THEIRS = new HashSet(Arrays.asList(new Object[] {
    "org.apache.spark.rdd.CartesianRDD",
    "org.apache.spark.rdd.CoalescedRDD",
    "org.apache.spark.rdd.PartitionerAwareUnionRDD",
    "org.apache.spark.rdd.PartitionerAwareUnionRDDBase", // since Spark 4.1
    "org.apache.spark.rdd.SubtractedRDD"
  }));
  private final Near near = new Near();

  /** Whether one lies between this RDD and the shuffles that it is computed from. */
  boolean areBelow(RDD rdd) throws Exception {
    for (Iterator it = near.of(rdd, new TreeSet()).iterator(); it.hasNext();) {
      RDD below = (RDD) it.next();
      if (isTheirs(below.getClass()) || (opensAllAtOnce(below) && readsBehindAnother(below))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isTheirs(Class of) {
    for (Class one = of; one != RDD.class; one = one.getSuperclass()) {
      if (THEIRS.contains(one.getName())) {
        return true;
      }
    }
    return false;
  }

  private static boolean opensAllAtOnce(RDD rdd) {
    return rdd instanceof ZippedPartitionsBaseRDD || rdd instanceof CoGroupedRDD;
  }

  /** Whether it reads a shuffle through an input that it opens when it has opened an RDD, which may take long. */
  private boolean readsBehindAnother(RDD rdd) throws Exception {
    boolean isBehind = false;
    scala.collection.Seq inputs = near.inputs(rdd);
    for (scala.collection.Iterator it = inputs == null ? null : inputs.iterator(); it != null && it.hasNext();) {
      Dependency input = (Dependency) it.next();
      if (isBehind && readsShuffle(input)) {
        return true;
      }
      isBehind |= !(input instanceof ShuffleDependency);
    }
    return false;
  }

  private boolean readsShuffle(Dependency input) throws Exception {
    Set shuffles = new TreeSet();
    if (!(input instanceof ShuffleDependency)) {
      near.of(input.rdd(), shuffles);
    }
    return input instanceof ShuffleDependency || !shuffles.isEmpty();
  }
}
