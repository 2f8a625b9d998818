package shufflelifecycle;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.StageInfo;

/**
 * Shuffles that an attempt has begun to write, on the servers that they have now, and that are not complete.
 *
 * A further attempt will write blocks of the same names there. As long as it reads the same input that is Uniffle's own
 * affair. If the input were computed again meanwhile it could differ, and each block be of the one or the other: so what a
 * half-written shuffle reads is not fenced before that one is written, fenced itself (it moves then), or cleaned.
 *
 * Invariant: what is not known to be harmless is in the way: of a shuffle that was there before anybody listened it is
 * not known what it reads. Where the queue has dropped events, any shuffle may have been begun.
 */
public class HalfWritten extends SparkListener {
  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Set begun = new TreeSet(); // shuffles with an attempt since they moved
  private final Map reads = new HashMap(); // shuffle -> Set of shuffles
  private long dropsSeen; // of the queue that we hear

  HalfWritten(Scheduler scheduler, MapOutputTrackerMaster tracker) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.dropsSeen = Tap.drops(scheduler.bus);
    beginAll();
  }

  private void beginAll() {
    scala.collection.Iterator it = tracker.shuffleStatuses().keysIterator();
    while (it.hasNext()) {
      begun.add(it.next());
    }
  }

  synchronized void noteDrops() {
    long now = Tap.drops(scheduler.bus);
    if (now != dropsSeen) {
      dropsSeen = now;
      beginAll();
    }
  }

  public void onJobStart(SparkListenerJobStart event) {
    Map writes = new HashMap(); // stage id -> shuffle
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      writes.put(Integer.valueOf(stage.stageId()), Integer.valueOf(Row.shuffleOf(stage)));
    }
    synchronized (this) {
      for (it = event.stageInfos().iterator(); it.hasNext();) {
        learn((StageInfo) it.next(), writes);
      }
    }
  }

  private void learn(StageInfo stage, Map writes) {
    if (Row.shuffleOf(stage) >= 0) {
      Set found = new HashSet();
      scala.collection.Iterator it = stage.parentIds().iterator();
      while (it.hasNext()) {
        found.add(writes.get(it.next()));
      }
      reads.put(Integer.valueOf(Row.shuffleOf(stage)), found);
    }
  }

  public void onStageSubmitted(SparkListenerStageSubmitted event) {
    int shuffle = Row.shuffleOf(event.stageInfo());
    if (shuffle >= 0) {
      synchronized (this) {
        begun.add(Integer.valueOf(shuffle));
      }
    }
  }

  /** Its next attempt writes where nothing is. */
  synchronized void moved(int shuffle) {
    begun.remove(Integer.valueOf(shuffle));
  }

  /** Who is in the way of a fence, in words. To be asked in the scheduler's thread. */
  Set readersOf(int shuffle) {
    noteDrops();
    TreeSet found = new TreeSet();
    scala.collection.Iterator it = scheduler.dag.stageIdToStage().valuesIterator();
    while (it.hasNext()) { // what has been submitted and not been heard of yet
      Stage stage = (Stage) it.next();
      if (stage instanceof ShuffleMapStage && isBegun((ShuffleMapStage) stage) && reads(stage, shuffle)) {
        found.add(words(((ShuffleMapStage) stage).shuffleDep().shuffleId()));
      }
    }
    it = tracker.shuffleStatuses().iterator();
    while (it.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) it.next();
      int reader = ((Number) entry._1()).intValue();
      if (reader != shuffle && isHalf(reader, (ShuffleStatus) entry._2()) && mayRead(reader, shuffle)) {
        found.add(words(reader));
      }
    }
    return found;
  }

  private static boolean isBegun(ShuffleMapStage stage) {
    return stage.latestInfo().submissionTime().isDefined() && !stage.isAvailable();
  }

  /** Whether an attempt has begun it: where something is there, nobody has to have heard of that. */
  private boolean isHalf(int shuffle, ShuffleStatus status) {
    int available = Outputs.available(status);
    return available < status.mapStatuses().length && (available > 0 || isBegun(shuffle));
  }

  synchronized boolean isBegun(int shuffle) {
    return begun.contains(Integer.valueOf(shuffle));
  }

  synchronized boolean mayRead(int reader, int shuffle) {
    Set known = (Set) reads.get(Integer.valueOf(reader));
    return known == null || known.contains(Integer.valueOf(shuffle));
  }

  /** Cleaned: nobody will write it again. */
  synchronized void drop(int shuffle) {
    begun.remove(Integer.valueOf(shuffle));
    reads.remove(Integer.valueOf(shuffle));
  }

  private static boolean reads(Stage stage, int shuffle) {
    scala.collection.Iterator it = stage.parents().iterator();
    while (it.hasNext()) {
      Stage parent = (Stage) it.next();
      if (parent instanceof ShuffleMapStage && ((ShuffleMapStage) parent).shuffleDep().shuffleId() == shuffle) {
        return true;
      }
    }
    return false;
  }

  private static String words(int shuffle) {
    return "app shuffle " + shuffle + " reads it and is half-written";
  }
}
