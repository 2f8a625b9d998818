package shufflelifecycle;

import java.util.Properties;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskSet;
import scala.Option;

/**
 * How work gets into the DAG scheduler's thread: a task set that asks for no stage.
 *
 * The scheduler handles a failed task set by looking up its stage id; that look-up runs our work and answers -1. No
 * stage has the id -1, so nothing else happens: no job, no event, no log line.
 *
 * Invariant: the work runs at most once, and never after its caller has given up. Whether it may still start is decided
 * under this object's monitor; once it has started, the caller waits for its end.
 */
public class Ticket extends TaskSet {
  private static final int WAITING = 1;
  private static final int ACTING = 2;
  private static final int DONE = 3;
  private static final int CANCELLED = 4;

  private final Work work;
  private Object outcome;
  private Throwable failure;
  private int state; // stays 0 while the super constructor runs, which may ask for the stage id

  public Ticket(Work work) {
    super(new Task[0], -1, 0, 0, new Properties(), 0, Option.apply((Object) null)/*LAST_ARGUMENT*/);
    this.work = work;
    this.state = WAITING;
  }

  public int stageId() {
    try {
      if (Thread.currentThread().getName().startsWith("dag-scheduler") && begin()) {
        act();
      }
    } catch (Throwable t) {
      return -1; // what escapes from here would shut the whole application down
    }
    return -1;
  }

  // Monitors are taken by blocks: Janino makes a private synchronized method lock the class instead of the object.
  private boolean begin() {
    synchronized (this) {
      if (state != WAITING) {
        return false;
      }
      state = ACTING;
      return true;
    }
  }

  private void act() {
    Object result = null;
    Throwable thrown = null;
    try {
      result = work.run();
    } catch (Throwable t) {
      thrown = t;
    }
    synchronized (this) {
      outcome = result;
      failure = thrown;
      state = DONE;
      notifyAll();
    }
  }

  /** The work's outcome, or null where it had not started in time and now never will. */
  public synchronized Object await(long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    while (state == WAITING && System.nanoTime() < end) {
      wait(Math.max(1L, (end - System.nanoTime()) / 1000000L));
    }
    if (state == WAITING) {
      state = CANCELLED;
      return null;
    }
    while (state == ACTING) {
      wait();
    }
    if (failure != null) {
      throw new IllegalStateException("work in the scheduler's thread failed: " + failure, failure);
    }
    return outcome;
  }
}
