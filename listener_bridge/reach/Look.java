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
 * One look: every root in the JVM and its cut, as text. Used once, by one thread.
 *
 * Responsible for going to each kind of root. Refuses to know how a cut is found (`Lineage`, `Queries`, `Contents`).
 * Invariant: a root whose cut cannot be found needs every app shuffle, and the others are told all the same. Only a look
 * that passes its deadline, or cannot find out which roots there are, fails as a whole.
 */
public class Look {
  /** What is told of one root. */
  private static class Root {
    final String kind; // as `findings.Kind` of Python
    final String why; // for people
    final Ids needs;

    Root(String kind, String why, Ids needs) {
      this.kind = kind;
      this.why = why;
      this.needs = needs;
    }
  }

  private final SparkContext context;
  private final Intact intact;
  private final Deadline deadline;
  private final LibraryRdds ofLibraries;
  private final Lineage lineage;
  private final Queries queries;
  private final Contents contents;
  private final Map roots = new TreeMap(); // id -> Root

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

  /** The running SQL executions. */
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

  /** The objects that py4j binds, but for the dead ones. `bound`: id -> object; `dead`: ids. */
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

  /** The persisted RDDs. */
  public void persisted() {
    scala.collection.Iterator it = context.getPersistentRDDs().valuesIterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (CachedRdds.ever(rdd)) {
        object("rdd " + rdd.id(), "persisted", "persisted " + called(rdd), rdd);
      }
    }
  }

  /** RDDs that a library has dropped and somebody may still read. To be called behind all other roots: `LibraryRdds`. */
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

  /** RDDs that Spark will compute once more, after a job, to checkpoint them. Walking these leads to further ones. */
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

  /** Temporary views, cached tables and streaming queries. */
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

  /** The streaming graph that runs, and any that a bound context holds: one that is starting is not yet told to run. */
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
   * While a graph makes a batch, RDDs move between its tables, and for a moment are in none. So it is read twice, and asked
   * in between whether it makes one: if it does not, each RDD was seen by one of the two readings.
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

  /** Tells a root. One that is told twice needs what was found either time. */
  private void root(String id, String kind, String why, Ids needs) {
    String fault = lineage.takeFault();
    Root before = (Root) roots.get(id);
    Ids all = before == null ? needs : needs.and(before.needs);
    roots.put(id, new Root(kind, fault == null ? why : why + "; " + fault, all));
  }

  /** The fields of a JSON object: `roots`, each as an array of id, kind, why and app shuffles; and `everything`: null. */
  public String toString() {
    StringBuilder text = new StringBuilder("\"roots\":[");
    Iterator it = roots.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Root root = (Root) entry.getValue();
      Row.quote(text.append('['), (String) entry.getKey());
      Row.quote(text.append(",\"").append(root.kind).append("\","), root.why);
      text.append(',').append(root.needs).append(it.hasNext() ? "]," : "]");
    }
    return text.append("],\"everything\":null").toString();
  }
}
