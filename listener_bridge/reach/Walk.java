package shufflelifecycle;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;

/**
 * The JVM's half of looks at one application, which Python holds as one object. A look is one call (`look`), by one thread at
 * a time.
 *
 * Responsible for the order in which a look goes to its roots. Invariant: it never throws; what went wrong is told as text.
 */
public class Walk {
  private final SparkContext context;
  private final Intact intact;
  private final Bindings bindings;
  private final Executions executions;
  private final boolean executorsStay;
  private final LibraryRdds ofLibraries = new LibraryRdds();
  private final Effort effort = new Effort();

  public Walk(Object sc, Object tracker, Object server) throws Exception {
    this.context = (SparkContext) sc;
    this.intact = new Intact((MapOutputTrackerMaster) tracker);
    this.bindings = new Bindings(server);
    this.executions = new Executions(context);
    this.executorsStay = !context.conf().getBoolean("spark.dynamicAllocation.enabled", false);
    context.listenerBus().addToQueue(executions, Tap.QUEUE);
    executions.begin();
  }

  /**
   * Takes a look and gives it as JSON. `dead`: py4j's ids of the objects that are no roots; `announced`: app shuffles behind
   * which no walk goes on (`Lineage`). Both are separated by blanks.
   */
  public String look(String dead, String announced, long deadlineMs) {
    long began = effort.nanos();
    String found = found(dead, announced, deadlineMs);
    return "{\"jvm_ns\":" + (effort.nanos() - began) + "," + found + "}";
  }

  private String found(String dead, String announced, long deadlineMs) {
    try {
      Look look = new Look(context, intact, Ids.of(announced), executorsStay, ofLibraries, new Deadline(deadlineMs));
      executions.noteDrops(intact.all());
      Map bound = bindings.read();
      look.sessions(new Sessions(bound.values()));
      bound.putAll(bindings.read()); // a view may have become a handle meanwhile; views are looked at again below
      look.bindings(bound, new HashSet(Arrays.asList(dead.split(" "))));
      look.executions(executions);
      look.persisted();
      look.sessions(new Sessions(bound.values()));
      look.streamingGraphs(bound);
      look.dropped();
      look.checkpoints();
      return look.toString();
    } catch (Throwable failure) {
      return everything(Row.shortened(String.valueOf(failure), 500));
    }
  }

  private static String everything(String why) {
    StringBuilder text = new StringBuilder("\"roots\":[],\"everything\":");
    Row.quote(text, why);
    return text.toString();
  }

  public void close() {
    context.listenerBus().removeListener(executions);
  }
}
