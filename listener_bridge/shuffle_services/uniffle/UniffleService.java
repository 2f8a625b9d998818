package shufflelifecycle;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.CleanerListener;
import org.apache.spark.ContextCleaner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.shuffle.RssShuffleHandle;

/**
 * Shuffles in Uniffle: fence, free, forget. One verb at a time; every answer is JSON.
 *
 * A server cannot keep two generations of a shuffle apart, nor write one that it has purged. So each generation lives on
 * servers of its own: a fence moves the shuffle to servers that it has never used, and is refused where there are none.
 * Invariant: data are purged only on servers that a fenced generation names, and that the shuffle has left for good.
 */
public class UniffleService {
  private static final long LOOK_MS = 10L;

  /** What outlives an attachment. */
  private static class Books implements CleanerListener {
    final HalfWritten halfWritten;
    final Map used = Collections.synchronizedMap(new HashMap()); // app shuffle -> Set of ids of its servers, past ones too
    final Map left = new ConcurrentHashMap(); // "app shuffle/generation" -> Left, fenced and not purged

    Books(HalfWritten halfWritten) {
      this.halfWritten = halfWritten;
    }

    /** Spark let it go: its id will not come back. */
    public void shuffleCleaned(int shuffle) {
      halfWritten.drop(shuffle);
      used.remove(Integer.valueOf(shuffle));
      for (Iterator it = left.keySet().iterator(); it.hasNext();) {
        if (((String) it.next()).startsWith(shuffle + "/")) {
          it.remove();
        }
      }
    }

    public void rddCleaned(int rdd) {}

    public void broadcastCleaned(long broadcast) {}

    public void accumCleaned(long accumulator) {}

    public void checkpointCleaned(long rdd) {}
  }

  /** What is known of a generation that has left its servers and is still there. */
  private static class Left {
    final long bytes;
    final Map telling; // server -> Set of partitions

    Left(long bytes, Map telling) {
      this.bytes = bytes;
      this.telling = telling;
    }
  }

  private static final PerApplication OF_APPLICATION = new PerApplication();

  private final Scheduler scheduler;
  private final Users users;
  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final UniffleClient client;
  private final Books books;

  public UniffleService(Object scheduler, Object memory, Object tracker, Object context, Object manager) {
    this.scheduler = (Scheduler) scheduler;
    this.users = new Users(this.scheduler, (StageMemory) memory);
    this.generations = Generations.of(this.scheduler);
    this.tracker = (MapOutputTrackerMaster) tracker;
    this.client = new UniffleClient(context, manager);
    this.books = ofApplication(this.scheduler, this.tracker, ((SparkContext) context).cleaner());
    generations.askTaskNumbers(new UniffleTasks());
  }

  private static Books ofApplication(Scheduler scheduler, MapOutputTrackerMaster tracker, scala.Option cleaner) {
    synchronized (OF_APPLICATION) {
      Books known = (Books) OF_APPLICATION.of(scheduler.dag);
      if (known == null) {
        HalfWritten halfWritten = new HalfWritten(scheduler, tracker);
        scheduler.bus.addToQueue(halfWritten, Tap.QUEUE);
        known = new Books(halfWritten);
        if (cleaner.isDefined()) {
          ((ContextCleaner) cleaner.get()).attachListener(known);
        }
        OF_APPLICATION.put(scheduler, known);
      }
      return known;
    }
  }

  /** "generation/partitions/server+server…" of the present generation; empty where Uniffle has no outputs of the shuffle. */
  public String holds(int shuffle) throws Exception {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    if (!status.isDefined() || Outputs.available((ShuffleStatus) status.get()) == 0) {
      return "";
    }
    RssShuffleHandle handle = client.handle(shuffle);
    UniffleHome home = handle == null ? null : UniffleClient.homeOf(handle);
    return home == null || home.partitions.isEmpty() ? "" : generations.of(shuffle).present + "/" + home.name();
  }

  /** Why no fence of the shuffle could find servers now; empty where one could. */
  public synchronized String cannotMove(int shuffle) throws Exception {
    RssShuffleHandle handle = client.handle(shuffle);
    if (handle == null || handle.getPartitionToServers().isEmpty()) {
      return "";
    }
    long end = System.nanoTime() + Silences.LIMIT_MS * 1000000L;
    return client.assign(handle, used(shuffle, handle), end) == null ? noServers(shuffle) : "";
  }

  private String noServers(int shuffle) {
    Set used = (Set) books.used.get(Integer.valueOf(shuffle));
    return "Uniffle has no servers left that app shuffle " + shuffle + " has never used (it has used " + used.size()
        + "); its data stay until Spark lets it go";
  }

  private Set used(int shuffle, RssShuffleHandle handle) {
    Set known = (Set) books.used.get(Integer.valueOf(shuffle));
    if (known == null) {
      known = new HashSet();
      books.used.put(Integer.valueOf(shuffle), known);
    }
    known.addAll(UniffleClient.homeOf(handle).servers().values());
    return known;
  }

  // ---- fence ----

  public synchronized String fence(int shuffle, int expected, long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    Generations.Shuffle known = generations.of(shuffle);
    UniffleFence work =
        new UniffleFence(scheduler, tracker, users, generations, books.halfWritten, client, shuffle, expected);
    Object answer = scheduler.call(work, timeoutMs);
    if (Work.AGAIN.equals(answer)) {
      String why = prepare(shuffle, work, end);
      if (why != null) {
        return Answer.cannot(why);
      }
      answer = scheduler.call(work, Math.max(1L, (end - System.nanoTime()) / 1000000L));
    }
    if (answer == null) {
      return Answer.failed("the scheduler was busy for " + timeoutMs + " ms; ask again");
    }
    if (work.past == null) {
      return (String) answer;
    }
    known.locator = (known.present - 1) + "/" + work.past.name();
    known.bytes = new MapSizes(shuffle).total(work.outputs);
    books.left.put(shuffle + "/" + (known.present - 1), new Left(known.bytes, work.past.telling(work.outputs)));
    return Answer.fenced(known);
  }

  /** Servers for the next generation, registered; else why there are none. */
  private String prepare(int shuffle, UniffleFence work, long end) throws Exception {
    RssShuffleHandle handle = client.handle(shuffle);
    if (handle == null) {
      return "no lineage names app shuffle " + shuffle + " any more";
    }
    Set used = used(shuffle, handle);
    UniffleHome next = client.assign(handle, used, end);
    if (next == null) {
      return noServers(shuffle);
    }
    String again = next.meets(used);
    if (again != null) {
      return "Uniffle's coordinator gave out server " + again + ", which app shuffle " + shuffle + " has used before";
    }
    client.register(handle, next, end);
    work.next = next;
    return null;
  }

  // ---- free ----

  /** Has the servers purge a fenced generation, and sees that it is gone from all of them. */
  public synchronized String free(int shuffle, int generation, int partitions, String[] servers, long timeoutMs)
      throws Exception {
    String unfenced = unfenced(shuffle, generation, servers);
    if (unfenced != null) {
      return Answer.failed(unfenced);
    }
    Left left = (Left) books.left.get(shuffle + "/" + generation);
    Outcome outcome = purge(shuffle, partitions, servers, left, System.nanoTime() + timeoutMs * 1000000L);
    if (!outcome.isDone()) {
      return Answer.failed(outcome.problems.toString());
    }
    books.left.remove(shuffle + "/" + generation);
    return Answer.freed(left == null || outcome.hasGivenUp ? 0L : left.bytes);
  }

  /** Why this must not be purged; null where the shuffle has left these servers. */
  private String unfenced(int shuffle, int generation, String[] servers) throws Exception {
    if (!tracker.shuffleStatuses().get(Integer.valueOf(shuffle)).isDefined()) {
      return null; // Spark's cleaner was here: nobody reads or writes it any more
    }
    if (generation >= generations.of(shuffle).present) {
      return "generation " + generation + " of app shuffle " + shuffle + " is not fenced; fence it first";
    }
    RssShuffleHandle handle = client.handle(shuffle);
    for (int i = 0; handle != null && i < servers.length; i++) {
      if (UniffleClient.homeOf(handle).servers().containsKey(servers[i])) {
        return "server " + servers[i] + " keeps the present generation of app shuffle " + shuffle;
      }
    }
    return null;
  }

  private Outcome purge(int shuffle, int partitions, String[] servers, Left left, long end) {
    Outcome outcome = new Outcome();
    Map problems = ask(shuffle, servers);
    for (int i = 0; i < servers.length; i++) {
      String problem = (String) problems.get(servers[i]);
      problem = problem == null ? see(shuffle, telling(left, servers[i], partitions), servers[i], end) : problem;
      if (problem != null) {
        String server = "server " + servers[i];
        String what = "blocks of app shuffle " + shuffle;
        outcome.left(what, server, server + ": " + problem, client.silencesOf(servers[i]));
      }
    }
    return outcome;
  }

  /** Of which partitions a server is asked for blocks: of all, where nothing is known of the generation any more. */
  private static Set telling(Left left, String server, int partitions) {
    Set known = left == null ? null : (Set) left.telling.get(server);
    return known == null ? UniffleClient.all(partitions) : known;
  }

  /** Server -> why it was not asked, or does not do it. All are asked first, since each answers before it is done. */
  private Map ask(int shuffle, String[] servers) {
    Map problems = new HashMap();
    for (int i = 0; i < servers.length; i++) {
      try {
        client.purge(servers[i], shuffle);
      } catch (Exception refused) {
        problems.put(servers[i], String.valueOf(refused));
      }
    }
    return problems;
  }

  /** Null once nothing of it is left there. */
  private String see(int shuffle, Set telling, String server, long end) {
    try {
      long left = telling.isEmpty() ? 0L : await(shuffle, telling, server, end);
      return left > 0L ? "still has " + left + " blocks" : null;
    } catch (Exception silent) {
      return String.valueOf(silent);
    }
  }

  private long await(int shuffle, Set telling, String server, long end) throws Exception {
    long left = client.blocks(server, shuffle, telling);
    while (left > 0L && System.nanoTime() < end) {
      Thread.sleep(LOOK_MS);
      left = client.blocks(server, shuffle, telling);
    }
    return left;
  }

  /** There is nothing of a purged generation that could be forgotten later: nobody was writing when it was fenced. */
  public synchronized String forget(int shuffle, int generation, int partitions, String[] servers, long timeoutMs)
      throws Exception {
    String unfenced = unfenced(shuffle, generation, servers);
    return unfenced == null ? Answer.freed(0L) : Answer.failed(unfenced);
  }
}
