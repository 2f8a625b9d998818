package shufflelifecycle;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * Which app shuffle is written from which, and which ones a result that was delivered has read: of live jobs and of past
 * ones, since outputs outlive the job that wrote them.
 *
 * Written by the listener's thread, read in the scheduler's. What Spark's cleaner has let go is forgotten.
 */
public class History {
  private final Map readers = new HashMap(); // shuffle -> Set of the shuffles that are written from it
  private final Map inputs = new HashMap(); // shuffle -> Set of those that it is written from
  private final Map readByJob = new HashMap(); // job -> Set of what its result stage reads
  private final Set delivered = new TreeSet(); // read by a result stage that has finished

  synchronized void jobStarted(SparkListenerJobStart event) {
    Map writes = new HashMap();
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      writes.put(Integer.valueOf(stage.stageId()), Integer.valueOf(Row.shuffleOf(stage)));
    }
    it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      stage(event.jobId(), Row.shuffleOf(stage), parentsOf(stage, writes));
    }
  }

  private static Set parentsOf(StageInfo stage, Map writes) {
    Set parents = new TreeSet();
    scala.collection.Iterator it = stage.parentIds().iterator();
    while (it.hasNext()) {
      Object shuffle = writes.get(it.next());
      if (shuffle != null) {
        parents.add(shuffle);
      }
    }
    return parents;
  }

  /** A stage of a job: what it writes, -1 for a result, and what it reads. */
  synchronized void stage(int job, int writes, Set parents) {
    if (writes < 0) {
      readByJob.put(Integer.valueOf(job), parents);
      return;
    }
    Integer written = Integer.valueOf(writes);
    inputs.put(written, parents);
    Iterator it = parents.iterator();
    while (it.hasNext()) {
      Object parent = it.next();
      Set known = (Set) readers.get(parent);
      if (known == null) {
        known = new TreeSet();
        readers.put(parent, known);
      }
      known.add(written);
    }
  }

  synchronized void jobEnded(int job, boolean succeeded) {
    Set read = (Set) readByJob.remove(Integer.valueOf(job));
    if (read != null && succeeded) {
      delivered.addAll(read);
    }
  }

  synchronized void cleaned(int shuffle) {
    Integer id = Integer.valueOf(shuffle);
    readers.remove(id);
    delivered.remove(id);
    Set parents = (Set) inputs.remove(id);
    Iterator it = parents == null ? new TreeSet().iterator() : parents.iterator();
    while (it.hasNext()) {
      Set known = (Set) readers.get(it.next());
      if (known != null) {
        known.remove(id);
      }
    }
  }

  /** App shuffles whose map stage reads this one. */
  synchronized Set readersOf(int shuffle) {
    Set known = (Set) readers.get(Integer.valueOf(shuffle));
    return known == null ? new TreeSet() : new TreeSet(known);
  }

  /** Whether a result that somebody has was computed from it; said once. */
  synchronized boolean takeDelivered(int shuffle) {
    return delivered.remove(Integer.valueOf(shuffle));
  }
}
