package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/**
 * Which app shuffle is written from which, and which ones a result that was delivered has read: of live jobs and of past
 * ones, since outputs outlive the job that wrote them.
 *
 * Written by the listener's thread, read in the scheduler's. What Spark's cleaner has let go is forgotten.
 */
public class History {
  /** A job's result stage. */
  static class Result {
    final int job;
    final int stage;
    final int partitions;
    final Set reads;
    final String deterministic; // what the job says of itself; null: nothing
    private long end = Tasks.NONE; // every task of it had begun before this one

    Result(int job, int stage, int partitions, Set reads, String deterministic) {
      this.job = job;
      this.stage = stage;
      this.partitions = partitions;
      this.reads = reads;
      this.deterministic = deterministic;
    }

    /** Whether this task may have begun while it ran. */
    boolean mayHaveSeen(long task) {
      return task < end;
    }
  }

  private final Map readers = new HashMap(); // shuffle -> Set of the shuffles that are written from it
  private final Map inputs = new HashMap(); // shuffle -> Set of those that it is written from
  private final Map behind = new HashMap(); // shuffle -> Set of its inputs that it comes to through persisted RDDs alone
  private final Map whole = new HashMap(); // shuffle -> the number of its generation that was last written as a whole
  private final Map results = new HashMap(); // live job -> Result
  private final Map delivered = new HashMap(); // shuffle -> the last Result that was computed from it and is finished
  private final Map before = new HashMap(); // shuffle -> the first one of which nobody has said that later ones may differ

  /** Gives the shuffles of which an input was not known. */
  synchronized Set jobStarted(SparkListenerJobStart event) {
    Set learnt = new TreeSet();
    Map writes = new HashMap();
    Map last = new HashMap(); // shuffle -> the RDD that it is written from
    scala.collection.Iterator it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      writes.put(Integer.valueOf(stage.stageId()), Integer.valueOf(Row.shuffleOf(stage)));
      last.put(Integer.valueOf(Row.shuffleOf(stage)), Integer.valueOf(((RDDInfo) stage.rddInfos().head()).id()));
    }
    it = event.stageInfos().iterator();
    while (it.hasNext()) {
      StageInfo stage = (StageInfo) it.next();
      int shuffle = Row.shuffleOf(stage);
      Set parents = parentsOf(stage, writes);
      if (shuffle < 0) {
        result(new Result(event.jobId(), stage.stageId(), stage.numTasks(), parents, Choices.saysOfItself(event.properties())));
      } else {
        behind.put(Integer.valueOf(shuffle), behindPersisted(stage, parents, last));
        if (written(shuffle, parents)) {
          learnt.add(Integer.valueOf(shuffle));
        }
      }
    }
    return learnt;
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

  private static Set behindPersisted(StageInfo stage, Set parents, Map last) {
    Set found = new TreeSet();
    Set direct = parents.isEmpty() || !NearPersisted.areIn(stage) ? null : DirectReads.of(stage);
    for (Iterator it = parents.iterator(); direct != null && it.hasNext();) {
      Object parent = it.next();
      if (!direct.contains(last.get(parent))) {
        found.add(parent);
      }
    }
    return found;
  }

  /** Those of its inputs that nobody may have read for it, since blocks were there that were computed of them. */
  synchronized Set behindPersisted(int shuffle) {
    Set known = (Set) behind.get(Integer.valueOf(shuffle));
    return known == null ? new TreeSet() : known;
  }

  /** The result stage of a live job. */
  synchronized void result(Result result) {
    results.put(Integer.valueOf(result.job), result);
  }

  /** What a map stage writes, and what it reads; whether some of that was not known. */
  synchronized boolean written(int shuffle, Set parents) {
    boolean isNew = false;
    Integer written = Integer.valueOf(shuffle);
    inputs.put(written, parents);
    Iterator it = parents.iterator();
    while (it.hasNext()) {
      Object parent = it.next();
      Set known = (Set) readers.get(parent);
      if (known == null) {
        known = new TreeSet();
        readers.put(parent, known);
      }
      isNew |= known.add(written);
    }
    return isNew;
  }

  /** Its map stage came to its end. */
  synchronized void completed(int shuffle, int generation) {
    whole.put(Integer.valueOf(shuffle), Integer.valueOf(generation));
  }

  synchronized boolean wasWhole(int shuffle, int generation) {
    return Integer.valueOf(generation).equals(whole.get(Integer.valueOf(shuffle)));
  }

  /** Gives its result; null where it was not known. `nextTask`: no task from this one on was part of it. */
  synchronized Result jobEnded(int job, boolean succeeded, long nextTask) {
    Result result = (Result) results.remove(Integer.valueOf(job));
    if (result != null) {
      result.end = nextTask;
    }
    if (result != null && succeeded) {
      Iterator it = result.reads.iterator();
      while (it.hasNext()) {
        Object read = it.next();
        delivered.put(read, result);
        if (!before.containsKey(read)) {
          before.put(read, result);
        }
      }
    }
    return result;
  }

  /** The ends of the others were dropped: nobody knows how they have ended, or will hear of it. */
  synchronized void endAllBut(LiveJobs live) {
    results.keySet().removeAll(live.endedOf(results.keySet()));
  }

  synchronized void cleaned(int shuffle) {
    Integer id = Integer.valueOf(shuffle);
    readers.remove(id);
    behind.remove(id);
    whole.remove(id);
    delivered.remove(id);
    before.remove(id);
    Set parents = (Set) inputs.remove(id);
    Iterator it = parents == null ? new TreeSet().iterator() : parents.iterator();
    while (it.hasNext()) {
      Set known = (Set) readers.get(it.next());
      if (known != null) {
        known.remove(id);
      }
    }
  }

  /** App shuffles that it is written from, as far as anybody said. */
  synchronized Set inputsOf(int shuffle) {
    Set known = (Set) inputs.get(Integer.valueOf(shuffle));
    return known == null ? new TreeSet() : known;
  }

  /** The same, and what these are written from, and so on. */
  synchronized Set above(int shuffle) {
    Set found = new TreeSet();
    ArrayList left = new ArrayList(inputsOf(shuffle));
    while (!left.isEmpty()) {
      Integer input = (Integer) left.remove(left.size() - 1);
      if (found.add(input)) {
        left.addAll(inputsOf(input.intValue()));
      }
    }
    return found;
  }

  /** The result of a live job, by its stage; null where there is none. */
  synchronized Result resultOf(int stage) {
    for (Iterator it = results.values().iterator(); it.hasNext();) {
      Result result = (Result) it.next();
      if (result.stage == stage) {
        return result;
      }
    }
    return null;
  }

  /** App shuffles whose map stage reads this one. */
  synchronized Set readersOf(int shuffle) {
    Set known = (Set) readers.get(Integer.valueOf(shuffle));
    return known == null ? new TreeSet() : new TreeSet(known);
  }

  /** The result stages of jobs whose end was not heard of; the scheduler may know better. */
  synchronized List unfinished() {
    return new ArrayList(results.values());
  }

  /** Whether somebody has a result that was computed from it before this task began; said once. */
  synchronized boolean wasDeliveredBefore(int shuffle, long task) {
    Integer id = Integer.valueOf(shuffle);
    Result first = (Result) before.get(id);
    boolean isBefore = first != null && !first.mayHaveSeen(task);
    if (isBefore) {
      before.remove(id);
    }
    return isBefore;
  }

  /** The last result that somebody has and that was computed from it; said once, else null. */
  synchronized Result takeDelivered(int shuffle) {
    before.remove(Integer.valueOf(shuffle));
    return (Result) delivered.remove(Integer.valueOf(shuffle));
  }
}
