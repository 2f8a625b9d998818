package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.LocalRDDCheckpointData;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.RDDCheckpointData;
import org.apache.spark.scheduler.ShuffleMapStage;
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
 * lost and a stage has begun that may be reading them, they stay until it has ended. That all of them are there does not say
 * that none was lost: one may have been computed again. So whoever hears that one has changed since says so, for good.
 * As long as they stay, who reads them reads the old generation: they lie on that side (`Sides`).
 * Executors take a moment to drop them, and who begins in it may read them: see `Removals`.
 *
 * A local checkpoint is another matter: its blocks are the only data that there are when it is done, and a DataFrame's looks for
 * missing ones before it computes, not after. From its beginning on they stay, as what a job has delivered does.
 *
 * To be used in the scheduler's thread, but for what says otherwise. Nothing here computes anything: see `Levels`.
 */
class CachedBlocks {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final SparkContext context;
  private final BlockManagerMaster master;
  private final Sides sides;
  final Removals removals; // of blocks that may go
  private final Near near = new Near();
  private final Field partitions = Levels.field("partitions_");
  private final Map outdated = new ConcurrentHashMap(); // id of an RDD -> the shuffle that is written again
  private final Set changed = Collections.newSetFromMap(new ConcurrentHashMap()); // ids of RDDs of which blocks may be new
  private final Set torn = Collections.newSetFromMap(new ConcurrentHashMap()); // ids of RDDs of which blocks have gone

  CachedBlocks(SparkContext context, BlockManagerMaster master, Sides sides, Removals removals) {
    this.context = context;
    this.master = master;
    this.sides = sides;
    this.removals = removals;
  }

  /** Whether some wait to be dropped, or for executors to do so. */
  boolean areThere() {
    return isWaiting() || removals.areUnderWay();
  }

  boolean isWaiting() {
    return !outdated.isEmpty();
  }

  /**
   * The listener's thread: a block of the RDD has gone, or come. Whether that is to be acted on. `mayBeOutdated`: the
   * scheduler was told that something is written again, and may not have come to it.
   */
  boolean change(int rdd, boolean mayBeOutdated) {
    Integer id = Integer.valueOf(rdd);
    if (!mayBeOutdated && !changed.isEmpty()) {
      changed.retainAll(outdated.keySet());
    }
    boolean isOutdated = outdated.containsKey(id);
    if (isOutdated || mayBeOutdated) {
      changed.add(id);
    }
    return isOutdated;
  }

  /** The same of all that wait, where nobody knows. */
  void changeAll() {
    changed.addAll(outdated.keySet());
  }

  /** The listener's thread: a block of the RDD has gone from where it was, by no hand of ours. */
  void loses(int rdd) {
    torn.add(Integer.valueOf(rdd));
  }

  /** The listener's thread: the program lets its blocks go. */
  void unpersisted(int rdd) {
    torn.remove(Integer.valueOf(rdd));
  }

  /** Any thread: the ids of all persisted RDDs. */
  Set persisted() {
    Set found = new HashSet();
    scala.collection.Iterator it = context.persistentRdds().keysIterator();
    while (it.hasNext()) {
      found.add(it.next());
    }
    return found;
  }

  /** Whether blocks are missing that had been there, and a job needs them, which are computed from these for it. */
  boolean areLost(Set rewritten, Stages stages) throws Exception {
    scala.collection.Iterator it = torn.isEmpty() ? null : context.persistentRdds().valuesIterator();
    while (it != null && it.hasNext()) {
      RDD rdd = (RDD) it.next();
      Set read = new TreeSet();
      if (torn.contains(Integer.valueOf(rdd.id())) && !isWhole(rdd.id())) {
        near.of(rdd, read);
      }
      if (Stages.meet(read, rewritten) && isNeeded(rdd.id(), stages)) {
        return true;
      }
    }
    return false;
  }

  private boolean isNeeded(int rdd, Stages stages) throws Exception {
    for (Iterator it = stages.needed().iterator(); it.hasNext();) {
      if (near.reads(((Stage) it.next()).rdd(), rdd)) {
        return true;
      }
    }
    return false;
  }

  /**
   * These shuffles are written again; gives those of them that local checkpoints under way were computed from. What waits
   * from now on is added to `old`.
   */
  Set outdate(Set rewritten, Set old) throws Exception {
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
        old.add(Integer.valueOf(Sides.ofBlocks(rdd.id())));
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

  /** The shuffles that it reads, but for those that it only reaches through whole blocks: these stay for it as they are. */
  Set readBeside(Stage stage, Stages stages) throws Exception {
    Set kept = new HashSet();
    Iterator it = hasBegun(stage, stages) ? near.of(stage.rdd(), new TreeSet()).iterator() : kept.iterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (!isCheckpointing(rdd) && isAsItWas(rdd.id())) {
        kept.add(rdd);
      }
    }
    Set read = new TreeSet();
    near.of(stage.rdd(), read, kept);
    return read;
  }

  /** What the stage reads, blocks that wait in the place of what they were computed from; null where it reads none of those. */
  Set readOver(Stage stage) throws Exception {
    Set waiting = new HashSet();
    Set read = new TreeSet();
    Iterator it = isWaiting() ? near.of(stage.rdd(), new TreeSet()).iterator() : waiting.iterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (outdated.containsKey(Integer.valueOf(rdd.id()))) {
        waiting.add(rdd);
        read.add(Integer.valueOf(Sides.ofBlocks(rdd.id())));
      }
    }
    near.of(stage.rdd(), read, waiting);
    return waiting.isEmpty() ? null : read;
  }

  /** The nearest persisted RDDs that the stage reads: their ids. */
  Set persistedOf(Stage stage) throws Exception {
    Map all = new HashMap(); // RDD -> its id
    scala.collection.Iterator it = context.persistentRdds().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      all.put(rdd, Integer.valueOf(rdd.id()));
    }
    Set read = all.isEmpty() ? new HashSet() : new HashSet(near.of(stage.rdd(), new TreeSet(), all.keySet()));
    all.keySet().retainAll(read);
    return new HashSet(all.values());
  }

  /** Where all that reads them begins again, they go at once: it is not to read once more what is old. */
  void letGo(Set rewritten, Stages stages) throws Exception {
    for (Iterator it = outdated.keySet().iterator(); it.hasNext();) {
      Integer rdd = (Integer) it.next();
      List readers = readers(rdd.intValue(), stages);
      boolean isInTheWay = !readers.isEmpty();
      for (int i = 0; i < readers.size(); i++) {
        isInTheWay &= rewritten.contains(Integer.valueOf(Stages.writes((Stage) readers.get(i))));
      }
      if (isInTheWay) {
        changed.add(rdd);
      }
    }
  }

  /** Drops what may go; gives the stages that have begun and that it went under: Stage -> the shuffle that is written again. */
  Map drop(Stages stages) throws Exception {
    Map under = new HashMap();
    Iterator it = new ArrayList(outdated.keySet()).iterator();
    while (it.hasNext()) {
      Integer rdd = (Integer) it.next();
      List readers = readers(rdd.intValue(), stages);
      if (isCheckpointing(rdd.intValue())) {
        forget(rdd); // it has begun since
      } else if (readers.isEmpty() || !isAsItWas(rdd.intValue())) {
        Integer shuffle = forget(rdd);
        LOG.info("RDD {}: its cached blocks are dropped, a shuffle that they were computed from is written again", rdd);
        removals.start(rdd.intValue(), shuffle);
        for (int i = 0; i < readers.size(); i++) {
          under.put(readers.get(i), shuffle);
        }
      }
    }
    return under;
  }

  private Integer forget(Integer rdd) {
    Integer shuffle = (Integer) outdated.remove(rdd);
    changed.remove(rdd);
    torn.remove(rdd);
    sides.cleaned(Sides.ofBlocks(rdd.intValue()));
    sides.unpersisted(rdd.intValue());
    return shuffle;
  }

  /**
   * Those that began while executors dropped what they may have read, now that it is gone: Submitted -> the shuffle that is
   * written again. What was cached meanwhile, over these blocks, waits to go too.
   */
  Map takeReaders() throws Exception {
    Map found = new HashMap();
    for (Iterator it = removals.takeOver().iterator(); it.hasNext();) {
      Removals.Removal removal = (Removals.Removal) it.next();
      for (Iterator readers = removal.readers.values().iterator(); readers.hasNext();) {
        found.put(readers.next(), removal.shuffle);
      }
      outdateOver(removal);
    }
    return found;
  }

  private void outdateOver(Removals.Removal removal) throws Exception {
    scala.collection.Iterator it = context.persistentRdds().valuesIterator();
    while (it.hasNext() && !removal.readers.isEmpty()) {
      RDD rdd = (RDD) it.next();
      if (rdd.id() != removal.rdd && near.reads(rdd, removal.rdd) && !isCheckpointing(rdd)) {
        outdated.put(Integer.valueOf(rdd.id()), removal.shuffle);
        changed.add(Integer.valueOf(rdd.id()));
      }
    }
  }

  /** Stages whose tasks compute the RDD, or read its blocks, and that would be of two generations were those to go. */
  private List readers(int id, Stages stages) throws Exception {
    ArrayList found = new ArrayList();
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      if (hasBegun(stage, stages) && near.reads(stage.rdd(), id)) {
        found.add(stage);
      }
    }
    return found;
  }

  /** Also between two of its attempts. */
  private static boolean hasBegun(Stage stage, Stages stages) {
    boolean hasGiven = Stages.delivered(stage) > 0 || isInPart(stage);
    return hasGiven || stages.isRunning(stage) || !stages.sets(stage).isEmpty();
  }

  private static boolean isInPart(Stage stage) {
    ShuffleMapStage map = stage instanceof ShuffleMapStage ? (ShuffleMapStage) stage : null;
    return map != null && map.numAvailableOutputs() > 0 && !map.isAvailable();
  }

  private boolean isAsItWas(int id) throws Exception {
    return !changed.contains(Integer.valueOf(id)) && isWhole(id);
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
