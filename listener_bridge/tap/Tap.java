package shufflelifecycle;

import com.codahale.metrics.Counter;
import java.lang.reflect.Field;
import java.util.Collection;
import org.apache.spark.ContextCleaner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.LiveListenerBus;

/** The tap on one application: what Python holds. One instance an application; `close` ends its stream for good. */
public class Tap {
  public static final String QUEUE = "shuffleLifecycle";
  public static final String DROPS = "queue." + QUEUE + ".numDroppedEvents"; // among the bus' metrics

  private final Scheduler scheduler;
  private final FactListener listener;
  private final Outputs outputs;
  private final MapOutputTrackerMaster tracker;
  private final RowBuffer rows;
  private final ContextCleaner cleaner; // null where Spark has none

  public Tap(Object sc, Object tracker, Object capacityChars, Object promptBytes) {
    SparkContext context = (SparkContext) sc;
    this.scheduler = new Scheduler(context);
    this.tracker = (MapOutputTrackerMaster) tracker;
    this.rows = new RowBuffer(((Number) capacityChars).longValue());
    this.cleaner = context.cleaner().isDefined() ? (ContextCleaner) context.cleaner().get() : null;
    this.outputs = new Outputs(scheduler, this.tracker);
    this.listener = new FactListener(
        rows, scheduler, outputs, new SparkRemovals(this.tracker), ((Number) promptBytes).longValue());
    attach();
  }

  /** How many events our queue has dropped, whoever is on it. */
  public static long drops(LiveListenerBus bus) {
    Counter counter = (Counter) bus.metrics().metricRegistry().getCounters().get(DROPS);
    return counter == null ? 0L : counter.getCount(); // there is none before the queue
  }

  private void attach() {
    scheduler.bus.addToQueue(listener, QUEUE); // the hook of `marks` is in it too: its drops are ours alone
    Object counter = scheduler.bus.metrics().metricRegistry().getCounters().get(DROPS);
    listener.watchDrops((Counter) counter);
    if (cleaner != null) {
      cleaner.attachListener(listener);
    }
  }

  public Scheduler scheduler() {
    return scheduler;
  }

  public StageMemory stages() {
    return listener.stages;
  }

  public String take(int max, long timeoutMs) throws InterruptedException {
    String batch = rows.take(max, timeoutMs);
    listener.tellBusDrops();
    return batch;
  }

  public void mark(String name, String payload) {
    scheduler.mark(name, payload);
  }

  /** JSON, or null where the scheduler did not come to it in time. */
  public String snapshot(String marker, long timeoutMs) throws Exception {
    return (String) scheduler.call(new Snapshot(scheduler, tracker, listener.describe, marker), timeoutMs);
  }

  /** Somebody has forgotten outputs: what is not there any more is looked at and told. Any thread. */
  public void lookAtOutputs() {
    outputs.suspect();
  }

  /** From now on RDD `rdd` is told with the level that it declared, whatever it has been marked with. */
  public void declareLevel(int rdd, String level) {
    listener.describe.declaredLevels.put(Integer.valueOf(rdd), level);
  }

  public void forgetLevel(int rdd) {
    listener.describe.declaredLevels.remove(Integer.valueOf(rdd));
  }

  /** Ends the stream. The listener leaves the bus; one `take` under way returns. */
  public void close() {
    rows.close();
    scheduler.bus.removeListener(listener);
    leaveCleaner();
  }

  /** Spark has no word for it, and would keep us, and tell us of each shuffle, for as long as the application lives. */
  private void leaveCleaner() {
    try {
      Field listeners = ContextCleaner.class.getDeclaredField("listeners");
      listeners.setAccessible(true);
      if (cleaner != null) {
        ((Collection) listeners.get(cleaner)).remove(listener);
      }
    } catch (Throwable unknown) { // reading the fields of a class may need classes that are not there: we stay, closed
    }
  }
}
