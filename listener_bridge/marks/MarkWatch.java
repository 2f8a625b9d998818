package shufflelifecycle;

import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has marks looked at while there are some, by a clock.
 *
 * What is heard of says when a mark may go; but a driver under load hears of it late, and Spark does not wait: a result that
 * has delivered by then, and finds something missing below a mark that nobody needs any more, has its job aborted.
 *
 * Refuses to know when a mark may go. Invariant: one thread at a time, which ends with the last mark or with the context,
 * and has one look under way at the most.
 */
class MarkWatch implements Runnable {
  /**
   * In the scheduler's thread: gives whether there are marks left. The end of an older task may wait behind the first run,
   * and would count where the mark has gone; it stands before the second.
   */
  private class Look implements Work {
    private List needless = null;

    public Object run() throws Exception {
      List now = marked.needless();
      if (needless == null && !now.isEmpty()) {
        needless = now;
        return AGAIN;
      }
      now.retainAll(needless == null ? now : needless);
      marked.unmark(now);
      marked.putBack();
      isOn = marked.areThere();
      return Boolean.valueOf(isOn);
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");
  private static final long PAUSE_MS = 100L; // Spark has a failed stage begin again 200 ms later
  private static final long PATIENCE_MS = 10000L;

  private final Scheduler scheduler;
  private final MarkedStages marked;
  private volatile boolean isOn = false; // there are marks, and the clock's thread

  MarkWatch(Scheduler scheduler, MarkedStages marked) {
    this.scheduler = scheduler;
    this.marked = marked;
  }

  /** The scheduler's thread: something may have been marked. */
  void begin() {
    if (!isOn && marked.areThere()) {
      isOn = true;
      Thread clock = new Thread(this, "shuffle-lifecycle-marks");
      clock.setDaemon(true);
      clock.start();
    }
  }

  /** The clock's thread. Who has no answer asks again: the scheduler was busy. */
  public void run() {
    try {
      Object areThere = Boolean.TRUE;
      while (!Boolean.FALSE.equals(areThere) && !scheduler.isStopped()) {
        Thread.sleep(PAUSE_MS);
        areThere = scheduler.callAgain(new Look(), PATIENCE_MS);
      }
    } catch (Throwable broken) {
      isOn = false;
      LOG.error("marks that are there are looked at only when something is heard of, from now on", broken);
    }
  }
}
