package shufflelifecycle;

import java.util.List;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import scala.collection.mutable.LinkedHashMap;

/**
 * The fence of one generation, in the scheduler's thread and under Celeborn's monitor: refuse, or have both forget it.
 *
 * Both, because each alone is wrong: if only Spark forgets, the map stage writes under the same id, and a later deletion
 * takes what is in use; if only Celeborn does, a reader is told "nothing written", and reads an empty shuffle. The monitor
 * is the one under which Celeborn answers who reads and writes, so nobody is told one half. As with Spark's own shuffle it
 * is run twice: a writer that has ended may have its output under way to the scheduler behind the first run.
 */
public class CelebornFence implements Work {
  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Users users;
  private final Generations generations;
  private final Generations.Shuffle shuffle;
  private final CelebornClient client;
  private final int expected;
  private boolean looked = false;
  List ids = null; // set where this run fenced
  ShuffleStatus status = null;

  CelebornFence(Scheduler scheduler, MapOutputTrackerMaster tracker, Users users, CelebornClient client, int id, int expected) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.users = users;
    this.generations = Generations.of(scheduler.dag);
    this.shuffle = generations.of(id);
    this.client = client;
    this.expected = expected;
  }

  /** A final answer; "look again" after the first run. */
  public Object run() throws Exception {
    LinkedHashMap known = client.idsOf(shuffle.id);
    scala.Option found = tracker.shuffleStatuses().get(Integer.valueOf(shuffle.id));
    if (known == null || !found.isDefined()) {
      return Answer.cannot("app shuffle " + shuffle.id + " is not Celeborn's: never written, cleaned, or kept by Spark itself");
    }
    Set who = users.of(shuffle.id); // nobody joins them while we are in the scheduler's thread
    boolean written = !users.writersOf(shuffle.id).isEmpty();
    synchronized (known) {
      return run(known, (ShuffleStatus) found.get(), who, written);
    }
  }

  private String run(LinkedHashMap known, ShuffleStatus found, Set who, boolean written) {
    int available = Outputs.available(found);
    boolean begun = available > 0 || written;
    if (!begun && shuffle.present > 0 && (expected == FenceWork.ANY || expected == shuffle.present - 1)) {
      return Answer.fenced(shuffle);
    }
    if (expected != FenceWork.ANY && expected != shuffle.present) {
      return Answer.superseded("generation " + shuffle.present + " of app shuffle " + shuffle.id);
    }
    if (!who.isEmpty()) {
      return Answer.busy(who);
    }
    if (available == 0 && expected == FenceWork.ANY) {
      return Answer.superseded("nothing: app shuffle " + shuffle.id + " has no outputs, none was written or all are lost");
    }
    if (!looked) {
      looked = true;
      return Answer.LOOK_AGAIN;
    }
    return fence(known, found);
  }

  private String fence(LinkedHashMap known, ShuffleStatus found) {
    ids = CelebornClient.valid(known);
    status = found;
    generations.owe(shuffle.id);
    CelebornClient.invalidate(known, ids);
    shuffle.bytes = statusBytes(found);
    tracker.unregisterAllMapAndMergeOutput(shuffle.id);
    shuffle.marker = "fenced-" + shuffle.id + "-" + shuffle.present;
    shuffle.present++;
    shuffle.olderThan = scheduler.nextTaskId();
    scheduler.mark(shuffle.marker, shuffle.id + "/" + (shuffle.present - 1));
    return Answer.FENCED;
  }

  /** As Spark keeps sizes: within 10 %. What the workers committed is exact, where the client keeps it. */
  private static long statusBytes(ShuffleStatus found) {
    long bytes = 0L;
    Object[] outputs = found.mapStatuses();
    for (int i = 0; i < outputs.length; i++) {
      bytes += outputs[i] == null ? 0L : MapSizes.total((org.apache.spark.scheduler.MapStatus) outputs[i]);
    }
    return bytes;
  }
}
