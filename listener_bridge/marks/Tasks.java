package shufflelifecycle;

import java.util.Arrays;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;

/** The numbers of the tasks that wrote what is there of a shuffle. Spark counts tasks through all of an application. */
class Tasks {
  static final long NONE = Long.MAX_VALUE;
  private final long[] sorted;

  Tasks(ShuffleStatus status) {
    MapStatus[] outputs = status == null ? new MapStatus[0] : status.mapStatuses();
    long[] found = new long[outputs.length];
    int n = 0;
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] != null) {
        found[n++] = outputs[i].mapId();
      }
    }
    sorted = Arrays.copyOf(found, n);
    Arrays.sort(sorted);
  }

  /** NONE where nothing is there. */
  long first() {
    return sorted.length == 0 ? NONE : sorted[0];
  }

  /** The first of the last so many. */
  long firstOfLast(int count) {
    return sorted.length == 0 ? NONE : sorted[Math.max(0, sorted.length - count)];
  }

  /** The first that began after this one. */
  long firstSince(long task) {
    for (int i = 0; i < sorted.length; i++) {
      if (sorted[i] > task) {
        return sorted[i];
      }
    }
    return NONE;
  }
}
