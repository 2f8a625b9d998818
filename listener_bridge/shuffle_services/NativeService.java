package shufflelifecycle;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.CleanerListener;
import org.apache.spark.ContextCleaner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Spark's own shuffle files: fence, free, forget. One verb at a time; every answer is JSON. */
public class NativeService {
  private static final long HOLD_LIMIT_MS = 5000L;
  private static final String UNASKED = "lives, and the block manager's master did not know it; ask again";
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final Generations generations;
  private final Scheduler scheduler;
  private final StageMemory memory;
  private final Users users;
  private final MapOutputTrackerMaster tracker;
  private final Deletion deletion;
  private final int servicePort;
  private final CleanerListener allocation; // null where executors do not come and go

  public NativeService(
      Object scheduler,
      Object memory,
      Object tracker,
      Object deletion,
      Object cleaner,
      Object allocation,
      Object servicePort) {
    this.scheduler = (Scheduler) scheduler;
    this.generations = Generations.of(this.scheduler);
    this.memory = (StageMemory) memory;
    this.users = new Users(this.scheduler, this.memory);
    this.tracker = (MapOutputTrackerMaster) tracker;
    this.deletion = (Deletion) deletion;
    this.allocation = (CleanerListener) allocation;
    this.servicePort = ((Number) servicePort).intValue();
    if (this.deletion.outlives()) {
      generations.noteWhatIsForgotten();
    }
    if (cleaner != null) {
      generations.listenTo((ContextCleaner) cleaner);
    }
  }

  /** The number of the present generation; -1 where Spark has no outputs of the shuffle. */
  public int holds(int shuffle) {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    boolean there = status.isDefined() && Outputs.available((ShuffleStatus) status.get()) > 0;
    return there ? generations.of(shuffle).present : -1;
  }

  public synchronized String fence(int shuffle, int expected, long timeoutMs) throws Exception {
    Generations.Shuffle known = generations.of(shuffle);
    long end = System.nanoTime() + timeoutMs * 1000000L;
    FenceWork work = new FenceWork(scheduler, tracker, users, generations, allocation, shuffle, expected);
    Object answer = scheduler.callAgain(work, timeoutMs);
    if (answer == null) {
      return Answer.failed("the scheduler was busy for " + timeoutMs + " ms; ask again");
    }
    if (work.foundNothing()) {
      sweep(known, end);
    }
    if (work.outputs == null) {
      return (String) answer;
    }
    remember(known, work.outputs);
    generations.placed(known);
    return Answer.fenced(known);
  }

  /**
   * Where Spark has no outputs there may be files all the same: of tasks that were killed, or failed, after they had put
   * them there. They are deleted as what is fenced is, but once: whom nobody answers for is left to Spark's cleaner.
   */
  private void sweep(Generations.Shuffle shuffle, long end) {
    String refused = deleteBeside(shuffle, end);
    if (refused != null) {
      LOG.info("files of app shuffle {}, of no output, are left to Spark's cleaner: {}", Integer.valueOf(shuffle.id), refused);
    }
  }

  /** Null where all is gone; else why not. What was asked for is answered all the same. */
  private String deleteBeside(Generations.Shuffle shuffle, long end) {
    try {
      return delete(shuffle, shuffle.present - 1, Math.max(1L, (end - System.nanoTime()) / 1000000L));
    } catch (Exception broken) {
      return String.valueOf(broken);
    }
  }

  private static void remember(Generations.Shuffle shuffle, MapStatus[] outputs) {
    MapSizes sizes = new MapSizes(shuffle.id);
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] != null) {
        Place place = shuffle.at(Place.of(outputs[i].location()));
        long before = place.bytes;
        place.add(outputs[i], sizes);
        shuffle.bytes += place.bytes - before;
      }
    }
  }

  public synchronized String free(int shuffle, int generation, long timeoutMs) throws Exception {
    Generations.Shuffle known = generations.of(shuffle);
    String refused = delete(known, generation, timeoutMs);
    return refused != null ? refused : freed(known);
  }

  /** What is gone since it was told last: what goes in a call that fails is told by the next one that does not. */
  private static String freed(Generations.Shuffle shuffle) {
    long bytes = shuffle.settled;
    shuffle.settled = 0L;
    return Answer.freed(bytes);
  }

  /** Null where all that was fenced is gone; else the answer. */
  private String delete(Generations.Shuffle known, int generation, long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    long limitMs = Math.min(timeoutMs, HOLD_LIMIT_MS);
    Map endpoints = deletion.endpoints();
    FreeWork check = new FreeWork(tracker, users, known, generation, limitMs);
    Object answer = scheduler.call(check, timeoutMs);
    if (answer == null) {
      return Answer.failed("the scheduler was busy for " + timeoutMs + " ms; ask again");
    }
    if (!FreeWork.CLEAR.equals(answer)) {
      return (String) answer;
    }
    long heldNs = check.hold != null ? check.hold.endNs() : System.nanoTime() + limitMs * 1000000L;
    Map silent;
    try {
      known.placeLeft();
      silent = deletion.byExecutors(known, endpoints, heldNs);
    } finally {
      if (check.hold != null) {
        check.hold.release();
      }
    }
    String why = settle(known, endpoints.keySet(), silent, end);
    if (!tracker.shuffleStatuses().get(Integer.valueOf(known.id)).isDefined()) {
      generations.cleaned(known.id); // nobody will say so again
    }
    return why.length() == 0 ? null : Answer.failed(why);
  }

  /** Counts what is gone; what is not stays with the shuffle for the next call, and why not is answered. */
  private String settle(Generations.Shuffle shuffle, Set asked, Map silent, long end) {
    StringBuilder why = new StringBuilder();
    noteUnasked(asked, silent);
    Set everybody = deletion.alive();
    List places = new ArrayList(shuffle.places.values());
    for (int i = 0; i < places.size(); i++) {
      Place place = (Place) places.get(i);
      boolean alive = everybody.contains(place.executor) || UNASKED.equals(silent.get(place.executor));
      String missing = alive ? (String) silent.get(place.executor) : orphans(shuffle, place, end);
      if (missing == null) {
        shuffle.settled += alive ? place.bytes : 0L; // orphans are counted as they go
        shuffle.places.remove(place.executor);
      } else {
        why.append(why.length() == 0 ? "" : "; ").append("executor ").append(place.executor).append(": ").append(missing);
      }
    }
    return why.toString();
  }

  private void noteUnasked(Set asked, Map silent) {
    Iterator unasked = deletion.unasked(scheduler.executors(), asked).iterator();
    while (unasked.hasNext()) {
      silent.put(unasked.next(), UNASKED);
    }
  }

  /** Null where nothing of it is left, or nobody will ever say so. */
  private String orphans(Generations.Shuffle shuffle, Place place, long end) {
    if (!deletion.outlives()) {
      return null; // they went with their executor
    }
    String why = byService(shuffle.id, place, end);
    shuffle.settled += place.share(place.removed);
    return why;
  }

  /** Null where the host's service has deleted what it had, or nobody will ever say so. */
  private String byService(int shuffle, Place place, long end) {
    try {
      place.removed = deletion.byService(shuffle, place, end);
      return null;
    } catch (Exception silence) {
      place.silences += silence instanceof Silences.NotAsked ? 0 : 1;
      return isHopeless(place) ? giveUp(shuffle, place, silence) : String.valueOf(silence);
    }
  }

  /** It refuses this again and again, or answers nobody. */
  private boolean isHopeless(Place place) {
    return Math.max(place.silences, deletion.silencesOf(place)) >= Silences.TIMES_MAX;
  }

  private static String giveUp(int shuffle, Place place, Exception silence) {
    LOG.warn("files of app shuffle {} may be left on {}: its shuffle service was asked {} times in vain",
        new Object[] {Integer.valueOf(shuffle), place.host, Integer.valueOf(Silences.TIMES_MAX), silence});
    return null;
  }

  /**
   * A second `free`, once every task older than the fence has ended; and the files of writers that the driver lost. One
   * shuffle that Spark let go before it was freed goes along: what is not gone then waits for a later call.
   */
  public synchronized String forget(int shuffle, int generation, long timeoutMs) throws Exception {
    Generations.Shuffle abandoned = generations.abandoned();
    if (abandoned != null) {
      deleteBeside(abandoned, System.nanoTime() + timeoutMs * 1000000L);
    }
    Generations.Shuffle known = generations.of(shuffle);
    long oldest = scheduler.oldestRunningTask();
    if (oldest < known.olderThan) {
      TreeSet who = new TreeSet();
      who.add("task " + oldest + " is older than the fence");
      return Answer.busy(who);
    }
    String refused = delete(known, generation, timeoutMs);
    if (refused == null && deletion.outlives()) {
      refused = lateWriters(shuffle, System.nanoTime() + timeoutMs * 1000000L);
    }
    return refused != null ? refused : freed(known);
  }

  /** Null where every service was asked that there is; whom nobody answered for is kept for the next call. */
  private String lateWriters(int shuffle, long end) {
    List lost = memory.takeLostWriters(shuffle);
    String refused = null;
    for (int i = 0; i < lost.size(); i++) {
      StageMemory.LostWriter writer = (StageMemory.LostWriter) lost.get(i);
      Place place = new Place(writer.executor, writer.host, servicePort);
      place.mapIds.add(Long.valueOf(writer.mapId));
      place.silences = writer.silences;
      String why = byService(shuffle, place, end); // it may never have written: nothing is expected
      if (why != null) {
        writer.silences = place.silences;
        memory.keepLostWriter(writer);
        refused = Answer.failed("a late writer's executor " + writer.executor + ": " + why);
      }
    }
    return refused;
  }

  /** App shuffles that were fenced at least once. */
  public int[] fenced() {
    return generations.fenced();
  }
}
