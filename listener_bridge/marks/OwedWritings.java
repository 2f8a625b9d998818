package shufflelifecycle;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;

/**
 * App shuffles that are owed a whole writing (`Generations`) and are being written: whether their writing was heard of
 * (*followed*), and whether tasks that began before they were owed may still end (*overtaken*).
 *
 * Refuses to know what a writing again means for others. To be used in the scheduler's thread. Invariant: nothing is paid
 * that was not followed since it was owed, and written as a whole by tasks that have begun since.
 */
class OwedWritings {
  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final Stages stages;
  private final Epochs epochs;
  private final Map followed = new HashMap(); // app shuffle -> the task since which it was owed when its writing was heard of
  private final Map overtaken = new HashMap(); // shuffle -> the task since which it is owed, while older ones may end

  OwedWritings(Generations generations, MapOutputTrackerMaster tracker, Stages stages, Epochs epochs) {
    this.generations = generations;
    this.tracker = tracker;
    this.stages = stages;
    this.epochs = epochs;
  }

  boolean areOvertaken() {
    return !overtaken.isEmpty();
  }

  /** Its writing was heard of: from now on all that reads it is looked at. */
  void follow(int shuffle) {
    followed.keySet().retainAll(generations.owed());
    followed.put(Integer.valueOf(shuffle), Long.valueOf(generations.owedSince(shuffle)));
  }

  /** Running attempts write these: their tasks are killed, and tasks of the same attempts that begin from now on write anew. */
  void overtake(Set shuffles) {
    for (Iterator it = shuffles.iterator(); it.hasNext();) {
      Integer shuffle = (Integer) it.next();
      Long since = Long.valueOf(generations.owedSince(shuffle.intValue()));
      overtaken.put(shuffle, since);
      followed.put(shuffle, since); // what reads it was looked at too
    }
  }

  /** Has Spark forget outputs of older tasks that ended before they could be killed, as long as some outputs are missing. */
  void forgetOvertaken() {
    for (Iterator it = overtaken.entrySet().iterator(); it.hasNext();) {
      Map.Entry entry = (Map.Entry) it.next();
      int shuffle = ((Integer) entry.getKey()).intValue();
      long since = ((Long) entry.getValue()).longValue();
      Tasks tasks = tasksOf(shuffle);
      if (tasks.first() < since && !tasks.areAll()) {
        generations.unregister(tracker, shuffle);
        generations.forgotten(shuffle);
        epochs.renew(Collections.singleton(entry.getKey()));
      }
      if (!generations.owes(shuffle) || generations.owedSince(shuffle) != since || stages.writing(shuffle) == null) {
        it.remove();
      }
    }
  }

  /** Its map stage has ended. It is paid if its writing was heard of, and tasks that began since it was owed have written all. */
  void pay(int shuffle) {
    long since = generations.owedSince(shuffle);
    Tasks tasks = tasksOf(shuffle);
    boolean isFollowed = Long.valueOf(since).equals(followed.get(Integer.valueOf(shuffle)));
    if (isFollowed && tasks.areAll() && tasks.first() >= since) {
      generations.paid(shuffle);
      followed.remove(Integer.valueOf(shuffle));
    }
  }

  /** Whether it was overtaken and is complete with outputs of older tasks, which had ended before they could be killed. */
  boolean endsMixed(int shuffle, long since) {
    Tasks tasks = tasksOf(shuffle);
    boolean wasOvertaken = tasks.areAll() && Long.valueOf(since).equals(overtaken.get(Integer.valueOf(shuffle)));
    if (wasOvertaken) {
      overtaken.remove(Integer.valueOf(shuffle));
    }
    return wasOvertaken && tasks.areBeforeAndFrom(since);
  }

  private Tasks tasksOf(int shuffle) {
    return new Tasks(generations, tracker, shuffle);
  }
}
