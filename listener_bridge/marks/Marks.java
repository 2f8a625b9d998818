package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * No mixing of generations: an app shuffle that is written again after we deleted it may differ from what was read before.
 * So whatever is made of it is written again as a whole, or stays as a whole.
 *
 * Spark does that by itself above RDDs whose level is INDETERMINATE. So when a deleted app shuffle is written again, that
 * level is set on the RDDs of its readers until these are written (`MarkedStages`). Tasks of their old attempts are killed
 * (`Kills`), and Spark ignores those that end all the same.
 *
 * A result stage cannot take back what it has delivered: Spark would abort its job. Then no stage that it reads from is
 * marked; its inputs are still written as a whole, and it is recorded that the result mixes two generations (`Results`,
 * `EndedJobs`, `TornJobs`). Under `strict` its job is failed instead.
 *
 * Responsible for the order of all that. Everything here runs in the scheduler's thread, but for what says otherwise.
 * Invariant: Spark has forgotten the old outputs before anything is marked or killed, so that a task that begins then
 * reads none of them.
 */
public class Marks {
  private static final int NO_STAGE = -1;

  private final MapOutputTrackerMaster tracker;
  private final Generations generations;
  private final History history;
  private final Sides sides;
  private final Ages ages;
  private final Stages stages;
  private final Epochs epochs;
  private final CachedBlocks blocks;
  private final TornBeside tornBeside;
  private final Choices choices = new Choices();
  private final Kills kills;
  private final MarkedStages marked;
  private final MarkWatch watch;
  private final OwedWritings owed;
  private final EndedJobs ended;
  private final TornJobs torn;
  private final Results results;
  private final BlockReaders blockReaders;
  private final Set anew = Collections.newSetFromMap(new ConcurrentHashMap()); // app shuffles that are being written again
  private volatile Tap tap;
  private volatile boolean busy = false; // whether there is a mark to put back, or something to wait for: see `noteBusy`

  Marks(Scheduler scheduler, MapOutputTrackerMaster tracker, Tap tap, History history, Sides sides, Ages ages,
      CachedBlocks blocks, PersistedInputs persisted, boolean strict, boolean deterministic) throws Exception {
    this.tracker = tracker;
    this.generations = Generations.of(scheduler);
    this.history = history;
    this.sides = sides;
    this.ages = ages;
    this.blocks = blocks;
    this.tornBeside = new TornBeside(generations, tracker, history, blocks, persisted);
    this.stages = new Stages(scheduler);
    this.epochs = new Epochs(scheduler, tracker, stages);
    this.kills = new Kills(scheduler, stages);
    this.marked = new MarkedStages(generations, stages);
    this.watch = new MarkWatch(scheduler, marked);
    this.owed = new OwedWritings(generations, tracker, stages, epochs);
    Mixes mixes = new Mixes(scheduler, choices);
    this.ended = new EndedJobs(scheduler, history, mixes);
    this.torn = new TornJobs(stages, choices, mixes, ended);
    this.results = new Results(stages, sides, blocks, choices, mixes, kills, marked, ended, torn);
    this.blockReaders =
        new BlockReaders(blocks, stages, sides, generations, tracker, history, choices, kills, owed, results);
    choose(tap, strict, deterministic);
  }

  /** From now on: the newest tap, and what the application's user chooses. */
  void choose(Tap tap, boolean strict, boolean deterministic) {
    this.tap = tap;
    marked.tell(tap);
    results.ask(tap);
    choices.choose(strict, deterministic);
  }

  // ---- any thread ----

  public boolean isBusy() {
    return busy;
  }

  public boolean mayBeInherited() {
    return marked.mayBeInherited();
  }

  /** Any thread: whether jobs are over whose ends are still to be heard of, and which may then be told to have mixed. */
  boolean areMixesBehind() {
    return ended.areToBeTold();
  }

  /** Any thread: whether a result stage may come to mix two generations. */
  boolean isWatched(int stageId) {
    return results.isWatched(stageId);
  }

  /** How often stages were marked so far; all that are marked for one submission count once. */
  public int count() {
    return marked.count();
  }

  /** Any thread: it was written as a whole. Where it was written again, cached blocks may have been lost meanwhile. */
  void writtenBeside(int shuffle) {
    if (anew.remove(Integer.valueOf(shuffle))) {
      tornBeside.part(shuffle, sides);
    }
  }

  /** Any thread. */
  void cleaned(int shuffle) {
    anew.remove(Integer.valueOf(shuffle));
  }

  /** The number of the first task that wrote what is there. */
  long firstTask(int shuffle) {
    return tasksOf(shuffle).first();
  }

  // ---- a map stage of a deleted shuffle was submitted ----

  /**
   * `said`: what its job says of its determinism, for a job that is over by now. `unfinished`: the results of jobs whose
   * ends had not been heard of at the submission, though the scheduler may have ended them.
   */
  void submittedAgain(int shuffle, int stageId, String said, List unfinished) throws Exception {
    generations.of(shuffle).hasBegun = true;
    owed.follow(shuffle);
    if (generations.owes(shuffle) && !isDeterministic(stageId, said)) {
      Recomputation again = new Recomputation(generations, history, stages, tracker);
      again.follow(shuffle);
      rewrite(again, shuffle, unfinished);
    }
  }

  /**
   * The same for an app shuffle that was made of a mix, by a job that was not heard of when the mix was found. Not if Spark
   * has forgotten its outputs by now, with another mix that it was made of: then nothing tells which tasks mixed.
   */
  void madeOfMix(int shuffle, int stageId, String said, List unfinished) throws Exception {
    boolean isThere = !ages.madeOfMixes(Collections.singleton(Integer.valueOf(shuffle))).isEmpty();
    if (isThere && !isDeterministic(stageId, said)) {
      rewriteMix(shuffle, unfinished);
    }
  }

  private void rewriteMix(int shuffle, List unfinished) throws Exception {
    Recomputation again = new Recomputation(generations, history, stages, tracker);
    again.followMix(shuffle);
    rewrite(again, shuffle, unfinished);
  }

  private boolean isDeterministic(int stageId, String said) {
    Stage stage = stages.byId(stageId); // null where its jobs are over
    return stage == null ? choices.isDeterministic(said) : choices.areDeterministic(stages.jobsOf(stage));
  }

  private void rewrite(Recomputation again, int shuffle, List unfinished) throws Exception {
    try {
      writeAnew(again, shuffle, unfinished);
    } finally {
      noteBusy();
      watch.begin();
    }
    ages.noteMixes(again, stages.nextTaskId());
    rewriteMadeOfMixes(again.readersOfLate(), unfinished); // those heard of since the recomputation was followed
  }

  private void rewriteMadeOfMixes(Set readers, List unfinished) throws Exception {
    for (Iterator it = ages.madeOfMixes(readers).iterator(); it.hasNext();) {
      int shuffle = ((Integer) it.next()).intValue();
      Stage stage = stages.writing(shuffle); // its jobs may say that they are deterministic
      madeOfMix(shuffle, stage == null ? NO_STAGE : stage.id(), null, unfinished);
    }
  }

  private void writeAnew(Recomputation again, int shuffle, List unfinished) throws Exception {
    if (again.followsLoss || blocks.areLost(again.allNew(), stages)) {
      unite(again, shuffle);
    }
    anew.addAll(again.rewritten);
    Map beside = tornBeside.of(again.allNew(), stages.nextTaskId());
    Set old = again.madeOfOld(beside.keySet());
    Set kept = blocks.outdate(again.allNew(), old);
    sides.part(shuffle, old, beside, again.madeOfNew(), stages.nextTaskId());
    owed.overtake(again.overtaken);
    ended.lookBehind(again, shuffle);
    results.lookBehind(again, shuffle, unfinished);
    Set begun = new TreeSet();
    Set untouchable = results.look(again, shuffle, begun);
    marked.mark(again.rewritten, untouchable);
    letReadAnew(again); // before anything is killed
    kills.late(again, begun);
    ended.keepBlocks(kept);
    blocks.letGo(again.rewritten, stages);
    blockReaders.drop();
    blockReaders.staysOver();
  }

  private void noteBusy() {
    busy = marked.areThere() || owed.areOvertaken() || blocks.areThere();
  }

  /**
   * Events were dropped, perhaps submissions of stages that write what is owed. What has happened since is read from the
   * outputs themselves, by the numbers of the tasks that wrote them.
   */
  void missed(List unfinished) throws Exception {
    Set learnt = learnLive();
    results.forgetEnded();
    Iterator it = generations.owed().iterator();
    while (it.hasNext()) {
      int shuffle = ((Integer) it.next()).intValue();
      Stage stage = stages.writing(shuffle);
      boolean hasBegun = tasksOf(shuffle).firstFrom(generations.owedSince(shuffle)) != Tasks.NONE;
      if (hasBegun || (stage != null && stages.isRunning(stage))) {
        submittedAgain(shuffle, stage == null ? NO_STAGE : stage.id(), null, unfinished);
        written(shuffle, stage == null ? NO_STAGE : stage.id(), unfinished);
      }
    }
    rewriteMadeOfMixes(learnt, unfinished);
    if (marked.mayBeInherited()) {
      askAgain(); // the beginning of a job may be among them
    }
    settle();
  }

  /** What a job reads beside what is written again is written again too; where that cannot be, it is recorded. */
  private void unite(Recomputation again, int shuffle) throws Exception {
    ArrayList jobs = new ArrayList();
    for (Iterator it = stages.jobs().iterator(); it.hasNext();) {
      ActiveJob job = (ActiveJob) it.next();
      if (!choices.isDeterministic(job)) {
        jobs.add(job);
      }
    }
    Branches branches = new Branches(stages, again);
    List left = branches.unite(jobs);
    if (branches.haveGone()) {
      tap.lookAtOutputs(); // the coordinator is to know that they are not there
    }
    torn.tell(left, shuffle);
  }

  /** Tasks that begin from now on look up the new outputs, also tasks of attempts that run already. */
  private void letReadAnew(Recomputation again) {
    Set anew = again.madeOfNew();
    anew.addAll(again.overtaken);
    epochs.renew(anew);
  }

  // ---- cached blocks of the old generation ----

  /** A stage was submitted. `root`: the app shuffle of which its inputs are of two generations; `Sides.NONE`: of none. */
  void reads(int root, Submitted submitted) throws Exception {
    int between = blockReaders.begins(root, submitted);
    if (between != Sides.NONE) {
      torn.readsBoth(between, submitted.stage, submitted.result);
    }
  }

  /** Executors have dropped blocks, and took longer than we wait for: stages that began meanwhile may have read some. */
  void blocksGone(List unfinished) throws Exception {
    blockReaders.noteRunning();
    Map readers = blocks.takeReaders();
    for (Iterator it = readers.keySet().iterator(); it.hasNext();) {
      Submitted reader = (Submitted) it.next();
      if (!isDeterministic(reader.stage, reader.deterministic)) {
        readAnew(reader, ((Integer) readers.get(reader)).intValue(), unfinished);
      }
    }
    settle();
  }

  private void readAnew(Submitted reader, int shuffle, List unfinished) throws Exception {
    Stage stage = stages.byId(reader.stage);
    if (reader.writes >= 0 && tasksOf(reader.writes).areAll()) {
      rewriteMix(reader.writes, unfinished);
    } else if (stage != null) {
      blockReaders.beginAgain(stage, shuffle);
    } else if (reader.writes >= 0) {
      generations.owe(reader.writes, stages.nextTaskId());
    } else if (reader.result != null) {
      ended.tell(reader.result, shuffle, Mixes.BRANCHES, "");
    }
  }

  // ---- what becomes of results ----

  /** A result stage was submitted: it may deliver at any moment now. */
  void resultSubmitted(int stageId) throws Exception {
    results.submitted(stageId);
    noteBusy();
  }

  /** A task of a result stage that is watched has begun. */
  void resultBegins(int stageId, long task, boolean isSpeculative) throws Exception {
    results.begins(stageId, task, isSpeculative);
  }

  /** A task of a result stage has delivered the result of its partition. */
  void resultDelivered(int stageId, long task, int partition) throws Exception {
    results.delivered(stageId, task, partition);
    noteBusy();
  }

  /** The job of the result has ended, and every event of its tasks was heard before. `time`: when it ended, in ms. */
  void resultEnded(History.Result result, boolean succeeded, long time) {
    if (!succeeded) {
      blocks.removals.failed(result.stage);
    }
    results.ended(result, succeeded, time);
    noteBusy();
  }

  // ---- something has ended ----

  /** Takes back the marks that are needed no longer, and drops the cached blocks that may go now. */
  void settle() throws Exception {
    marked.unmarkWritten();
    blockReaders.drop();
    owed.forgetOvertaken();
    marked.putBack();
    noteBusy();
    marked.forgetDeclared();
    torn.forget();
  }

  /** RDDs that inherited INDETERMINATE from a mark get the level back that they declare. */
  void askAgain() throws Exception {
    marked.askAgain();
  }

  /** A map stage has ended well. If tasks that began since its app shuffle was owed have written all of it, that is paid. */
  void written(int shuffle, int stageId, List unfinished) throws Exception {
    if (tasksOf(shuffle).areAll() && sides.isOverBlocks(shuffle)) {
      generations.owe(shuffle, stages.nextTaskId()); // written from outdated blocks: old, whenever its tasks began
      return;
    }
    long since = generations.owedSince(shuffle);
    owed.pay(shuffle);
    boolean endsMixed = owed.endsMixed(shuffle, since);
    noteBusy();
    if (endsMixed) {
      submittedAgain(shuffle, stageId, null, unfinished);
    }
  }

  // ---- before anybody listened ----

  /** Notes what is complete now, though its end was not heard of. */
  private void learnWhole() {
    scala.collection.Iterator it = tracker.shuffleStatuses().keysIterator();
    while (it.hasNext()) {
      int shuffle = ((Number) it.next()).intValue();
      if (tasksOf(shuffle).areAll()) {
        history.completed(shuffle, generations.presentOf(shuffle));
      }
    }
  }

  /** Notes jobs that had begun before anybody listened. Gives the app shuffles of which an input had not been known. */
  Set learnLive() {
    learnWhole();
    Set learnt = new TreeSet();
    List all = stages.live();
    for (int i = 0; i < all.size(); i++) {
      Stage stage = (Stage) all.get(i);
      if (stage instanceof ShuffleMapStage) {
        if (history.written(Stages.writes(stage), Stages.reads(stage))) {
          learnt.add(Integer.valueOf(Stages.writes(stage)));
        }
      } else if (Stages.jobOf((ResultStage) stage) != null) {
        ActiveJob job = Stages.jobOf((ResultStage) stage);
        history.result(new History.Result(
            job.jobId(), stage.id(), job.numPartitions(), Stages.reads(stage), Choices.saysOfItself(job.properties())));
      }
    }
    ages.compare(learnt);
    return learnt;
  }

  private Tasks tasksOf(int shuffle) {
    return new Tasks(generations, tracker, shuffle);
  }
}
