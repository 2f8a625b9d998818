package shufflelifecycle;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/**
 * What was made of the same persisted RDD, shuffles and other persisted RDDs, and since when blocks of it are gone.
 *
 * What was made of the same blocks fits together, whatever was drawn for these. A shuffle of it that is written again when
 * blocks have gone is made of what is computed anew, and the rest is not: that lies on its other side (`Sides`). What matters
 * are the nearest blocks: where a shuffle was written from those of an RDD that are all there, nothing behind them is read.
 * An RDD that nobody persisted is computed for each of its readers by itself, and nobody can rely on it.
 *
 * Written by the listener's thread, in the order of events, read in the scheduler's. What Spark's cleaner has let go is
 * forgotten. Refuses to know what is there of a shuffle.
 */
class PersistedInputs {
  /** What does not fit what is written now, of what one other was written as. */
  static class Older {
    private long below = 0L;
    private final Map at = new HashMap(); // index of an output -> Long

    /** Whatever tasks below this number wrote; NONE: whoever writes it. */
    long below() {
      return below;
    }

    /** What tasks below this number wrote of this output; 0: nothing. */
    long below(int output) {
      Long task = (Long) at.get(Integer.valueOf(output));
      return task == null ? below : Math.max(below, task.longValue());
    }

    private void add(long task) {
      below = Math.max(below, task);
    }

    private void addAll(Map tasks) {
      for (Iterator it = tasks.entrySet().iterator(); it.hasNext();) {
        Map.Entry one = (Map.Entry) it.next();
        at.put(one.getKey(), Long.valueOf(Math.max(number(at, one.getKey()), number(tasks, one.getKey()))));
      }
    }
  }

  private static final String CHECKPOINT = "ReliableCheckpointRDD"; // as Spark calls what reads one
  private final Map inputs = new HashMap(); // shuffle -> Set of ids of the persisted RDDs that it was written from
  private final Map written = new HashMap(); // id of such an RDD -> Set of the shuffles
  private final Map sources = new HashMap(); // id of a persisted RDD -> Set of ids of those that it was computed from
  private final Map made = new HashMap(); // id of a persisted RDD -> Set of ids of those that were computed from it
  private final Map torn = new HashMap(); // id of such an RDD -> Long: tasks from this one on may have computed blocks anew
  private final Map let = new HashMap(); // the same of those that the program let go
  private final Map taken = new HashMap(); // the same of what executors took along with outputs: id -> Map: partition -> Long
  private final Map partitions = new HashMap(); // id of such an RDD -> how many
  private final Map outputs = new HashMap(); // shuffle -> how many
  private final Set checkpointed = new HashSet(); // ids of those of which files are read where blocks have gone
  private final Map stored = new HashMap(); // id of such an RDD -> BitSet: what was stored of it since it was persisted

  synchronized void jobStarted(SparkListenerJobStart event) {
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      noteCheckpoints(stage);
      if (NearPersisted.areIn(stage)) {
        learn(new NearPersisted(stage), Integer.valueOf(Row.shuffleOf(stage)));
      }
    }
  }

  private void noteCheckpoints(StageInfo stage) {
    Set files = new HashSet();
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      if (CHECKPOINT.equals(rdd.name())) {
        files.add(Integer.valueOf(rdd.id()));
      }
    }
    it = files.isEmpty() ? null : stage.rddInfos().iterator();
    while (it != null && it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      if (readsOne(rdd, files) && sources.containsKey(Integer.valueOf(rdd.id()))) {
        checkpointed.add(Integer.valueOf(rdd.id()));
        let.remove(Integer.valueOf(rdd.id())); // as a rule when the checkpoint was there
      }
    }
  }

  private static boolean readsOne(RDDInfo rdd, Set others) {
    scala.collection.Iterator it = rdd.parentIds().iterator();
    while (it.hasNext()) {
      if (others.contains(it.next())) {
        return true;
      }
    }
    return false;
  }

  private void learn(NearPersisted stage, Integer shuffle) {
    for (Iterator it = stage.all().iterator(); it.hasNext();) {
      RDDInfo rdd = (RDDInfo) it.next();
      Integer id = Integer.valueOf(rdd.id());
      if (!sources.containsKey(id) || !stored.containsKey(id)) { // else it was computed from what was persisted then
        addAll(sources, made, id, stage.below(rdd));
      }
      partitions.put(id, Integer.valueOf(rdd.numPartitions()));
    }
    if (shuffle.intValue() >= 0) {
      outputs.put(shuffle, Integer.valueOf(stage.numPartitions()));
      addAll(inputs, written, shuffle, stage.read());
    }
  }

  /** To what is known of the key, and the other way round. */
  private static void addAll(Map to, Map back, Integer key, Set values) {
    of(to, key).addAll(values);
    for (Iterator it = values.iterator(); it.hasNext();) {
      of(back, it.next()).add(key);
    }
  }

  private static Set of(Map some, Object key) {
    Set known = (Set) some.get(key);
    if (known == null) {
      known = new TreeSet();
      some.put(key, known);
    }
    return known;
  }

  private static void removeFrom(Map some, Object key, Object value) {
    Set known = (Set) some.get(key);
    if (known != null) {
      known.remove(value);
    }
  }

  /** A block of it was stored. */
  synchronized void stored(int rdd, int partition) {
    BitSet known = (BitSet) stored.get(Integer.valueOf(rdd));
    if (known == null) {
      known = new BitSet();
      stored.put(Integer.valueOf(rdd), known);
    }
    known.set(partition);
  }

  /** Else what is behind it is read whenever it is, in part. */
  private boolean wasStoredWhole(Object rdd) {
    BitSet known = (BitSet) stored.get(rdd);
    return known != null && known.cardinality() >= number(partitions, rdd);
  }

  /** Blocks of it have gone; no task below this one has begun since. */
  synchronized void tear(int rdd, long nextTask) {
    note(torn, Integer.valueOf(rdd), nextTask);
  }

  /** The same, where nobody knows of which. */
  synchronized void tearAll(long nextTask) {
    for (Iterator it = sources.keySet().iterator(); it.hasNext();) {
      note(torn, (Integer) it.next(), nextTask);
    }
  }

  /** The program lets all of its blocks go. */
  synchronized void unpersisted(int rdd, long nextTask) {
    stored.remove(Integer.valueOf(rdd));
    note(let, Integer.valueOf(rdd), nextTask);
  }

  private void note(Map to, Integer rdd, long nextTask) {
    if (sources.containsKey(rdd) && !checkpointed.contains(rdd)) {
      to.put(rdd, Long.valueOf(nextTask));
    }
  }

  /** An executor took these along, with the outputs that it had: what was written from them elsewhere is still there. */
  synchronized void taken(int rdd, BitSet blocks, long nextTask) {
    Integer id = Integer.valueOf(rdd);
    Map known = (Map) taken.get(id);
    if (known == null && sources.containsKey(id) && !checkpointed.contains(id) && !blocks.isEmpty()) {
      known = new HashMap();
      taken.put(id, known);
    }
    for (int i = known == null ? -1 : blocks.nextSetBit(0); i >= 0; i = blocks.nextSetBit(i + 1)) {
      known.put(Integer.valueOf(i), Long.valueOf(nextTask));
    }
  }

  /**
   * The others that were made of what this one was written from: shuffle, or RDD (`Sides.ofPersisted`) -> Older.
   * `persisted`: the RDDs that still are, by their ids.
   */
  synchronized Map tornBeside(int shuffle, Set persisted) {
    Set anew = computedAnew(known(inputs, Integer.valueOf(shuffle)), persisted);
    Map found = new TreeMap();
    for (Iterator it = anew.iterator(); it.hasNext();) {
      addMadeOf((Integer) it.next(), persisted, found);
    }
    for (Iterator it = anew.iterator(); it.hasNext();) {
      found.remove(Integer.valueOf(Sides.ofPersisted(((Integer) it.next()).intValue())));
    }
    found.remove(Integer.valueOf(shuffle));
    return found;
  }

  private static Set known(Map some, Object key) {
    Set known = (Set) some.get(key);
    return known == null ? new TreeSet() : known;
  }

  /** Who reads these now has them computed anew, and what these are computed from. */
  private Set computedAnew(Set rdds, Set persisted) {
    Set found = new TreeSet();
    Set seen = new TreeSet();
    ArrayList left = new ArrayList(rdds);
    while (!left.isEmpty()) {
      Object rdd = left.remove(left.size() - 1);
      boolean isAnew = since(rdd, persisted) > 0L || taken.containsKey(rdd);
      if (isAnew) {
        found.add(rdd);
      }
      if (seen.add(rdd) && (isAnew || !wasStoredWhole(rdd)) && !checkpointed.contains(rdd)) {
        left.addAll(known(sources, rdd));
      }
    }
    return found;
  }

  /** 0: its blocks are as they were, but for those that executors took along. */
  private long since(Object rdd, Set persisted) {
    boolean isKept = persisted.contains(rdd) || checkpointed.contains(rdd);
    return isKept ? Math.max(number(torn, rdd), number(let, rdd)) : Tasks.NONE;
  }

  private static long number(Map some, Object key) {
    Number known = (Number) some.get(key);
    return known == null ? 0L : known.longValue();
  }

  private void addMadeOf(Integer root, Set persisted, Map found) {
    long since = since(root, persisted);
    Set seen = new TreeSet();
    ArrayList left = new ArrayList();
    left.add(root);
    while (!left.isEmpty()) {
      Integer rdd = (Integer) left.remove(left.size() - 1);
      if (!seen.add(rdd)) {
        continue;
      }
      left.addAll(known(made, rdd));
      if (since > 0L && stored.containsKey(rdd) && persisted.contains(rdd)) {
        olderOf(found, Integer.valueOf(Sides.ofPersisted(rdd.intValue()))).add(Tasks.NONE);
      }
      for (Iterator others = known(written, rdd).iterator(); others.hasNext();) {
        addOlder(root, since, (Integer) others.next(), found);
      }
    }
  }

  private void addOlder(Integer root, long since, Integer shuffle, Map found) {
    Older older = olderOf(found, shuffle);
    older.add(since);
    if (taken.containsKey(root) && number(partitions, root) == number(outputs, shuffle)) { // as a rule one of each
      older.addAll((Map) taken.get(root));
    }
  }

  private static Older olderOf(Map found, Integer other) {
    Older known = (Older) found.get(other);
    if (known == null) {
      known = new Older();
      found.put(other, known);
    }
    return known;
  }

  synchronized void cleaned(int shuffle) {
    Integer id = Integer.valueOf(shuffle);
    for (Iterator it = known(inputs, Integer.valueOf(shuffle)).iterator(); it.hasNext();) {
      removeFrom(written, it.next(), id);
    }
    inputs.remove(id);
    outputs.remove(id);
  }

  synchronized void rddCleaned(int rdd) {
    Integer id = Integer.valueOf(rdd);
    forget(id, inputs, written);
    forget(id, made, sources);
    forget(id, sources, made);
    torn.remove(id);
    let.remove(id);
    taken.remove(id);
    partitions.remove(id);
    checkpointed.remove(id);
    stored.remove(id);
  }

  /** `back`: what is known of the key; `to`: where the key is known of that. */
  private static void forget(Integer key, Map to, Map back) {
    for (Iterator it = known(back, key).iterator(); it.hasNext();) {
      removeFrom(to, it.next(), key);
    }
    back.remove(key);
  }
}
