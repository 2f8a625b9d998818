package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.MapOutputTrackerMaster;

/**
 * What was made of the same persisted RDDs as what is written again, before blocks of these went: `PersistedInputs` knows
 * what that is, and the numbers of the tasks of when it is. Any thread.
 */
class TornBeside {
  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final History history;
  private final CachedBlocks blocks;
  private final PersistedInputs persisted;

  TornBeside(Generations generations, MapOutputTrackerMaster tracker, History history, CachedBlocks blocks,
      PersistedInputs persisted) {
    this.generations = generations;
    this.tracker = tracker;
    this.history = history;
    this.blocks = blocks;
    this.persisted = persisted;
  }

  /**
   * Shuffle, or RDD (`Sides.ofPersisted`) -> Long: the first task that may write it so that it fits; NONE: there is none.
   * `task`: the first one that may have begun since.
   */
  Map of(Set rewritten, long task) {
    Map found = new TreeMap();
    Set rdds = blocks.persisted.ids();
    for (Iterator it = rewritten.iterator(); it.hasNext();) {
      Integer written = (Integer) it.next();
      Map others = persisted.tornBeside(written.intValue(), rdds);
      if (!others.isEmpty()) {
        others.keySet().removeAll(history.above(written.intValue())); // what it is made of itself
        addOlder(found, others, task);
      }
    }
    found.keySet().removeAll(rewritten);
    return found;
  }

  private void addOlder(Map found, Map others, long task) {
    for (Iterator it = others.entrySet().iterator(); it.hasNext();) {
      Map.Entry other = (Map.Entry) it.next();
      Integer id = (Integer) other.getKey();
      Older older = (Older) other.getValue();
      boolean isGone = older.below() > 0L && tasksOf(id).first() == Tasks.NONE; // but something may have been made of it
      if (isGone || tasksOf(id).isOneOf(older)) {
        found.put(id, Long.valueOf(older.below() == Tasks.NONE ? Tasks.NONE : task));
      }
    }
  }

  private Tasks tasksOf(Integer shuffle) {
    return new Tasks(generations, tracker, shuffle.intValue());
  }

  /** It was written again as a whole: what does not fit it, since blocks went while it was; and what was made of that. */
  void part(int shuffle, Sides sides) {
    Integer id = Integer.valueOf(shuffle);
    long first = tasksOf(id).first(); // what reads it is written by later ones
    Map beside = of(Collections.singleton(id), first);
    for (Iterator it = beside.keySet().iterator(); it.hasNext();) {
      Integer other = (Integer) it.next();
      if (other.intValue() >= 0 && tasksOf(other).first() == Tasks.NONE) {
        it.remove(); // whoever writes it now comes to it as well
      }
    }
    if (!beside.isEmpty()) {
      sides.part(shuffle, madeOf(beside.keySet(), id), beside, Collections.singleton(id), first);
    }
  }

  private Set madeOf(Set some, Integer but) {
    Set found = new TreeSet(some);
    ArrayList left = new ArrayList(some);
    while (!left.isEmpty()) {
      for (Iterator it = history.readersOf(((Integer) left.remove(left.size() - 1)).intValue()).iterator(); it.hasNext();) {
        Integer reader = (Integer) it.next();
        if (!reader.equals(but) && found.add(reader)) {
          left.add(reader);
        }
      }
    }
    return found;
  }
}
