package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.LocalRDDCheckpointData;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.RDDCheckpointData;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.RDDBlockId;

/**
 * The RDDs that the application has persisted, and what is there of their cached blocks now.
 *
 * Refuses to know which blocks are outdated (`CachedBlocks`). Invariant: it reads fields and asks the block manager, so that
 * nothing is computed: see `Levels`. Any thread may ask for `ids`, the scheduler's for the rest.
 */
class PersistedRdds {
  private final SparkContext context;
  private final BlockManagerMaster master;
  private final Near near = new Near();
  private final Field partitions = Levels.field("partitions_");

  PersistedRdds(SparkContext context, BlockManagerMaster master) {
    this.context = context;
    this.master = master;
  }

  /** All of them, as RDDs. */
  scala.collection.Iterator all() {
    return context.persistentRdds().valuesIterator();
  }

  /** The ids of all of them. */
  Set ids() {
    Set found = new HashSet();
    scala.collection.Iterator it = context.persistentRdds().keysIterator();
    while (it.hasNext()) {
      found.add(it.next());
    }
    return found;
  }

  /** The ids of those that the stage reads, without those that lie behind another one. */
  Set nearestOf(Stage stage) throws Exception {
    Map all = new HashMap(); // RDD -> its id
    scala.collection.Iterator it = all();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      all.put(rdd, Integer.valueOf(rdd.id()));
    }
    Set read = all.isEmpty() ? new HashSet() : new HashSet(near.of(stage.rdd(), new TreeSet(), all.keySet()));
    all.keySet().retainAll(read);
    return new HashSet(all.values());
  }

  /** Whether a block of every partition is there; false where the RDD is not persisted, or has no known partitions. */
  boolean isWhole(int id) throws Exception {
    scala.Option rdd = context.persistentRdds().get(Integer.valueOf(id));
    Object[] parts = rdd.isDefined() ? (Object[]) partitions.get(rdd.get()) : null;
    if (parts == null) {
      return false;
    }
    BlockId[] blocks = new BlockId[parts.length];
    for (int i = 0; i < blocks.length; i++) {
      blocks[i] = new RDDBlockId(id, i);
    }
    scala.collection.Iterator it = master.getLocations(blocks).iterator();
    while (it.hasNext()) {
      if (((scala.collection.Seq) it.next()).isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** Whether a local checkpoint of the RDD has begun, or is done: its blocks are then the only copy of its data. */
  static boolean isCheckpoint(RDD rdd) {
    Object data = rdd.checkpointData().isDefined() ? rdd.checkpointData().get() : null;
    boolean isLocal = data instanceof LocalRDDCheckpointData;
    return isLocal && !"Initialized".equals(String.valueOf(((RDDCheckpointData) data).cpState()));
  }

  boolean isCheckpoint(int id) {
    scala.Option rdd = context.persistentRdds().get(Integer.valueOf(id));
    return rdd.isDefined() && isCheckpoint((RDD) rdd.get());
  }
}
