package shufflelifecycle;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Which jobs live, at this place among the events: one that was heard of before and is not among them has ended, and
 * where its end was not heard of by now the queue has dropped it.
 *
 * Both are posted by the scheduler's thread: a job's beginning when it lives, its end when it does not any more.
 */
public class LiveJobs implements SparkListenerEvent {
  private final Set ids = new HashSet();

  private LiveJobs() {}

  /** Scheduler's thread. */
  public static void tell(Scheduler scheduler) {
    LiveJobs now = new LiveJobs();
    scala.collection.Iterator it = scheduler.dag.activeJobs().iterator();
    while (it.hasNext()) {
      now.ids.add(Integer.valueOf(((ActiveJob) it.next()).jobId()));
    }
    scheduler.bus.post(now);
  }

  /** Of these, the ones that have ended. */
  public Set endedOf(Set jobs) {
    Set ended = new HashSet(jobs);
    ended.removeAll(ids);
    return ended;
  }

  public boolean logEvent() {
    return false;
  }

  public String toString() {
    return "LiveJobs " + ids;
  }
}
