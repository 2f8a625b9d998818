package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * The stages that read outdated cached blocks (`CachedBlocks`), and what becomes of them.
 *
 * As long as the blocks wait to be dropped, whoever reads them reads the old generation. What a map stage writes from them is
 * then old too, and is owed. When the blocks go, a stage that has begun may have read some of them, and would read the new
 * generation from then on: so it begins again, unless all its jobs are deterministic.
 *
 * To be used in the scheduler's thread. Invariant: what a stage has written from outdated blocks counts as old until it is
 * written again.
 */
class BlockReaders {
  private final CachedBlocks blocks;
  private final Stages stages;
  private final Sides sides;
  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final History history;
  private final Choices choices;
  private final Kills kills;
  private final OwedWritings owed;
  private final Results results;

  BlockReaders(CachedBlocks blocks, Stages stages, Sides sides, Generations generations, MapOutputTrackerMaster tracker,
      History history, Choices choices, Kills kills, OwedWritings owed, Results results) {
    this.blocks = blocks;
    this.stages = stages;
    this.sides = sides;
    this.generations = generations;
    this.tracker = tracker;
    this.history = history;
    this.choices = choices;
    this.kills = kills;
    this.owed = owed;
    this.results = results;
  }

  /**
   * A stage was submitted. Gives the app shuffle of which its inputs are of two generations; `Sides.NONE` where they fit
   * together. `root`: that app shuffle as far as the listener's thread knew it, which does not count outdated blocks.
   */
  int begins(int root, Submitted submitted) throws Exception {
    Stage stage = stages.byId(submitted.stage);
    blocks.removals.begins(submitted, stage);
    Set over = stage == null ? null : blocks.readOver(stage);
    if (over != null && stage instanceof ShuffleMapStage) {
      staysOld(stage, over);
    }
    return over == null ? root : sides.between(over);
  }

  /** Map stages that run and read blocks which have to wait: what they write is of the old generation. */
  void staysOver() throws Exception {
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
      sides.written(shuffle, over, new Tasks(generations, tracker, shuffle).first());
    }
  }

  /** Drops the blocks that may go, and has the stages that have begun to read them begin again. */
  void drop() throws Exception {
    Map begun = blocks.drop(stages); // Stage -> the app shuffle that is written again
    for (Iterator it = begun.keySet().iterator(); it.hasNext();) {
      Stage stage = (Stage) it.next();
      if (choices.areDeterministic(stages.jobsOf(stage))) {
        it.remove();
      } else {
        kills.all(stage);
      }
    }
    blocks.removals.await(); // tasks that have begun by then count as old
    for (Iterator it = begun.keySet().iterator(); it.hasNext();) {
      Stage stage = (Stage) it.next();
      beginAgain(stage, ((Integer) begun.get(stage)).intValue());
      blocks.removals.begins(submission(stage), stage);
    }
  }

  /** Running stages count as readers of the blocks that are going: their submissions may not have been heard of yet. */
  void noteRunning() throws Exception {
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      if (stages.isRunning(stage)) {
        blocks.removals.begins(submission(stage), stage);
      }
    }
  }

  private Submitted submission(Stage stage) {
    List jobs = stages.jobsOf(stage);
    Properties properties = jobs.isEmpty() ? null : ((ActiveJob) jobs.get(0)).properties();
    return new Submitted(stage.id(), Stages.writes(stage), Stages.reads(stage), history.resultOf(stage.id()), properties);
  }

  /** All tasks of the stage are killed, and what they have written is old. `shuffle`: the app shuffle that is written again. */
  void beginAgain(Stage stage, int shuffle) {
    if (stage instanceof ShuffleMapStage) {
      sides.writesItself(Stages.writes(stage));
      generations.owe(Stages.writes(stage), stages.nextTaskId());
      owed.overtake(Collections.singleton(Integer.valueOf(Stages.writes(stage))));
    } else {
      results.readsAnew((ResultStage) stage, shuffle);
    }
    kills.all(stage);
  }
}
