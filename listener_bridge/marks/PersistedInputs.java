package shufflelifecycle;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/**
 * Which shuffles were written from the same persisted RDD, and since when blocks of it are gone.
 *
 * Shuffles that were written from the same blocks fit together, whatever was drawn for these. One of them that is written
 * again when blocks have gone is made of what is computed anew, and the others are not: they lie on its other side (`Sides`).
 * An RDD that nobody persisted is computed for each of them by itself, and nobody can rely on it.
 *
 * Written by the listener's thread, in the order of events, read in the scheduler's. What Spark's cleaner has let go is
 * forgotten. Refuses to know what is there.
 */
class PersistedInputs {
  private final Map inputs = new HashMap(); // shuffle -> Set of ids of the persisted RDDs that it was written from
  private final Map written = new HashMap(); // id of such an RDD -> Set of the shuffles
  private final Map torn = new HashMap(); // id of such an RDD -> Long: tasks from this one on may have computed blocks anew

  synchronized void jobStarted(SparkListenerJobStart event) {
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      Integer shuffle = Integer.valueOf(Row.shuffleOf(stage));
      scala.collection.Iterator rdds = shuffle.intValue() < 0 ? null : stage.rddInfos().iterator();
      while (rdds != null && rdds.hasNext()) {
        RDDInfo rdd = (RDDInfo) rdds.next();
        if (rdd.storageLevel().isValid()) {
          add(inputs, shuffle, Integer.valueOf(rdd.id()));
          add(written, Integer.valueOf(rdd.id()), shuffle);
        }
      }
    }
  }

  private static void add(Map to, Integer key, Integer value) {
    Set known = (Set) to.get(key);
    if (known == null) {
      known = new TreeSet();
      to.put(key, known);
    }
    known.add(value);
  }

  /** Blocks of it have gone; no task below this one has begun since. */
  synchronized void tear(int rdd, long nextTask) {
    if (written.containsKey(Integer.valueOf(rdd))) {
      torn.put(Integer.valueOf(rdd), Long.valueOf(nextTask));
    }
  }

  /** The same, where nobody knows of which. */
  synchronized void tearAll(long nextTask) {
    for (Iterator it = written.keySet().iterator(); it.hasNext();) {
      torn.put(it.next(), Long.valueOf(nextTask));
    }
  }

  /**
   * The others that were written from what this one was: shuffle -> Long. What tasks below that number wrote of it does not
   * fit what is written from there now. `persisted`: the RDDs that still are, by their ids.
   */
  synchronized Map tornBeside(int shuffle, Set persisted) {
    Map found = new TreeMap();
    Set rdds = (Set) inputs.get(Integer.valueOf(shuffle));
    for (Iterator it = rdds == null ? found.keySet().iterator() : rdds.iterator(); it.hasNext();) {
      Object rdd = it.next();
      Long since = persisted.contains(rdd) ? (Long) torn.get(rdd) : Long.valueOf(Tasks.NONE);
      for (Iterator others = ((Set) written.get(rdd)).iterator(); since != null && others.hasNext();) {
        Integer other = (Integer) others.next();
        Long known = (Long) found.get(other);
        found.put(other, known == null || known.longValue() < since.longValue() ? since : known);
      }
    }
    found.remove(Integer.valueOf(shuffle));
    return found;
  }

  synchronized void cleaned(int shuffle) {
    Integer id = Integer.valueOf(shuffle);
    Set rdds = (Set) inputs.remove(id);
    for (Iterator it = rdds == null ? new TreeSet().iterator() : rdds.iterator(); it.hasNext();) {
      Object rdd = it.next();
      Set others = (Set) written.get(rdd);
      others.remove(id);
      if (others.isEmpty()) {
        written.remove(rdd);
        torn.remove(rdd);
      }
    }
  }
}
