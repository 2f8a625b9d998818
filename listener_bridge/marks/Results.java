package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.Stage;

/**
 * Result stages that read, directly or not, what is written again. A result stage cannot take back what it has delivered: Spark
 * would abort its job. So one that has delivered nothing begins again; one that has mixed two generations is recorded; and
 * one that may come to mix is watched (`WatchedResult`).
 *
 * To be used in the scheduler's thread, but for what says otherwise. Invariant: no stage from which a result reads stays
 * marked once the result may have delivered something.
 */
class Results {
  private final Stages stages;
  private final Sides sides;
  private final CachedBlocks blocks;
  private final Choices choices;
  private final Mixes mixes;
  private final Kills kills;
  private final MarkedStages marked;
  private final EndedJobs ended;
  private final TornJobs torn;
  private final LateReads lateReads = new LateReads();
  private final Map watched = new ConcurrentHashMap(); // stage id -> WatchedResult: results that may come to mix
  private volatile Tap tap;

  Results(Stages stages, Sides sides, CachedBlocks blocks, Choices choices, Mixes mixes, Kills kills, MarkedStages marked,
      EndedJobs ended, TornJobs torn) {
    this.stages = stages;
    this.sides = sides;
    this.blocks = blocks;
    this.choices = choices;
    this.mixes = mixes;
    this.kills = kills;
    this.marked = marked;
    this.ended = ended;
    this.torn = torn;
  }

  /** The tap tells from now on which tasks have not ended yet. */
  void ask(Tap tap) {
    this.tap = tap;
  }

  /** Any thread. */
  boolean isWatched(int stageId) {
    return watched.containsKey(Integer.valueOf(stageId));
  }

  /**
   * Looks at the unfinished results that read what is written again. Gives the app shuffles that must not be marked, since a
   * result above them may deliver. `begun` gets the ids of result stages that would mix and have delivered nothing, so that
   * all their tasks can begin again.
   */
  Set look(Recomputation again, int shuffle, Set begun) throws Exception {
    Set untouchable = new TreeSet();
    ResultReads reads = new ResultReads(again, stages);
    List results = stages.results();
    Map sets = stages.allSets();
    for (int i = 0; i < results.size(); i++) {
      ResultStage result = (ResultStage) results.get(i);
      boolean readsNew = readsNew(result, again) && !choices.isDeterministic(Stages.jobOf(result));
      if (readsNew && reads.areOfNew(result)) {
        lookBeside(result);
      } else if (readsNew) {
        look(result, shuffle, again.late, reads, begun);
      }
      if (mayDeliver(result, sets) || Stages.delivered(result) > 0) {
        untouchable.addAll(Stages.ancestors(result));
      }
    }
    return untouchable;
  }

  /** Also by tasks of a given-up attempt: those that run, and those whose end the scheduler has not handled yet. */
  private boolean mayDeliver(ResultStage result, Map sets) {
    StageMemory.Use use = tap.stages().of(result.id());
    boolean isGivenUpInPart = !Stages.sets(result, sets).isEmpty() || (use != null && use.hasUnended());
    return stages.isRunning(result) || isGivenUpInPart;
  }

  /** Not if it reads complete cached blocks instead, while nothing of what is written again is there yet. */
  private boolean readsNew(ResultStage result, Recomputation again) throws Exception {
    Set read = Stages.reads(result);
    boolean isNothingThere = again.firstAnew(read) == Tasks.NONE && !Stages.meet(read, again.late);
    return again.isOneNew(read) && !(isNothingThere && !again.isOneNew(blocks.readBeside(result, stages)));
  }

  /** It reads the new generation of one input; whether another input of it is old is looked up here, and recorded. */
  private void lookBeside(ResultStage result) throws Exception {
    Set over = blocks.readOver(result);
    Set read = over == null ? Sides.withPersisted(Stages.reads(result), blocks.persisted.nearestOf(result)) : over;
    int root = sides.between(read);
    if (root != Sides.NONE) {
      torn.readsBoth(root, result.id(), null);
    }
  }

  private void look(ResultStage result, int shuffle, Set late, ResultReads reads, Set begun) throws Exception {
    boolean isLate = Stages.meet(Stages.reads(result), late);
    boolean isRunning = stages.isRunning(result);
    boolean isTorn = isRunning && (isLate ? reads.mayBeOfNew(result) : reads.mayBeOfBoth(result) || isTorn(result));
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

  /** Whether its tasks, or a single one of them, may have read two generations, or may still do so. */
  private boolean isTorn(ResultStage result) throws Exception {
    WatchedResult before = (WatchedResult) watched.get(Integer.valueOf(result.id()));
    boolean isTornSince = before != null && before.isTornSince(stages.firstTask(result));
    return isTornSince || (stages.lastTask(result) >= 0 && lateReads.areBelow(result.rdd()));
  }

  /** Cached blocks that it was reading were dropped: what it computes from now on is of the new generation. */
  void readsAnew(ResultStage stage, int shuffle) {
    if (Stages.delivered(stage) > 0) {
      watched.remove(Integer.valueOf(stage.id()));
      mixes.result(stage, shuffle, false);
    } else if (hasJob(stage.id())) {
      watch(stage, shuffle, true);
    }
  }

  /** What it has delivered so far, and what tasks that run now will deliver, is of the old generation. */
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

  /** Of jobs whose ends had not been heard of, those that the scheduler has ended. */
  void lookBehind(Recomputation again, int first, List unfinished) {
    for (int i = 0; i < unfinished.size(); i++) {
      History.Result result = (History.Result) unfinished.get(i);
      boolean isOver = stages.byId(result.stage) == null; // it has ended, and its end has not come by yet
      if (isOver && Stages.meet(result.reads, again.late)) {
        ended.tell(result, first, result.partitions, EndedJobs.WRITTEN_AGAIN);
      } else if (isOver && again.firstAnew(result.reads) != Tasks.NONE && !isWatched(result.stage)) {
        watch(WatchedResult.ofEnded(result, first, again.firstAnew(result.reads))); // nor have its tasks
      }
    }
  }

  /** A result stage was submitted: it may deliver at any moment now. */
  void submitted(int stageId) throws Exception {
    lookAt(stageId);
    Stage stage = stages.byId(stageId);
    if (stage != null) {
      marked.unmarkAbove(stage);
    }
  }

  /** A task of a result stage that is watched has begun. */
  void begins(int stageId, long task, boolean isSpeculative) throws Exception {
    WatchedResult watch = (WatchedResult) watched.get(Integer.valueOf(stageId));
    if (watch != null) {
      watch.begins(task, isSpeculative);
      hear(stageId, watch);
    }
  }

  /** A task of a result stage has delivered. */
  void delivered(int stageId, long task, int partition) throws Exception {
    WatchedResult watch = (WatchedResult) watched.get(Integer.valueOf(stageId));
    if (watch != null) {
      watch.delivers(task, partition);
      hear(stageId, watch);
      lookAt(stageId);
    }
  }

  /** The job has ended, and every event of its tasks was heard before. `time`: when it ended, in ms. */
  void ended(History.Result result, boolean succeeded, long time) {
    WatchedResult watch = (WatchedResult) watched.remove(Integer.valueOf(result.stage));
    int root = watch != null && watch.isOfEndedThatReadAnew() ? sides.between(result.reads) : Sides.NONE;
    if (watch != null && succeeded && watch.hasMixed()) {
      mixes.ended(watch.result, watch.input, watch.delivered(), "");
    } else if (succeeded && root != Sides.NONE) {
      ended.tell(result, root, Mixes.BRANCHES, "");
    } else if (succeeded) {
      ended.tellMixed(result, time);
    }
    ended.forget(result, time);
  }

  /** Forgets watched results whose jobs are over: the events of their ends were dropped. */
  void forgetEnded() {
    for (Iterator it = watched.keySet().iterator(); it.hasNext();) {
      if (stages.byId(((Integer) it.next()).intValue()) == null) {
        it.remove();
      }
    }
  }

  private void hear(int stageId, WatchedResult watch) throws Exception {
    if (watch.takeToBeginAgain() && hasJob(stageId)) {
      kills.old(stages.byId(stageId), watch);
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

  private boolean hasJob(int stageId) {
    Stage stage = stages.byId(stageId);
    return stage instanceof ResultStage && Stages.jobOf((ResultStage) stage) != null;
  }

  /** A result stage that is watched was submitted again, or a task of an old attempt of it has ended. */
  private void lookAt(int stageId) throws Exception {
    WatchedResult watch = (WatchedResult) watched.get(Integer.valueOf(stageId));
    if (watch == null || watch.hasBegunAnew() || !hasJob(stageId)) {
      return;
    }
    Stage stage = stages.byId(stageId);
    boolean isLater = watch.isLater(stage.latestInfo().attemptNumber());
    if ((isLater || !stages.isRunning(stage)) && watch.delivered() > 0) {
      watched.remove(Integer.valueOf(stageId));
      mixes.result((ResultStage) stage, watch.input, false);
      marked.unmarkAbove(stage);
    } else if (isLater) {
      watch.beginsAnew(); // with nothing delivered: all of it is of one generation, unless an old task delivers after all
    }
  }
}
