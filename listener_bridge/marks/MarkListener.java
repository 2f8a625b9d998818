package shufflelifecycle;

import com.codahale.metrics.Counter;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
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

  private static final int AGAIN = 1;
  private static final int WRITTEN = 2;
  private static final int RESULT_SUBMITTED = 3;
  private static final int RESULT_TASK = 4;
  private static final int SETTLE = 5;
  private static final int ASK_AGAIN = 6;
  private static final int LEARN = 7;
  private static final int MISSED = 8;
  private static final int READS_BOTH = 9;
  private static final int LOOK_WHETHER_SCATTERED = 10;
  private static final int RESULT_BEGINS = 11;
  private static final int RESULT_ENDED = 12;
  private static final int BLOCKS_GONE = 13;

  /** One of the verbs of `Marks`, in the scheduler's thread. */
  private class Act implements Work {
    final int verb;
    final int shuffle;
    final int stage;

    Act(int verb, int shuffle, int stage) {
      this.verb = verb;
      this.shuffle = shuffle;
      this.stage = stage;
    }

    public Object run() {
      try {
        act();
      } catch (Throwable t) {
        LOG.error("generations of app shuffle " + shuffle + " may be mixed: the scheduler was not told of it", t);
      }
      return null;
    }

    void act() throws Exception {
      MarkListener.this.act(verb, shuffle, stage);
    }
  }

  /** Something of what is owed has happened: results may be found that come to mix. */
  private class Find extends Act {
    final List unfinished = history.unfinished();

    Find(int verb, int shuffle, int stage) {
      super(verb, shuffle, stage);
      underWay.incrementAndGet();
    }

    void act() throws Exception {
      try {
        find();
      } finally {
        underWay.decrementAndGet();
      }
    }

    void find() throws Exception {
      marks.written(shuffle, stage, unfinished);
    }
  }

  /** Events were dropped; maybe more of them since it was asked for. */
  private class Missed extends Find {
    Missed() {
      super(MISSED, -1, -1);
    }

    void find() throws Exception {
      looking = false; // first: what is dropped from now on is looked for again
      Set all = new LinkedHashSet(history.unfinished());
      all.addAll(unfinished);
      marks.missed(new ArrayList(all));
      LiveJobs.tell(scheduler); // behind this, who has ended unheard is unfinished no more
    }
  }

  /** A map stage of what is owed was submitted, for a job that says this of its computation. */
  private class Again extends Find {
    final String said;

    Again(int shuffle, int stage, Properties properties) {
      super(MarkListener.AGAIN, shuffle, stage);
      this.said = Choices.saysOfItself(properties);
    }

    void find() throws Exception {
      marks.submittedAgain(shuffle, stage, said, unfinished);
    }
  }

  /** A job is heard of that had written something from a mix, which was found before. */
  private class OfMix extends Again {
    OfMix(int shuffle, int stage, Properties properties) {
      super(shuffle, stage, properties);
    }

    void find() throws Exception {
      marks.madeOfMix(shuffle, stage, said, unfinished);
    }
  }

  /** A stage was submitted that reads both sides, or may read blocks that wait. */
  private class ReadsBoth extends Act {
    private final Submitted reader;

    ReadsBoth(int root, Submitted reader) {
      super(READS_BOTH, root, reader.stage);
      this.reader = reader;
    }

    void act() throws Exception {
      marks.reads(shuffle, reader);
    }
  }

  /** In a thread that waited for executors. */
  private class WhenGone implements Runnable {
    public void run() {
      scheduler.post(new Ticket(new Gone()));
    }
  }

  /** Executors have dropped blocks. */
  private class Gone extends Find {
    Gone() {
      super(BLOCKS_GONE, -1, -1);
    }

    void find() throws Exception {
      marks.blocksGone(unfinished);
    }
  }

  /** A task of a result stage has begun, or delivered. */
  private class ResultTask extends Act {
    private final TaskInfo task;

    ResultTask(int verb, int stage, TaskInfo task) {
      super(verb, -1, stage);
      this.task = task;
    }

    void act() throws Exception {
      if (verb == RESULT_BEGINS) {
        marks.resultBegins(stage, task.taskId(), task.speculative());
      } else {
        marks.resultDelivered(stage, task.taskId(), task.partitionId());
      }
    }
  }

  private class ResultEnded extends Act {
    private final History.Result result;
    private final boolean succeeded;
    private final long time;

    ResultEnded(History.Result result, boolean succeeded, long time) {
      super(RESULT_ENDED, -1, result.stage);
      this.result = result;
      this.succeeded = succeeded;
      this.time = time;
    }

    void act() {
      marks.resultEnded(result, succeeded, time);
    }
  }

  private final Scheduler scheduler;
  private final Generations generations;
  private final History history;
  private final Sides sides;
  private final Ages ages;
  private final CachedBlocks blocks;
  private final PersistedInputs persisted = new PersistedInputs();
  private final StoredBlocks stored = new StoredBlocks();
  private final Marks marks;
  private final AtomicInteger underWay = new AtomicInteger(); // of `Again`: what is heard meanwhile may concern them
  private volatile boolean settling = false;
  private volatile boolean looking = false; // for what was dropped
  private volatile Counter drops; // of our queue; known once it exists
  private long dropsSeen = 0L; // the listener's thread alone

  private MarkListener(SparkContext context, Tap tap, MapOutputTrackerMaster tracker, BlockManager own, boolean strict,
      boolean deterministic) throws Exception {
    this.scheduler = new Scheduler(context);
    this.generations = Generations.of(scheduler);
    this.history = new History();
    this.sides = new Sides();
    this.ages = new Ages(generations, tracker, history, sides);
    this.blocks = new CachedBlocks(context, own.master(), sides, new Removals(scheduler, own, new WhenGone()));
    this.marks = new Marks(scheduler, tracker, tap, history, sides, ages, blocks, persisted, strict, deterministic);
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
    post(LEARN);
  }

  /** Whatever was dropped came before the event that is heard now. One look finds all that was dropped until it is taken. */
  private void noteDrops() {
    long now = drops == null ? 0L : drops.getCount();
    if (now != dropsSeen) {
      dropsSeen = now;
      blocks.changeAll();
      persisted.tearAll(scheduler.nextTaskId());
      if (!looking) {
        looking = true;
        scheduler.post(new Ticket(new Missed()));
      }
    }
  }

  private void post(int verb) {
    post(verb, -1, -1);
  }

  private void post(int verb, int shuffle, int stage) {
    scheduler.post(new Ticket(new Act(verb, shuffle, stage)));
  }

  private void act(int verb, int shuffle, int stage) throws Exception {
    if (verb == LOOK_WHETHER_SCATTERED) {
      generations.lookWhetherScattered(shuffle);
    } else if (verb == RESULT_SUBMITTED) {
      marks.resultSubmitted(stage);
    } else if (verb == SETTLE) {
      settling = false;
      marks.settle();
    } else if (verb == ASK_AGAIN) {
      marks.askAgain();
    } else {
      marks.learnLive();
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
      scheduler.post(new Ticket(new Again(shuffle, stage.stageId(), event.properties())));
    } else if (shuffle < 0 && (marks.isBusy() || mayBeWatched(stage.stageId()))) {
      post(RESULT_SUBMITTED, -1, stage.stageId());
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
      Submitted reader = new Submitted(stage.stageId(), shuffle, inputs, result, properties);
      scheduler.post(new Ticket(new ReadsBoth(root, reader)));
    }
  }

  private static Set withPersisted(Set inputs, StageInfo stage) {
    return NearPersisted.areIn(stage) ? Sides.withPersisted(inputs, new NearPersisted(stage).read()) : inputs;
  }

  private boolean mayBeWatched(int stageId) {
    return marks.isWatched(stageId) || underWay.get() > 0;
  }

  public void onTaskStart(SparkListenerTaskStart event) {
    if (mayBeWatched(event.stageId())) {
      scheduler.post(new Ticket(new ResultTask(RESULT_BEGINS, event.stageId(), event.taskInfo())));
    }
  }

  public void onTaskEnd(SparkListenerTaskEnd event) {
    noteDrops();
    if (mayBeWatched(event.stageId()) && event.reason() == Success$.MODULE$ && event.taskType().equals("ResultTask")) {
      scheduler.post(new Ticket(new ResultTask(RESULT_TASK, event.stageId(), event.taskInfo())));
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
        scheduler.post(new Ticket(new Find(WRITTEN, shuffle, event.stageInfo().stageId())));
      }
      if (generations.mayBeScattered(shuffle)) {
        post(LOOK_WHETHER_SCATTERED, shuffle, event.stageInfo().stageId());
      }
    }
    settle();
  }

  public void onJobStart(SparkListenerJobStart event) {
    noteDrops();
    persisted.jobStarted(event);
    compare(history.jobStarted(event), event);
    if (marks.mayBeInherited() && saysIndeterminate(event)) {
      post(ASK_AGAIN);
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
          scheduler.post(new Ticket(new OfMix(shuffle, stage.stageId(), event.properties())));
        } else if (mixed.contains(Integer.valueOf(shuffle))) {
          scheduler.post(new Ticket(new Again(shuffle, stage.stageId(), event.properties())));
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
      scheduler.post(new Ticket(new ResultEnded(result, succeeded, event.time())));
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
    if (blocks.change(rdd, underWay.get() > 0)) {
      settleSoon();
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
      settleSoon();
    }
  }

  private void settleSoon() {
    if (!settling) {
      settling = true;
      post(SETTLE);
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
