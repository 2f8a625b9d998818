package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * Which app shuffles a stage reads and writes, for as long as one of its tasks may run. Spark's scheduler forgets a stage when
 * its last job ends, while tasks of a cancelled job may run on.
 *
 * A task counts from its start to its end, as the listener bus tells them. The end is posted when the DAG scheduler has handled
 * it, so no other place knows of a task for longer. Tasks are kept by their ids, so an end changes nothing if it comes twice
 * (as for a task whose output was lost later) or without a start.
 *
 * Written by the listener's thread alone, read from any. A stage that is not in here is unknown; it may read anything.
 */
public class StageMemory {
  /** What one stage reads and writes, and who may still do so. */
  public static class Use {
    public final int writes; // -1: no shuffle
    public final int[] reads;
    final Set tasks = Collections.newSetFromMap(new ConcurrentHashMap()); // ids of the tasks that have not ended
    int jobs; // live ones that list the stage

    Use(int writes, int[] reads) {
      this.writes = writes;
      this.reads = reads;
    }

    public boolean reads(int shuffle) {
      for (int i = 0; i < reads.length; i++) {
        if (reads[i] == shuffle) {
          return true;
        }
      }
      return false;
    }

    /** Whether a task of the stage has started and its end was not told yet. */
    public boolean hasUnended() {
      return !tasks.isEmpty();
    }
  }

  /** A task that was writing when the driver lost its executor: its file may appear later, without a map output. */
  public static class LostWriter {
    public final int shuffle;
    public final String host;
    public final String executor;
    public final long mapId;
    public int silences = 0; // how often in a row the question for its file got no answer

    LostWriter(int shuffle, String host, String executor, long mapId) {
      this.shuffle = shuffle;
      this.host = host;
      this.executor = executor;
      this.mapId = mapId;
    }
  }

  private static final int LOST_WRITERS_CAPACITY = 10000;

  private final ConcurrentHashMap uses = new ConcurrentHashMap(); // stage id -> Use
  private final Map stagesOfJob = new HashMap(); // job id -> int[]
  private final Map lostWriters = new LinkedHashMap(); // shuffle -> ArrayList of LostWriter; under its own monitor
  private int lostCount = 0;

  public Use of(int stage) {
    return (Use) uses.get(Integer.valueOf(stage));
  }

  void jobStarted(SparkListenerJobStart event) {
    Map writes = new HashMap();
    ArrayList stages = new ArrayList();
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      stages.add(stage);
      writes.put(Integer.valueOf(stage.stageId()), Integer.valueOf(Row.shuffleOf(stage)));
    }
    int[] ids = new int[stages.size()];
    for (int i = 0; i < ids.length; i++) {
      StageInfo stage = (StageInfo) stages.get(i);
      ids[i] = stage.stageId();
      remember(stage, writes).jobs++;
    }
    stagesOfJob.put(Integer.valueOf(event.jobId()), ids);
  }

  private Use remember(StageInfo stage, Map writes) {
    Integer id = Integer.valueOf(stage.stageId());
    Use use = (Use) uses.get(id);
    if (use == null) {
      use = new Use(((Integer) writes.get(id)).intValue(), parentsOf(stage, writes));
      uses.put(id, use);
    }
    return use;
  }

  private static int[] parentsOf(StageInfo stage, Map writes) {
    int[] reads = new int[stage.parentIds().size()];
    scala.collection.Iterator it = stage.parentIds().iterator();
    for (int i = 0; it.hasNext(); i++) {
      Integer shuffle = (Integer) writes.get(it.next());
      reads[i] = shuffle == null ? -1 : shuffle.intValue();
    }
    return reads;
  }

  void jobEnded(int job) {
    int[] ids = (int[]) stagesOfJob.remove(Integer.valueOf(job));
    for (int i = 0; ids != null && i < ids.length; i++) {
      Use use = of(ids[i]);
      if (use != null) {
        use.jobs--;
        dropIfDone(ids[i], use);
      }
    }
  }

  void taskStarted(int stage, long task) {
    Use use = of(stage);
    if (use != null) {
      use.tasks.add(Long.valueOf(task));
    }
  }

  void taskEnded(int stage, long task) {
    Use use = of(stage);
    if (use != null) {
      use.tasks.remove(Long.valueOf(task));
      dropIfDone(stage, use);
    }
  }

  /** Events were dropped, perhaps ends of tasks: those that the task scheduler does not run count as ended. */
  void distrust(Scheduler scheduler) {
    Iterator stages = uses.keySet().iterator();
    while (stages.hasNext()) {
      int stage = ((Integer) stages.next()).intValue();
      Use use = of(stage);
      Iterator tasks = use.tasks.iterator();
      while (tasks.hasNext()) {
        if (!scheduler.runs(((Long) tasks.next()).longValue())) {
          tasks.remove();
        }
      }
      dropIfDone(stage, use);
    }
  }

  /** Events were dropped, perhaps ends of jobs: all that do not live count as ended. */
  void endAllBut(LiveJobs live) {
    for (Iterator it = live.endedOf(stagesOfJob.keySet()).iterator(); it.hasNext();) {
      jobEnded(((Integer) it.next()).intValue());
    }
  }

  private void dropIfDone(int stage, Use use) {
    if (use.jobs <= 0 && !use.hasUnended()) {
      uses.remove(Integer.valueOf(stage));
    }
  }

  void writerLost(int stage, String host, String executor, long mapId) {
    Use use = of(stage);
    if (use == null || use.writes < 0) {
      return;
    }
    keepLostWriter(new LostWriter(use.writes, host, executor, mapId));
  }

  /** Keeps a lost writer, also one that was taken and could not be dealt with. Of too many the oldest are forgotten. */
  public void keepLostWriter(LostWriter writer) {
    synchronized (lostWriters) {
      while (lostCount >= LOST_WRITERS_CAPACITY) {
        takeLostWriters(((Integer) lostWriters.keySet().iterator().next()).intValue());
      }
      Integer shuffle = Integer.valueOf(writer.shuffle);
      if (!lostWriters.containsKey(shuffle)) {
        lostWriters.put(shuffle, new ArrayList());
      }
      ((ArrayList) lostWriters.get(shuffle)).add(writer);
      lostCount++;
    }
  }

  /** Takes the lost writers of an app shuffle out of here; also to forget them when Spark has cleaned it. */
  public List takeLostWriters(int shuffle) {
    synchronized (lostWriters) {
      List taken = (List) lostWriters.remove(Integer.valueOf(shuffle));
      lostCount -= taken == null ? 0 : taken.size();
      return taken == null ? new ArrayList() : taken;
    }
  }

  /** Ids of the stages that are known. */
  public Set stages() {
    return uses.keySet();
  }

  public int size() {
    return uses.size();
  }
}
