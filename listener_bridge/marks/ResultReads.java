package shufflelifecycle;

import java.util.Iterator;
import org.apache.spark.scheduler.ResultStage;

/**
 * What the tasks of a result stage have read of what is written again: the old generation, the new one, or both.
 *
 * A result has no outputs of which the task's number could be looked up. So the numbers of the tasks that run, or have run, are
 * compared with those that wrote the new outputs: a task that began before these has read what was there before. To be asked
 * when all of the recomputation is followed.
 */
class ResultReads {
  private final Recomputation again;
  private final Stages stages;

  ResultReads(Recomputation again, Stages stages) {
    this.again = again;
    this.stages = stages;
  }

  /** Whether the result is being computed by tasks that all began when what they read was there again. */
  boolean areOfNew(ResultStage result) {
    boolean isAllOfIt = stages.isRunning(result) && !isLaterAttempt(result) && stages.lateSets(result).isEmpty();
    long first = isAllOfIt ? stages.firstTask(result) : 0L;
    for (Iterator it = again.newOf(Stages.reads(result)).iterator(); it.hasNext();) {
      Tasks tasks = again.tasksOf(((Integer) it.next()).intValue());
      if (!tasks.areAll() || first <= tasks.last()) {
        return false;
      }
    }
    return true;
  }

  /** Whether a task of the result may have read outputs that are new, or a late mix. */
  boolean mayBeOfNew(ResultStage result) {
    return again.firstAnew(Stages.reads(result)) <= stages.lastTask(result);
  }

  /** The same, and other tasks of it may have read what was there before. */
  boolean mayBeOfBoth(ResultStage result) {
    long first = isLaterAttempt(result) ? 0L : stages.firstTask(result);
    return mayBeOfNew(result) && first < again.firstAnew(Stages.reads(result));
  }

  /** Whether earlier attempts of it have delivered something: nobody knows which generation those have read. */
  private static boolean isLaterAttempt(ResultStage result) {
    return Stages.delivered(result) > 0 && result.latestInfo().attemptNumber() > 0;
  }
}
