package shufflelifecycle;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Which jobs live at this place among the events. A job that was heard of before and is not among them has ended; if its end
 * was not heard of, the queue has dropped that event.
 *
 * That holds since the scheduler's thread posts this event, and also a job's start, when it lives, and its end, when it no
 * longer does.
 */
public class LiveJobs implements SparkListenerEvent {
  private final Set ids = new HashSet();

  private LiveJobs() {}

  /** Posts the event. Scheduler's thread. */
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
