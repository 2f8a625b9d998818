package shufflelifecycle;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSetManager;

/**
 * Ends tasks whose outputs or results would be of the old generation; Spark has them begin again.
 *
 * They begin again within their attempt. Where executors read, for all of an attempt, what they were told first, they would
 * read the old generation once more, whose files may be there yet, and count as new: so there the attempt ends with them.
 *
 * Refuses to know why they are old. To be used in the scheduler's thread. Invariant: what is killed counts as no failure
 * of its task, and is computed anew.
 */
class Kills {
  private static final String WHY = "its input is computed again and may differ (shuffle lifecycle)";

  private final Scheduler scheduler;
  private final Stages stages;

  Kills(Scheduler scheduler, Stages stages) {
    this.scheduler = scheduler;
    this.stages = stages;
  }

  /** Their outputs and results would be of the old generation. `begun`: results of which that is all of them. */
  void late(Recomputation again, Set begun) {
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

  /** Those that read before what is watched was written again. */
  void old(Stage stage, WatchedResult watch) {
    List sets = stages.sets(stage);
    for (int i = 0; i < sets.size(); i++) {
      TaskSetManager manager = (TaskSetManager) sets.get(i);
      if (stages.areReadersToldOnce() && watch.isOld(scheduler.firstTaskEver(manager))) {
        kill(manager); // later ones of the attempt too: nobody knows which one they have read
      }
      for (Iterator it = scheduler.runningTasks(manager).iterator(); it.hasNext();) {
        long task = ((Number) it.next()).longValue();
        if (watch.isOld(task)) {
          kill(task);
        }
      }
    }
  }

  /** All that run, so that they compute what they read anew. */
  void all(Stage stage) {
    List sets = stage.rdd().isBarrier() ? new ArrayList() : stages.sets(stage); // of which Spark would abort a result
    for (int i = 0; i < sets.size(); i++) {
      kill((TaskSetManager) sets.get(i));
    }
  }

  private void kill(TaskSetManager tasks) {
    List running = scheduler.runningTasks(tasks);
    if (stages.areReadersToldOnce() && !running.isEmpty()) {
      endAttempt(tasks, ((Number) running.get(0)).longValue());
    }
    for (int i = 0; i < running.size(); i++) {
      kill(((Number) running.get(i)).longValue());
    }
  }

  private void endAttempt(TaskSetManager tasks, long task) {
    Stage stage = stages.byId(tasks.taskSet().stageId());
    int input = stage == null || tasks.isZombie() ? -1 : stages.inputOf(stage);
    if (input >= 0) {
      scheduler.endAttempt(tasks, task, input, WHY);
    }
  }

  private void kill(long task) {
    scheduler.kill(task, WHY);
  }
}
