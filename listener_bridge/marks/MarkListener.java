package shufflelifecycle;

import com.codahale.metrics.Counter;
import java.util.BitSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.CleanerListener;
import org.apache.spark.ContextCleaner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.Success$;
import org.apache.spark.scheduler.*;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.RDDInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears in time that a deleted shuffle is written again, on the queue of the tap, and has the scheduler's thread act.
 *
 * Spark posts a map stage's submission when its tasks start, and looks at who reads it when the last of them has ended:
 * in between the work is done.
 *
 * Invariant: one an application, whoever attaches however often; it stays until the context stops, whatever becomes of
 * the tap, of Python and of the coordinator. It never throws into the bus and never waits.
 */
public class MarkListener extends SparkListener implements CleanerListener {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");
  private static final PerApplication OF_APPLICATION = new PerApplication();

  private final Scheduler scheduler;
  private final Generations generations;
  private final History history;
  private final Sides sides;
  private final Ages ages;
  private final CachedBlocks blocks;
  private final PersistedInputs persisted = new PersistedInputs();
  private final StoredBlocks stored = new StoredBlocks();
  private final Marks marks;
  private final Errands errands;
  private volatile Counter drops; // of our queue; known once it exists
  private long dropsSeen = 0L; // the listener's thread alone

  private MarkListener(SparkContext context, Tap tap, MapOutputTrackerMaster tracker, BlockManager own, boolean strict,
      boolean deterministic) throws Exception {
    this.scheduler = new Scheduler(context);
    this.generations = Generations.of(scheduler);
    this.history = new History();
    this.errands = new Errands(scheduler, generations, history);
    this.sides = new Sides();
    this.ages = new Ages(generations, tracker, history, sides);
    this.blocks = new CachedBlocks(new PersistedRdds(context, own.master()), sides, new Removals(scheduler, own, errands));
    this.marks = new Marks(scheduler, tracker, tap, history, sides, ages, blocks, persisted, strict, deterministic);
    errands.areFor(marks);
  }

  /** The application's: made at the first call, and told at a later one what its user chooses now. */
  public static MarkListener of(Object sc, Object tap, Object tracker, Object own, boolean strict, boolean deterministic)
      throws Exception {
    SparkContext context = (SparkContext) sc;
    synchronized (OF_APPLICATION) {
      MarkListener known = (MarkListener) OF_APPLICATION.of(context.dagScheduler());
      if (known == null) {
        known = new MarkListener(
            context, (Tap) tap, (MapOutputTrackerMaster) tracker, (BlockManager) own, strict, deterministic);
        known.listen(context);
        OF_APPLICATION.put(known.scheduler, known); // it listens now, or it is not there
      } else {
        known.marks.choose((Tap) tap, strict, deterministic);
      }
      return known;
    }
  }

  private void listen(SparkContext context) {
    scheduler.bus.addToQueue(this, Tap.QUEUE); // each queue more would wake a thread more for every task
    if (context.cleaner().isDefined()) {
      ((ContextCleaner) context.cleaner().get()).attachListener(this);
    }
    drops = (Counter) scheduler.bus.metrics().metricRegistry().getCounters().get(Tap.DROPS);
    dropsSeen = drops == null ? 0L : drops.getCount();
    errands.learnLive();
  }

  /** Whatever was dropped came before the event that is heard now. */
  private void noteDrops() {
    long now = drops == null ? 0L : drops.getCount();
    if (now != dropsSeen) {
      dropsSeen = now;
      blocks.changeAll();
      persisted.tearAll(scheduler.nextTaskId());
      errands.missed();
    }
  }

  /** Marks put on so far. */
  public int count() {
    return marks.count();
  }

  public boolean isBusy() {
    return marks.isBusy();
  }

  public void onStageSubmitted(SparkListenerStageSubmitted event) {
    noteDrops();
    StageInfo stage = event.stageInfo();
    int shuffle = Row.shuffleOf(stage);
    if (shuffle >= 0 && generations.owes(shuffle)) {
      errands.again(shuffle, stage.stageId(), event.properties());
    } else if (shuffle < 0 && (marks.isBusy() || mayBeWatched(stage.stageId()))) {
      errands.resultSubmitted(stage.stageId());
    }
    sides.submitted(shuffle, stage.stageId(), stage.attemptNumber());
    if (sides.areThere() || blocks.areThere()) {
      lookAtInputs(stage, shuffle, event.properties());
    }
  }

  private void lookAtInputs(StageInfo stage, int shuffle, Properties properties) {
    History.Result result = shuffle < 0 ? history.resultOf(stage.stageId()) : null;
    Set inputs = result == null ? history.inputsOf(shuffle) : result.reads;
    int root = sides.between(withPersisted(inputs, stage));
    if (root != Sides.NONE || blocks.areThere()) {
      errands.reads(root, new Submitted(stage.stageId(), shuffle, inputs, result, properties));
    }
  }

  private static Set withPersisted(Set inputs, StageInfo stage) {
    return NearPersisted.areIn(stage) ? Sides.withPersisted(inputs, new NearPersisted(stage).read()) : inputs;
  }

  private boolean mayBeWatched(int stageId) {
    return marks.isWatched(stageId) || errands.areUnderWay();
  }

  public void onTaskStart(SparkListenerTaskStart event) {
    if (mayBeWatched(event.stageId())) {
      errands.resultBegins(event.stageId(), event.taskInfo());
    }
  }

  public void onTaskEnd(SparkListenerTaskEnd event) {
    noteDrops();
    if (mayBeWatched(event.stageId()) && event.reason() == Success$.MODULE$ && event.taskType().equals("ResultTask")) {
      errands.resultDelivered(event.stageId(), event.taskInfo());
    }
    settle();
  }

  public void onStageCompleted(SparkListenerStageCompleted event) {
    noteDrops();
    int shuffle = Row.shuffleOf(event.stageInfo());
    if (shuffle >= 0 && event.stageInfo().failureReason().isEmpty()) {
      history.completed(shuffle, generations.presentOf(shuffle));
      if (sides.areThere()) {
        sides.written(shuffle, withPersisted(history.inputsOf(shuffle), event.stageInfo()), marks.firstTask(shuffle));
      }
      marks.writtenBeside(shuffle);
      if (generations.owes(shuffle)) {
        errands.written(shuffle, event.stageInfo().stageId());
      }
      if (generations.mayBeScattered(shuffle)) {
        errands.lookWhetherScattered(shuffle);
      }
    }
    settle();
  }

  public void onJobStart(SparkListenerJobStart event) {
    noteDrops();
    persisted.jobStarted(event);
    compare(history.jobStarted(event), event);
    if (marks.mayBeInherited() && saysIndeterminate(event)) {
      errands.askAgain();
    }
  }

  /** What is found to be of two generations already is written again as if that were heard of now. */
  private void compare(Set learnt, SparkListenerJobStart event) {
    try {
      Set ofMixes = ages.madeOfMixes(learnt);
      Set mixed = ages.compare(learnt);
      scala.collection.Iterator it = event.stageInfos().iterator();
      while (it.hasNext() && !(mixed.isEmpty() && ofMixes.isEmpty())) {
        StageInfo stage = (StageInfo) it.next();
        int shuffle = Row.shuffleOf(stage);
        if (ofMixes.contains(Integer.valueOf(shuffle))) {
          errands.madeOfMix(shuffle, stage.stageId(), event.properties());
        } else if (mixed.contains(Integer.valueOf(shuffle))) {
          errands.again(shuffle, stage.stageId(), event.properties());
        }
      }
    } catch (RuntimeException broken) {
      LOG.error("generations may be mixed: what job " + event.jobId() + " lists was not compared", broken);
    }
  }

  private static boolean saysIndeterminate(SparkListenerJobStart event) {
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      scala.collection.Iterator rdds = ((StageInfo) it.next()).rddInfos().iterator();
      while (rdds.hasNext()) {
        if (((RDDInfo) rdds.next()).outputDeterministicLevel().toString().equals("INDETERMINATE")) {
          return true;
        }
      }
    }
    return false;
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    noteDrops();
    boolean succeeded = event.jobResult() == JobSucceeded$.MODULE$;
    History.Result result = history.jobEnded(event.jobId(), succeeded, scheduler.nextTaskId());
    if (result != null && (mayBeWatched(result.stage) || marks.areMixesBehind() || blocks.areThere())) {
      errands.resultEnded(result, succeeded, event.time());
    }
    settle();
  }

  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof LiveJobs) {
      history.endAllBut((LiveJobs) event);
    }
  }

  /** Spark posts it before the task goes on that has stored the block. */
  public void onBlockUpdated(SparkListenerBlockUpdated event) {
    BlockId block = event.blockUpdatedInfo().blockId();
    if (block instanceof RDDBlockId) {
      if (stored.note(event.blockUpdatedInfo())) {
        blocks.loses(((RDDBlockId) block).rddId());
        persisted.tear(((RDDBlockId) block).rddId(), scheduler.nextTaskId());
      }
      if (event.blockUpdatedInfo().storageLevel().isValid()) {
        persisted.stored(((RDDBlockId) block).rddId(), ((RDDBlockId) block).splitIndex());
      }
      blocksChange(((RDDBlockId) block).rddId());
    }
  }

  public void onUnpersistRDD(SparkListenerUnpersistRDD event) {
    stored.unpersisted(event.rddId());
    blocks.unpersisted(event.rddId());
    persisted.unpersisted(event.rddId(), scheduler.nextTaskId());
    sides.unpersisted(event.rddId());
    blocksChange(event.rddId());
  }

  private void blocksChange(int rdd) {
    if (blocks.change(rdd, errands.areUnderWay())) {
      errands.settle();
    }
  }

  /** With its blocks, of which nobody says more. */
  public void onBlockManagerRemoved(SparkListenerBlockManagerRemoved event) {
    for (Iterator it = stored.takeOf(event.blockManagerId().executorId()).entrySet().iterator(); it.hasNext();) {
      Map.Entry had = (Map.Entry) it.next();
      int rdd = ((Integer) had.getKey()).intValue();
      BitSet gone = stored.nowhere(rdd, (BitSet) had.getValue());
      blocks.loses(rdd);
      if (generations.doOutputsOutliveExecutors() && !gone.isEmpty()) {
        persisted.tear(rdd, scheduler.nextTaskId());
      } else {
        persisted.taken(rdd, gone, scheduler.nextTaskId());
      }
    }
    settle();
  }

  private void settle() {
    if (marks.isBusy()) {
      errands.settle();
    }
  }

  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    OF_APPLICATION.remove(scheduler.dag);
    Generations.forget(scheduler.dag);
  }

  /** The cleaner's thread. */
  public void shuffleCleaned(int shuffle) {
    history.cleaned(shuffle);
    sides.cleaned(shuffle);
    ages.cleaned(shuffle);
    marks.cleaned(shuffle);
    persisted.cleaned(shuffle);
    generations.cleaned(shuffle);
  }

  public void rddCleaned(int rdd) {
    persisted.rddCleaned(rdd);
  }

  public void broadcastCleaned(long broadcast) {}

  public void accumCleaned(long accumulator) {}

  public void checkpointCleaned(long rdd) {}
}
