package shufflelifecycle;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.status.api.v1.RDDStorageInfo;
import org.apache.spark.storage.StorageLevel;

/**
 * Which RDDs are cached as a whole where no block goes by itself: at a level with disk, on executors that stay.
 *
 * Blocks at a level without disk do not count, since Spark evicts them as a matter of course. What is cached is read from the
 * status store, which Spark keeps with and without a web UI, so the block manager is not asked. The store may lag behind;
 * until it tells that all is cached, the RDD still needs what it is computed from.
 *
 * RDDs that a library may drop while others read them count as not cached (`LibraryRdds`).
 */
public class CachedRdds {
  private final SparkContext context;
  private final boolean executorsStay;
  private final LibraryRdds ofLibraries;
  private final Map known = new HashMap(); // RDD id -> Boolean, for one look

  public CachedRdds(SparkContext context, boolean executorsStay, LibraryRdds ofLibraries) {
    this.context = context;
    this.executorsStay = executorsStay;
    this.ofLibraries = ofLibraries;
  }

  /** Whether it is cached at all: Spark also lists RDDs that are persisted at level NONE. */
  public static boolean ever(RDD rdd) {
    StorageLevel level = level(rdd);
    return level == null || level.isValid();
  }

  private static StorageLevel level(RDD rdd) {
    return (StorageLevel) Fields.get(RDD.class, rdd, "storageLevel");
  }

  /** Whether reading it surely computes nothing. */
  public boolean wholly(RDD rdd) {
    StorageLevel level = level(rdd);
    if (level == null || !level.isValid()) { // most are not persisted, and no name is asked for
      return false;
    }
    if (ofLibraries.meet(rdd) || !executorsStay || !level.useDisk()) {
      return false;
    }
    Integer id = Integer.valueOf(rdd.id());
    Boolean answer = (Boolean) known.get(id);
    if (answer == null) {
      answer = Boolean.valueOf(isStored(rdd.id()));
      known.put(id, answer);
    }
    return answer.booleanValue();
  }

  private boolean isStored(int rdd) {
    try {
      RDDStorageInfo info = context.statusStore().rdd(rdd);
      return info.numPartitions() > 0 && info.numCachedPartitions() == info.numPartitions();
    } catch (java.util.NoSuchElementException unknown) {
      return false;
    }
  }
}
