package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * How many outputs are there of each registered app shuffle, read after something was lost.
 *
 * The listener hears of a lost executor, or of a fetch failure, before the scheduler has unregistered the outputs. So the
 * reading is sent to the scheduler's thread, which comes to it after that, and its result comes back over the listener bus.
 */
public class Outputs implements Work {
  /** The result of a reading: {app shuffle, available, total} of each that is not complete. */
  public static class Seen implements SparkListenerEvent {
    public final java.util.List incomplete = new java.util.ArrayList();

    public boolean logEvent() {
      return false;
    }
  }

  /** Posted when dropped events were noticed: it stands behind all that waited in the queue then. */
  public static class Missed implements SparkListenerEvent {
    public boolean logEvent() {
      return false;
    }
  }

  private static final Field AVAILABLE = availableField();

  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Map told = new HashMap(); // shuffle -> available, as last told
  private boolean isPosted = false; // a reading was sent and has not begun yet
  private boolean again = false; // and something was lost since it was sent

  public Outputs(Scheduler scheduler, MapOutputTrackerMaster tracker) {
    this.scheduler = scheduler;
    this.tracker = tracker;
  }

  private static Field availableField() {
    try {
      Field field = ShuffleStatus.class.getDeclaredField("_numAvailableMapOutputs");
      field.setAccessible(true);
      return field;
    } catch (Exception absent) {
      return null;
    }
  }

  /** How many outputs are there, read without the status' lock: a deletion may hold that one (`Hold`). */
  public static int available(ShuffleStatus status) {
    try {
      return AVAILABLE == null ? status.numAvailableMapOutputs() : AVAILABLE.getInt(status);
    } catch (IllegalAccessException refused) {
      return status.numAvailableMapOutputs();
    }
  }

  /**
   * Has the outputs read, after everything that the scheduler has been given by now. A reading that waits already may stand
   * before the newest loss: then another one follows it.
   */
  synchronized void suspect() {
    again = isPosted;
    if (!isPosted) {
      isPosted = true;
      scheduler.post(new Ticket(this));
    }
  }

  // By a block: see `Call`.
  private void begin() {
    synchronized (this) {
      isPosted = false;
      if (again) {
        suspect();
      }
    }
  }

  /** The queue has dropped events: perhaps the result of a reading, or what would have called for one. */
  void missed() {
    scheduler.bus.post(new Missed());
    suspect();
  }

  /** Scheduler's thread: the reading. It also tells which jobs live, since their ends may have been dropped. */
  public Object run() {
    begin();
    LiveJobs.tell(scheduler);
    Seen seen = new Seen();
    scala.collection.Iterator it = tracker.shuffleStatuses().iterator();
    while (it.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) it.next();
      ShuffleStatus status = (ShuffleStatus) entry._2();
      int available = available(status);
      int total = status.mapStatuses().length;
      if (available < total) {
        seen.incomplete.add(new int[] {((Number) entry._1()).intValue(), available, total});
      }
    }
    scheduler.bus.post(seen);
    return null;
  }

  /** Listener's thread: the app shuffle was written; what is lost of it from now on is told again. */
  void written(int shuffle) {
    told.remove(Integer.valueOf(shuffle));
  }

  /** Listener's thread: tells what differs from what was told last. */
  void tell(Seen seen, FactListener to) {
    Map now = new HashMap();
    for (int i = 0; i < seen.incomplete.size(); i++) {
      int[] shuffle = (int[]) seen.incomplete.get(i);
      Integer id = Integer.valueOf(shuffle[0]);
      Integer available = Integer.valueOf(shuffle[1]);
      now.put(id, available);
      if (!available.equals(told.get(id))) {
        to.put(new Row("outputs").number("shuffle", shuffle[0]).number("available", shuffle[1]).number("total", shuffle[2]));
      }
    }
    told.clear();
    told.putAll(now);
  }
}
