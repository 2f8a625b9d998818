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
 * Which outputs were made of the old generation of a shuffle that is written again, and which of the new one. What is
 * old and stays lies beside what is new until it is written again itself, or Spark's cleaner lets it go. Whoever reads
 * both reads two generations, be it many jobs later, by what other jobs have made of them.
 *
 * Refuses to know what is there, and to act. Told by the scheduler's thread of what was written again, and by the
 * listener's, in the order of events, of what was written and is to be read: a stage is submitted when what it reads has
 * been written, and heard of.
 *
 * Cached blocks that wait to be dropped are old too, under a number that no shuffle has (`ofBlocks`). Others lie on the side of
 * what they were computed from (`ofPersisted`).
 *
 * Invariant: what is written is on the sides of what it was written from.
 */
class Sides {
  /** What one writing again has parted. */
  private static class Rift {
    final int root; // the app shuffle that was written again
    final Set old;
    final Set made; // of the new generation
    final Set beside; // of what is old: what is so by itself, and not by what it was written from
    final Map since = new HashMap(); // what was old then -> the first task that could write it from what is new

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
        return; // its tasks had begun before: it stays what it was
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

  /** An attempt that reads blocks that wait. */
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
  private static final int MOST = 500; // a cascade of losses would grow by its square
  private final List rifts = new ArrayList();
  private final Map overBlocks = new HashMap(); // shuffle -> OverBlocks

  /** The root was written again, and with it what is `made`; beside it `old` stays. Tasks below this number are of before. */
  void part(int root, Set old, Set made, long task) {
    part(root, old, Collections.EMPTY_MAP, made, task);
  }

  /**
   * `beside`: those of what is old that are on neither side when they are written again -> Long: by tasks from this number on;
   * NONE: they stay what they are.
   */
  synchronized void part(int root, Set old, Map beside, Set made, long task) {
    Rift rift = new Rift(root, old, beside, made, task);
    for (Iterator it = rifts.iterator(); it.hasNext();) {
      Rift known = (Rift) it.next();
      if (rift.isWithin(known)) {
        known.since.putAll(rift.since);
        known.beside.addAll(rift.beside);
        return; // whoever is between these is between those
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

  static int ofBlocks(int rdd) {
    return NONE - 1 - rdd;
  }

  /** The same of blocks that stay, on the side of what they were computed from. */
  static int ofPersisted(int rdd) {
    return Integer.MIN_VALUE + rdd;
  }

  /** It has no block any more that it had. */
  void unpersisted(int rdd) {
    cleaned(ofPersisted(rdd));
  }

  /** What is read: shuffles, and blocks of these RDDs. */
  static Set withPersisted(Set shuffles, Set rdds) {
    Set found = new TreeSet(shuffles);
    for (Iterator it = rdds.iterator(); it.hasNext();) {
      found.add(Integer.valueOf(ofPersisted(((Integer) it.next()).intValue())));
    }
    return found;
  }

  /** What this attempt writes is made of these, blocks among them, and not of all its inputs. */
  synchronized void writesOver(int shuffle, Set read, int stage, int attempt) {
    overBlocks.put(Integer.valueOf(shuffle), new OverBlocks(read, stage, attempt));
  }

  /** It is not, or not any more. */
  synchronized void writesItself(int shuffle) {
    overBlocks.remove(Integer.valueOf(shuffle));
  }

  /** The attempt of which this was said may be another one, and is over then. */
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

  /** All of it was written, from these, by tasks from this number on. */
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

  /** The app shuffle of which these are of two generations; NONE where they fit together. */
  synchronized int between(Set read) {
    for (int i = 0; i < rifts.size(); i++) {
      if (((Rift) rifts.get(i)).isBothIn(read)) {
        return ((Rift) rifts.get(i)).root;
      }
    }
    return NONE;
  }
}
