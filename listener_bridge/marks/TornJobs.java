package shufflelifecycle;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.Stage;

/**
 * Jobs that read two branches of one shuffle, one of each generation: each branch is right, and together they are not.
 *
 * Refuses to know how that came about, and to mend it (`Branches`). To be used in the scheduler's thread. Invariant: a live
 * job is told once.
 */
class TornJobs {
  private final Stages stages;
  private final Choices choices;
  private final Mixes mixes;
  private final EndedJobs ended;
  private final LateReads lateReads = new LateReads();
  private final Set torn = new TreeSet(); // live jobs that were told

  TornJobs(Stages stages, Choices choices, Mixes mixes, EndedJobs ended) {
    this.stages = stages;
    this.choices = choices;
    this.mixes = mixes;
    this.ended = ended;
  }

  /** These read a branch that was lost, beside one that has to stay. */
  void tell(List jobs, int shuffle) throws Exception {
    for (int i = 0; i < jobs.size(); i++) {
      ActiveJob job = (ActiveJob) jobs.get(i);
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

  /** The stage reads outputs of two generations. */
  void readsBoth(int shuffle, int stageId, History.Result result) {
    forget();
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
      ended.tell(result, shuffle, Mixes.BRANCHES, "");
    }
  }

  void forget() {
    Set live = new TreeSet();
    for (Iterator it = stages.jobs().iterator(); it.hasNext();) {
      live.add(Integer.valueOf(((ActiveJob) it.next()).jobId()));
    }
    torn.retainAll(live);
  }
}
