package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.CleanerListener;
import org.apache.spark.ContextCleaner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.MapStatus;

/**
 * The generations of each app shuffle, counted: number n is the one that is there after n fences.
 *
 * Invariant: the count of a shuffle only grows, and only in the scheduler's thread, with the fence. Places that were not
 * freed yet are carried on to the next generation's `free`, since files of both lie under the same app shuffle; so is what
 * Spark was made to forget without a fence, where files outlive their executors: nobody else knows of it. Whoever
 * attaches to the application again finds the same counts: what was fenced before stays so.
 */
public class Generations implements CleanerListener {
  /** What is known of one app shuffle. */
  public static class Shuffle {
    public final int id;
    public volatile int present = 0; // the number of the generation that is there, or will be written next
    public volatile boolean hasBegun = false; // whether a writer of the present one was seen after the last fence
    public String marker; // of the last fence
    public long bytes; // of the last fenced generation
    public long settled = 0L; // of what is gone already and was not told yet
    public String locator; // of the last fenced generation, where its service has names of its own
    public long olderThan; // tasks with a smaller id began before the last fence
    public final Map places = new ConcurrentHashMap(); // executor -> Place, fenced and not freed
    final Queue left = new ConcurrentLinkedQueue(); // MapStatus: forgotten without a fence, and not freed

    Shuffle(int id) {
      this.id = id;
    }

    /** Spark has forgotten its outputs: the next generation is the present one. Within the fence, where the marker stands. */
    public void pass(Scheduler scheduler) {
      marker = "fenced-" + id + "-" + present;
      present++;
      hasBegun = false;
      olderThan = scheduler.nextTaskId();
      markAgain(scheduler);
    }

    /** For whoever has not seen the marker pass: its outcome stands at it. */
    public void markAgain(Scheduler scheduler) {
      scheduler.mark(marker, id + "/" + (present - 1));
    }

    /** The service's thread: what was forgotten without a fence lies where it lay, and goes with what is freed next. */
    void placeLeft() {
      MapSizes sizes = new MapSizes(id);
      for (MapStatus output = (MapStatus) left.poll(); output != null; output = (MapStatus) left.poll()) {
        at(Place.of(output.location())).add(output, sizes);
      }
    }

    /** Of all outputs that were fenced and not freed. */
    long bytesThere() {
      long bytes = 0L;
      Iterator it = places.values().iterator();
      while (it.hasNext()) {
        bytes += ((Place) it.next()).bytes;
      }
      return bytes;
    }

    /** Of all outputs that were fenced and not freed. */
    List mapIds() {
      ArrayList found = new ArrayList();
      Iterator it = places.values().iterator();
      while (it.hasNext()) {
        found.addAll(((Place) it.next()).mapIds);
      }
      return found;
    }

    /** Whether files of it may lie where nobody has deleted them. */
    boolean mayLieSomewhere() {
      return !places.isEmpty() || !left.isEmpty();
    }

    Place at(Place where) {
      Place known = (Place) places.get(where.executor);
      if (known == null) {
        known = where;
        places.put(where.executor, known);
      }
      return known;
    }
  }

  private static final PerApplication OF_APPLICATION = new PerApplication();

  private final Map shuffles = new HashMap();
  private final Map owed = new HashMap(); // shuffle -> Long: outputs of older tasks do not go with those of later ones
  private final Set abandoned = new LinkedHashSet(); // let go by Spark, and files of them may lie somewhere
  private final Set scattered = Collections.newSetFromMap(new ConcurrentHashMap()); // forgotten while it may have been written
  private boolean isListening = false;
  private volatile boolean filesOutliveExecutors = false;
  private volatile Rewrites rewrites = null;
  private volatile TaskNumbers numbers = null;

  public static Generations of(Scheduler scheduler) {
    synchronized (OF_APPLICATION) {
      Generations known = (Generations) OF_APPLICATION.of(scheduler.dag);
      if (known == null) {
        known = new Generations();
        OF_APPLICATION.put(scheduler, known);
      }
      return known;
    }
  }

  public static void forget(DAGScheduler application) {
    OF_APPLICATION.remove(application);
  }

  /** Spark's cleaner says what it lets go: it is asked once, whoever attaches however often, since it keeps who asks. */
  synchronized void listenTo(ContextCleaner cleaner) {
    if (!isListening) {
      isListening = true;
      cleaner.attachListener(this);
    }
  }

  public synchronized Shuffle of(int shuffle) {
    Integer id = Integer.valueOf(shuffle);
    Shuffle known = (Shuffle) shuffles.get(id);
    if (known == null) {
      known = new Shuffle(shuffle);
      shuffles.put(id, known);
    }
    return known;
  }

  /** The number of the generation that is there, or will be written next. */
  public synchronized int presentOf(int shuffle) {
    Shuffle known = (Shuffle) shuffles.get(Integer.valueOf(shuffle));
    return known == null ? 0 : known.present;
  }

  /**
   * Spark let the shuffle go: its id will not come back. It has had all executors delete what they have; where files
   * outlive them, what still lies somewhere is kept until it is freed.
   */
  public synchronized void cleaned(int shuffle) {
    Integer id = Integer.valueOf(shuffle);
    Shuffle known = (Shuffle) shuffles.get(id);
    abandoned.remove(id);
    if (known != null && filesOutliveExecutors && known.mayLieSomewhere()) {
      abandoned.add(id); // behind the others
    } else {
      shuffles.remove(id);
    }
    owed.remove(id);
    scattered.remove(id);
  }

  /** It is known now where its files lie: Spark may have let it go before. */
  synchronized void placed(Shuffle shuffle) {
    if (filesOutliveExecutors && shuffles.get(Integer.valueOf(shuffle.id)) != shuffle) {
      shuffles.put(Integer.valueOf(shuffle.id), shuffle);
      cleaned(shuffle.id);
    }
  }

  /** One that Spark has let go, and files of it may lie somewhere: nobody asks for their deletion. Null: there is none. */
  synchronized Shuffle abandoned() {
    return abandoned.isEmpty() ? null : (Shuffle) shuffles.get(abandoned.iterator().next());
  }

  /** Files of executors that have gone are deleted by name: so it is noted where what is forgotten lies. */
  void noteWhatIsForgotten() {
    filesOutliveExecutors = true;
  }

  /** Whether what an executor has written stays when it goes. */
  public boolean doOutputsOutliveExecutors() {
    return filesOutliveExecutors || rewrites != null || numbers != null;
  }

  /** Scheduler's thread: has Spark forget what is there of it, of which no fence is told. */
  public void unregister(MapOutputTrackerMaster tracker, int shuffle) {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    if (filesOutliveExecutors && status.isDefined()) {
      leave(of(shuffle), ((ShuffleStatus) status.get()).mapStatuses());
    }
    tracker.unregisterAllMapAndMergeOutput(shuffle);
  }

  private static void leave(Shuffle shuffle, MapStatus[] outputs) {
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] != null) {
        shuffle.left.add(outputs[i]);
      }
    }
  }

  /** What tasks write of it from this one on may differ from what was read of it before. */
  public synchronized void owe(int shuffle, long task) {
    owed.put(Integer.valueOf(shuffle), Long.valueOf(task));
  }

  /** The same, found later: what is owed since a later task already stays so. */
  public synchronized void oweFrom(int shuffle, long task) {
    if (!owes(shuffle) || owedSince(shuffle) < task) {
      owe(shuffle, task);
    }
  }

  public synchronized boolean owes(int shuffle) {
    return owed.containsKey(Integer.valueOf(shuffle));
  }

  /** The number of the first task that may differ; 0 where all go together. */
  public synchronized long owedSince(int shuffle) {
    Long since = (Long) owed.get(Integer.valueOf(shuffle));
    return since == null ? 0L : since.longValue();
  }

  public synchronized Set owed() {
    return new TreeSet(owed.keySet());
  }

  /** It was written again as a whole. */
  public synchronized void paid(int shuffle) {
    owed.remove(Integer.valueOf(shuffle));
  }

  /** Who is told which shuffles are written again as a whole. */
  public void tellRewrites(Rewrites who) {
    rewrites = who;
  }

  /** Who knows which task wrote an output. */
  public void askTaskNumbers(TaskNumbers who) {
    numbers = who;
  }

  public long taskOf(MapStatus output) {
    return numbers == null ? output.mapId() : numbers.of(output);
  }

  public void rewriteBegins(int shuffle) {
    if (rewrites != null) {
      rewrites.begins(shuffle);
    }
  }

  public void forgotten(int shuffle) {
    if (rewrites != null) {
      scattered.add(Integer.valueOf(shuffle));
      rewrites.forgotten(shuffle);
    }
  }

  /** Whether outputs of it may lie where the others cannot be read with. */
  public boolean mayBeScattered(int shuffle) {
    return scattered.contains(Integer.valueOf(shuffle));
  }

  /** Scheduler's thread: a map stage of a scattered one has ended. */
  public void lookWhetherScattered(int shuffle) {
    if (rewrites == null || rewrites.isReadable(shuffle)) {
      scattered.remove(Integer.valueOf(shuffle));
    }
  }

  /** Whether tasks that begin within an attempt may read what lay there at its beginning, whatever was written since. */
  public boolean areReadersToldOnce() {
    return rewrites != null && rewrites.areReadersToldOnce();
  }

  public void rewriteEnds(int shuffle) {
    if (rewrites != null) {
      rewrites.ends(shuffle);
    }
  }

  /** App shuffles whose present generation is one that follows a fence. */
  public synchronized int[] fenced() {
    int[] ids = new int[shuffles.size()];
    int n = 0;
    Iterator it = shuffles.values().iterator();
    while (it.hasNext()) {
      Shuffle shuffle = (Shuffle) it.next();
      if (shuffle.present > 0) {
        ids[n++] = shuffle.id;
      }
    }
    int[] exact = new int[n];
    System.arraycopy(ids, 0, exact, 0, n);
    return exact;
  }

  public void shuffleCleaned(int shuffle) {
    cleaned(shuffle);
  }

  public void rddCleaned(int rdd) {}

  public void broadcastCleaned(long broadcast) {}

  public void accumCleaned(long accumulator) {}

  public void checkpointCleaned(long rdd) {}
}
