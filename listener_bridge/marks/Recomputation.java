package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * Which other shuffles are to be written again as a whole, because one is written again. The words are those of the package
 * (`__init__.py`).
 *
 * Made for one shuffle A. `follow` goes from A to its readers, to theirs, and so on, and decides of each reader B what becomes
 * of it. The numbers of the tasks that wrote B say what it was made of:
 *
 *   incomplete       Outputs of B are missing. What is written of them would be made of new A, the rest is of old A. So Spark
 *                    forgets the rest, unless all of B is being written by tasks that began when A was there again. B is
 *                    written again too, if a live job wants it.
 *   complete, old    B is of one generation, and stays. It is owed: should it lose a part later, it is written as a whole.
 *                    Whether it may stay beside what is written again is for `Branches` to say.
 *   complete, new    B was written from new A before we came to it. Nothing is to be done, but its own readers are followed.
 *   a mix            Some tasks of B have read old A and some new A before we came to it. Spark forgets all of B, and it is
 *                    written again.
 *
 * When all is followed it answers what was made of the old generation and what of the new one (`ResultReads`: what results
 * have read). For one call in the scheduler's thread; another submission makes another recomputation.
 */
class Recomputation {
  private final Generations generations;
  private final History history;
  private final Stages stages;
  private final MapOutputTrackerMaster tracker;
  private final Map liveReaders = new HashMap(); // app shuffle -> Set of the app shuffles that live stages write from it
  private final Set needed; // app shuffles that are not there and that live jobs need

  // What was decided. Sets of app shuffles, as Integer.
  final Set rewritten = new TreeSet(); // are written again from here on, the one that is followed among them
  final Set late = new TreeSet(); // those of `rewritten` that were mixes before we came to them
  final Set overtaken = new TreeSet(); // those of `rewritten` that tasks are writing which may have read the old generation
  final Set renewedWhole = new TreeSet(); // were written from the new generation before we came to them, as a whole
  final Set stayed = new TreeSet(); // are of the old generation, listed by live jobs, and not written again
  private final Map firstNew = new HashMap(); // app shuffle -> number of the first task that wrote it again; NONE: none yet
  private Set made; // what `madeOfNew` gives; null until it is asked for when all is followed
  boolean followsLoss = false; // whether one of them was complete, and is not; else a policy has deleted what is read now

  Recomputation(Generations generations, History history, Stages stages, MapOutputTrackerMaster tracker) {
    this.generations = generations;
    this.history = history;
    this.stages = stages;
    this.tracker = tracker;
    this.needed = stages.missing();
    listReaders();
  }

  private void listReaders() {
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Integer written = Integer.valueOf(Stages.writes((Stage) live.get(i)));
      Iterator it = Stages.reads((Stage) live.get(i)).iterator();
      while (written.intValue() >= 0 && it.hasNext()) {
        Object read = it.next();
        Set readers = (Set) liveReaders.get(read);
        if (readers == null) {
          readers = new TreeSet();
          liveReaders.put(read, readers);
        }
        readers.add(written);
      }
    }
  }

  /** Follows an app shuffle whose map stage was submitted again. To be called once. */
  void follow(int shuffle) {
    followsLoss = isLost(shuffle);
    begin(shuffle);
    spread(Integer.valueOf(shuffle));
  }

  /** The same for a shuffle that was made of a mix, and of whose making we have heard only now: it is a late mix itself. */
  void followMix(int shuffle) {
    followsLoss = history.wasWhole(shuffle, generations.presentOf(shuffle));
    firstNew.put(Integer.valueOf(shuffle), Long.valueOf(tasksOf(shuffle).first()));
    forgetLate(shuffle);
    generations.forgotten(shuffle);
    spread(Integer.valueOf(shuffle));
  }

  /** The app shuffles that were written from the late mixes, as far as `History` knows. */
  Set readersOfLate() {
    Set found = new TreeSet();
    for (Iterator it = late.iterator(); it.hasNext();) {
      found.addAll(history.readersOf(((Integer) it.next()).intValue()));
    }
    return found;
  }

  /** For `Branches`: one that stayed is to be written again after all, as if it had been lost. */
  void takeBack(Integer shuffle) {
    stayed.remove(shuffle);
    generations.unregister(tracker, shuffle.intValue());
    generations.forgotten(shuffle.intValue());
    firstNew.put(shuffle, Long.valueOf(Tasks.NONE));
    spread(shuffle);
  }

  /** From what is written again to its readers, theirs, and so on, as the class says. */
  private void spread(Integer shuffle) {
    ArrayList left = new ArrayList();
    rewritten.add(shuffle);
    left.add(shuffle);
    while (!left.isEmpty()) {
      Integer written = (Integer) left.remove(left.size() - 1);
      Iterator it = readersOf(written.intValue()).iterator();
      while (it.hasNext()) {
        Integer reader = (Integer) it.next();
        if (!rewritten.contains(reader) && rewriteToo(reader.intValue(), written)) {
          rewritten.add(reader);
          left.add(reader);
        } else if (!firstNew.containsKey(reader) && isWrittenSince(reader.intValue(), written)) {
          firstNew.put(reader, Long.valueOf(tasksOf(reader.intValue()).first()));
          renewedWhole.add(reader);
          left.add(reader);
        }
      }
    }
    made = null;
  }

  /** Whether all of a reader was written since its input was written again: it is new, and its readers may be mixes. */
  private boolean isWrittenSince(int reader, Integer written) {
    Tasks tasks = tasksOf(reader);
    long since = ((Long) firstNew.get(written)).longValue();
    return tasks.areAll() && since != Tasks.NONE && tasks.first() > since && !isOfBlocks(reader, written);
  }

  /**
   * The shuffle itself: where it lost a part only, the rest of it is forgotten too. Once: what later attempts add is of
   * one generation, and where Spark may not be told to begin anew each time, it would never come to an end.
   *
   * The numbers of the tasks alone say what is old. Attempts do not: the one that wrote may be over, with its job, and
   * another job have made one that was skipped.
   */
  private void begin(int shuffle) {
    long since = generations.owedSince(shuffle);
    Tasks tasks = tasksOf(shuffle);
    firstNew.put(Integer.valueOf(shuffle), Long.valueOf(tasks.firstFrom(since))); // where nothing is old: the first
    if (tasks.areBeforeAndFrom(since)) {
      forgetLate(shuffle);
      generations.forgotten(shuffle);
    } else if (tasks.first() < since && !tasks.areAll()) {
      forgetPart(shuffle);
      generations.forgotten(shuffle);
    }
  }

  /** What is of the new generation, or will be: what is written again from here on, and what was before we came to it. */
  Set allNew() {
    Set found = new TreeSet(rewritten);
    found.addAll(renewedWhole);
    return found;
  }

  boolean isNew(Integer shuffle) {
    return rewritten.contains(shuffle) || renewedWhole.contains(shuffle);
  }

  /**
   * What was made of an old generation, directly or by way of others, in any job; also what is gone meanwhile. To be asked when
   * all is followed. `beside`: what counts as made of it, too.
   */
  Set madeOfOld(Set beside) {
    Set found = new TreeSet(overtaken); // until they are written by other tasks
    found.addAll(beside);
    for (Iterator it = allNew().iterator(); it.hasNext();) {
      found.addAll(readersOf((Integer) it.next(), false));
    }
    ArrayList left = new ArrayList(found);
    while (!left.isEmpty()) {
      Set readers = readersOf(((Integer) left.remove(left.size() - 1)).intValue());
      readers.removeAll(rewritten);
      readers.removeAll(found);
      found.addAll(readers);
      left.addAll(readers);
    }
    return found;
  }

  /** What is written again, and what was made of the new generation before we came to it. To be asked when all is followed. */
  Set madeOfNew() {
    if (made == null) {
      made = findMadeOfNew();
    }
    return new TreeSet(made);
  }

  private Set findMadeOfNew() {
    Set found = new TreeSet(rewritten);
    found.removeAll(overtaken);
    ArrayList left = new ArrayList(found);
    while (!left.isEmpty()) {
      Set readers = readersOf((Integer) left.remove(left.size() - 1), true);
      readers.removeAll(found);
      found.addAll(readers);
      left.addAll(readers);
    }
    return found;
  }

  /**
   * The readers of `written` that are not written again here: those that were made of its new generation (`isNew`), or those
   * that were made of its old one. A reader was made of the new one if none of its tasks began before the first task that
   * wrote `written` again.
   */
  private Set readersOf(Integer written, boolean isNew) {
    Long since = (Long) firstNew.get(written);
    long after = since == null ? tasksOf(written.intValue()).first() : since.longValue();
    Set found = new TreeSet();
    for (Iterator it = readersOf(written.intValue()).iterator(); it.hasNext();) {
      Integer reader = (Integer) it.next();
      long first = tasksOf(reader.intValue()).first();
      boolean isSince = first != Tasks.NONE && first >= after && !isOfBlocks(reader.intValue(), written);
      if (!rewritten.contains(reader) && isNew == isSince) {
        found.add(reader);
      }
    }
    return found;
  }

  /** What is written from it: as `History` knows, and as live stages list, since a job may have started before we listened. */
  private Set readersOf(int shuffle) {
    Set found = history.readersOf(shuffle);
    Set live = (Set) liveReaders.get(Integer.valueOf(shuffle));
    if (live != null) {
      found.addAll(live);
    }
    return found;
  }

  /** Whether a complete reader may have read cached blocks instead, which are of the old generation: it counts as old. */
  private boolean isOfBlocks(int reader, Integer written) {
    return history.behindPersisted(reader).contains(written) && tasksOf(reader).areAll();
  }

  /** Does what the class says of one reader of what is written again. Answers whether it is written again too. */
  private boolean rewriteToo(int reader, Integer written) {
    if (isMix(reader, written)) {
      followsLoss |= history.wasWhole(reader, generations.presentOf(reader)); // and was repaired meanwhile
      forgetLate(reader);
      generations.forgotten(reader);
      return true;
    }
    ShuffleMapStage stage = stages.writing(reader);
    if (isOfBlocks(reader, written)) {
      stay(reader, stage != null);
      return false;
    }
    followsLoss |= needed.contains(Integer.valueOf(reader)) && isLost(reader);
    boolean isAnew = stage != null && isWrittenAnew(stage, written);
    if (!isAnew && available(reader) < total(reader)) {
      forgetPart(reader);
      generations.forgotten(reader);
    }
    if (!isWanted(stage)) {
      leave(reader, written, stage);
      return false;
    }
    if (!isAnew && stages.isRunning(stage) && stages.firstTask(stage) != Tasks.NONE) {
      overtaken.add(Integer.valueOf(reader));
      owe(reader);
    } else if (!isAnew && generations.owes(reader)) {
      owe(reader); // what was new of it is not any more
    }
    firstNew.put(Integer.valueOf(reader), Long.valueOf(tasksOf(reader).first())); // what is left of it is new
    return true;
  }

  /** No live job has the reader written now: it is new already, or it stays. */
  private void leave(int reader, Integer written, ShuffleMapStage stage) {
    if (isWrittenSince(reader, written)) {
      followsLoss |= history.wasWhole(reader, generations.presentOf(reader)); // and was written again meanwhile
      return;
    }
    boolean isOld = tasksOf(reader).first() < ((Long) firstNew.get(written)).longValue();
    stay(reader, stage != null && (isOld || !stage.isAvailable()));
  }

  /** It is owed from here on. `isOldOfLive`: a live job lists it, and it is of the old generation. */
  private void stay(int reader, boolean isOldOfLive) {
    owe(reader);
    if (isOldOfLive) {
      stayed.add(Integer.valueOf(reader));
    }
  }

  /** Whether a live job has it written now. One that only lists it, behind what is there, does not. */
  private boolean isWanted(ShuffleMapStage stage) {
    boolean isMissing = stage != null && !stage.isAvailable();
    return isMissing && (needed.contains(Integer.valueOf(Stages.writes(stage))) || stages.isRunning(stage));
  }

  private boolean isLost(int shuffle) {
    return history.wasWhole(shuffle, generations.presentOf(shuffle)) && available(shuffle) < total(shuffle);
  }

  /** Whether tasks of the reader have read the new generation, and others the old one; or what was new is itself a mix. */
  private boolean isMix(int reader, Integer written) {
    long since = ((Long) firstNew.get(written)).longValue();
    Tasks tasks = tasksOf(reader);
    long first = tasks.firstSince(since);
    if (first == Tasks.NONE || (tasks.first() > since && !late.contains(written))) {
      return false;
    }
    firstNew.put(Integer.valueOf(reader), Long.valueOf(first));
    return true;
  }

  /** Whether one of these is written again, or was before we came to it. To be asked when all is followed. */
  boolean isOneNew(Set read) {
    return !newOf(read).isEmpty();
  }

  /** The number of the first task that wrote one of these again; NONE where nothing of them is there yet. */
  long firstAnew(Set read) {
    long first = Tasks.NONE;
    for (Iterator it = newOf(read).iterator(); it.hasNext();) {
      first = Math.min(first, firstAnew((Integer) it.next()));
    }
    return first;
  }

  long firstAnew(Integer shuffle) {
    Long since = (Long) firstNew.get(shuffle);
    return since == null ? tasksOf(shuffle.intValue()).first() : since.longValue();
  }

  /** Those of these that are written again, or were made of the new generation. To be asked when all is followed. */
  Set newOf(Set read) {
    madeOfNew();
    Set found = new TreeSet();
    for (Iterator it = read.iterator(); it.hasNext();) {
      Object shuffle = it.next();
      if (made.contains(shuffle) || overtaken.contains(shuffle)) {
        found.add(shuffle);
      }
    }
    return found;
  }

  Tasks tasksOf(int shuffle) {
    return new Tasks(generations, tracker, shuffle);
  }

  /** Whether the stage writes all of its shuffle just now, by tasks that all began when the input was there again. */
  private boolean isWrittenAnew(ShuffleMapStage stage, Integer written) {
    ShuffleMapStage input = stages.writing(written.intValue());
    boolean isWhole = stages.isRunning(stage) && stage.latestInfo().numTasks() == stage.numPartitions();
    long since = ((Long) firstNew.get(written)).longValue();
    boolean isNew = tasksOf(Stages.writes(stage)).first() >= since;
    return isWhole && isNew && stages.firstTask(stage) >= since && input != null && input.isAvailable();
  }

  /** What is there of it is a mix: Spark forgets all of it. */
  private void forgetLate(int shuffle) {
    late.add(Integer.valueOf(shuffle));
    owe(shuffle);
    generations.unregister(tracker, shuffle);
  }

  /** What tasks write of it that begin from now on may differ from what was read of it. */
  private void owe(int shuffle) {
    generations.owe(shuffle, stages.nextTaskId());
  }

  /** Spark forgets what is there of it, where that is a part. */
  private void forgetPart(int shuffle) {
    int available = available(shuffle);
    if (available > 0 && available < total(shuffle)) {
      generations.unregister(tracker, shuffle);
    }
  }

  private int available(int shuffle) {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    return status.isDefined() ? Outputs.available((ShuffleStatus) status.get()) : 0;
  }

  private int total(int shuffle) {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    return status.isDefined() ? ((ShuffleStatus) status.get()).mapStatuses().length : 0;
  }
}
