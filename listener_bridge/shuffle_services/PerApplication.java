package shufflelifecycle;

import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.SparkListener;

/**
 * One value for each application: whoever attaches again finds what was there before.
 *
 * Invariant: nothing here keeps an application alive. A value may reach its context, so it is held by what dies with the
 * context: its listener bus, which lets go of all its listeners when it is stopped. The queue is one that every driver has;
 * one of our own would wake a thread for each event.
 */
public class PerApplication {
  private static class Held extends SparkListener {
    private final Object value;

    Held(Object value) {
      this.value = value;
    }
  }

  private final Map values = Collections.synchronizedMap(new WeakHashMap()); // DAG scheduler -> WeakReference

  /** Null where there is none. Who then makes one does both under the monitor of this object. */
  public Object of(DAGScheduler application) {
    WeakReference known = (WeakReference) values.get(application);
    return known == null ? null : known.get();
  }

  public void put(Scheduler scheduler, Object value) {
    scheduler.bus.addToStatusQueue(new Held(value));
    values.put(scheduler.dag, new WeakReference(value));
  }

  /** For the listener's thread, which a bus that is being stopped waits for: it waits for nobody who asks the bus. */
  public void remove(DAGScheduler application) {
    values.remove(application);
  }
}
