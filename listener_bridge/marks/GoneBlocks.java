package shufflelifecycle;

import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;

/**
 * Since when blocks of persisted RDDs are gone: who reads such an RDD since then has them computed anew.
 *
 * Blocks go in three ways, which are kept apart. They are *lost*: to make room for others, or with an executor whose outputs
 * outlive it. The program *unpersists* the RDD. Or an executor that is lost takes them along *with its outputs*: what it had
 * written from these blocks is gone as well, and only what other executors have written from them is left.
 *
 * "Since when" is the number of a task: none below it has begun since the blocks went (`Tasks`). An RDD that was checkpointed
 * is read from its files where blocks are gone, and nothing is computed anew: what it loses then is not noted.
 *
 * For `PersistedInputs` alone, whose monitor guards it.
 */
class GoneBlocks {
  private final Links rdds; // an RDD that is no product here is not persisted, as far as anybody said
  private final Map lost = new HashMap(); // RDD id -> Long: the number of the first task that may have computed them anew
  private final Map unpersisted = new HashMap(); // the same
  private final Map withOutputs = new HashMap(); // RDD id -> Map: partition -> the same
  private final Map stored = new HashMap(); // RDD id -> BitSet: the partitions that were stored since it was persisted
  private final Set checkpointed = new HashSet(); // ids of RDDs that are read from files where blocks are gone

  /** `rdds`: the persisted RDDs that are known, each made from others. */
  GoneBlocks(Links rdds) {
    this.rdds = rdds;
  }

  /** A block was stored. */
  void stored(Integer rdd, int partition) {
    BitSet known = (BitSet) stored.get(rdd);
    if (known == null) {
      known = new BitSet();
      stored.put(rdd, known);
    }
    known.set(partition);
  }

  /** Some blocks are lost, nobody knows which ones. */
  void lost(Integer rdd, long nextTask) {
    if (isNoted(rdd)) {
      lost.put(rdd, Long.valueOf(nextTask));
    }
  }

  /** The same of every RDD. */
  void lostOfAll(long nextTask) {
    for (Iterator it = rdds.known().iterator(); it.hasNext();) {
      lost((Integer) it.next(), nextTask);
    }
  }

  /** The program lets all blocks go. */
  void unpersisted(Integer rdd, long nextTask) {
    stored.remove(rdd);
    if (isNoted(rdd)) {
      unpersisted.put(rdd, Long.valueOf(nextTask));
    }
  }

  /** An executor took these partitions' blocks along with its outputs. */
  void lostWithOutputs(Integer rdd, BitSet partitions, long nextTask) {
    Map known = (Map) withOutputs.get(rdd);
    if (known == null && isNoted(rdd) && !partitions.isEmpty()) {
      known = new HashMap();
      withOutputs.put(rdd, known);
    }
    for (int i = known == null ? -1 : partitions.nextSetBit(0); i >= 0; i = partitions.nextSetBit(i + 1)) {
      known.put(Integer.valueOf(i), Long.valueOf(nextTask));
    }
  }

  /** It is read from files where blocks are gone. A program that unpersists it does so, as a rule, when the files are there. */
  void checkpointed(Integer rdd) {
    checkpointed.add(rdd);
    unpersisted.remove(rdd);
  }

  private boolean isNoted(Integer rdd) {
    return rdds.knows(rdd) && !checkpointed.contains(rdd);
  }

  // ---- questions ----

  boolean isCheckpointed(Object rdd) {
    return checkpointed.contains(rdd);
  }

  /** Whether it was persisted and some block of it was ever stored. */
  boolean wasStored(Object rdd) {
    return stored.containsKey(rdd);
  }

  /** Whether a block of each of its partitions was stored. Else who reads it reads behind it, too, in part. */
  boolean wasStoredWhole(Object rdd, long partitions) {
    BitSet known = (BitSet) stored.get(rdd);
    return known != null && known.cardinality() >= partitions;
  }

  /**
   * The number of the first task that may have computed blocks anew; 0: they are as they were, but for those that went with
   * an executor's outputs; `Tasks.NONE`: it is not persisted any more, so each of its readers computes it by itself.
   */
  long since(Object rdd, Set persisted) {
    boolean isThere = persisted.contains(rdd) || checkpointed.contains(rdd);
    return isThere ? Math.max(number(lost, rdd), number(unpersisted, rdd)) : Tasks.NONE;
  }

  /** Partition -> Long: the first task that may have computed its block anew, since that went with outputs; null: none did. */
  Map withOutputs(Object rdd) {
    return (Map) withOutputs.get(rdd);
  }

  /** Whether one who reads it now has blocks of it computed anew. */
  boolean areReadAnew(Object rdd, Set persisted) {
    return since(rdd, persisted) > 0L || withOutputs.containsKey(rdd);
  }

  void forget(Integer rdd) {
    lost.remove(rdd);
    unpersisted.remove(rdd);
    withOutputs.remove(rdd);
    stored.remove(rdd);
    checkpointed.remove(rdd);
  }

  private static long number(Map some, Object key) {
    Long known = (Long) some.get(key);
    return known == null ? 0L : known.longValue();
  }
}
