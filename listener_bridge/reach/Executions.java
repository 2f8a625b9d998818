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
 * The SQL executions that are running, nested ones too, and what their jobs have written so far.
 *
 * Which ones run is Spark's own table, which knows them before their first event. What they wrote comes from the bus, on
 * the tap's queue: what was complete at a marker on that queue is in here when the marker has passed. Where the queue has
 * dropped events, each of them may have written whatever there is by then.
 *
 * A command may run others within its own execution, and come back to what they have computed: it iterates over a frame
 * whose execution is over when the iterator is there, or asks the same frame twice. So what the query of such an inner one
 * needs, once that is over, stays until the outermost is; and while it runs what its frame may be built upon again.
 */
public class Executions extends SparkListener {
  private static final String ID = "spark.sql.execution.id";
  private static final String ROOT_ID = "spark.sql.execution.root.id";

  /** An execution within another one whose jobs have written. */
  private static class Inner {
    final Long root; // the outermost one
    boolean isOver = false; // and all that is needed of it is below
    Object query = null; // until a look has come to it
    Ids needs = Ids.NONE;

    Inner(Long root) {
      this.root = root;
    }
  }

  private final SparkContext context;
  private final Map table; // Spark's: execution -> query
  private final Map written = new HashMap(); // execution -> Set of shuffles
  private final Map shown = new HashMap(); // execution -> Ids that its plan has shown as materialised, ever
  private final Map inner = new HashMap(); // execution -> Inner
  private final Set unheard = new HashSet(); // executions whose beginning was before ours
  private long dropsSeen; // of the queue

  public Executions(SparkContext context) throws Exception {
    this.context = context;
    Class type = Class.forName("org.apache.spark.sql.execution.SQLExecution$", true, Thread.currentThread().getContextClassLoader());
    Field field = type.getDeclaredField("executionIdToQueryExecution");
    field.setAccessible(true);
    table = (Map) field.get(type.getField("MODULE$").get(null));
    dropsSeen = Tap.drops(context.listenerBus());
  }

  /** To be called when the bus has us: what runs by now may have written what we shall never hear of. */
  public void begin() {
    synchronized (written) {
      unheard.addAll(table.keySet());
    }
  }

  /** To be called before a look, behind its marker: whatever was dropped before that is counted. `all`: what there is. */
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

  /** Execution -> query, of now; the table is one a JVM, and applications that ended there may have left queries in it. */
  public Map running() {
    synchronized (written) {
      forgetInner(null);
      Set told = new HashSet(table.keySet());
      told.addAll(inner.keySet());
      written.keySet().retainAll(told); // stages of cancelled jobs turn up after their execution's end
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

  /** Those whose outermost one has ended, as Spark's table says or, where it is not null, `ended`. */
  private void forgetInner(Long ended) {
    Iterator it = inner.values().iterator();
    while (it.hasNext()) {
      Long root = ((Inner) it.next()).root;
      if (root.equals(ended) || !table.containsKey(root)) {
        it.remove();
      }
    }
  }

  /** What the inner executions of one need beside what running them does: what they wrote where nothing better is known. */
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
      if (running == null && !one.isOver) { // has just ended, which nobody has told yet
        Set wrote = (Set) written.get(execution);
        return wrote == null ? Ids.NONE : Ids.of(wrote);
      }
      query = one.query;
    }
    if (running != null) { // and is looked at itself
      return queries.source((QueryExecution) running);
    }
    if (query instanceof QueryExecution) {
      one.needs = queries.held((QueryExecution) query); // without the lock: the listener takes it
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

  public boolean isUnheard(Object execution) {
    synchronized (written) {
      return unheard.contains(execution);
    }
  }

  /** What the execution's jobs wrote and its plan has never shown: until it does, it may be about to be read. */
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
