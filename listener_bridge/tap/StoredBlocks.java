package shufflelifecycle;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.storage.BlockUpdatedInfo;
import org.apache.spark.storage.RDDBlockId;

/**
 * Which blocks of persisted RDDs each executor has, as far as Spark's events tell. When an executor's blocks go Spark does not
 * say which ones; and a task that fails, or is killed, while it computes a block reports it gone though it was never there.
 *
 * For a listener's thread alone. Blocks that were stored before it listened are not known.
 */
public class StoredBlocks {
  private final Map executors = new HashMap(); // executor -> Map: id of an RDD -> BitSet of its partitions

  /** Takes note of an event; answers whether a block of an RDD that was there has gone. */
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

  /** An executor's blocks are gone: forgets them, and gives them as RDD id (ascending) -> BitSet of partitions. */
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
