package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSetManager;

/** The stages of live jobs, as the scheduler knows them. To be asked in its thread. */
public class Stages {
  private final Scheduler scheduler;
  private final Generations generations;

  public Stages(Scheduler scheduler) {
    this.scheduler = scheduler;
    this.generations = Generations.of(scheduler);
  }

  List live() {
    return all(scheduler.dag.stageIdToStage().valuesIterator());
  }

  private static List all(scala.collection.Iterator it) {
    ArrayList found = new ArrayList();
    while (it.hasNext()) {
      found.add(it.next());
    }
    return found;
  }

  /** The RDDs of all live stages. */
  List rdds() {
    List all = live();
    for (int i = 0; i < all.size(); i++) {
      all.set(i, ((Stage) all.get(i)).rdd());
    }
    return all;
  }

  /** Null where its jobs are over. */
  Stage byId(int stage) {
    scala.Option found = scheduler.dag.stageIdToStage().get(Integer.valueOf(stage));
    return found.isDefined() ? (Stage) found.get() : null;
  }

  /** The map stage that writes the shuffle for a live job; null where no live job has one. */
  ShuffleMapStage writing(int shuffle) {
    scala.Option found = scheduler.dag.shuffleIdToMapStage().get(Integer.valueOf(shuffle));
    return found.isDefined() ? (ShuffleMapStage) found.get() : null;
  }

  boolean areReadersToldOnce() {
    return generations.areReadersToldOnce();
  }

  /** One that it reads, rather one that is not there; -1 where it reads none. */
  int inputOf(Stage stage) {
    int input = -1;
    for (Iterator it = Stages.reads(stage).iterator(); it.hasNext();) {
      int read = ((Integer) it.next()).intValue();
      ShuffleMapStage writer = writing(read);
      input = writer != null && (input < 0 || !writer.isAvailable()) ? read : input;
    }
    return input;
  }

  long nextTaskId() {
    return scheduler.nextTaskId();
  }

  boolean isLive(Stage stage) {
    return byId(stage.id()) == stage;
  }

  boolean isRunning(Stage stage) {
    return scheduler.dag.runningStages().contains(stage);
  }

  /** The app shuffle that the stage writes; -1 for a result stage. */
  static int writes(Stage stage) {
    return stage instanceof ShuffleMapStage ? ((ShuffleMapStage) stage).shuffleDep().shuffleId() : -1;
  }

  /** The app shuffles that it reads. */
  static Set reads(Stage stage) {
    Set found = new TreeSet();
    scala.collection.Iterator it = stage.parents().iterator();
    while (it.hasNext()) {
      found.add(Integer.valueOf(writes((Stage) it.next())));
    }
    return found;
  }

  /** The app shuffles that it reads, those that these are written from, and so on. */
  static Set ancestors(Stage stage) {
    Set found = new TreeSet();
    ArrayList left = new ArrayList();
    left.add(stage);
    while (!left.isEmpty()) {
      scala.collection.Iterator it = ((Stage) left.remove(left.size() - 1)).parents().iterator();
      while (it.hasNext()) {
        Stage parent = (Stage) it.next();
        if (found.add(Integer.valueOf(writes(parent)))) {
          left.add(parent);
        }
      }
    }
    return found;
  }

  /** The unfinished result stages of live jobs. */
  List results() {
    ArrayList found = new ArrayList();
    List all = live();
    for (int i = 0; i < all.size(); i++) {
      if (all.get(i) instanceof ResultStage && jobOf((ResultStage) all.get(i)) != null) {
        found.add(all.get(i));
      }
    }
    return found;
  }

  static ActiveJob jobOf(ResultStage stage) {
    return stage.activeJob().isDefined() ? (ActiveJob) stage.activeJob().get() : null;
  }

  /** All live jobs: those of actions, and those that only write a shuffle, as adaptive plans have them. */
  List jobs() {
    return all(scheduler.dag.activeJobs().iterator());
  }

  /** The app shuffles that are not there and that live jobs need. */
  Set missing() {
    Set found = new TreeSet();
    for (Iterator it = needed().iterator(); it.hasNext();) {
      Stage stage = (Stage) it.next();
      if (stage instanceof ShuffleMapStage) {
        found.add(Integer.valueOf(writes(stage)));
      }
    }
    return found;
  }

  /** The stages that live jobs need. */
  Set needed() {
    Set found = new HashSet();
    for (Iterator it = jobs().iterator(); it.hasNext();) {
      found.addAll(needed((ActiveJob) it.next()));
    }
    return found;
  }

  /** The stages that a job needs: from its last one down to what is there. It lists those behind that too. */
  static Set needed(ActiveJob job) {
    Set found = new HashSet();
    ArrayList left = new ArrayList();
    left.add(job.finalStage());
    while (!left.isEmpty()) {
      Stage stage = (Stage) left.remove(left.size() - 1);
      boolean isThere = stage instanceof ShuffleMapStage && ((ShuffleMapStage) stage).isAvailable();
      if (!isThere && found.add(stage)) {
        left.addAll(all(stage.parents().iterator()));
      }
    }
    return found;
  }

  static boolean meet(Set some, Set others) {
    Iterator it = some.iterator();
    while (it.hasNext()) {
      if (others.contains(it.next())) {
        return true;
      }
    }
    return false;
  }

  /** How many partitions of its result somebody has already; a map stage has none. */
  static int delivered(Stage stage) {
    ActiveJob job = stage instanceof ResultStage ? jobOf((ResultStage) stage) : null;
    return job == null ? 0 : job.numFinished();
  }

  /** Live jobs that the stage is part of. */
  List jobsOf(Stage stage) {
    ArrayList found = new ArrayList();
    Iterator it = jobs().iterator();
    while (it.hasNext()) {
      ActiveJob job = (ActiveJob) it.next();
      if (stage.jobIds().contains(Integer.valueOf(job.jobId()))) {
        found.add(job);
      }
    }
    return found;
  }

  /** Stage id -> List of its task sets that have a task running. To be taken once where many stages are looked at. */
  Map allSets() {
    Map found = new HashMap();
    for (Iterator it = scheduler.activeTaskSets().iterator(); it.hasNext();) {
      TaskSetManager manager = (TaskSetManager) it.next();
      Integer stage = Integer.valueOf(manager.taskSet().stageId());
      List sets = (List) found.get(stage);
      if (sets == null) {
        sets = new ArrayList();
        found.put(stage, sets);
      }
      sets.add(manager);
    }
    return found;
  }

  /** Those of the stage. */
  List sets(Stage stage) {
    return sets(stage, allSets());
  }

  static List sets(Stage stage, Map all) {
    List found = (List) all.get(Integer.valueOf(stage.id()));
    return found == null ? new ArrayList() : found;
  }

  /**
   * The number of the first task of its attempt that wrote, or may do so; `Tasks.NONE` where none has begun. One that has
   * failed counts where all later ones on its executor read what it was told.
   */
  long firstTask(Stage stage) {
    TaskSetManager manager = present(stage);
    if (manager == null) {
      return 0L; // the scheduler has not come to their ends yet
    }
    return areReadersToldOnce() ? scheduler.firstTaskEver(manager) : scheduler.firstTask(manager);
  }

  /** The number of the last one; -1 where none has begun. */
  long lastTask(Stage stage) {
    TaskSetManager manager = present(stage);
    return manager == null ? nextTaskId() : scheduler.lastTask(manager);
  }

  /** Whether tasks of it are still to begin, and none has come to its end. */
  boolean areSomeToBegin(Stage stage) {
    TaskSetManager manager = present(stage);
    return manager != null && !scheduler.haveAllBegunOrOneSucceeded(manager);
  }

  /** The task set of its present attempt; null where all of its tasks have ended. */
  private TaskSetManager present(Stage stage) {
    for (Iterator it = sets(stage).iterator(); it.hasNext();) {
      TaskSetManager manager = (TaskSetManager) it.next();
      if (manager.taskSet().stageAttemptId() == stage.latestInfo().attemptNumber()) {
        return manager;
      }
    }
    return null;
  }

  /** Those of them that are of earlier attempts. */
  List lateSets(Stage stage) {
    return lateSets(stage, allSets());
  }

  List lateSets(Stage stage, Map all) {
    ArrayList found = new ArrayList();
    Iterator it = sets(stage, all).iterator();
    while (it.hasNext()) {
      TaskSetManager manager = (TaskSetManager) it.next();
      if (manager.taskSet().stageAttemptId() < stage.latestInfo().attemptNumber() || !isRunning(stage)) {
        found.add(manager);
      }
    }
    return found;
  }
}
