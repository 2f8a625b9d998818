package shufflelifecycle;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.status.api.v1.RDDStorageInfo;
import org.apache.spark.storage.StorageLevel;

/**
 * Which RDDs are wholly cached where nothing is taken away again: on disk, by executors that stay.
 *
 * Memory alone does not count: it is evicted as a matter of course. What is cached is read from the store behind the web
 * UI, which Spark keeps with and without a UI: no call to the block manager's master. It may lag; then the RDD still
 * needs what it was made of.
 *
 * What a library may drop while others read it counts as not cached.
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

  /** Whether any of it will be cached: Spark lists what is persisted at no level, too. */
  public static boolean ever(RDD rdd) {
    StorageLevel level = level(rdd);
    return level == null || level.isValid();
  }

  private static StorageLevel level(RDD rdd) {
    return (StorageLevel) Fields.get(RDD.class, rdd, "storageLevel");
  }

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
