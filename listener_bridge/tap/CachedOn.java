package shufflelifecycle;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.SparkListenerBlockUpdated;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.RDDBlockId;

/**
 * Which persisted RDDs may have blocks on an executor: all that ever stored one there and were not unpersisted since.
 *
 * Spark says that an executor's blocks have gone, and not which ones. The driver's own never go so. What was stored before
 * we listened is not known. The listener's thread alone.
 */
class CachedOn {
  private final Map rdds = new HashMap(); // executor -> Set of ids

  void updated(SparkListenerBlockUpdated event) {
    BlockId block = event.blockUpdatedInfo().blockId();
    if (block instanceof RDDBlockId && event.blockUpdatedInfo().storageLevel().isValid()
        && !event.blockUpdatedInfo().blockManagerId().isDriver()) {
      stored(event.blockUpdatedInfo().blockManagerId().executorId(), ((RDDBlockId) block).rddId());
    }
  }

  private void stored(String executor, int rdd) {
    Set there = (Set) rdds.get(executor);
    if (there == null) {
      there = new HashSet();
      rdds.put(executor, there);
    }
    there.add(Integer.valueOf(rdd));
  }

  void unpersisted(int rdd) {
    Iterator all = rdds.values().iterator();
    while (all.hasNext()) {
      ((Set) all.next()).remove(Integer.valueOf(rdd));
    }
  }

  /** As a JSON list, ascending; null where there are none. They are forgotten. */
  String takeOf(String executor) {
    Set gone = (Set) rdds.remove(executor);
    return gone == null || gone.isEmpty() ? null : new TreeSet(gone).toString();
  }
}
