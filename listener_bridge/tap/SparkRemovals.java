package shufflelifecycle;

import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * What Spark itself removes when an SQL execution ends, where it is set to (since 4.0, off by default): the shuffles of its
 * plan, registered and written no more, without an event. They are told as outputs that are gone, before the job is told
 * that has them written again: else what that job comes to, behind them, would count as deleted too early by us.
 *
 * To be used in the listener's thread, but for what says otherwise. Invariant: tells only what was complete; without the
 * setting it remembers nothing.
 */
class SparkRemovals {
  private static final String[] SETTINGS = {
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled", // since 4.1
    "spark.sql.shuffleDependency.fileCleanup.enabled"
  };

  private final MapOutputTrackerMaster tracker;
  private final Map complete = new ConcurrentHashMap(); // shuffle -> how many outputs it has
  private boolean isSet = false; // a job's properties carry the settings of its session

  SparkRemovals(MapOutputTrackerMaster tracker) {
    this.tracker = tracker;
  }

  /** Of what it lists; to be told before it. */
  void jobStarted(SparkListenerJobStart event, FactListener to) {
    isSet = isSet || says(event.properties());
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (isSet && it.hasNext()) {
      Integer shuffle = Integer.valueOf(Row.shuffleOf((StageInfo) it.next()));
      if (complete.containsKey(shuffle) && isGone(shuffle, true)) {
        tell(shuffle, to);
      }
    }
  }

  void executionEnded(FactListener to) {
    for (Iterator it = complete.keySet().iterator(); it.hasNext();) {
      Integer shuffle = (Integer) it.next();
      if (isGone(shuffle, false)) {
        tell(shuffle, to);
      }
    }
  }

  /** Its map stage came to its end. */
  void written(int shuffle) {
    ShuffleStatus status = isSet && shuffle >= 0 ? statusOf(shuffle) : null;
    if (status != null) {
      complete.put(Integer.valueOf(shuffle), Integer.valueOf(status.mapStatuses().length));
    }
  }

  /** Any thread. */
  void cleaned(int shuffle) {
    complete.remove(Integer.valueOf(shuffle));
  }

  private void tell(Integer shuffle, FactListener to) {
    Integer total = (Integer) complete.remove(shuffle);
    if (total != null) {
      to.put(new Row("outputs").number("shuffle", shuffle.intValue()).number("available", 0L).number("total", total.intValue()));
    }
  }

  /** Not registered; or again, by a job that has it written, and empty. */
  private boolean isGone(Integer shuffle, boolean isListed) {
    ShuffleStatus status = statusOf(shuffle.intValue());
    return status == null || (isListed && Outputs.available(status) == 0);
  }

  private ShuffleStatus statusOf(int shuffle) {
    scala.Option found = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    return found.isDefined() ? (ShuffleStatus) found.get() : null;
  }

  private static boolean says(Properties properties) {
    for (int i = 0; properties != null && i < SETTINGS.length; i++) {
      if ("true".equals(properties.getProperty(SETTINGS[i]))) {
        return true;
      }
    }
    return false;
  }
}
