package shufflelifecycle;

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
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outdated RDDs: persisted ones whose cached blocks were computed from an app shuffle that is now written again.
 *
 * All blocks of an outdated RDD are dropped. A block that is lost would be computed anew, from the new generation, and lie
 * beside blocks of the old one; whoever read the RDD then would read two generations. The RDD stays persisted, and is cached
 * again when it is read.
 *
 * They are dropped at once if no stage that has begun reads them, or if one of them has changed since: it has gone, or was
 * stored. Otherwise they wait until those stages have ended. That a block of every partition is there does not prove that
 * none has changed, since a lost block may have been computed again; so whoever hears of a change says so (`change`), and
 * that is remembered. While the blocks wait they count as old, and so does what is written from them (`Sides.ofBlocks`).
 * Executors take a moment to drop them, in which tasks may still read them: see `Removals`.
 *
 * A local checkpoint is never outdated once it has begun: its blocks are then the only copy of the data, and the checkpoint
 * of a DataFrame looks for missing blocks before it computes, not after.
 *
 * Responsible for which RDDs are outdated, and for when their blocks go. Refuses to know what becomes of the stages that read
 * them (`BlockReaders`). Invariant: what is outdated stays here until its blocks are being removed, or are a checkpoint.
 * To be used in the scheduler's thread, but for what says otherwise.
 */
class CachedBlocks {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  final PersistedRdds persisted;
  private final Sides sides;
  final Removals removals; // of the blocks that are being dropped
  private final Near near = new Near();
  private final Map outdated = new ConcurrentHashMap(); // id of an outdated RDD -> the app shuffle that is written again
  private final Set changed = Collections.newSetFromMap(new ConcurrentHashMap()); // ids of RDDs of which a block may be new
  private final Set torn = Collections.newSetFromMap(new ConcurrentHashMap()); // ids of RDDs of which a block was lost

  CachedBlocks(PersistedRdds persisted, Sides sides, Removals removals) {
    this.persisted = persisted;
    this.sides = sides;
    this.removals = removals;
  }

  /** Whether blocks wait to be dropped, or are being dropped by executors. */
  boolean areThere() {
    return isWaiting() || removals.areUnderWay();
  }

  /** Whether blocks wait to be dropped. */
  boolean isWaiting() {
    return !outdated.isEmpty();
  }

  /**
   * The listener's thread: a block of the RDD has gone, or was stored. Answers whether the RDD is outdated, so that the
   * scheduler has to act. `mayBeOutdated`: the scheduler has errands before it that may outdate it.
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

  /** The listener's thread: events were dropped, so blocks of any outdated RDD may have changed. */
  void changeAll() {
    changed.addAll(outdated.keySet());
  }

  /** The listener's thread: a block of the RDD was lost, and not because we have dropped it. */
  void loses(int rdd) {
    torn.add(Integer.valueOf(rdd));
  }

  /** The listener's thread: the program has unpersisted the RDD. */
  void unpersisted(int rdd) {
    torn.remove(Integer.valueOf(rdd));
  }

  /** Whether a job needs blocks that were lost, of an RDD that is computed from one of these app shuffles. */
  boolean areLost(Set rewritten, Stages stages) throws Exception {
    scala.collection.Iterator it = torn.isEmpty() ? null : persisted.all();
    while (it != null && it.hasNext()) {
      RDD rdd = (RDD) it.next();
      Set read = new TreeSet();
      if (torn.contains(Integer.valueOf(rdd.id())) && !persisted.isWhole(rdd.id())) {
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
   * These app shuffles are written again: what was computed from them is outdated. Adds its blocks to `old`, as numbers of
   * `Sides.ofBlocks`. Gives those of the app shuffles that local checkpoints were computed from.
   */
  Set outdate(Set rewritten, Set old) throws Exception {
    Set kept = new TreeSet();
    scala.collection.Iterator it = persisted.all();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      Set read = new TreeSet();
      near.of(rdd, read);
      read.retainAll(rewritten);
      if (PersistedRdds.isCheckpoint(rdd)) {
        kept.addAll(read);
      } else if (!read.isEmpty()) {
        outdated.put(Integer.valueOf(rdd.id()), read.iterator().next());
        old.add(Integer.valueOf(Sides.ofBlocks(rdd.id())));
      }
    }
    return kept;
  }

  /**
   * The app shuffles that the stage reads. If it has begun, without those that lie behind unchanged blocks: it goes on
   * reading these.
   */
  Set readBeside(Stage stage, Stages stages) throws Exception {
    Set kept = new HashSet();
    Iterator it = hasBegun(stage, stages) ? near.of(stage.rdd(), new TreeSet()).iterator() : kept.iterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (!PersistedRdds.isCheckpoint(rdd) && isAsItWas(rdd.id())) {
        kept.add(rdd);
      }
    }
    Set read = new TreeSet();
    near.of(stage.rdd(), read, kept);
    return read;
  }

  /**
   * What the stage reads: app shuffles, and outdated blocks (`Sides.ofBlocks`) in the place of what these were computed from.
   * Null where it reads no outdated blocks.
   */
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

  /** Has blocks go at once, as if they had changed, if every stage that reads them is itself written again. */
  void letGo(Set rewritten, Stages stages) throws Exception {
    for (Iterator it = outdated.keySet().iterator(); it.hasNext();) {
      Integer rdd = (Integer) it.next();
      List readers = readers(rdd.intValue(), stages);
      boolean areAllRewritten = !readers.isEmpty();
      for (int i = 0; i < readers.size(); i++) {
        areAllRewritten &= rewritten.contains(Integer.valueOf(Stages.writes((Stage) readers.get(i))));
      }
      if (areAllRewritten) {
        changed.add(rdd);
      }
    }
  }

  /** Drops the blocks that may go. Gives the stages that have begun to read some of them: Stage -> the app shuffle. */
  Map drop(Stages stages) throws Exception {
    Map begun = new HashMap();
    Iterator it = new ArrayList(outdated.keySet()).iterator();
    while (it.hasNext()) {
      Integer rdd = (Integer) it.next();
      List readers = readers(rdd.intValue(), stages);
      if (persisted.isCheckpoint(rdd.intValue())) {
        forget(rdd); // the checkpoint has begun since
      } else if (readers.isEmpty() || !isAsItWas(rdd.intValue())) {
        Integer shuffle = forget(rdd);
        LOG.info("RDD {}: its cached blocks are dropped, a shuffle that they were computed from is written again", rdd);
        removals.start(rdd.intValue(), shuffle);
        for (int i = 0; i < readers.size(); i++) {
          begun.put(readers.get(i), shuffle);
        }
      }
    }
    return begun;
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
   * Of removals that are over: the stages that began while they were under way, Submitted -> the app shuffle. What was
   * cached from those blocks meanwhile is outdated too.
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
    scala.collection.Iterator it = persisted.all();
    while (it.hasNext() && !removal.readers.isEmpty()) {
      RDD rdd = (RDD) it.next();
      if (rdd.id() != removal.rdd && near.reads(rdd, removal.rdd) && !PersistedRdds.isCheckpoint(rdd)) {
        outdated.put(Integer.valueOf(rdd.id()), removal.shuffle);
        changed.add(Integer.valueOf(rdd.id()));
      }
    }
  }

  /** Stages that have begun and compute the RDD or read its blocks: they would read two generations if the blocks went. */
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

  /** Whether an attempt of the stage runs, or one that is over has left outputs or tasks that still run. */
  private static boolean hasBegun(Stage stage, Stages stages) {
    boolean hasOutputs = Stages.delivered(stage) > 0 || isWrittenInPart(stage);
    return hasOutputs || stages.isRunning(stage) || !stages.sets(stage).isEmpty();
  }

  private static boolean isWrittenInPart(Stage stage) {
    ShuffleMapStage map = stage instanceof ShuffleMapStage ? (ShuffleMapStage) stage : null;
    return map != null && map.numAvailableOutputs() > 0 && !map.isAvailable();
  }

  private boolean isAsItWas(int id) throws Exception {
    return !changed.contains(Integer.valueOf(id)) && persisted.isWhole(id);
  }
}
