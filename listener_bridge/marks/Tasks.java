package shufflelifecycle;

import java.util.Arrays;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;

/** The numbers of the tasks that wrote what is there of a shuffle. Spark counts tasks through all of an application. */
class Tasks {
  static final long NONE = Long.MAX_VALUE;
  private final long[] byOutput; // NONE where it is not there
  private final long[] sorted;
  private final boolean isWhole;

  Tasks(Generations generations, MapOutputTrackerMaster tracker, int shuffle) {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    MapStatus[] outputs = status.isDefined() ? ((ShuffleStatus) status.get()).mapStatuses() : new MapStatus[0];
    long[] found = new long[outputs.length];
    byOutput = new long[outputs.length];
    Arrays.fill(byOutput, NONE);
    int n = 0;
    for (int i = 0; i < outputs.length; i++) {
      MapStatus output = outputs[i]; // read once: the scheduler's thread may take it away meanwhile
      if (output != null) {
        byOutput[i] = generations.taskOf(output);
        found[n++] = byOutput[i];
      }
    }
    sorted = Arrays.copyOf(found, n);
    Arrays.sort(sorted);
    isWhole = outputs.length > 0 && n == outputs.length;
  }

  /** Whether no output is missing. */
  boolean areAll() {
    return isWhole;
  }

  /** NONE where nothing is there. */
  long first() {
    return sorted.length == 0 ? NONE : sorted[0];
  }

  /** NONE where nothing is there. */
  long last() {
    return sorted.length == 0 ? NONE : sorted[sorted.length - 1];
  }

  /** The first that did not begin before this one. */
  long firstFrom(long task) {
    for (int i = 0; i < sorted.length; i++) {
      if (sorted[i] >= task) {
        return sorted[i];
      }
    }
    return NONE;
  }

  /** Whether some began before this one, and others did not, and none is missing. */
  boolean areBeforeAndFrom(long task) {
    return isWhole && first() < task && firstFrom(task) != NONE;
  }

  /** Whether one of them wrote what is older than what is written now. */
  boolean isOneOf(Older older) {
    for (int i = 0; i < byOutput.length; i++) {
      if (byOutput[i] < older.below(i)) {
        return true;
      }
    }
    return false;
  }

  /** The first that began after this one. */
  long firstSince(long task) {
    return task == NONE ? NONE : firstFrom(task + 1L);
  }
}
