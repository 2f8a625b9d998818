package shufflelifecycle;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Which outputs of one shuffle do not fit another one that is written now, though both are made from the same persisted RDDs:
 * those that were written before blocks of these went. They are told by the numbers of the tasks that wrote them.
 */
class Older {
  private long below = 0L;
  private final Map at = new HashMap(); // index of an output -> Long

  /** Outputs of tasks below this number do not fit; 0: none; `Tasks.NONE`: whoever writes one, it does not fit. */
  long below() {
    return below;
  }

  /** The same for one output, by its index. */
  long below(int output) {
    Long task = (Long) at.get(Integer.valueOf(output));
    return task == null ? below : Math.max(below, task.longValue());
  }

  /** Outputs of tasks below this number do not fit either. */
  void add(long task) {
    below = Math.max(below, task);
  }

  /** Nor do these, each of tasks below its number: index of an output -> Long. */
  void addAll(Map tasks) {
    for (Iterator it = tasks.entrySet().iterator(); it.hasNext();) {
      Map.Entry one = (Map.Entry) it.next();
      Long known = (Long) at.get(one.getKey());
      Long task = (Long) one.getValue();
      at.put(one.getKey(), known == null ? task : Long.valueOf(Math.max(known.longValue(), task.longValue())));
    }
  }
}
