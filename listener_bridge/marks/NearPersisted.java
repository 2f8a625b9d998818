package shufflelifecycle;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/**
 * The persisted RDDs of a stage, and which of them each is computed from: the nearest ones, since reading ends at their
 * blocks. By what Spark's events tell.
 */
class NearPersisted {
  private final Map own = new HashMap(); // RDD id -> RDDInfo: of the stage
  private final RDDInfo last;

  NearPersisted(StageInfo stage) {
    this.last = (RDDInfo) stage.rddInfos().head();
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      own.put(Integer.valueOf(rdd.id()), rdd);
    }
  }

  /** Whether there is one. */
  static boolean areIn(StageInfo stage) {
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      if (((RDDInfo) it.next()).storageLevel().isValid()) {
        return true;
      }
    }
    return false;
  }

  /** Of what the stage computes. */
  int numPartitions() {
    return last.numPartitions();
  }

  /** RDDInfo of each of them. */
  List all() {
    List found = new ArrayList();
    for (Iterator it = own.values().iterator(); it.hasNext();) {
      RDDInfo rdd = (RDDInfo) it.next();
      if (rdd.storageLevel().isValid()) {
        found.add(rdd);
      }
    }
    return found;
  }

  /** Those that the stage reads: the ids. */
  Set read() {
    ArrayDeque left = new ArrayDeque();
    left.add(Integer.valueOf(last.id()));
    return nearest(left);
  }

  /** Those that this one is computed from: the ids. */
  Set below(RDDInfo rdd) {
    ArrayDeque left = new ArrayDeque();
    addInputs(rdd, left);
    return nearest(left);
  }

  private Set nearest(ArrayDeque left) {
    Set found = new TreeSet();
    Set seen = new HashSet();
    while (!left.isEmpty()) {
      Object id = left.poll();
      RDDInfo rdd = (RDDInfo) own.get(id); // null: of another stage
      if (rdd == null || !seen.add(id)) {
        continue;
      }
      if (rdd.storageLevel().isValid()) {
        found.add(id);
      } else {
        addInputs(rdd, left);
      }
    }
    return found;
  }

  private static void addInputs(RDDInfo rdd, ArrayDeque to) {
    scala.collection.Iterator it = rdd.parentIds().iterator();
    while (it.hasNext()) {
      to.add(it.next());
    }
  }
}
