package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTrackerMaster;

/**
 * Readers of which `History` did not know when their input was written again: they were written before anybody listened, or
 * while events were dropped, so that nobody has looked at them then.
 *
 * The numbers of tasks tell what they are, since they grow through all of an application. A reader whose tasks began before
 * every task that wrote what is there of its input was made of an older generation of that input. It is then owed, as it would
 * have been at the time, and on the old side (`Sides`). If nothing of the input is there, the reader is older than whatever
 * will be written: then the input is owed, so that its readers are looked at when it is written.
 *
 * Jobs that were not heard of may also have read a mix that was found and forgotten since. So the range of tasks that can
 * have read it is kept (`Mix`).
 *
 * To be asked when an input is heard of for the first time, which is before anything is heard of the stages that read it.
 * Only what was fenced matters, and what was made of that: all else is Spark's own affair.
 */
class Ages {
  private static final long ALL_TOGETHER = 0L;

  /** An app shuffle that held outputs of two generations, for a range of tasks. */
  private static class Mix {
    final long from; // the first task that wrote some of it again
    final long to; // the first task that cannot have read it

    Mix(long from, long to) {
      this.from = from;
      this.to = to;
    }

    boolean isReadBy(Tasks tasks) {
      long first = tasks.firstSince(from);
      return first != Tasks.NONE && first < to;
    }
  }

  private final Generations generations;
  private final MapOutputTrackerMaster tracker;
  private final History history;
  private final Sides sides;
  private final Map mixes = new ConcurrentHashMap(); // shuffle -> Mix, the last one

  Ages(Generations generations, MapOutputTrackerMaster tracker, History history, Sides sides) {
    this.generations = generations;
    this.tracker = tracker;
    this.history = history;
    this.sides = sides;
  }

  /** Any thread: the mixes that were found late, and whose outputs are forgotten now. */
  void noteMixes(Recomputation again, long nextTask) {
    for (Iterator it = again.late.iterator(); it.hasNext();) {
      Integer shuffle = (Integer) it.next();
      mixes.put(shuffle, new Mix(again.firstAnew(shuffle), nextTask));
    }
  }

  /** Any thread: those of these readers that were made of a mix. */
  Set madeOfMixes(Set readers) {
    Set found = new TreeSet();
    for (Iterator it = mixes.isEmpty() ? found.iterator() : readers.iterator(); it.hasNext();) {
      Integer reader = (Integer) it.next();
      for (Iterator inputs = history.inputsOf(reader.intValue()).iterator(); inputs.hasNext();) {
        Mix mix = (Mix) mixes.get(inputs.next());
        if (mix != null && mix.isReadBy(tasksOf(reader))) {
          found.add(reader);
        }
      }
    }
    return found;
  }

  /** Any thread. */
  void cleaned(int shuffle) {
    mixes.remove(Integer.valueOf(shuffle));
  }

  /** These readers have inputs that were not known. Gives those that are complete, and mixes of two generations. */
  Set compare(Set readers) {
    Map firsts = new HashMap(); // shuffle -> Long: of now, each looked up once
    Set written = there(readers, firsts);
    Set suspects = written.isEmpty() ? written : suspects();
    Set parted = new TreeSet();
    Set mixed = new TreeSet();
    if (suspects.isEmpty()) {
      return mixed;
    }
    for (Iterator it = written.iterator(); it.hasNext();) {
      Integer reader = (Integer) it.next();
      Tasks tasks = tasksOf(reader);
      parted.addAll(newer(reader, suspects, firsts));
      if (generations.owes(reader.intValue()) && tasks.areBeforeAndFrom(generations.owedSince(reader.intValue()))) {
        mixed.add(reader);
      }
    }
    for (Iterator it = parted.iterator(); it.hasNext();) {
      part((Integer) it.next(), firsts);
    }
    return mixed;
  }

  /** Those of which some outputs are there. */
  private Set there(Set shuffles, Map firsts) {
    Set found = new TreeSet();
    for (Iterator it = shuffles.iterator(); it.hasNext();) {
      Integer shuffle = (Integer) it.next();
      if (first(shuffle, firsts) != Tasks.NONE) {
        found.add(shuffle);
      }
    }
    return found;
  }

  /** The app shuffles that were fenced, and all that were made of them. */
  private Set suspects() {
    Set found = new TreeSet();
    ArrayList left = new ArrayList();
    int[] fenced = generations.fenced();
    for (int i = 0; i < fenced.length; i++) {
      left.add(Integer.valueOf(fenced[i]));
    }
    while (!left.isEmpty()) {
      Integer shuffle = (Integer) left.remove(left.size() - 1);
      if (found.add(shuffle)) {
        left.addAll(history.readersOf(shuffle.intValue()));
      }
    }
    return found;
  }

  /** Of what it was made of, directly or not, what was written again since. Owes what is owed for that. */
  private Set newer(Integer reader, Set suspects, Map firsts) {
    long first = first(reader, firsts);
    Set inputs = history.inputsOf(reader.intValue());
    Set above = history.above(reader.intValue());
    above.retainAll(suspects);
    Set found = new TreeSet();
    for (Iterator it = above.iterator(); it.hasNext();) {
      Integer input = (Integer) it.next();
      long since = first(input, firsts);
      boolean isOlder = since != Tasks.NONE && first < since;
      if (isOlder) {
        found.add(input);
      }
      if (inputs.contains(input) && isOlder) {
        generations.oweFrom(reader.intValue(), since);
      } else if (inputs.contains(input) && since == Tasks.NONE) {
        generations.oweFrom(input.intValue(), ALL_TOGETHER);
      }
    }
    return found;
  }

  private void part(Integer root, Map firsts) {
    long since = first(root, firsts);
    Set made = new TreeSet();
    Set old = new TreeSet();
    ArrayList left = new ArrayList();
    left.add(root);
    while (!left.isEmpty()) {
      Integer written = (Integer) left.remove(left.size() - 1);
      if (made.add(written)) {
        sort(written, left, old, firsts);
      }
    }
    left.addAll(old);
    while (!left.isEmpty()) {
      Integer written = (Integer) left.remove(left.size() - 1);
      boolean isThere = first(written, firsts) != Tasks.NONE;
      for (Iterator it = history.readersOf(written.intValue()).iterator(); it.hasNext();) {
        Integer reader = (Integer) it.next();
        long first = first(reader, firsts);
        if ((isThere || first < since || first == Tasks.NONE) && old.add(reader)) {
          left.add(reader);
        }
      }
    }
    sides.part(root.intValue(), old, made, ALL_TOGETHER);
  }

  /** Readers of what is of the new generation: that is what they were made of, or they are older, or not there. */
  private void sort(Integer written, ArrayList made, Set old, Map firsts) {
    long since = first(written, firsts);
    for (Iterator it = history.readersOf(written.intValue()).iterator(); it.hasNext();) {
      Integer reader = (Integer) it.next();
      long first = first(reader, firsts);
      if (first != Tasks.NONE && first >= since) {
        made.add(reader);
      } else {
        old.add(reader);
      }
    }
  }

  private long first(Integer shuffle, Map firsts) {
    Long known = (Long) firsts.get(shuffle);
    if (known == null) {
      known = Long.valueOf(tasksOf(shuffle).first());
      firsts.put(shuffle, known);
    }
    return known.longValue();
  }

  private Tasks tasksOf(Integer shuffle) {
    return new Tasks(generations, tracker, shuffle.intValue());
  }
}
