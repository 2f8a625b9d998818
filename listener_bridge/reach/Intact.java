package shufflelifecycle;

import java.util.ArrayList;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import scala.Option;

/** Which app shuffles have all their map outputs, as the driver's map output tracker has it. Read without its locks. */
public class Intact {
  private final MapOutputTrackerMaster tracker;

  public Intact(MapOutputTrackerMaster tracker) {
    this.tracker = tracker;
  }

  public boolean is(int shuffle) {
    Option found = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    if (!found.isDefined()) {
      return false;
    }
    ShuffleStatus status = (ShuffleStatus) found.get();
    return Outputs.available(status) == status.mapStatuses().length;
  }

  /** Every app shuffle that Spark knows: what a root needs whose cut cannot be found. */
  public Ids all() {
    ArrayList ids = new ArrayList();
    scala.collection.Iterator it = tracker.shuffleStatuses().keysIterator();
    while (it.hasNext()) {
      ids.add(it.next());
    }
    return Ids.of(ids);
  }
}
