package shufflelifecycle;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.rdd.RDD;

/**
 * RDDs of which one task reads several partitions one after the other, and opens the next one only when it comes to it:
 * that it has begun says nothing of what it has read.
 *
 * Shown of `CoalescedRDD`; of the others as Spark's code reads. All other RDDs are taken for opening what they read when
 * their task begins, those of other libraries too.
 */
class LateReads {
  private static final Set THEIRS = new HashSet(Arrays.asList(new Object[] {
    "org.apache.spark.rdd.CartesianRDD",
    "org.apache.spark.rdd.CoalescedRDD",
    "org.apache.spark.rdd.PartitionerAwareUnionRDD",
    "org.apache.spark.rdd.SubtractedRDD"
  }));
  private final Near near = new Near();

  /** Whether one lies between this RDD and the shuffles that it is computed from. */
  boolean areBelow(RDD rdd) throws Exception {
    for (Iterator it = near.of(rdd, new TreeSet()).iterator(); it.hasNext();) {
      if (THEIRS.contains(it.next().getClass().getName())) {
        return true;
      }
    }
    return false;
  }
}
