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
 * A library that drops an RDD of its own while others still read it computes it again. Such RDDs are known by the names
 * that the library gives them, and count as not cached (ADR 22).
 */
public class CachedRdds {
  private static final String[] DROPPED_BY_LIBRARIES = { // how the names of such RDDs begin
    "Delta Table State", "Delta Source Snapshot" // of Delta Lake: what a table's log says, until a commit replaces it
  };
  private final SparkContext context;
  private final boolean executorsStay;
  private final Map known = new HashMap(); // RDD id -> Boolean, for one look

  public CachedRdds(SparkContext context, boolean executorsStay) {
    this.context = context;
    this.executorsStay = executorsStay;
  }

  public boolean wholly(RDD rdd) {
    StorageLevel level = (StorageLevel) Fields.get(RDD.class, rdd, "storageLevel");
    if (!executorsStay || level == null || !level.useDisk() || isDroppedByLibrary(rdd)) {
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

  private static boolean isDroppedByLibrary(RDD rdd) {
    Object name = Fields.get(RDD.class, rdd, "name");
    for (int i = 0; name != null && i < DROPPED_BY_LIBRARIES.length; i++) {
      if (((String) name).startsWith(DROPPED_BY_LIBRARIES[i])) {
        return true;
      }
    }
    return false;
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
