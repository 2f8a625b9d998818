package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.WeakHashMap;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.DAGScheduler;
import scala.collection.mutable.LinkedHashMap;

/**
 * Shuffles in Celeborn: fence, free, forget. One verb at a time; every answer is JSON.
 *
 * A generation is named by its count and by Celeborn's ids, and a verb touches no other id, so a late call can never reach
 * what was written later. Freeing leaves the driver's books alone: whoever was told the id before the fence fails cleanly
 * on it. They are erased by `forget`, when every task has ended that is older than the fence: erased too early, a reader
 * would find nothing written, and say nothing. Invariant: an id is freed and forgotten only after its flag is down.
 */
public class CelebornService implements Rewrites {
  /** What is known of one id after its fence. */
  private static class Fenced {
    final int shuffle;
    final long olderThan;
    long bytes = 0L;
    boolean freed = false;
    boolean forgotten = false;

    Fenced(int shuffle, long olderThan) {
      this.shuffle = shuffle;
      this.olderThan = olderThan;
    }
  }

  /** What outlives an attachment. */
  private static class Books {
    final Map fenced = new HashMap(); // id -> Fenced
    final Map continued = new HashMap(); // app shuffle that is rewritten as a whole -> might attempts continue before
  }

  private static final Map OF_APPLICATION = new WeakHashMap(); // DAG scheduler -> Books

  private final Scheduler scheduler;
  private final Users users;
  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final CelebornClient client;
  private final Books books;

  public CelebornService(Object scheduler, Object memory, Object tracker, Object manager) {
    this.scheduler = (Scheduler) scheduler;
    this.users = new Users(this.scheduler, (StageMemory) memory);
    this.generations = Generations.of(this.scheduler);
    this.tracker = (MapOutputTrackerMaster) tracker;
    this.client = new CelebornClient(manager);
    this.books = ofApplication(this.scheduler.dag);
    generations.tellRewrites(this);
  }

  private static Books ofApplication(DAGScheduler application) {
    synchronized (OF_APPLICATION) {
      Books known = (Books) OF_APPLICATION.get(application);
      if (known == null) {
        known = new Books();
        OF_APPLICATION.put(application, known);
      }
      return known;
    }
  }

  /** "generation/id+id…" of the present generation; empty where Celeborn has no outputs of the shuffle. */
  public String holds(int shuffle) throws Exception {
    LinkedHashMap ids = client.idsOf(shuffle);
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    if (ids == null || !status.isDefined() || Outputs.available((ShuffleStatus) status.get()) == 0) {
      return "";
    }
    synchronized (ids) {
      List valid = CelebornClient.valid(ids);
      return valid.isEmpty() ? "" : generations.of(shuffle).present + "/" + joined(valid);
    }
  }

  private static String joined(List ids) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < ids.size(); i++) {
      text.append(i == 0 ? "" : "+").append(ids.get(i));
    }
    return text.toString();
  }

  // ---- fence ----

  public synchronized String fence(int shuffle, int expected, long timeoutMs) throws Exception {
    Generations.Shuffle known = generations.of(shuffle);
    CelebornFence work = new CelebornFence(scheduler, tracker, users, client, shuffle, expected);
    Object answer = scheduler.callAgain(work, timeoutMs);
    if (answer == null) {
      return Answer.cannot("the scheduler was busy for " + timeoutMs + " ms; ask again");
    }
    if (work.ids == null) {
      return (String) answer;
    }
    known.locator = (known.present - 1) + "/" + joined(work.ids);
    known.bytes = MapSizes.total(work.outputs); // what the workers committed is exact, where the client keeps it
    remember(known, work.ids);
    return Answer.fenced(known);
  }

  private void remember(Generations.Shuffle shuffle, List ids) throws Exception {
    dropCleaned();
    long exact = 0L;
    for (int i = 0; i < ids.size(); i++) {
      Fenced one = new Fenced(shuffle.id, shuffle.olderThan);
      books.fenced.put(ids.get(i), one);
      List locations = client.locations((Integer) ids.get(i));
      one.bytes = locations == null ? 0L : CelebornClient.bytes(locations);
      exact = one.bytes < 0L || exact < 0L ? -1L : exact + one.bytes;
    }
    if (exact >= 0L) {
      shuffle.bytes = exact;
    } else if (!ids.isEmpty()) {
      ((Fenced) books.fenced.get(ids.get(ids.size() - 1))).bytes = shuffle.bytes; // what Spark knew of all of them
    }
  }

  // ---- free ----

  public synchronized String free(int shuffle, int[] ids, long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    String unfenced = unfenced(shuffle, ids);
    if (unfenced != null) {
      return Answer.failed(unfenced);
    }
    long bytes = 0L;
    StringBuilder why = new StringBuilder();
    List going = going(shuffle, ids);
    for (int i = 0; i < going.size(); i++) {
      bytes += free(shuffle, (Integer) going.get(i), end, why);
    }
    dropCleaned();
    return why.length() == 0 ? Answer.freed(bytes) : Answer.failed(why.toString());
  }

  /** These ids, and what Celeborn itself has taken the flag of since: lost, or replaced, and nobody else deletes it. */
  private List going(int shuffle, int[] ids) throws Exception {
    Set found = new TreeSet();
    for (int i = 0; i < ids.length; i++) {
      found.add(Integer.valueOf(ids[i]));
    }
    LinkedHashMap known = client.idsOf(shuffle);
    if (known != null) {
      synchronized (known) {
        found.addAll(CelebornClient.invalid(known));
      }
    }
    return new ArrayList(found);
  }

  /** What is gone now of one id, in bytes; what is not is told in `why`, and tried again by the next call. */
  private long free(int shuffle, Integer id, long end, StringBuilder why) throws Exception {
    Fenced known = known(shuffle, id);
    List locations = known.freed ? null : client.locations(id);
    if (locations != null) {
      List problems = new Destroying(client).destroy(id, locations, end);
      for (int i = 0; i < problems.size(); i++) {
        why.append(why.length() == 0 ? "" : "; ").append(problems.get(i));
      }
      if (!problems.isEmpty()) {
        return 0L;
      }
    }
    long bytes = known.freed ? 0L : Math.max(0L, known.bytes);
    known.freed = true;
    return bytes;
  }

  private Fenced known(int shuffle, Integer id) {
    Fenced known = (Fenced) books.fenced.get(id);
    if (known == null) { // Celeborn itself took the flag down: it was lost, not fenced
      known = new Fenced(shuffle, scheduler.nextTaskId());
      books.fenced.put(id, known);
    }
    return known;
  }

  /** Of a shuffle that the client knows no more nobody can ask for an id: what is freed of it has nothing to be forgotten. */
  private void dropCleaned() throws Exception {
    Map mapping = client.mapping();
    Iterator it = books.fenced.values().iterator();
    while (it.hasNext()) {
      Fenced one = (Fenced) it.next();
      if (one.freed && !mapping.containsKey(Integer.valueOf(one.shuffle))) {
        it.remove();
      }
    }
  }

  /** Why these ids must not be touched; null where all of their flags are down, or Spark has let the shuffle go. */
  private String unfenced(int shuffle, int[] ids) throws Exception {
    LinkedHashMap known = client.idsOf(shuffle);
    if (known == null) {
      return null;
    }
    synchronized (known) {
      List valid = CelebornClient.valid(known);
      for (int i = 0; i < ids.length; i++) {
        if (valid.contains(Integer.valueOf(ids[i]))) {
          return "id " + ids[i] + " of app shuffle " + shuffle + " is not fenced; fence it first";
        }
      }
    }
    return null;
  }

  // ---- forget ----

  /** Erases the ids from Celeborn's books, once every task older than the fence has ended. */
  public synchronized String forget(int shuffle, int[] ids, long timeoutMs) throws Exception {
    String unfenced = unfenced(shuffle, ids);
    if (unfenced != null) {
      return Answer.failed(unfenced);
    }
    if (client.idsOf(shuffle) == null) {
      return Answer.freed(0L); // the client has erased them by itself
    }
    long oldest = scheduler.oldestRunningTask();
    List going = going(shuffle, ids);
    for (int i = 0; i < going.size(); i++) {
      if (oldest < known(shuffle, (Integer) going.get(i)).olderThan) {
        TreeSet who = new TreeSet();
        who.add("task " + oldest + " is older than the fence");
        return Answer.busy(who);
      }
    }
    for (int i = 0; i < going.size(); i++) {
      Fenced known = known(shuffle, (Integer) going.get(i));
      if (known.freed && !known.forgotten) {
        client.erase((Integer) going.get(i));
        known.forgotten = true;
      }
    }
    return Answer.freed(0L);
  }

  // ---- what is written again as a whole ----

  /**
   * Celeborn would let a further attempt continue what an older one wrote, and drop what it has already: half old, half
   * new, where the computation is not deterministic. So while a shuffle is marked, each attempt gets an id of its own.
   */
  public void begins(int shuffle) {
    try {
      Boolean before = client.lifecycle() == null ? null : client.continues(shuffle);
      if (before != null && !books.continued.containsKey(Integer.valueOf(shuffle))) {
        books.continued.put(Integer.valueOf(shuffle), before);
        client.letContinue(shuffle, false);
      }
    } catch (Exception error) {
      throw new IllegalStateException("Celeborn's client is not as expected: " + error, error);
    }
  }

  /** Whatever map tasks have written under these ids would be kept, and what a new attempt writes of them dropped. */
  public void forgotten(int shuffle) {
    try {
      LinkedHashMap ids = client.idsOf(shuffle);
      if (ids != null) {
        synchronized (ids) {
          CelebornClient.invalidate(ids, CelebornClient.valid(ids));
        }
      }
    } catch (Exception error) {
      throw new IllegalStateException("Celeborn's client is not as expected: " + error, error);
    }
  }

  /** It is written, or its jobs are over: only the newest id counts from here on, and may be continued as before. */
  public void ends(int shuffle) {
    Boolean before = (Boolean) books.continued.remove(Integer.valueOf(shuffle));
    try {
      LinkedHashMap ids = before == null ? null : client.idsOf(shuffle);
      if (ids != null) {
        synchronized (ids) {
          List valid = CelebornClient.valid(ids);
          CelebornClient.invalidate(ids, valid.subList(0, Math.max(0, valid.size() - 1)));
          client.letContinue(shuffle, before.booleanValue());
        }
      }
    } catch (Exception error) {
      throw new IllegalStateException("Celeborn's client is not as expected: " + error, error);
    }
  }
}
