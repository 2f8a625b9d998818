package shufflelifecycle;

import java.util.List;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;
import scala.collection.mutable.LinkedHashMap;

/**
 * The fence of one generation, in the scheduler's thread and under Celeborn's monitor: refuse, or have both forget it.
 *
 * Both, because each alone is wrong: if only Spark forgets, the map stage writes under the same id, and a later deletion
 * takes what is in use; if only Celeborn does, a reader is told "nothing written", and reads an empty shuffle. The monitor
 * is the one under which Celeborn answers who reads and writes, so nobody is told one half. It is run
 * twice (`FenceDecision`).
 */
public class CelebornFence implements Work {
  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Users users;
  private final Generations generations;
  private final Generations.Shuffle shuffle;
  private final CelebornClient client;
  private final FenceDecision decision;
  List ids = null; // set where this run fenced
  MapStatus[] outputs = null; // as Spark knew them then, and forgot them

  CelebornFence(Scheduler scheduler, MapOutputTrackerMaster tracker, Users users, CelebornClient client, int id, int expected) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.users = users;
    this.generations = Generations.of(scheduler);
    this.shuffle = generations.of(id);
    this.client = client;
    this.decision = new FenceDecision(scheduler, shuffle, expected);
  }

  /** A final answer; `AGAIN` after the first run. */
  public Object run() throws Exception {
    LinkedHashMap known = client.idsOf(shuffle.id);
    scala.Option found = tracker.shuffleStatuses().get(Integer.valueOf(shuffle.id));
    if (!found.isDefined()) {
      generations.cleaned(shuffle.id); // to ask for it has made an entry
      return Answer.unregistered(shuffle.id);
    }
    if (known == null) {
      return Answer.cannot("app shuffle " + shuffle.id + " is not Celeborn's: never written, or kept by Spark itself");
    }
    Set who = decision.users(users); // nobody joins them while we are in the scheduler's thread
    boolean written = !users.writersOf(shuffle.id).isEmpty();
    synchronized (known) {
      return run(known, (ShuffleStatus) found.get(), who, written);
    }
  }

  private String run(LinkedHashMap known, ShuffleStatus found, Set who, boolean written) {
    int available = Outputs.available(found);
    String answer = decision.of(available, who, written);
    if (answer != null) {
      return answer;
    }
    return fence(known, found);
  }

  private String fence(LinkedHashMap known, ShuffleStatus found) {
    ids = CelebornClient.valid(known);
    outputs = (MapStatus[]) found.mapStatuses().clone();
    generations.owe(shuffle.id, scheduler.nextTaskId());
    CelebornClient.invalidate(known, ids);
    shuffle.bytes = 0L;
    tracker.unregisterAllMapAndMergeOutput(shuffle.id);
    shuffle.pass(scheduler);
    return Answer.FENCED;
  }
}
