package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSetManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tasks that begin from now on ask anew where their input lies.
 *
 * An executor keeps what it was told of a shuffle until a task comes that is of a newer epoch: of the driver's count of what
 * was lost and written. Spark gives all tasks of an attempt the epoch of its beginning. So one that begins within the attempt
 * after its input was written again, killed by us or failed by itself, would read what lay there before: the files may still
 * be there, and nothing fails. It is given the present epoch here.
 *
 * Done once when a writing again is heard of, when all that is old was forgotten: an executor of that epoch has been told of
 * nothing old, and what is not there yet it has to ask for again. Tasks are packed when they are launched, so those that run
 * are as they were. Spark also goes by the epoch whether outputs of an executor that it has lost count, and whether a failed
 * read is news: taking a task for newer may cost a repair there, and mixes nothing.
 *
 * To be used in the scheduler's thread, into which nothing is thrown from here.
 */
class Epochs {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Stages stages;

  Epochs(Scheduler scheduler, MapOutputTrackerMaster tracker, Stages stages) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.stages = stages;
  }

  /** Of the attempts that read one of these shuffles. */
  void renew(Set shuffles) {
    try {
      long epoch = tracker.getEpoch();
      List active = scheduler.activeTaskSets();
      for (Iterator it = active.iterator(); it.hasNext();) {
        TaskSetManager tasks = (TaskSetManager) it.next();
        Stage stage = tasks.isZombie() ? null : stages.byId(tasks.taskSet().stageId()); // nothing of a zombie begins
        if (stage != null && Stages.meet(Stages.reads(stage), shuffles)) {
          scheduler.renew(tasks, epoch);
        }
      }
    } catch (Throwable t) {
      LOG.error("generations of app shuffles " + shuffles + " may be mixed: executors may know old places of them", t);
    }
  }
}
