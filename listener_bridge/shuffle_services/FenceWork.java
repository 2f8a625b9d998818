package shufflelifecycle;

import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;

/**
 * The fence of one generation, in the scheduler's thread: refuse, or have Spark forget the outputs. It is run twice.
 *
 * First it only looks. A writer that has ended may still have its output under way to the scheduler, in an event that
 * stands behind the first run, and would register an output of the old generation after the fence. Task sets stay known
 * until that event is posted; so what the first run does not see is handled before the second, which looks and acts.
 *
 * Order: locations before forgetting them; the marker after it, within the same run, so that no event comes between.
 */
public class FenceWork implements Work {
  public static final int ANY = -1;

  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Users users;
  private final Generations generations;
  private final Generations.Shuffle shuffle;
  private final int expected;
  private boolean looked = false;
  MapStatus[] outputs = null; // set where this run fenced

  FenceWork(Scheduler scheduler, MapOutputTrackerMaster tracker, Users users, Generations generations, int id, int expected) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.users = users;
    this.generations = generations;
    this.shuffle = generations.of(id);
    this.expected = expected;
  }

  /** A final answer; "look again" after the first run. */
  public Object run() {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle.id));
    if (!status.isDefined()) {
      return Answer.cannot("app shuffle " + shuffle.id + " is not registered with Spark: never written, or cleaned");
    }
    Set who = users.of(shuffle.id);
    int available = Outputs.available((ShuffleStatus) status.get());
    boolean begun = available > 0 || !users.writersOf(shuffle.id).isEmpty();
    if (!begun && shuffle.present > 0 && (expected == ANY || expected == shuffle.present - 1)) {
      return Answer.fenced(shuffle);
    }
    if (expected != ANY && expected != shuffle.present) {
      return Answer.superseded("generation " + shuffle.present + " of app shuffle " + shuffle.id);
    }
    if (!who.isEmpty()) {
      return Answer.busy(who);
    }
    if (available == 0 && expected == ANY) {
      return Answer.superseded("nothing: app shuffle " + shuffle.id + " has no outputs, none was written or all are lost");
    }
    if (!looked) {
      looked = true;
      return Answer.LOOK_AGAIN;
    }
    return fence((ShuffleStatus) status.get());
  }

  private String fence(ShuffleStatus status) {
    outputs = (MapStatus[]) status.mapStatuses().clone();
    generations.owe(shuffle.id);
    tracker.unregisterAllMapAndMergeOutput(shuffle.id);
    shuffle.marker = "fenced-" + shuffle.id + "-" + shuffle.present;
    shuffle.present++;
    shuffle.olderThan = scheduler.nextTaskId();
    shuffle.bytes = 0L;
    scheduler.mark(shuffle.marker, shuffle.id + "/" + (shuffle.present - 1));
    return Answer.FENCED;
  }
}
