package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.RssShuffleHandle;

/**
 * The fence of one generation, in the scheduler's thread: refuse, or have Spark forget the outputs and point the handle at
 * servers that the shuffle has never used. It is run twice (`FenceDecision`); the servers are got in between.
 *
 * Both in one run, because each alone is silently wrong: if only Spark forgets, the map stage writes blocks of the same
 * names to the same servers, and a reader takes the first of each name; if only the handle moves, a reader finds nothing,
 * which is a legal empty partition. What could fail comes before both. The scheduler serializes a handle in this thread
 * only, so no task is sent out between them.
 */
public class UniffleFence implements Work {
  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Users users;
  private final HalfWritten halfWritten;
  private final Generations generations;
  private final Generations.Shuffle shuffle;
  private final UniffleClient client;
  private final FenceDecision decision;
  UniffleHome next = null; // where the next generation goes, once that is known
  UniffleHome past = null; // set where this run fenced
  MapStatus[] outputs = null; // as Spark knew them then, and forgot them

  UniffleFence(Scheduler scheduler, MapOutputTrackerMaster tracker, Users users, Generations generations,
      HalfWritten halfWritten, UniffleClient client, int id, int expected) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.users = users;
    this.halfWritten = halfWritten;
    this.generations = generations;
    this.shuffle = generations.of(id);
    this.client = client;
    this.decision = new FenceDecision(scheduler, shuffle, expected);
  }

  /** A final answer; `AGAIN` after the first run. */
  public Object run() throws Exception {
    scala.Option found = tracker.shuffleStatuses().get(Integer.valueOf(shuffle.id));
    if (!found.isDefined()) {
      generations.cleaned(shuffle.id); // to ask for it has made an entry
      return Answer.unregistered(shuffle.id);
    }
    RssShuffleHandle handle = client.handle(shuffle.id);
    if (handle == null) {
      return Answer.cannot("app shuffle " + shuffle.id + " is not Uniffle's: never written, or in no lineage");
    }
    ShuffleStatus status = (ShuffleStatus) found.get();
    Set who = new TreeSet(decision.users(users));
    who.addAll(halfWritten.readersOf(shuffle.id));
    boolean isThere = Outputs.available(status) > 0 || halfWritten.isBegun(shuffle.id);
    String answer = decision.of(isThere, who, !users.writersOf(shuffle.id).isEmpty());
    return answer != null ? answer : fence(status, handle);
  }

  private String fence(ShuffleStatus status, RssShuffleHandle handle) throws Exception {
    Field told = UniffleClient.told(handle);
    UniffleHome present = UniffleClient.homeOf(handle);
    if (next.meets(new TreeSet(present.servers().values())) != null) {
      return Answer.failed("app shuffle " + shuffle.id + " has moved meanwhile; ask again");
    }
    MapStatus[] known = (MapStatus[]) status.mapStatuses().clone();
    tracker.unregisterAllMapAndMergeOutput(shuffle.id); // throws where Spark's cleaner has just been here
    generations.owe(shuffle.id, scheduler.nextTaskId());
    told.set(handle, next.told);
    halfWritten.moved(shuffle.id);
    past = present;
    outputs = known;
    shuffle.bytes = 0L;
    shuffle.pass(scheduler);
    return Answer.FENCED;
  }
}
