package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDDLike;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/**
 * One look: every root and its cut, as text. Used once, by one thread.
 *
 * Invariant: one root that cannot be told needs everything, and stops no other. Only a look that is late, or could not
 * see which roots there are, fails as a whole.
 */
public class Look {
  private final SparkContext context;
  private final Intact intact;
  private final Deadline deadline;
  private final LibraryRdds ofLibraries;
  private final Lineage lineage;
  private final Queries queries;
  private final Contents contents;
  private final Map roots = new TreeMap(); // id -> {kind, why, Ids}

  public Look(
      SparkContext context, Intact intact, Ids announced, boolean executorsStay, LibraryRdds ofLibraries, Deadline deadline) {
    this.context = context;
    this.intact = intact;
    this.deadline = deadline;
    this.ofLibraries = ofLibraries;
    this.lineage = new Lineage(context, intact, announced, new CachedRdds(context, executorsStay, ofLibraries), deadline);
    this.queries = new Queries(lineage, deadline);
    this.contents = new Contents(lineage, queries, deadline);
  }

  public void executions(Executions executions) {
    Iterator it = executions.running().entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      execution(executions, entry.getKey(), (QueryExecution) entry.getValue());
    }
  }

  private void execution(Executions executions, Object id, QueryExecution query) {
    Ids needs;
    String why = "SQL execution " + id;
    try {
      Stages shown = new Stages(lineage, deadline);
      needs = queries.running(query, shown);
      needs = needs.and(executions.neededWithin(id, queries));
      needs = executions.isUnheard(id) ? intact.all() : needs.and(executions.hidden(id, shown.shown()));
    } catch (Deadline.Passed late) {
      throw late;
    } catch (Throwable failure) {
      needs = intact.all();
      why = why + unable(failure);
    }
    root("execution " + id, "plan", why, needs);
  }

  public void bindings(Map bound, Set dead) {
    Iterator it = bound.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Object object = entry.getValue();
      if (object != null && !dead.contains(entry.getKey()) && !Contents.isDull(object.getClass())) {
        object((String) entry.getKey(), isHandle(object) ? "handle" : "jvm object", word(object), object);
      }
    }
  }

  private static boolean isHandle(Object object) {
    return object instanceof RDD || object instanceof JavaRDDLike || object.getClass().getSimpleName().equals("Dataset");
  }

  private static String word(Object object) {
    return "a " + object.getClass().getSimpleName();
  }

  private void object(String id, String kind, String word, Object object) {
    Ids needs;
    String why = word;
    try {
      needs = contents.of(object);
    } catch (Deadline.Passed late) {
      throw late;
    } catch (Throwable failure) {
      needs = intact.all();
      why = why + unable(failure);
    }
    if (!needs.isEmpty()) {
      root(id, kind, why, needs);
    }
  }

  public void persisted() {
    scala.collection.Iterator it = context.getPersistentRDDs().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (CachedRdds.ever(rdd)) {
        object("rdd " + rdd.id(), "persisted", "persisted " + called(rdd), rdd);
      }
    }
  }

  /** To be called when all other roots were looked at: what a library has dropped, and somebody may still read. */
  public void dropped() {
    scala.collection.Map persisted = context.getPersistentRDDs();
    Iterator it = ofLibraries.alive().iterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (!persisted.contains(Integer.valueOf(rdd.id()))) {
        object("rdd " + rdd.id(), "persisted", "dropped by its library, and not collected: " + called(rdd), rdd);
      }
    }
  }

  /** `RDD 12, ratingBlocks (mapPartitions at ALS.scala:1782)`: the name that it was given, and where it was made. */
  private static String called(RDD rdd) {
    Object name = Fields.get(RDD.class, rdd, "name");
    Object site = Fields.get(Fields.get(RDD.class, rdd, "creationSite"), "shortForm");
    String named = name == null ? "" : ", " + Row.shortened(Row.firstLine((String) name), 80);
    return "RDD " + rdd.id() + named + (site == null ? "" : " (" + Row.shortened((String) site, 200) + ")");
  }

  /** Spark calls a cached frame without a name after its plan, whose first line may only say that it is adaptive. */
  private static String called(String cachedName) {
    int adapted = cachedName.startsWith("AdaptiveSparkPlan ") ? cachedName.indexOf("+- ") : -1;
    return Row.shortened(Row.firstLine(adapted < 0 ? cachedName : cachedName.substring(adapted + 3)), 80);
  }

  /** What jobs will compute once more when they have ended. Behind these are others. */
  public void checkpoints() {
    Checkpoints checkpoints = new Checkpoints(context, deadline);
    List ends = lineage.takeEnds();
    while (!ends.isEmpty()) {
      Iterator awaited = checkpoints.awaited(ends).iterator();
      while (awaited.hasNext()) {
        RDD rdd = (RDD) awaited.next();
        object("checkpoint " + rdd.id(), "persisted", called(rdd) + ", to be checkpointed", rdd);
      }
      ends = lineage.takeEnds();
    }
  }

  public void sessions(Sessions sessions) {
    List views = sessions.views();
    for (int i = 0; i < views.size(); i++) {
      Object[] view = (Object[]) views.get(i);
      object((String) view[0], "handle", (String) view[0], view[1]);
    }
    List tables = sessions.cachedTables();
    for (int i = 0; i < tables.size(); i++) {
      InMemoryRelation table = (InMemoryRelation) tables.get(i);
      int id = System.identityHashCode(table.cacheBuilder()); // stable, and of no meaning to anybody
      object("cached table " + id, "persisted", "cached: " + called(table.cacheBuilder().cachedName()), table);
    }
    List streams = sessions.streams();
    for (int i = 0; i < streams.size(); i++) {
      object("stream " + Fields.get(streams.get(i), "id"), "stream", "streaming query", streams.get(i));
    }
  }

  /** The graph that runs, or one that is about to: what starts it says that it runs only when it already does. */
  public void streamingGraphs(Map bound) {
    Object running = Streams.running();
    streamingGraph(running);
    Iterator it = bound.values().iterator();
    while (it.hasNext()) {
      Object context = Streams.contextOf(it.next());
      if (context != running) {
        streamingGraph(context);
      }
    }
  }

  /**
   * RDDs move through a graph while it makes a batch, and for a moment are in none of its tables. Unless it makes one
   * between two readings, the first or the second one sees each of them.
   */
  private void streamingGraph(Object context) {
    if (context != null) {
      object("streaming graph", "stream", "the streaming graph", new Object[] {context});
      if (Streams.isMakingBatch(context)) {
        root("streaming graph", "stream", "the streaming graph; it makes a batch", intact.all());
      }
      object("streaming graph", "stream", "the streaming graph", new Object[] {context});
    }
  }

  private static String unable(Throwable failure) {
    return "; cannot be told: " + Row.shortened(String.valueOf(failure), 300);
  }

  /** What one root is found to need twice, it needs once. */
  private void root(String id, String kind, String why, Ids needs) {
    String fault = lineage.takeFault();
    Object[] before = (Object[]) roots.get(id);
    Ids all = before == null ? needs : needs.and((Ids) before[2]);
    roots.put(id, new Object[] {kind, fault == null ? why : why + "; " + fault, all});
  }

  /** The fields of a JSON object. */
  public String toString() {
    StringBuilder text = new StringBuilder("\"roots\":[");
    Iterator it = roots.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Object[] root = (Object[]) entry.getValue();
      Row.quote(text.append('['), (String) entry.getKey());
      Row.quote(text.append(",\"").append(root[0]).append("\","), (String) root[1]);
      text.append(',').append(root[2]).append(it.hasNext() ? "]," : "]");
    }
    return text.append("],\"everything\":null").toString();
  }
}
