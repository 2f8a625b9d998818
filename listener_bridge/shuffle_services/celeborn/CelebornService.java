package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
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
  /** What outlives an attachment. */
  private static class Books {
    final FencedIds fenced = new FencedIds();
    final Map continued = new HashMap(); // app shuffle that is rewritten as a whole -> might attempts continue before
  }

  private static final long USERS_LIMIT_MS = 1000L; // a busy scheduler leaves time for what is known to be unused

  private static final Map OF_APPLICATION = new WeakHashMap(); // DAG scheduler -> Books

  private final Scheduler scheduler;
  private final Users users;
  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final CelebornClient client;
  private final Destroying destroying;
  private final Books books;

  public CelebornService(Object scheduler, Object memory, Object tracker, Object manager) {
    this.scheduler = (Scheduler) scheduler;
    this.users = new Users(this.scheduler, (StageMemory) memory);
    this.generations = Generations.of(this.scheduler);
    this.tracker = (MapOutputTrackerMaster) tracker;
    this.client = new CelebornClient(manager);
    this.destroying = new Destroying(client);
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

  /** "generation/id+id…" of the present generation; empty where Celeborn has nothing of the shuffle. */
  public synchronized String holds(int shuffle) throws Exception {
    LinkedHashMap ids = client.idsOf(shuffle);
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    if (ids == null || !status.isDefined()) {
      return "";
    }
    synchronized (ids) {
      List present = books.fenced.present(CelebornClient.all(ids));
      boolean isThere = Outputs.available((ShuffleStatus) status.get()) > 0 || !present.isEmpty();
      return isThere ? generations.of(shuffle).present + "/" + joined(present) : "";
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
    CelebornFence work =
        new CelebornFence(scheduler, tracker, users, generations, client, books.fenced, shuffle, expected);
    Object answer = scheduler.callAgain(work, timeoutMs);
    if (answer == null) {
      return Answer.failed("the scheduler was busy for " + timeoutMs + " ms; ask again");
    }
    if (work.ids == null) {
      return (String) answer;
    }
    known.locator = (known.present - 1) + "/" + joined(work.ids);
    known.bytes = new MapSizes(shuffle).total(work.outputs); // what the workers committed is exact, where the client keeps it
    remember(known, work.ids);
    return Answer.fenced(known);
  }

  private void remember(Generations.Shuffle shuffle, List ids) throws Exception {
    books.fenced.dropCleaned(client.mapping());
    long exact = 0L;
    FencedIds.One last = null;
    for (int i = 0; i < ids.size(); i++) {
      Integer id = (Integer) ids.get(i);
      FencedIds.One before = books.fenced.of(id);
      last = books.fenced.put(id, new FencedIds.One(shuffle.id, shuffle.olderThan, true));
      last.given = before == null ? null : before.given;
      last.bytes = client.isCommitted(id) ? CelebornClient.bytes(client.locations(id)) : -1L;
      exact = last.bytes < 0L || exact < 0L ? -1L : exact + last.bytes;
    }
    if (exact >= 0L) {
      shuffle.bytes = exact;
    } else {
      last.bytes = shuffle.bytes; // what Spark knew of all of them
    }
  }

  // ---- free ----

  public synchronized String free(int shuffle, int generation, int[] ids, long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    String unfenced = unfenced(shuffle, generation, ids);
    if (unfenced != null) {
      return Answer.failed(unfenced);
    }
    ArrayList problems = new ArrayList();
    List going = going(shuffle, ids);
    for (int i = 0; i < going.size(); i++) {
      free(shuffle, (Integer) going.get(i), end, problems);
    }
    String answer = problems.isEmpty() ? Answer.freed(untold(going)) : Answer.failed(problems.toString());
    books.fenced.dropCleaned(client.mapping());
    return answer;
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

  /** Of these ids, what has gone since the last answer that told of it, in bytes. */
  private long untold(List ids) {
    long bytes = 0L;
    for (int i = 0; i < ids.size(); i++) {
      FencedIds.One known = books.fenced.of(ids.get(i));
      if (known.freed) {
        bytes += Math.max(0L, known.bytes);
        known.bytes = 0L;
      }
    }
    return bytes;
  }

  /** What is not gone then is told in `problems`, and tried again by the next call. */
  private void free(int shuffle, Integer id, long end, List problems) throws Exception {
    FencedIds.One known = known(shuffle, id);
    if (known.freed || mayBeUsed(shuffle, known, true, end)) {
      return; // the files of one that is written on, or that lost a part and is read on, are for a later call
    }
    String uncommitted = destroying.awaitCommit(id, end);
    if (uncommitted != null) {
      problems.add(uncommitted);
      return;
    }
    Map files = files(id, known);
    Outcome outcome = files == null ? new Outcome() : destroying.destroy(id, files, end);
    problems.addAll(outcome.problems);
    known.freed = outcome.isDone();
    known.given = known.freed ? null : known.given;
    known.bytes = outcome.hasGivenUp ? 0L : known.bytes;
  }

  /**
   * Celeborn is told that a half-written id is over: whenever it cleans the shuffle it would have the workers commit what
   * is gone by then, and take them for broken.
   */
  private Map files(Integer id, FencedIds.One known) throws Exception {
    if (known.given == null && !client.isCommitted(id)) {
      known.given = client.files(id);
      if (known.given != null) {
        client.end(id);
      }
    }
    return known.given != null ? known.given : client.files(id);
  }

  /**
   * What was not fenced may have been told to stages that run. To have their readers fail would have a result that has
   * delivered a part go on with the next generation, of what we have not deleted.
   */
  private boolean mayBeUsed(int shuffle, FencedIds.One known, boolean readersToo, long end) throws Exception {
    if (known.isFenced) {
      return false;
    }
    UsersNow work = new UsersNow(users, shuffle, readersToo);
    Object who = scheduler.call(work, Math.min(USERS_LIMIT_MS, Silences.limitMs(end)));
    return who == null || !((Set) who).isEmpty();
  }

  private FencedIds.One known(int shuffle, Integer id) {
    FencedIds.One known = books.fenced.of(id);
    boolean isNew = known == null; // Celeborn itself took the flag down: it was lost, not fenced
    return isNew ? books.fenced.put(id, new FencedIds.One(shuffle, scheduler.nextTaskId(), false)) : known;
  }

  /** Why these ids must not be touched; null where all of their flags are down, or Spark has let the shuffle go. */
  private String unfenced(int shuffle, int generation, int[] ids) throws Exception {
    LinkedHashMap known = client.idsOf(shuffle);
    if (known == null) {
      return null;
    }
    if (generation >= generations.presentOf(shuffle)) {
      return "generation " + generation + " of app shuffle " + shuffle + " is not fenced; fence it first";
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

  /** Frees what free had to leave, and erases the ids from Celeborn's books, once all that could use them has ended. */
  public synchronized String forget(int shuffle, int generation, int[] ids, long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    String unfenced = unfenced(shuffle, generation, ids);
    if (unfenced != null) {
      return Answer.failed(unfenced);
    }
    if (client.idsOf(shuffle) == null) {
      return Answer.freed(0L); // the client has erased them by itself
    }
    TreeSet who = new TreeSet();
    ArrayList problems = new ArrayList();
    List going = going(shuffle, ids);
    for (int i = 0; i < going.size(); i++) {
      Integer id = (Integer) going.get(i);
      if (mayBeForgotten(shuffle, id, end, who, problems)) {
        forget(shuffle, id, end, problems);
      }
    }
    if (!who.isEmpty()) {
      return Answer.busy(who);
    }
    return problems.isEmpty() ? Answer.freed(untold(going)) : Answer.failed(problems.toString());
  }

  /**
   * Whether nobody is left who may ask with this id, or write under it; else who is told. Who is older than a fence is
   * older than all fences that follow; of an id that was lost it says nothing about any other.
   */
  private boolean mayBeForgotten(int shuffle, Integer id, long end, Set who, List problems) throws Exception {
    FencedIds.One known = known(shuffle, id);
    if (known.forgotten) {
      return false;
    }
    long oldest = scheduler.oldestRunningTask();
    if (oldest < known.olderThan && known.isFenced) {
      who.add("task " + oldest + " is older than the fence");
    } else if (oldest < known.olderThan) {
      problems.add("task " + oldest + " may have been told id " + id + " of app shuffle " + shuffle + ", which was lost; ask again");
    } else if (mayBeUsed(shuffle, known, false, end)) {
      problems.add("somebody writes app shuffle " + shuffle + ", perhaps under id " + id + "; ask again");
    } else {
      return true;
    }
    return false;
  }

  private void forget(int shuffle, Integer id, long end, List problems) throws Exception {
    free(shuffle, id, end, problems);
    FencedIds.One known = known(shuffle, id);
    if (known.freed) {
      client.erase(id);
      known.forgotten = true;
    }
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

  /**
   * An attempt that knew its id before may have gone on under it, and a later one have written the rest under another: it
   * is complete to Spark, and none of its ids is. Celeborn would tell each reader so, and Spark, which finds nothing to be
   * written again, end their jobs. So it is told that nothing is there.
   */
  public boolean isReadable(int shuffle) {
    try {
      LinkedHashMap ids = client.idsOf(shuffle);
      scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
      if (ids == null || !status.isDefined()) {
        return true; // gone
      }
      boolean isReadable = hasWritten(ids);
      ShuffleStatus outputs = (ShuffleStatus) status.get();
      if (!isReadable && Outputs.available(outputs) == outputs.mapStatuses().length) {
        tracker.unregisterAllMapAndMergeOutput(shuffle);
      }
      return isReadable;
    } catch (Exception error) {
      throw new IllegalStateException("Celeborn's client is not as expected: " + error, error);
    }
  }

  /** Its client keeps the id by app shuffle, stage and attempt. */
  public boolean areReadersToldOnce() {
    return true;
  }

  private boolean hasWritten(LinkedHashMap ids) {
    synchronized (ids) {
      List valid = CelebornClient.valid(ids);
      boolean found = false;
      for (int i = 0; i < valid.size(); i++) {
        found |= client.isWritten((Integer) valid.get(i));
      }
      return found;
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
