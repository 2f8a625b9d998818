package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * No mixing of generations: what is computed again from a shuffle that we deleted may differ, so whatever reads it is
 * written again as a whole, or not at all.
 *
 * Spark does that by itself for RDDs that say INDETERMINATE; so when a deleted shuffle is written again they are made to
 * say it, until they are written (`MarkedStages`). Late tasks of their old attempts are killed (`Kills`), and those that end
 * all the same ignored.
 *
 * A result stage cannot take back what it has delivered: Spark would abort its job. Then nothing that it reads is marked,
 * its inputs are still written as a whole, and it is told that the result mixes two generations (`Results`, `EndedJobs`,
 * `TornJobs`); under `strict` its job is failed instead.
 *
 * Responsible for the order of all that. Everything here runs in the scheduler's thread, but for what says otherwise.
 * Invariant: what is old is forgotten before anything is marked or killed, so that what begins then reads nothing of it.
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
  private final Set anew = Collections.newSetFromMap(new ConcurrentHashMap()); // shuffles that are written again, until they are
  private volatile Tap tap;
  private volatile boolean busy = false; // whether there is something to put back or to watch

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
    choose(tap, strict, deterministic);
  }

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

  /** Whether jobs may be told when their end is heard of, which lies behind. */
  boolean areMixesBehind() {
    return ended.areToBeTold();
  }

  boolean isWatched(int stageId) {
    return results.isWatched(stageId);
  }

  /** Marks put on since the beginning: all of one submission at once. */
  public int count() {
    return marked.count();
  }

  /** It was written as a whole: cached blocks may have gone since it was found that it is written anew. Any thread. */
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
   * `said`: what the job of it says of its computation, where it is over by now. `unfinished`: the results of jobs of
   * which neither the end nor later tasks had been heard of; the scheduler may know better.
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
   * The same of what was made of a mix, by a job that was not heard of when that was found. Unless it is forgotten by now,
   * with another one that it was made of: then there is nothing of it that tells since when it was a mix itself.
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
    rewriteMadeOfMixes(again.readersOfLate(), unfinished); // heard of since that was followed
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
    dropBlocks();
    staysOverBlocks();
  }

  private void noteBusy() {
    busy = marked.areThere() || owed.areOvertaken() || blocks.areThere();
  }

  /** Events were dropped: submissions of owed shuffles, and jobs, may be among them. What is done already is seen now. */
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

  /** What a job reads beside what is written again is to be of the same generation, or told. */
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

  /** What begins from now on is to read nothing of the old generation, also within its attempt. */
  private void letReadAnew(Recomputation again) {
    Set anew = again.madeOfNew();
    anew.addAll(again.overtaken);
    epochs.renew(anew);
  }

  // ---- what is read beside it, and over cached blocks ----

  /**
   * A stage was submitted. `root`: the shuffle of which its inputs are of two generations, if there is one. Blocks that wait
   * to be dropped are of the old generation, whatever their own inputs are.
   */
  void reads(int root, Submitted submitted) throws Exception {
    Stage stage = stages.byId(submitted.stage);
    blocks.removals.begins(submitted, stage);
    Set over = stage == null ? null : blocks.readOver(stage);
    if (over != null && stage instanceof ShuffleMapStage) {
      staysOld(stage, over);
    }
    int between = over == null ? root : sides.between(over);
    if (between != Sides.NONE) {
      torn.readsBoth(between, submitted.stage, submitted.result);
    }
  }

  /** Map stages that have begun over blocks that somebody else holds: what they write is of the old generation. */
  private void staysOverBlocks() throws Exception {
    List live = blocks.isWaiting() ? stages.live() : new ArrayList();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      Set over = stage instanceof ShuffleMapStage && stages.isRunning(stage) ? blocks.readOver(stage) : null;
      if (over != null) {
        staysOld(stage, over);
      }
    }
  }

  private void staysOld(Stage stage, Set over) {
    int shuffle = Stages.writes(stage);
    sides.writesOver(shuffle, over, stage.id(), stage.latestInfo().attemptNumber());
    generations.owe(shuffle, stages.nextTaskId());
    if (((ShuffleMapStage) stage).isAvailable()) {
      sides.written(shuffle, over, firstTask(shuffle));
    }
  }

  /** Of blocks that went under a stage it may have read some; what it computes from now on is of the new generation. */
  private void dropBlocks() throws Exception {
    Map gone = blocks.drop(stages);
    for (Iterator it = gone.keySet().iterator(); it.hasNext();) {
      Stage stage = (Stage) it.next();
      if (choices.areDeterministic(stages.jobsOf(stage))) {
        it.remove();
      } else {
        kills.all(stage);
      }
    }
    blocks.removals.await(); // tasks that have begun by then count as old
    for (Iterator it = gone.keySet().iterator(); it.hasNext();) {
      Stage stage = (Stage) it.next();
      beginsAgain(stage, ((Integer) gone.get(stage)).intValue());
      blocks.removals.begins(submission(stage), stage);
    }
  }

  private Submitted submission(Stage stage) {
    List jobs = stages.jobsOf(stage);
    Properties properties = jobs.isEmpty() ? null : ((ActiveJob) jobs.get(0)).properties();
    return new Submitted(stage.id(), Stages.writes(stage), Stages.reads(stage), history.resultOf(stage.id()), properties);
  }

  /** Executors took their time to drop blocks, and have done so now: what has begun meanwhile may have read some. */
  void blocksGone(List unfinished) throws Exception {
    noteRunning();
    Map readers = blocks.takeReaders();
    for (Iterator it = readers.keySet().iterator(); it.hasNext();) {
      Submitted reader = (Submitted) it.next();
      if (!isDeterministic(reader.stage, reader.deterministic)) {
        readAnew(reader, ((Integer) readers.get(reader)).intValue(), unfinished);
      }
    }
    settle();
  }

  /** Their submissions may not have been heard of yet. */
  private void noteRunning() throws Exception {
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      if (stages.isRunning(stage)) {
        blocks.removals.begins(submission(stage), stage);
      }
    }
  }

  private void readAnew(Submitted reader, int shuffle, List unfinished) throws Exception {
    Stage stage = stages.byId(reader.stage);
    if (reader.writes >= 0 && tasksOf(reader.writes).areAll()) {
      rewriteMix(reader.writes, unfinished);
    } else if (stage != null) {
      beginsAgain(stage, shuffle);
    } else if (reader.writes >= 0) {
      generations.owe(reader.writes, stages.nextTaskId());
    } else if (reader.result != null) {
      ended.tell(reader.result, shuffle, Mixes.BRANCHES, "");
    }
  }

  private void beginsAgain(Stage stage, int shuffle) {
    if (stage instanceof ShuffleMapStage) {
      sides.writesItself(Stages.writes(stage));
      generations.owe(Stages.writes(stage), stages.nextTaskId());
      owed.overtake(Collections.singleton(Integer.valueOf(Stages.writes(stage))));
    } else {
      results.readsAnew((ResultStage) stage, shuffle);
    }
    kills.all(stage);
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

  /** A task of a result stage has delivered. */
  void resultDelivered(int stageId, long task, int partition) throws Exception {
    results.delivered(stageId, task, partition);
    noteBusy();
  }

  /** All that its tasks did was heard of. `time`: when it had ended, in ms. */
  void resultEnded(History.Result result, boolean succeeded, long time) {
    if (!succeeded) {
      blocks.removals.failed(result.stage);
    }
    results.ended(result, succeeded, time);
    noteBusy();
  }

  // ---- something has ended ----

  /** Whatever needs its mark no longer is put back, and blocks go that nobody reads any more. */
  void settle() throws Exception {
    marked.unmarkWritten();
    dropBlocks();
    owed.forgetOvertaken();
    marked.putBack();
    noteBusy();
    marked.forgetDeclared();
    torn.forget();
  }

  /** What inherited INDETERMINATE from a mark says again what it declared. */
  void askAgain() throws Exception {
    marked.askAgain();
  }

  /** A map stage has ended: was its shuffle written as a whole, by tasks that began when it was owed, and heard of? */
  void written(int shuffle, int stageId, List unfinished) throws Exception {
    if (tasksOf(shuffle).areAll() && sides.isOverBlocks(shuffle)) {
      generations.owe(shuffle, stages.nextTaskId()); // whatever their numbers are, they are of before
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

  /** What is complete now, whoever heard of its end. */
  private void learnWhole() {
    scala.collection.Iterator it = tracker.shuffleStatuses().keysIterator();
    while (it.hasNext()) {
      int shuffle = ((Number) it.next()).intValue();
      if (tasksOf(shuffle).areAll()) {
        history.completed(shuffle, generations.presentOf(shuffle));
      }
    }
  }

  /** Jobs that had begun before anybody listened. Gives the shuffles of which an input was not known. */
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
