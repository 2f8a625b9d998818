package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which outputs were made of the old generation of an app shuffle that is written again, and which of the new one. Old outputs
 * that stay lie beside new ones until they are written again themselves, or Spark's cleaner lets them go. Whoever reads
 * outputs of both sides reads two generations, perhaps many jobs later and by way of what other jobs have made of them.
 *
 * Refuses to act, and to know whether outputs are there. The scheduler's thread tells what is written again. The listener's
 * tells what was written and what is to be read, in the order of events: a stage is submitted after what it reads has been
 * written, and after that was heard of.
 *
 * Cached blocks have a side, too, under numbers that no app shuffle has: outdated ones, which are old, under `ofBlocks`; those
 * of other RDDs under `ofPersisted`, on the side of what they were computed from.
 *
 * Invariant: an output is on the sides of everything that it was written from.
 */
class Sides {
  /** The two sides that one app shuffle has when it is written again. */
  private static class Rift {
    final int root; // the app shuffle that was written again
    final Set old;
    final Set made; // made of the new generation
    final Set beside; // those of `old` that are old in themselves, whatever they were written from
    final Map since = new HashMap(); // what was old at the beginning -> the first task that could write it from what is new

    Rift(int root, Set old, Map beside, Set made, long task) {
      this.root = root;
      this.old = new TreeSet(old);
      this.beside = new TreeSet(beside.keySet());
      this.made = new TreeSet(made);
      for (Iterator it = old.iterator(); it.hasNext();) {
        since.put(it.next(), Long.valueOf(task));
      }
      since.putAll(beside);
    }

    boolean isWithin(Rift other) {
      return other.old.containsAll(old) && other.made.containsAll(made);
    }

    boolean isOver() {
      return old.isEmpty() || made.isEmpty();
    }

    boolean isBothIn(Set some) {
      return Stages.meet(some, old) && Stages.meet(some, made);
    }

    void written(Integer shuffle, Set inputs, long first) {
      Long task = (Long) since.get(shuffle);
      if (task != null && first < task.longValue()) {
        return; // tasks that had begun before have written it: it stays old
      }
      boolean isOld = Stages.meet(inputs, old);
      boolean isMade = Stages.meet(inputs, made);
      if (isOld || isMade || beside.contains(shuffle)) {
        forget(shuffle);
      }
      if (isOld) {
        old.add(shuffle);
      }
      if (isMade) {
        made.add(shuffle);
      }
    }

    void forget(Integer shuffle) {
      old.remove(shuffle);
      made.remove(shuffle);
      beside.remove(shuffle);
      since.remove(shuffle);
    }
  }

  /** An attempt that reads outdated blocks which wait to be dropped. */
  private static class OverBlocks {
    final Set read;
    final int stage;
    final int attempt;

    OverBlocks(Set read, int stage, int attempt) {
      this.read = read;
      this.stage = stage;
      this.attempt = attempt;
    }
  }

  static final int NONE = -1;
  private static final int MOST = 500; // rifts; the oldest go: many losses, one above another, would take quadratic time
  private final List rifts = new ArrayList();
  private final Map overBlocks = new HashMap(); // app shuffle -> the attempt that writes it from outdated blocks

  /** The root is written again, with all of `made`; `old` stays beside it. `task`: the first task that is not of before. */
  void part(int root, Set old, Set made, long task) {
    part(root, old, Collections.EMPTY_MAP, made, task);
  }

  /**
   * `beside`: what is old in itself -> Long: the first task that can write it so that it is on neither side; NONE: whoever
   * writes it, it stays old.
   */
  synchronized void part(int root, Set old, Map beside, Set made, long task) {
    Rift rift = new Rift(root, old, beside, made, task);
    for (Iterator it = rifts.iterator(); it.hasNext();) {
      Rift known = (Rift) it.next();
      if (rift.isWithin(known)) {
        known.since.putAll(rift.since);
        known.beside.addAll(rift.beside);
        return; // whoever reads both sides of this one reads both of that one
      }
      if (known.isWithin(rift)) {
        it.remove();
      }
    }
    if (!rift.isOver()) {
      rifts.add(rift);
    }
    if (rifts.size() > MOST) {
      rifts.remove(0);
    }
  }

  /** The number of an RDD's outdated blocks. */
  static int ofBlocks(int rdd) {
    return NONE - 1 - rdd;
  }

  /** The number of an RDD's blocks that are not outdated. */
  static int ofPersisted(int rdd) {
    return Integer.MIN_VALUE + rdd;
  }

  /** The RDD's blocks are gone. */
  void unpersisted(int rdd) {
    cleaned(ofPersisted(rdd));
  }

  /** What is read, as this class has it: these app shuffles, and the blocks of these RDDs. */
  static Set withPersisted(Set shuffles, Set rdds) {
    Set found = new TreeSet(shuffles);
    for (Iterator it = rdds.iterator(); it.hasNext();) {
      found.add(Integer.valueOf(ofPersisted(((Integer) it.next()).intValue())));
    }
    return found;
  }

  /** The attempt writes its app shuffle from these, outdated blocks among them, and not from all its inputs. */
  synchronized void writesOver(int shuffle, Set read, int stage, int attempt) {
    overBlocks.put(Integer.valueOf(shuffle), new OverBlocks(read, stage, attempt));
  }

  /** The app shuffle is written from its inputs, as every other. */
  synchronized void writesItself(int shuffle) {
    overBlocks.remove(Integer.valueOf(shuffle));
  }

  /** An attempt was submitted: if `writesOver` was said of another one, that one is over. */
  synchronized void submitted(int shuffle, int stage, int attempt) {
    OverBlocks known = (OverBlocks) overBlocks.get(Integer.valueOf(shuffle));
    if (known != null && (known.stage != stage || known.attempt != attempt)) {
      writesItself(shuffle);
    }
  }

  synchronized boolean isOverBlocks(int shuffle) {
    return overBlocks.containsKey(Integer.valueOf(shuffle));
  }

  synchronized boolean areThere() {
    return !rifts.isEmpty();
  }

  /** The app shuffle was written as a whole, from these inputs; `first`: the first task that wrote some of it. */
  synchronized void written(int shuffle, Set inputs, long first) {
    Set read = isOverBlocks(shuffle) ? ((OverBlocks) overBlocks.get(Integer.valueOf(shuffle))).read : inputs;
    for (Iterator it = rifts.iterator(); it.hasNext();) {
      Rift rift = (Rift) it.next();
      rift.written(Integer.valueOf(shuffle), read, first);
      if (rift.isOver()) {
        it.remove();
      }
    }
  }

  synchronized void cleaned(int shuffle) {
    overBlocks.remove(Integer.valueOf(shuffle));
    for (Iterator it = rifts.iterator(); it.hasNext();) {
      Rift rift = (Rift) it.next();
      rift.forget(Integer.valueOf(shuffle));
      if (rift.isOver()) {
        it.remove();
      }
    }
  }

  /** The app shuffle of which these inputs are on both sides; NONE if there is none. */
  synchronized int between(Set read) {
    for (int i = 0; i < rifts.size(); i++) {
      if (((Rift) rifts.get(i)).isBothIn(read)) {
        return ((Rift) rifts.get(i)).root;
      }
    }
    return NONE;
  }
}
