package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSetManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * No mixing of generations: what is computed again from a shuffle that we deleted may differ, so whatever reads it is
 * written again as a whole, or not at all.
 *
 * Spark does that by itself for RDDs that say INDETERMINATE; so when a deleted shuffle is written again they are made to
 * say it, until they are written. Late tasks of their old attempts are killed, and those that end all the same ignored.
 *
 * A result stage cannot take back what it has delivered: Spark would abort its job. Then nothing that it reads is marked,
 * its inputs are still written as a whole, and it is told that the result mixes two generations; under `strict` its job
 * is failed instead.
 *
 * Everything here runs in the scheduler's thread. Invariant: a mark is put back when its stage is written and no older
 * task of it runs, or when its jobs are over; what inherited it meanwhile is asked again.
 */
public class Marks {
  private static final int NO_STAGE = -1;
  private static final String WRITTEN_AGAIN = ". What it has read is written again for those that come";
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Generations generations;
  private final History history;
  private final Sides sides;
  private final Ages ages;
  private final Stages stages;
  private final Epochs epochs;
  private final Levels levels;
  private final CachedBlocks blocks;
  private final LateReads lateReads = new LateReads();
  private final Choices choices = new Choices();
  private final Mixes mixes;
  private volatile Tap tap;
  private final Map marked = new HashMap(); // stage id -> Stage
  private final Map followed = new HashMap(); // owed shuffle -> since when (a task) it was owed when its writing was heard of
  private final Map overtaken = new HashMap(); // shuffle -> the task since which it is owed, while older ones may end
  private final Map declared = new HashMap(); // RDD id -> Boolean: no live stage was of it any more at the last look
  private final Map watched = new ConcurrentHashMap(); // stage id -> WatchedResult: results that may come to mix
  private final Map mixedUntil = new ConcurrentHashMap(); // shuffle -> when it was found, in ms: who has ended by then is told
  private final Set toldEnded = new TreeSet(); // jobs that were told when they were over; their ends may be heard of yet
  private final Set torn = new TreeSet(); // live jobs that were told to read two branches of two generations
  private final Set rewriting = new TreeSet(); // shuffles of marked stages, as the shuffle service was told
  private boolean areToBePutBack = false; // whether marks have gone of which the levels are as they were
  private volatile boolean busy = false; // whether there is something to put back or to watch
  private volatile boolean inherited = false; // whether an RDD may say INDETERMINATE only because another one did
  private volatile int count = 0;

  Marks(Scheduler scheduler, MapOutputTrackerMaster tracker, Tap tap, History history, Sides sides, Ages ages,
      CachedBlocks blocks, boolean strict, boolean deterministic) throws Exception {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.generations = Generations.of(scheduler);
    this.history = history;
    this.sides = sides;
    this.ages = ages;
    this.stages = new Stages(scheduler);
    this.epochs = new Epochs(scheduler, tracker, stages);
    this.levels = new Levels();
    this.blocks = blocks;
    this.mixes = new Mixes(scheduler, choices);
    choose(tap, strict, deterministic);
  }

  void choose(Tap tap, boolean strict, boolean deterministic) {
    this.tap = tap;
    choices.choose(strict, deterministic);
  }

  public boolean isBusy() {
    return busy;
  }

  public boolean mayBeInherited() {
    return inherited;
  }

  /** Any thread: whether jobs may be told when their end is heard of, which lies behind. */
  boolean areMixesBehind() {
    return !mixedUntil.isEmpty();
  }

  /** Any thread. */
  boolean isWatched(int stageId) {
    return watched.containsKey(Integer.valueOf(stageId));
  }

  /** Marks put on since the beginning: all of one submission at once. */
  public int count() {
    return count;
  }

  // ---- a map stage of a deleted shuffle was submitted ----

  /**
   * `said`: what the job of it says of its computation, where it is over by now. `unfinished`: the results of jobs of
   * which neither the end nor later tasks had been heard of; the scheduler may know better.
   */
  void submittedAgain(int shuffle, int stageId, String said, List unfinished) throws Exception {
    generations.of(shuffle).hasBegun = true;
    followed.keySet().retainAll(generations.owed());
    followed.put(Integer.valueOf(shuffle), Long.valueOf(generations.owedSince(shuffle)));
    Stage stage = stages.byId(stageId); // null where its jobs are over
    boolean isDeterministic = stage == null ? choices.isDeterministic(said) : choices.areDeterministic(stages.jobsOf(stage));
    if (isDeterministic || !generations.owes(shuffle)) {
      return;
    }
    try {
      rewrite(shuffle, unfinished);
    } finally {
      noteBusy();
    }
  }

  private void rewrite(int shuffle, List unfinished) throws Exception {
    Recomputation again = new Recomputation(generations, history, stages, tracker);
    again.follow(shuffle);
    if (again.followsLoss) {
      unite(again, shuffle);
    }
    Set old = again.madeOfOld();
    Iterator kept = blocks.outdate(again.allNew(), old).iterator();
    sides.part(shuffle, old, again.madeOfNew(), stages.nextTaskId());
    overtake(again.overtaken);
    tellDelivered(again, shuffle, unfinished);
    Set begun = new TreeSet();
    Set untouchable = results(again, shuffle, begun);
    mark(again.rewritten, untouchable);
    letReadAnew(again); // before anything is killed
    killLateTasks(again, begun);
    while (kept.hasNext()) {
      mayDiffer((Integer) kept.next(), "a local checkpoint under way keeps blocks that were computed from it");
    }
    blocks.letGo(again.rewritten, stages);
    dropBlocks();
    staysOverBlocks();
  }

  private void noteBusy() {
    busy = !marked.isEmpty() || !overtaken.isEmpty() || blocks.isWaiting();
  }

  /** Events were dropped: submissions of owed shuffles, and jobs, may be among them. What is done already is seen now. */
  void missed(List unfinished) throws Exception {
    learnLive();
    forgetWatched();
    Iterator it = generations.owed().iterator();
    while (it.hasNext()) {
      int shuffle = ((Integer) it.next()).intValue();
      Stage stage = stages.writing(shuffle);
      boolean hasBegun = new Tasks(generations, tracker, shuffle).firstFrom(generations.owedSince(shuffle)) != Tasks.NONE;
      if (hasBegun || (stage != null && stages.isRunning(stage))) {
        submittedAgain(shuffle, stage == null ? NO_STAGE : stage.id(), null, unfinished);
        written(shuffle, stage == null ? NO_STAGE : stage.id(), unfinished);
      }
    }
    if (inherited) {
      askAgain(); // the beginning of a job may be among them
    }
    settle();
  }

  /** Of jobs whose end was not heard of. */
  private void forgetWatched() {
    for (Iterator it = watched.keySet().iterator(); it.hasNext();) {
      if (stages.byId(((Integer) it.next()).intValue()) == null) {
        it.remove();
      }
    }
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
    for (int i = 0; i < left.size(); i++) {
      ActiveJob job = (ActiveJob) left.get(i);
      boolean isTold = Stages.delivered(job.finalStage()) > 0; // as all such are
      if (!isTold && !hasRead(job) && torn.add(Integer.valueOf(job.jobId()))) {
        mixes.job(job, shuffle, Mixes.BRANCHES, false, "of two branches that it reads one was lost, and the other was in use");
      }
    }
  }

  /** Whether it needs nothing more: all tasks of its result have begun, and open all that they read then. */
  private boolean hasRead(ActiveJob job) throws Exception {
    Stage last = job.finalStage();
    boolean isResult = last instanceof ResultStage; // a map stage is written again, what it has read does not count
    boolean haveAllBegun = isResult && stages.isRunning(last) && !stages.areSomeToBegin(last);
    return haveAllBegun && !lateReads.areBelow(last.rdd()); // should one begin again, it is looked at then
  }

  /**
   * A stage was submitted. `root`: the shuffle of which its inputs are of two generations, if there is one; `result`: where it
   * gives one, for what has ended. Blocks that wait to be dropped are of the old generation, whatever their own inputs are.
   */
  void reads(int root, int stageId, History.Result result) throws Exception {
    Stage stage = stages.byId(stageId);
    Set over = stage == null ? null : blocks.readOver(stage);
    if (over != null && stage instanceof ShuffleMapStage) {
      staysOld(stage, over);
    }
    int between = over == null ? root : sides.between(over);
    if (between != Sides.NONE) {
      readsBoth(between, stageId, result);
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
    if (isWritten(stage)) {
      sides.written(shuffle, over, firstTask(shuffle));
    }
  }

  /** It reads outputs of two generations. */
  private void readsBoth(int shuffle, int stageId, History.Result result) {
    forgetTorn();
    Stage stage = stages.byId(stageId);
    List jobs = stage == null ? new ArrayList() : stages.jobsOf(stage);
    for (int i = 0; i < jobs.size(); i++) {
      ActiveJob job = (ActiveJob) jobs.get(i);
      boolean needsIt = Stages.needed(job).contains(stage);
      if (needsIt && !choices.isDeterministic(job) && torn.add(Integer.valueOf(job.jobId()))) {
        mixes.job(job, shuffle, Mixes.BRANCHES, false, "it reads what an earlier job had made of it, and what was made of it later");
      }
    }
    if (jobs.isEmpty() && result != null) {
      tellEnded(result, shuffle, Mixes.BRANCHES, "");
    }
  }

  private void tellDelivered(Recomputation again, int first, List unfinished) {
    for (Iterator it = again.late.iterator(); it.hasNext();) {
      mixedUntil.put(it.next(), Long.valueOf(System.currentTimeMillis()));
    }
    Iterator it = again.rewritten.iterator();
    while (it.hasNext()) {
      Integer shuffle = (Integer) it.next();
      History.Result result = history.takeDelivered(shuffle.intValue());
      if (result != null && again.late.contains(shuffle) && result.mayHaveSeen(again.firstAnew(shuffle))) {
        tellEnded(result, first, result.partitions, WRITTEN_AGAIN);
      } else if (result != null) {
        mayDiffer(shuffle, "a job that has finished has read it");
      }
    }
    for (int i = 0; i < unfinished.size(); i++) {
      History.Result result = (History.Result) unfinished.get(i);
      boolean isOver = stages.byId(result.stage) == null; // it has ended, and its end has not come by yet
      if (isOver && Stages.meet(result.reads, again.late)) {
        tellEnded(result, first, result.partitions, WRITTEN_AGAIN);
      } else if (isOver && again.firstAnew(result.reads) != Tasks.NONE && !isWatched(result.stage)) {
        watch(WatchedResult.ofEnded(result, first, again.firstAnew(result.reads))); // nor have its tasks
      }
    }
  }

  /** Once a job. */
  private void tellEnded(History.Result result, int shuffle, int delivered, String next) {
    if (toldEnded.add(Integer.valueOf(result.job))) {
      mixes.ended(result, shuffle, delivered, next);
    }
  }

  private void mayDiffer(Integer shuffle, String why) {
    LOG.info("app shuffle {} is computed again; {}, and if the computation is not deterministic, later results will not "
        + "fit what was made of it before", shuffle, why);
    scheduler.bus.post(new Told(new Row("differs").number("shuffle", shuffle.intValue())));
  }

  /**
   * Looks at the unfinished results above which something is written again; gives the shuffles that must stay unmarked.
   * `begun`: gets the stages that would come to mix, and have delivered nothing. All of their tasks can begin again.
   */
  private Set results(Recomputation again, int shuffle, Set begun) throws Exception {
    Set untouchable = new TreeSet();
    List results = stages.results();
    for (int i = 0; i < results.size(); i++) {
      ResultStage result = (ResultStage) results.get(i);
      boolean reads = readsNew(result, again) && !choices.isDeterministic(Stages.jobOf(result));
      if (reads && again.isReadAnew(result)) {
        lookBeside(result);
      } else if (reads) {
        look(result, shuffle, again, begun);
      }
      if (stages.isRunning(result) || Stages.delivered(result) > 0) {
        untouchable.addAll(Stages.ancestors(result));
      }
    }
    return untouchable;
  }

  /** Not where it has whole cached blocks instead, which nothing that is written again can have come to yet. */
  private boolean readsNew(ResultStage result, Recomputation again) throws Exception {
    Set read = Stages.reads(result);
    boolean isNothingThere = again.firstAnew(read) == Tasks.NONE && !Stages.meet(read, again.late);
    return again.isOneNew(read) && !(isNothingThere && !again.isOneNew(blocks.readBeside(result, stages)));
  }

  /** It has read what was written again, or will; what it reads beside that may be of before. */
  private void lookBeside(ResultStage result) throws Exception {
    Set over = blocks.readOver(result);
    int root = sides.between(over == null ? Stages.reads(result) : over);
    if (root != Sides.NONE) {
      readsBoth(root, result.id(), null);
    }
  }

  private void look(ResultStage result, int shuffle, Recomputation again, Set begun) throws Exception {
    boolean isLate = Stages.meet(Stages.reads(result), again.late);
    boolean isRunning = stages.isRunning(result);
    boolean isTorn = isRunning && (isLate ? again.isRead(result) : again.isReadBySome(result) || isTorn(result));
    boolean hasDelivered = Stages.delivered(result) > 0;
    if (hasDelivered && (isTorn || !isRunning)) {
      mixes.result(result, shuffle, isLate);
    } else if (result.latestInfo().submissionTime().isDefined()) {
      watch(result, shuffle, isTorn);
      boolean wouldMix = !hasDelivered && (isTorn || stages.areSomeToBegin(result));
      if (isRunning && wouldMix && !result.rdd().isBarrier()) { // whose tasks begin together, or not at all
        begun.add(Integer.valueOf(result.id()));
        lookBeside(result);
      }
    }
  }

  /** Whether its tasks, or one of them, have read more than one generation already, or may do so yet. */
  private boolean isTorn(ResultStage result) throws Exception {
    WatchedResult before = (WatchedResult) watched.get(Integer.valueOf(result.id()));
    boolean isTornSince = before != null && before.isTornSince(stages.firstTask(result));
    return isTornSince || (stages.lastTask(result) >= 0 && lateReads.areBelow(result.rdd()));
  }

  /** What it has delivered, and what tasks will deliver that have begun by now, is of the old generation. */
  private void watch(ResultStage stage, int shuffle, boolean isTorn) {
    ActiveJob job = Stages.jobOf(stage);
    String said = Choices.saysOfItself(job.properties());
    History.Result result = new History.Result(job.jobId(), stage.id(), job.numPartitions(), Stages.reads(stage), said);
    int attempt = stage.latestInfo().attemptNumber();
    int delivered = Stages.delivered(stage);
    watch(new WatchedResult(result, shuffle, attempt, stages.nextTaskId(), delivered, isTorn));
  }

  private void watch(WatchedResult result) {
    watched.put(Integer.valueOf(result.result.stage), result);
  }

  private void mark(Set rewritten, Set untouchable) throws Exception {
    List live = stages.live();
    int marks = 0;
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      Integer writes = Integer.valueOf(Stages.writes(stage));
      boolean isWritten = rewritten.contains(writes) && !untouchable.contains(writes);
      boolean isResult = stage instanceof ResultStage && Stages.delivered(stage) == 0;
      if (isWritten || (isResult && !stages.isRunning(stage) && Stages.meet(Stages.ancestors(stage), rewritten))) {
        marks += mark(stage);
      }
    }
    tellRewrites();
    count += marks; // at the end: who sees it grow in another thread sees all of these marks
  }

  /** How many marks that took: none where the stage's RDD has one already. */
  private int mark(Stage stage) throws Exception {
    marked.put(Integer.valueOf(stage.id()), stage); // first: what goes wrong from here on is put back with it
    inherited = true;
    String before = levels.mark(stage.rdd());
    if (before != null) {
      declare(stage.rdd(), before);
    }
    return before == null ? 0 : 1;
  }

  /** They are written on, by tasks of the same attempt that begin from now on; what those write is looked at as all else. */
  private void overtake(Set shuffles) {
    for (Iterator it = shuffles.iterator(); it.hasNext();) {
      Integer shuffle = (Integer) it.next();
      Long since = Long.valueOf(generations.owedSince(shuffle.intValue()));
      overtaken.put(shuffle, since);
      followed.put(shuffle, since); // what reads it was looked at too
    }
  }

  /** What tasks have written that ended before they could be killed is forgotten, before all is there. */
  private void forgetOvertaken() {
    for (Iterator it = overtaken.entrySet().iterator(); it.hasNext();) {
      Map.Entry entry = (Map.Entry) it.next();
      int shuffle = ((Integer) entry.getKey()).intValue();
      long since = ((Long) entry.getValue()).longValue();
      Tasks tasks = new Tasks(generations, tracker, shuffle);
      if (tasks.first() < since && !tasks.areAll()) {
        tracker.unregisterAllMapAndMergeOutput(shuffle);
        generations.forgotten(shuffle);
        epochs.renew(Collections.singleton(entry.getKey()));
      }
      if (!generations.owes(shuffle) || generations.owedSince(shuffle) != since || stages.writing(shuffle) == null) {
        it.remove();
      }
    }
  }

  /** What begins from now on is to read nothing of the old generation, also within its attempt. */
  private void letReadAnew(Recomputation again) {
    Set anew = again.madeOfNew();
    anew.addAll(again.overtaken);
    epochs.renew(anew);
  }

  /** Their outputs and results would be of the old generation. `begun`: results of which that is all of them. */
  private void killLateTasks(Recomputation again, Set begun) {
    List live = stages.live();
    Map sets = stages.allSets();
    Set allNew = again.allNew();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      Integer writes = Integer.valueOf(Stages.writes(stage));
      boolean reads = Stages.meet(Stages.reads(stage), allNew);
      boolean begins = begun.contains(Integer.valueOf(stage.id()));
      if (begins || (reads && (stage instanceof ResultStage || again.rewritten.contains(writes)))) {
        boolean isOvertaken = begins || again.overtaken.contains(writes);
        List late = isOvertaken ? Stages.sets(stage, sets) : stages.lateSets(stage, sets);
        for (int n = 0; n < late.size(); n++) {
          kill((TaskSetManager) late.get(n));
        }
      }
    }
  }

  private void kill(TaskSetManager tasks) {
    List running = scheduler.runningTasks(tasks);
    for (int i = 0; i < running.size(); i++) {
      kill(((Number) running.get(i)).longValue());
    }
  }

  private void kill(long task) {
    scheduler.kill(task, "its input is computed again and may differ (shuffle lifecycle)");
  }

  /** Of blocks that went under a stage it may have read some; what it computes from now on is of the new generation. */
  private void dropBlocks() throws Exception {
    Map gone = blocks.drop(stages);
    Iterator it = gone.keySet().iterator();
    while (it.hasNext()) {
      Stage stage = (Stage) it.next();
      if (!choices.areDeterministic(stages.jobsOf(stage))) {
        beginsAgain(stage, ((Integer) gone.get(stage)).intValue());
      }
    }
  }

  private void beginsAgain(Stage stage, int shuffle) {
    if (stage instanceof ShuffleMapStage) {
      sides.writesItself(Stages.writes(stage));
      generations.owe(Stages.writes(stage), stages.nextTaskId());
      overtake(Collections.singleton(Integer.valueOf(Stages.writes(stage))));
    } else if (Stages.delivered(stage) > 0) {
      watched.remove(Integer.valueOf(stage.id()));
      mixes.result((ResultStage) stage, shuffle, false);
    } else if (hasJob(stage.id())) {
      watch((ResultStage) stage, shuffle, true);
    }
    List sets = stage.rdd().isBarrier() ? new ArrayList() : stages.sets(stage); // of which Spark would abort a result
    for (int i = 0; i < sets.size(); i++) {
      kill((TaskSetManager) sets.get(i));
    }
  }

  // ---- results that mix ----

  /** A result stage was submitted: it may deliver at any moment now. */
  void resultSubmitted(int stageId) throws Exception {
    lookAtResult(stageId);
    Stage stage = stages.byId(stageId);
    if (stage != null) {
      unmarkAbove(stage);
    }
  }

  /** A task of a result stage that is watched has begun. */
  void resultBegins(int stageId, long task, boolean isSpeculative) throws Exception {
    WatchedResult watch = (WatchedResult) watched.get(Integer.valueOf(stageId));
    if (watch != null) {
      watch.begins(task, isSpeculative);
      hear(stageId, watch);
    }
  }

  /** A task of a result stage has delivered. */
  void resultDelivered(int stageId, long task, int partition) throws Exception {
    WatchedResult watch = (WatchedResult) watched.get(Integer.valueOf(stageId));
    if (watch != null) {
      watch.delivers(task, partition);
      hear(stageId, watch);
      lookAtResult(stageId);
    }
  }

  /** All that its tasks did was heard of. `time`: when it had ended, in ms. */
  void resultEnded(History.Result result, boolean succeeded, long time) {
    WatchedResult watch = (WatchedResult) watched.remove(Integer.valueOf(result.stage));
    int root = watch != null && watch.isOfEndedThatReadAnew() ? sides.between(result.reads) : Sides.NONE;
    if (watch != null && succeeded && watch.hasMixed()) {
      mixes.ended(watch.result, watch.input, watch.delivered(), "");
    } else if (succeeded && root != Sides.NONE) {
      tellEnded(result, root, Mixes.BRANCHES, "");
    } else if (succeeded) {
      tellMixesBehind(result, time);
    }
    forgetMixesBehind(result, time);
    noteBusy();
  }

  private void tellMixesBehind(History.Result result, long time) {
    for (Iterator it = mixedUntil.entrySet().iterator(); it.hasNext();) {
      Map.Entry entry = (Map.Entry) it.next();
      if (result.reads.contains(entry.getKey()) && time <= ((Long) entry.getValue()).longValue()) {
        tellEnded(result, ((Integer) entry.getKey()).intValue(), result.partitions, WRITTEN_AGAIN);
      }
    }
  }

  /** Ends are heard of in their order. */
  private void forgetMixesBehind(History.Result result, long time) {
    for (Iterator it = mixedUntil.values().iterator(); it.hasNext();) {
      if (((Long) it.next()).longValue() < time) {
        it.remove();
      }
    }
    toldEnded.remove(Integer.valueOf(result.job));
    if (mixedUntil.isEmpty()) {
      toldEnded.clear();
    }
  }

  private void hear(int stageId, WatchedResult watch) throws Exception {
    if (watch.takeToBeginAgain() && hasJob(stageId)) {
      killOld(stages.byId(stageId), watch);
      lookBeside((ResultStage) stages.byId(stageId));
    } else if (watch.mixes()) {
      watched.remove(Integer.valueOf(stageId));
      if (hasJob(stageId)) {
        mixes.result((ResultStage) stages.byId(stageId), watch.input, false);
      } else {
        mixes.ended(watch.result, watch.input, watch.delivered(), "");
      }
    }
  }

  private void killOld(Stage stage, WatchedResult watch) {
    List sets = stages.sets(stage);
    for (int i = 0; i < sets.size(); i++) {
      TaskSetManager manager = (TaskSetManager) sets.get(i);
      for (Iterator it = scheduler.runningTasks(manager).iterator(); it.hasNext();) {
        long task = ((Number) it.next()).longValue();
        if (watch.isOld(task)) {
          kill(task);
        }
      }
    }
  }

  private boolean hasJob(int stageId) {
    Stage stage = stages.byId(stageId);
    return stage instanceof ResultStage && Stages.jobOf((ResultStage) stage) != null;
  }

  /** A result stage that is watched was submitted again, or a task of an old attempt of it has ended. */
  private void lookAtResult(int stageId) throws Exception {
    WatchedResult watch = (WatchedResult) watched.get(Integer.valueOf(stageId));
    if (watch == null || watch.hasBegunAnew() || !hasJob(stageId)) {
      return;
    }
    Stage stage = stages.byId(stageId);
    boolean isLater = watch.isLater(stage.latestInfo().attemptNumber());
    if ((isLater || !stages.isRunning(stage)) && watch.delivered() > 0) {
      watched.remove(Integer.valueOf(stageId));
      mixes.result((ResultStage) stage, watch.input, false);
      unmarkAbove(stage);
    } else if (isLater) {
      watch.beginsAnew(); // with nothing delivered: all of it is of one generation, unless an old task delivers after all
    }
  }

  /** Spark would abort the job of a result stage that has delivered something, were anything above it marked. */
  private void unmarkAbove(Stage result) throws Exception {
    Set above = Stages.ancestors(result);
    List all = new ArrayList(marked.values());
    for (int i = 0; i < all.size(); i++) {
      Stage stage = (Stage) all.get(i);
      if (stage == result || above.contains(Integer.valueOf(Stages.writes(stage)))) {
        unmark(stage);
      }
    }
    putBack();
  }

  // ---- putting back ----

  /** Something has ended: whatever needs its mark no longer is put back. */
  void settle() throws Exception {
    Map sets = stages.allSets();
    List all = new ArrayList(marked.values());
    for (int i = 0; i < all.size(); i++) {
      Stage stage = (Stage) all.get(i);
      if (!stages.isLive(stage) || (isWritten(stage) && stages.lateSets(stage, sets).isEmpty())) {
        unmark(stage);
      }
    }
    dropBlocks();
    forgetOvertaken();
    putBack();
    forgetDeclared();
    forgetTorn();
  }

  private void unmark(Stage stage) {
    marked.remove(Integer.valueOf(stage.id()));
    areToBePutBack = true;
  }

  private void forgetTorn() {
    Set live = new TreeSet();
    for (Iterator it = stages.jobs().iterator(); it.hasNext();) {
      live.add(Integer.valueOf(((ActiveJob) it.next()).jobId()));
    }
    torn.retainAll(live);
  }

  private boolean isWritten(Stage stage) {
    if (stage instanceof ShuffleMapStage) {
      return ((ShuffleMapStage) stage).isAvailable();
    }
    Set above = Stages.ancestors(stage);
    Iterator it = marked.values().iterator();
    while (it.hasNext()) {
      if (above.contains(Integer.valueOf(Stages.writes((Stage) it.next())))) {
        return false;
      }
    }
    return true;
  }

  /** What has lost its mark says its own level again, and what inherited that is asked again. */
  private void putBack() throws Exception {
    if (areToBePutBack) {
      List roots = levels.restoreAllBut(rddsOf(marked.values()));
      tellRewrites();
      roots.addAll(levels.inheriting(stages.rdds())); // below all others it was asked before, or is when their marks go
      askAgain(roots);
      areToBePutBack = false; // at the end: what went wrong is tried again
    }
    noteBusy();
  }

  private static Map rddsOf(Collection ofStages) {
    Map found = new IdentityHashMap();
    for (Iterator it = ofStages.iterator(); it.hasNext();) {
      RDD rdd = ((Stage) it.next()).rdd();
      found.put(rdd, rdd);
    }
    return found;
  }

  /** Which shuffles are written again as a whole, where that has changed. */
  private void tellRewrites() {
    Set now = new TreeSet();
    Iterator it = marked.values().iterator();
    while (it.hasNext()) {
      Stage stage = (Stage) it.next();
      if (stage instanceof ShuffleMapStage) {
        now.add(Integer.valueOf(Stages.writes(stage)));
      }
    }
    Set told = new TreeSet(rewriting);
    rewriting.clear();
    rewriting.addAll(now);
    now.removeAll(told);
    for (it = now.iterator(); it.hasNext();) {
      generations.rewriteBegins(((Integer) it.next()).intValue());
    }
    told.removeAll(rewriting);
    for (it = told.iterator(); it.hasNext();) {
      generations.rewriteEnds(((Integer) it.next()).intValue());
    }
  }

  /** What inherited INDETERMINATE from a mark says again what it declared. */
  void askAgain() throws Exception {
    askAgain(stages.rdds());
  }

  private void askAgain(List roots) throws Exception {
    List changed = levels.askAgain(roots);
    for (int i = 0; i < changed.size(); i++) {
      RDD rdd = (RDD) changed.get(i);
      declare(rdd, rdd.outputDeterministicLevel().toString());
    }
  }

  private void declare(RDD rdd, String level) {
    tap.declareLevel(rdd.id(), level);
    declared.put(Integer.valueOf(rdd.id()), Boolean.FALSE);
  }

  /**
   * An RDD whose level is its own again says so itself; but Spark tells a live stage as it was when its attempt was made.
   * So what it declared is kept until no stage is of it, and for one look more, since events of the last may be under way.
   */
  private void forgetDeclared() {
    if (declared.size() == levels.size()) {
      return; // all of them are marked
    }
    Set needed = new HashSet();
    List rdds = stages.rdds();
    rdds.addAll(levels.marked());
    for (int i = 0; i < rdds.size(); i++) {
      needed.add(Integer.valueOf(((RDD) rdds.get(i)).id()));
    }
    Iterator it = declared.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      boolean isNeeded = needed.contains(entry.getKey());
      if (!isNeeded && entry.getValue() == Boolean.TRUE) {
        tap.forgetLevel(((Integer) entry.getKey()).intValue());
        it.remove();
      } else {
        entry.setValue(Boolean.valueOf(!isNeeded));
      }
    }
  }

  /** A map stage has ended: was its shuffle written as a whole, by tasks that began when it was owed, and heard of? */
  void written(int shuffle, int stageId, List unfinished) throws Exception {
    long since = generations.owedSince(shuffle);
    Tasks tasks = new Tasks(generations, tracker, shuffle);
    if (tasks.areAll() && sides.isOverBlocks(shuffle)) {
      generations.owe(shuffle, stages.nextTaskId()); // whatever their numbers are, they are of before
      return;
    }
    boolean isFollowed = Long.valueOf(since).equals(followed.get(Integer.valueOf(shuffle)));
    if (isFollowed && tasks.areAll() && tasks.first() >= since) {
      generations.paid(shuffle);
      followed.remove(Integer.valueOf(shuffle));
    }
    boolean wasOvertaken = tasks.areAll() && Long.valueOf(since).equals(overtaken.get(Integer.valueOf(shuffle)));
    if (wasOvertaken) {
      overtaken.remove(Integer.valueOf(shuffle));
      noteBusy();
    }
    if (wasOvertaken && tasks.areBeforeAndFrom(since)) { // the last of the older ones has ended before it was killed
      submittedAgain(shuffle, stageId, null, unfinished);
    }
  }

  /** Any thread: the number of the first task that wrote what is there. */
  long firstTask(int shuffle) {
    return new Tasks(generations, tracker, shuffle).first();
  }

  /** What is complete now, whoever heard of its end. */
  private void learnWhole() {
    scala.collection.Iterator it = tracker.shuffleStatuses().keysIterator();
    while (it.hasNext()) {
      int shuffle = ((Number) it.next()).intValue();
      if (new Tasks(generations, tracker, shuffle).areAll()) {
        history.completed(shuffle, generations.presentOf(shuffle));
      }
    }
  }

  /** Jobs that had begun before anybody listened. */
  void learnLive() {
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
  }
}
