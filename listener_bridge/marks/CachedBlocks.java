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
 * Executors take a moment to drop them, and a task that begins in it may read them: the scheduler waits for that, `GONE_MS` at
 * the most. Where it takes longer (there are many, or a task that may not be killed goes on reading one), who begins meanwhile
 * is remembered: when they are gone it begins again, or is told.
 *
 * A local checkpoint is another matter: its blocks are the only data that there are when it is done, and a DataFrame's looks for
 * missing ones before it computes, not after. From its beginning on they stay, as what a job has delivered does.
 *
 * To be used in the scheduler's thread, but for what says otherwise. Nothing here computes anything: see `Levels`.
 */
class CachedBlocks {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  /** Executors answer when they have removed them. */
  private class Removal extends Thread {
    final int rdd;
    final Integer shuffle; // that is written again
    final Map readers = new HashMap(); // stage id -> Submitted: those that may have begun too early
    private final long untilNs = System.nanoTime() + GONE_MS * 1000000L;
    private volatile boolean isOver = false;

    Removal(int rdd, Integer shuffle) {
      super("shuffle-lifecycle-removal");
      setDaemon(true);
      this.rdd = rdd;
      this.shuffle = shuffle;
    }

    public void run() {
      int tries = 1;
      while (!areDropped() && tries < TRIES) {
        tries++;
      }
      isOver = true;
      whenGone.run();
    }

    private boolean areDropped() {
      try {
        master.removeRdd(rdd, true); // waits for as long as `spark.rpc.askTimeout` says
        return true;
      } catch (Throwable t) {
        LOG.info("RDD " + rdd + ": it is not known yet whether executors have dropped its cached blocks", t);
        return false;
      }
    }

    boolean isOverInTime() throws Exception {
      long leftMs = (untilNs - System.nanoTime()) / 1000000L;
      if (leftMs > 0L) {
        join(leftMs);
      }
      return isOver;
    }
  }

  private static final long GONE_MS = 200L; // so long the scheduler waits at the most
  private static final int TRIES = 10; // of two minutes each, as a rule

  private final SparkContext context;
  private final BlockManagerMaster master;
  private final Sides sides;
  private final Runnable whenGone;
  private final Near near = new Near();
  private final Field partitions = Levels.field("partitions_");
  private final Map outdated = new ConcurrentHashMap(); // id of an RDD -> the shuffle that is written again
  private final Map going = new ConcurrentHashMap(); // id of an RDD -> Removal, until it is over and its readers were seen to
  private final Set changed = Collections.newSetFromMap(new ConcurrentHashMap()); // ids of RDDs of which blocks may be new

  /** `whenGone`: run in a thread of ours whenever executors have dropped some. */
  CachedBlocks(SparkContext context, BlockManagerMaster master, Sides sides, Runnable whenGone) {
    this.context = context;
    this.master = master;
    this.sides = sides;
    this.whenGone = whenGone;
  }

  /** Whether some wait to be dropped, or for executors to do so. */
  boolean areThere() {
    return isWaiting() || areGoing();
  }

  boolean isWaiting() {
    return !outdated.isEmpty();
  }

  private boolean areGoing() {
    return !going.isEmpty();
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
        drop(rdd.intValue(), shuffle);
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
    sides.cleaned(Sides.ofBlocks(rdd.intValue()));
    return shuffle;
  }

  /** What begins before they are gone may read them. Who reads one keeps it so long, and is to be killed first. */
  void awaitDropped() throws Exception {
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      Removal removal = (Removal) it.next();
      if (removal.isOverInTime() && removal.readers.isEmpty()) {
        it.remove();
      }
    }
  }

  private void drop(int rdd, Integer shuffle) {
    LOG.info("RDD {}: its cached blocks are dropped, a shuffle that they were computed from is written again", Integer.valueOf(rdd));
    Removal removal = new Removal(rdd, shuffle);
    Removal before = (Removal) going.put(Integer.valueOf(rdd), removal);
    if (before != null) {
      removal.readers.putAll(before.readers);
    }
    removal.start();
  }

  /** It begins: what of it reads blocks that are going may be of before. `live`: the stage, null where it is over by now. */
  void begins(Submitted reader, Stage live) throws Exception {
    Set rdds = areGoing() && live != null ? near.of(live.rdd(), new TreeSet()) : new HashSet();
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      Removal removal = (Removal) it.next();
      if (live == null ? reader.reads.contains(removal.shuffle) : holds(rdds, removal.rdd)) {
        removal.readers.put(Integer.valueOf(reader.stage), reader);
      }
    }
  }

  /** Its job has failed: nobody has a result of it. */
  void failed(int stage) {
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      ((Removal) it.next()).readers.remove(Integer.valueOf(stage));
    }
  }

  /**
   * Those that began while executors dropped what they may have read, now that it is gone: Submitted -> the shuffle that is
   * written again. What was cached meanwhile, over these blocks, waits to go too.
   */
  Map takeReaders() throws Exception {
    Map found = new HashMap();
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      Removal removal = (Removal) it.next();
      if (removal.isOver) {
        it.remove();
        for (Iterator readers = removal.readers.values().iterator(); readers.hasNext();) {
          found.put(readers.next(), removal.shuffle);
        }
        outdateOver(removal);
      }
    }
    return found;
  }

  private void outdateOver(Removal removal) throws Exception {
    scala.collection.Iterator it = context.persistentRdds().valuesIterator();
    while (it.hasNext() && !removal.readers.isEmpty()) {
      RDD rdd = (RDD) it.next();
      boolean isOver = rdd.id() != removal.rdd && holds(near.of(rdd, new TreeSet()), removal.rdd);
      if (isOver && !isCheckpointing(rdd)) {
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
      if (hasBegun(stage, stages) && holds(near.of(stage.rdd(), new TreeSet()), id)) {
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

  private static boolean holds(Set rdds, int id) {
    Iterator it = rdds.iterator();
    while (it.hasNext()) {
      if (((RDD) it.next()).id() == id) {
        return true;
      }
    }
    return false;
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
