package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * The SQL executions that are running, inner ones too, and what their jobs have written so far.
 *
 * Which ones run is read from Spark's own table, which has an execution before its first event. What their jobs wrote is heard
 * from the listener bus, on the tap's queue: what was complete at a marker on that queue is known here when the marker has
 * passed. If the queue has dropped events, each running execution counts as having written everything that there is.
 *
 * A command may run inner executions within its own, and come back to what they have computed: it iterates over a DataFrame
 * whose execution ended when the iterator was made, or runs an action on the same DataFrame twice. So what the query of an
 * inner execution needs is held, after its end, until the outermost execution ends; and while it runs, what the DataFrame
 * was built upon.
 */
public class Executions extends SparkListener {
  private static final String ID = "spark.sql.execution.id";
  private static final String ROOT_ID = "spark.sql.execution.root.id";

  /** An execution within another one whose jobs have written. */
  private static class Inner {
    final Long root; // the outermost one
    boolean isOver = false;
    Object query = null; // its query from its end on, until a look has worked out `needs`
    Ids needs = Ids.NONE; // what is held since its end: what it wrote, then what its query needs

    Inner(Long root) {
      this.root = root;
    }
  }

  private final SparkContext context;
  private final Map table; // Spark's: execution -> query
  private final Map written = new HashMap(); // execution -> Set of shuffles
  private final Map shown = new HashMap(); // execution -> Ids that its plan has shown as materialised, ever
  private final Map inner = new HashMap(); // execution -> Inner
  private final Set unheard = new HashSet(); // executions that began before we listened
  private long dropsSeen; // of the queue

  public Executions(SparkContext context) throws Exception {
    this.context = context;
    Class type = Class.forName("org.apache.spark.sql.execution.SQLExecution$", true, Thread.currentThread().getContextClassLoader());
    Field field = type.getDeclaredField("executionIdToQueryExecution");
    field.setAccessible(true);
    table = (Map) field.get(type.getField("MODULE$").get(null));
    dropsSeen = Tap.drops(context.listenerBus());
  }

  /** To be called when the bus knows this listener: what runs by then may have written what will never be heard of. */
  public void begin() {
    synchronized (written) {
      unheard.addAll(table.keySet());
    }
  }

  /** To be called at a look, when its marker has passed: counts events dropped until then. `all`: every app shuffle. */
  public void noteDrops(Ids all) {
    long now = Tap.drops(context.listenerBus());
    if (now != dropsSeen) {
      dropsSeen = now;
      Iterator it = table.keySet().iterator();
      while (it.hasNext()) {
        wrote((Long) it.next(), all);
      }
    }
  }

  /** Execution -> query, as they run now. Spark's table is one for the JVM: queries of ended applications are left out. */
  public Map running() {
    synchronized (written) {
      forgetInner(null);
      Set told = new HashSet(table.keySet());
      told.addAll(inner.keySet());
      written.keySet().retainAll(told); // a cancelled job may submit stages after its execution has ended
      shown.keySet().retainAll(table.keySet());
      unheard.retainAll(table.keySet());
    }
    TreeMap ours = new TreeMap(table);
    Iterator it = ours.values().iterator();
    while (it.hasNext()) {
      if (isForeign(it.next())) {
        it.remove();
      }
    }
    return ours;
  }

  /** Forgets inner executions whose outermost one is `ended`, or is no longer in Spark's table. */
  private void forgetInner(Long ended) {
    Iterator it = inner.values().iterator();
    while (it.hasNext()) {
      Long root = ((Inner) it.next()).root;
      if (root.equals(ended) || !table.containsKey(root)) {
        it.remove();
      }
    }
  }

  /** What the inner executions of an outermost one need, beside what the walk of those that run finds. */
  public Ids neededWithin(Object root, Queries queries) {
    Ids needs = Ids.NONE;
    Iterator it = innerOf(root).entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      needs = needs.and(needsOf(entry.getKey(), (Inner) entry.getValue(), queries));
    }
    return needs;
  }

  private Map innerOf(Object root) {
    HashMap found = new HashMap();
    synchronized (written) {
      Iterator it = inner.entrySet().iterator();
      while (it.hasNext()) {
        Map.Entry entry = (Map.Entry) it.next();
        if (((Inner) entry.getValue()).root.equals(root)) {
          found.put(entry.getKey(), entry.getValue());
        }
      }
    }
    return found;
  }

  private Ids needsOf(Object execution, Inner one, Queries queries) {
    Object query;
    Object running;
    synchronized (written) {
      running = one.isOver ? null : table.get(execution);
      if (running == null && !one.isOver) { // it has ended, and its end was not heard of yet
        Set wrote = (Set) written.get(execution);
        return wrote == null ? Ids.NONE : Ids.of(wrote);
      }
      query = one.query;
    }
    if (running != null) { // its own walk finds the rest
      return queries.source((QueryExecution) running);
    }
    if (query instanceof QueryExecution) {
      one.needs = queries.held((QueryExecution) query); // not under the lock, for which the listener would wait
      one.query = null;
    }
    return one.needs;
  }

  private boolean isForeign(Object query) {
    Object own = Fields.get(Fields.get(query, "sparkSession"), "sparkContext");
    return own != null && own != context;
  }

  public void onStageSubmitted(SparkListenerStageSubmitted event) {
    Properties properties = event.properties();
    String execution = properties == null ? null : properties.getProperty(ID);
    int shuffle = Row.shuffleOf(event.stageInfo());
    if (execution != null && shuffle >= 0) {
      within(Long.valueOf(execution), properties.getProperty(ROOT_ID));
      wrote(Long.valueOf(execution), Ids.of(shuffle));
    }
  }

  private void within(Long execution, String root) {
    if (root != null && !root.equals(execution.toString())) {
      synchronized (written) {
        if (!inner.containsKey(execution)) {
          inner.put(execution, new Inner(Long.valueOf(root)));
        }
      }
    }
  }

  private void wrote(Long execution, Ids more) {
    synchronized (written) {
      Set shuffles = (Set) written.get(execution);
      if (shuffles == null) {
        shuffles = new HashSet();
        written.put(execution, shuffles);
      }
      more.addTo(shuffles);
    }
  }

  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionEnd) {
      Long execution = Long.valueOf(((SparkListenerSQLExecutionEnd) event).executionId());
      synchronized (written) {
        Inner ended = (Inner) inner.get(execution);
        if (ended != null && !ended.isOver) {
          ended.needs = written.containsKey(execution) ? Ids.of((Set) written.get(execution)) : Ids.NONE;
          ended.query = Fields.get(event, "qe");
          ended.isOver = true;
        }
        forgetInner(execution);
        written.remove(execution);
        shown.remove(execution);
        unheard.remove(execution);
      }
    }
  }

  /** Whether it began before we listened, so that nobody knows what it wrote. */
  public boolean isUnheard(Object execution) {
    synchronized (written) {
      return unheard.contains(execution);
    }
  }

  /** What the execution's jobs wrote and its plan has never shown: a stage that is not in the plan yet may be read. */
  public Ids hidden(Object execution, Ids shownNow) {
    synchronized (written) {
      Set shuffles = (Set) written.get(execution);
      if (shuffles == null) {
        return Ids.NONE;
      }
      Ids before = (Ids) shown.get(execution);
      Ids ever = before == null ? shownNow : before.and(shownNow);
      shown.put(execution, ever);
      return Ids.of(shuffles).without(ever);
    }
  }
}
