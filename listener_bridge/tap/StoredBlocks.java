package shufflelifecycle;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.storage.BlockUpdatedInfo;
import org.apache.spark.storage.RDDBlockId;

/**
 * Which blocks of persisted RDDs executors have, as Spark told: that an executor's blocks have gone it says, and not which ones.
 * Who says that one has gone may never have had it: so does a task that fails, or is killed, while it computes one.
 *
 * A listener's thread alone. What was stored before it listened is not known.
 */
public class StoredBlocks {
  private final Map executors = new HashMap(); // executor -> Map: id of an RDD -> BitSet of its partitions

  /** Takes note; gives whether a block of an RDD has gone that was there. */
  public boolean note(BlockUpdatedInfo update) {
    if (!(update.blockId() instanceof RDDBlockId)) {
      return false;
    }
    RDDBlockId block = (RDDBlockId) update.blockId();
    BitSet there = of(update.blockManagerId().executorId(), block.rddId());
    boolean wasThere = there.get(block.splitIndex());
    boolean isThere = update.storageLevel().isValid();
    there.set(block.splitIndex(), isThere);
    return wasThere && !isThere;
  }

  private BitSet of(String executor, int rdd) {
    Map rdds = (Map) executors.get(executor);
    if (rdds == null) {
      rdds = new HashMap();
      executors.put(executor, rdds);
    }
    BitSet known = (BitSet) rdds.get(Integer.valueOf(rdd));
    if (known == null) {
      known = new BitSet();
      rdds.put(Integer.valueOf(rdd), known);
    }
    return known;
  }

  /** What an executor had that has gone, by the RDDs' ids, ascending: id -> BitSet of partitions. It is forgotten. */
  public Map takeOf(String executor) {
    Map found = new TreeMap();
    Map rdds = (Map) executors.remove(executor);
    for (Iterator it = rdds == null ? found.entrySet().iterator() : rdds.entrySet().iterator(); it.hasNext();) {
      Map.Entry entry = (Map.Entry) it.next();
      if (!((BitSet) entry.getValue()).isEmpty()) {
        found.put(entry.getKey(), entry.getValue());
      }
    }
    return found;
  }

  /** Those of these partitions that no executor has. */
  public BitSet nowhere(int rdd, BitSet partitions) {
    BitSet found = (BitSet) partitions.clone();
    for (Iterator it = executors.values().iterator(); it.hasNext();) {
      BitSet there = (BitSet) ((Map) it.next()).get(Integer.valueOf(rdd));
      if (there != null) {
        found.andNot(there);
      }
    }
    return found;
  }

  public void unpersisted(int rdd) {
    for (Iterator it = executors.values().iterator(); it.hasNext();) {
      ((Map) it.next()).remove(Integer.valueOf(rdd));
    }
  }
}
