package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cached blocks that were computed from a shuffle that is written again: all of their RDD's go.
 *
 * A block that is lost is computed from what is there then, beside blocks of before; whoever reads that RDD would read two
 * generations, however often it were written. The RDD stays persisted, and is cached again as it is read. Where none is
 * lost and a stage runs that may be reading them, they stay until it has ended.
 *
 * A local checkpoint is another matter: its blocks are the only data that there are when it is done, and a DataFrame's looks for
 * missing ones before it computes, not after. From its beginning on they stay, as what a job has delivered does.
 *
 * To be used in the scheduler's thread. Nothing here computes anything: see `Levels`.
 */
class CachedBlocks {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final SparkContext context;
  private final BlockManagerMaster master;
  private final Near near = new Near();
  private final Field partitions = Levels.field("partitions_");
  private final Map outdated = new HashMap(); // id of an RDD -> the shuffle that is written again

  CachedBlocks(SparkContext context, BlockManagerMaster master) {
    this.context = context;
    this.master = master;
  }

  /** Whether some wait. */
  boolean isWaiting() {
    return !outdated.isEmpty();
  }

  /** These shuffles are written again; gives those of them that local checkpoints under way were computed from. */
  Set outdate(Set rewritten) throws Exception {
    Set kept = new TreeSet();
    scala.collection.Iterator it = context.persistentRdds().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      Set read = new TreeSet();
      near.of(rdd, read);
      read.retainAll(rewritten);
      if (isCheckpointing(rdd)) {
        kept.addAll(read);
      } else if (!read.isEmpty()) {
        outdated.put(Integer.valueOf(rdd.id()), read.iterator().next());
      }
    }
    return kept;
  }

  private static boolean isCheckpointing(RDD rdd) {
    Object data = rdd.checkpointData().isDefined() ? rdd.checkpointData().get() : null;
    return data instanceof LocalRDDCheckpointData && !"Initialized".equals(String.valueOf(((RDDCheckpointData) data).cpState()));
  }

  private boolean isCheckpointing(int id) {
    scala.Option rdd = context.persistentRdds().get(Integer.valueOf(id));
    return rdd.isDefined() && isCheckpointing((RDD) rdd.get());
  }

  /** Drops what may go; gives the running stages that it went under: Stage -> the shuffle that is written again. */
  Map drop(Stages stages) throws Exception {
    Map under = new HashMap();
    Iterator it = new ArrayList(outdated.keySet()).iterator();
    while (it.hasNext()) {
      Integer rdd = (Integer) it.next();
      List readers = readers(rdd.intValue(), stages);
      if (isCheckpointing(rdd.intValue())) {
        outdated.remove(rdd); // it has begun since
      } else if (readers.isEmpty() || !isWhole(rdd.intValue())) {
        drop(rdd.intValue());
        Object shuffle = outdated.remove(rdd);
        for (int i = 0; i < readers.size(); i++) {
          under.put(readers.get(i), shuffle);
        }
      }
    }
    return under;
  }

  private void drop(int rdd) {
    LOG.info("RDD {}: its cached blocks are dropped, a shuffle that they were computed from is written again", Integer.valueOf(rdd));
    master.removeRdd(rdd, false);
  }

  /** Running stages whose tasks compute the RDD, or read its blocks. */
  private List readers(int id, Stages stages) throws Exception {
    ArrayList found = new ArrayList();
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      if (stages.isRunning(stage) && holds(near.of(stage.rdd(), new TreeSet()), id)) {
        found.add(stage);
      }
    }
    return found;
  }

  private static boolean holds(Set rdds, int id) {
    Iterator it = rdds.iterator();
    while (it.hasNext()) {
      if (((RDD) it.next()).id() == id) {
        return true;
      }
    }
    return false;
  }

  private boolean isWhole(int id) throws Exception {
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
}
