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
  private final FencedIds fenced;
  private final FenceDecision decision;
  List ids = null; // set where this run fenced
  MapStatus[] outputs = null; // as Spark knew them then, and forgot them

  CelebornFence(Scheduler scheduler, MapOutputTrackerMaster tracker, Users users, Generations generations,
      CelebornClient client, FencedIds fenced, int id, int expected) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.users = users;
    this.generations = generations;
    this.shuffle = generations.of(id);
    this.client = client;
    this.fenced = fenced;
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
    if (who.isEmpty() && !CelebornClient.tellsReadersOfNothing()) {
      who = new BehindCache(scheduler.dag.sc()).of(shuffle.id);
    }
    if (!users.writersOf(shuffle.id).isEmpty()) {
      return decision.of(true, who, true); // of a barrier stage that fails Celeborn waits for workers within the monitor
    }
    synchronized (known) {
      return run(known, (ShuffleStatus) found.get(), who);
    }
  }

  private String run(LinkedHashMap known, ShuffleStatus found, Set who) {
    List present = fenced.present(CelebornClient.all(known));
    boolean isThere = Outputs.available(found) > 0 || !present.isEmpty(); // Spark's word alone says nothing of the workers
    String answer = decision.of(isThere, who, false);
    return answer != null ? answer : fence(known, found, present);
  }

  private String fence(LinkedHashMap known, ShuffleStatus found, List present) {
    ids = present;
    outputs = (MapStatus[]) found.mapStatuses().clone();
    CelebornClient.invalidate(known, ids);
    shuffle.bytes = 0L;
    tracker.unregisterAllMapAndMergeOutput(shuffle.id); // throws where Spark's cleaner has just been here
    generations.owe(shuffle.id, scheduler.nextTaskId());
    shuffle.pass(scheduler);
    return Answer.FENCED;
  }
}
