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
 * Invariant: a ticket's work runs at most once, in that thread alone.
 */
public class Ticket extends TaskSet {
  private Work work; // null while the super constructor runs, which may ask for the stage id

  public Ticket(Work work) {
    super(new Task[0], -1, 0, 0, new Properties(), 0, Option.apply((Object) null)/*LAST_ARGUMENT*/);
    this.work = work;
  }

  public int stageId() {
    try {
      if (Thread.currentThread().getName().startsWith("dag-scheduler")) {
        act();
      }
    } catch (Throwable t) {
      return -1; // what escapes from here would shut the whole application down
    }
    return -1;
  }

  private void act() throws Throwable {
    Work once = work;
    work = null;
    if (once != null) {
      once.run();
    }
  }
}
