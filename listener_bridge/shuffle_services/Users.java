package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;

/**
 * Who writes or reads a shuffle now. To be asked in the scheduler's thread.
 *
 * A stage counts while it runs, a given-up attempt until its last task has ended. A task of a stage that neither the
 * scheduler nor the stage memory knows may read anything, so it counts too. So does, for a fence, a stage that has a task
 * whose end has not come by: its output may be registered yet. Where the shuffle is only not needed any more,
 * as far as somebody knows, stages count that wait for another input, or to be tried again: they will read it.
 */
public class Users {
  private final Scheduler scheduler;
  private final StageMemory memory;

  public Users(Scheduler scheduler, StageMemory memory) {
    this.scheduler = scheduler;
    this.memory = memory;
  }

  public Set of(int shuffle) {
    Set who = find(shuffle, true);
    if (who.isEmpty()) {
      addUnended(who, shuffle);
    }
    return who;
  }

  /**
   * A task of a given-up attempt that has written its output, when nothing but its end is still to be handled. Not asked
   * of stages that the DAG scheduler has forgotten: it registers nothing of theirs any more, and an end that never comes
   * is waited for no longer than the stage's jobs take.
   */
  private void addUnended(Set who, int shuffle) {
    Iterator it = memory.stages().iterator();
    while (it.hasNext()) {
      Integer stage = (Integer) it.next();
      StageMemory.Use use = memory.of(stage.intValue());
      boolean uses = use != null && use.hasUnended() && (use.writes == shuffle || use.reads(shuffle));
      if (uses && scheduler.dag.stageIdToStage().contains(stage)) {
        who.add("stage " + stage + " has a task whose end has not come by");
      }
    }
  }

  public Set orWaiting(int shuffle) {
    Set who = of(shuffle);
    addWaiting(who, scheduler.dag.waitingStages(), shuffle);
    addWaiting(who, scheduler.dag.failedStages(), shuffle);
    return who;
  }

  private static void addWaiting(Set who, scala.collection.mutable.HashSet stages, int shuffle) {
    scala.collection.Iterator it = stages.iterator();
    while (it.hasNext()) {
      Stage stage = (Stage) it.next();
      if (reads(stage, shuffle)) {
        who.add("stage " + stage.id() + " waits to read it");
      }
    }
  }

  public Set writersOf(int shuffle) {
    return find(shuffle, false);
  }

  private Set find(int shuffle, boolean readers) {
    Set who = new TreeSet();
    scala.collection.Iterator it = scheduler.dag.runningStages().iterator();
    while (it.hasNext()) {
      Stage stage = (Stage) it.next();
      String name = "stage " + stage.id() + "." + stage.latestInfo().attemptNumber();
      if (writes(stage, shuffle)) {
        who.add(name + " writes it");
      } else if (readers && reads(stage, shuffle)) {
        who.add(name + " reads it");
      }
    }
    List sets = scheduler.activeTaskSets();
    for (int i = 0; i < sets.size(); i++) {
      addTaskSet(who, (TaskSetManager) sets.get(i), shuffle, readers);
    }
    return who;
  }

  private void addTaskSet(Set who, TaskSetManager manager, int shuffle, boolean readers) {
    TaskSet tasks = manager.taskSet();
    String name = "stage " + tasks.stageId() + "." + tasks.stageAttemptId();
    if (tasks.shuffleId().isDefined() && ((Number) tasks.shuffleId().get()).intValue() == shuffle) {
      who.add(name + " writes it");
      return;
    }
    if (!readers) {
      return;
    }
    scala.Option stage = scheduler.dag.stageIdToStage().get(Integer.valueOf(tasks.stageId()));
    StageMemory.Use use = memory.of(tasks.stageId());
    if (stage.isDefined()) {
      if (reads((Stage) stage.get(), shuffle)) {
        who.add(name + " reads it");
      }
    } else if (use == null) {
      who.add(name + " is unknown and may read it");
    } else if (use.reads(shuffle)) {
      who.add(name + " reads it");
    }
  }

  private static boolean writes(Stage stage, int shuffle) {
    return stage instanceof ShuffleMapStage && ((ShuffleMapStage) stage).shuffleDep().shuffleId() == shuffle;
  }

  private static boolean reads(Stage stage, int shuffle) {
    scala.collection.Iterator it = stage.parents().iterator();
    while (it.hasNext()) {
      if (writes((Stage) it.next(), shuffle)) {
        return true;
      }
    }
    return false;
  }
}
