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
 * Which shuffles and persisted RDDs were made from the same persisted RDD, and so do not fit one another any more when its
 * blocks have gone.
 *
 * Take `cached = source.map(random).persist()`, and two shuffles A and B that are written from its blocks. They fit together,
 * whatever random numbers were drawn. Then blocks go, A is lost, and is written again: from blocks that are computed anew,
 * with other numbers. B is still of the old ones. No shuffle lies above both that was written again, so nothing else tells
 * that A and B are of two generations: that is for this class to say, and `Sides` remembers it.
 *
 * Only the nearest persisted RDDs count: where the blocks that a stage reads are all there, nothing behind them is read. An
 * RDD that nobody persisted is computed for each of its readers by itself, and nobody can rely on it.
 *
 * Responsible for the question `tornBeside`. Refuses to know which outputs of a shuffle are there (`TornBeside` does). Written
 * by the listener's thread, in the order of events, read in the scheduler's. What Spark's cleaner has let go is forgotten.
 */
class PersistedInputs {
  private static final String CHECKPOINT = "ReliableCheckpointRDD"; // Spark's name of an RDD that reads a checkpoint's files
  private final Links shuffles = new Links(); // shuffle, made from the persisted RDDs that its stage reads: their ids
  private final Links rdds = new Links(); // id of a persisted RDD, made from others
  private final GoneBlocks gone = new GoneBlocks(rdds);
  private final Map partitions = new HashMap(); // id of a persisted RDD -> how many it has
  private final Map outputs = new HashMap(); // shuffle -> how many it has

  // ---- what is told ----

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

  /** A persisted RDD that is made of a checkpoint's files now: Spark has replaced what it had been computed from. */
  private void noteCheckpoints(StageInfo stage) {
    Set files = checkpointFiles(stage);
    scala.collection.Iterator it = files.isEmpty() ? null : stage.rddInfos().iterator();
    while (it != null && it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      if (readsOne(rdd, files) && rdds.knows(Integer.valueOf(rdd.id()))) {
        gone.checkpointed(Integer.valueOf(rdd.id()));
      }
    }
  }

  private static Set checkpointFiles(StageInfo stage) {
    Set found = new HashSet();
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      if (CHECKPOINT.equals(rdd.name())) {
        found.add(Integer.valueOf(rdd.id()));
      }
    }
    return found;
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
      if (!rdds.knows(id) || !gone.wasStored(id)) { // else its blocks were computed from what was persisted at that time
        rdds.add(id, stage.below(rdd));
      }
      partitions.put(id, Integer.valueOf(rdd.numPartitions()));
    }
    if (shuffle.intValue() >= 0) {
      outputs.put(shuffle, Integer.valueOf(stage.numPartitions()));
      shuffles.add(shuffle, stage.read());
    }
  }

  /** A block of it was stored. */
  synchronized void stored(int rdd, int partition) {
    gone.stored(Integer.valueOf(rdd), partition);
  }

  /** Blocks of it have gone; no task below this one has begun since. */
  synchronized void tear(int rdd, long nextTask) {
    gone.lost(Integer.valueOf(rdd), nextTask);
  }

  /** The same, where nobody knows of which RDD. */
  synchronized void tearAll(long nextTask) {
    gone.lostOfAll(nextTask);
  }

  /** The program lets all of its blocks go. */
  synchronized void unpersisted(int rdd, long nextTask) {
    gone.unpersisted(Integer.valueOf(rdd), nextTask);
  }

  /** An executor took these along, with the outputs that it had: what was written from them elsewhere is still there. */
  synchronized void taken(int rdd, BitSet blocks, long nextTask) {
    gone.lostWithOutputs(Integer.valueOf(rdd), blocks, nextTask);
  }

  synchronized void cleaned(int shuffle) {
    shuffles.forgetProduct(Integer.valueOf(shuffle));
    outputs.remove(Integer.valueOf(shuffle));
  }

  synchronized void rddCleaned(int rdd) {
    Integer id = Integer.valueOf(rdd);
    shuffles.forgetInput(id);
    rdds.forgetProduct(id);
    rdds.forgetInput(id);
    gone.forget(id);
    partitions.remove(id);
  }

  // ---- the question ----

  /**
   * What else was made from the persisted RDDs that this shuffle is written from, and does not fit it if it is written now:
   * shuffle, or persisted RDD (as `Sides.ofPersisted` numbers it) -> Older. `persisted`: the RDDs that still are, by their ids.
   */
  synchronized Map tornBeside(int shuffle, Set persisted) {
    Set anew = readAnew(shuffles.inputsOf(Integer.valueOf(shuffle)), persisted);
    Map found = new TreeMap();
    for (Iterator it = anew.iterator(); it.hasNext();) {
      addMadeFrom((Integer) it.next(), persisted, found);
    }
    for (Iterator it = anew.iterator(); it.hasNext();) {
      found.remove(Integer.valueOf(Sides.ofPersisted(((Integer) it.next()).intValue())));
    }
    found.remove(Integer.valueOf(shuffle));
    return found;
  }

  /** Of these RDDs and those behind them: all of which a stage that reads these now has blocks computed anew. */
  private Set readAnew(Set read, Set persisted) {
    Set found = new TreeSet();
    Set seen = new TreeSet();
    ArrayList left = new ArrayList(read);
    while (!left.isEmpty()) {
      Object rdd = left.remove(left.size() - 1);
      boolean isAnew = gone.areReadAnew(rdd, persisted);
      if (isAnew) {
        found.add(rdd);
      }
      boolean isReadBehind = isAnew || !gone.wasStoredWhole(rdd, number(partitions, rdd));
      if (seen.add(rdd) && isReadBehind && !gone.isCheckpointed(rdd)) {
        left.addAll(rdds.inputsOf(rdd));
      }
    }
    return found;
  }

  /** Adds all that was made from an RDD, directly or by way of other persisted ones, before blocks of it went. */
  private void addMadeFrom(Integer root, Set persisted, Map found) {
    long since = gone.since(root, persisted);
    Set seen = new TreeSet();
    ArrayList left = new ArrayList();
    left.add(root);
    while (!left.isEmpty()) {
      Integer rdd = (Integer) left.remove(left.size() - 1);
      if (!seen.add(rdd)) {
        continue;
      }
      left.addAll(rdds.madeFrom(rdd));
      if (since > 0L && gone.wasStored(rdd) && persisted.contains(rdd)) {
        olderOf(found, Integer.valueOf(Sides.ofPersisted(rdd.intValue()))).add(Tasks.NONE); // no task's number tells its age
      }
      for (Iterator it = shuffles.madeFrom(rdd).iterator(); it.hasNext();) {
        addShuffle(root, since, (Integer) it.next(), found);
      }
    }
  }

  private void addShuffle(Integer root, long since, Integer shuffle, Map found) {
    Older older = olderOf(found, shuffle);
    older.add(since);
    Map tasks = gone.withOutputs(root);
    if (tasks != null && number(partitions, root) == number(outputs, shuffle)) { // as a rule an output is made of one block
      older.addAll(tasks);
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

  private static long number(Map some, Object key) {
    Number known = (Number) some.get(key);
    return known == null ? 0L : known.longValue();
  }
}
