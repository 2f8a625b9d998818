package shufflelifecycle;

import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.Stage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Tells that a job mixes two generations, in the log and to the coordinator, and fails it where its user wants that. In the
 * log it is an error: many programs say `setLogLevel("ERROR")`, and a result may be wrong.
 *
 * Refuses to know how that was found. Invariant: nothing is failed that is over.
 */
class Mixes {
  static final int BRANCHES = 0; // partitions that were delivered before: it is not by these that generations mix
  private static final String RUN_AGAIN = "Run it again, with policy observe where it keeps happening";
  private static final String COMPUTE_ANEW = "What it reads stays of two generations: have both computed anew, or run the application again";
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final Scheduler scheduler;
  private final Choices choices;

  Mixes(Scheduler scheduler, Choices choices) {
    this.scheduler = scheduler;
    this.choices = choices;
  }

  /** Of its partitions some are of the old generation, and the others will be, or are, of the new one. */
  void result(ResultStage stage, int shuffle, boolean isLate) {
    ActiveJob job = Stages.jobOf(stage);
    int delivered = Stages.delivered(stage);
    String part = delivered + " of its " + job.numPartitions() + " partitions";
    job(job, shuffle, delivered, isLate, "stage " + stage.id() + " had delivered " + part);
  }

  void job(ActiveJob job, int shuffle, int delivered, boolean isLate, String how) {
    Stage last = job.finalStage();
    boolean fails = choices.isStrict(job);
    History.Result result = new History.Result(job.jobId(), last.id(), job.numPartitions(), null, null);
    tell(result, shuffle, delivered, isLate, fails);
    String again = " when that shuffle, deleted early or made of one that was, was computed again";
    String what = mix(result, shuffle) + ": " + how + again;
    if (fails) {
      LOG.error(what + "; it is failed, as " + Choices.STRICT + " asks for");
      String next = "; " + Choices.STRICT + " is set, so it is failed. " + (delivered == BRANCHES ? COMPUTE_ANEW : RUN_AGAIN);
      scheduler.dag.handleJobCancellation(job.jobId(), Option.apply((Object) ("because " + what + next)));
    } else {
      LOG.error(what + "; unless the computation is deterministic the result is wrong. Set " + Choices.STRICT
          + " to fail such jobs, " + Choices.DETERMINISTIC + " if it is deterministic");
    }
  }

  /** A job that is over. `next`: what is done about it. */
  void ended(History.Result result, int shuffle, int delivered, String next) {
    if (!choices.isDeterministic(result.deterministic)) {
      tell(result, shuffle, delivered, true, false);
      LOG.error(mix(result, shuffle) + ": it had ended when that was found; unless the computation is deterministic its "
          + "result is wrong" + next);
    }
  }

  private static String mix(History.Result result, int shuffle) {
    return "job " + result.job + " mixes two generations of app shuffle " + shuffle;
  }

  private void tell(History.Result result, int shuffle, int delivered, boolean isLate, boolean fails) {
    Row row = new Row("mixed").number("shuffle", shuffle).number("job", result.job).number("stage", result.stage);
    row.number("delivered", delivered).number("partitions", result.partitions).flag("late", isLate);
    scheduler.bus.post(new Told(row.flag("failed", fails)));
  }
}
