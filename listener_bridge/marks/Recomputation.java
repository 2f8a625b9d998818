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
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * What follows from a shuffle's being written again: which others are to be written again as a whole.
 *
 * A direct reader that is not complete would take the rest of its input from another generation than the part it has,
 * so what it has is forgotten, and what reads *it* is looked at in turn. A complete reader is of one generation, and
 * stays; should it lose a part later, it is the next to be written as a whole: it is *owed*. Whether it may stay beside
 * what is written again is for `Branches` to say.
 *
 * Unless we come late, and it was completed meanwhile by tasks that have read the new generation: it is a mix, and so is
 * what was written from it since. `Tasks` tells by the numbers of the tasks, which grow.
 */
class Recomputation {
  private final Generations generations;
  private final History history;
  private final Stages stages;
  private final MapOutputTrackerMaster tracker;
  private final Map renewed = new HashMap(); // app shuffle -> number of the first task that wrote it again
  private Set made; // what `madeOfNew` gives, once all is followed
  private final Map listed = new HashMap(); // shuffle -> Set of those that live stages write from it
  final Set rewritten = new TreeSet(); // app shuffles, with the first one: of live jobs, or late
  final Set renewedWhole = new TreeSet(); // those that were written again as a whole before we came to it: they stay
  final Set late = new TreeSet(); // those of them that were a mix before we came to it
  final Set overtaken = new TreeSet(); // those of them that tasks are writing that may have read the old generation
  final Set stayed = new TreeSet(); // of live jobs, of the old generation: complete, or behind what is
  private final Set needed; // not there, and live jobs need it
  boolean followsLoss = false; // whether one was whole and is not any more; else a policy has missed what is read now

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
        Set readers = (Set) listed.get(read);
        if (readers == null) {
          readers = new TreeSet();
          listed.put(read, readers);
        }
        readers.add(written);
      }
    }
  }

  void follow(int shuffle) {
    followsLoss = isLost(shuffle);
    begin(shuffle);
    spread(Integer.valueOf(shuffle));
  }

  /** It was made of a mix that was found before this was heard of. */
  void followMix(int shuffle) {
    followsLoss = history.wasWhole(shuffle, generations.presentOf(shuffle));
    renewed.put(Integer.valueOf(shuffle), Long.valueOf(tasksOf(shuffle).first()));
    forgetLate(shuffle);
    generations.forgotten(shuffle);
    spread(Integer.valueOf(shuffle));
  }

  /** Those of the mixes that were found. By memory alone. */
  Set readersOfLate() {
    Set found = new TreeSet();
    for (Iterator it = late.iterator(); it.hasNext();) {
      found.addAll(history.readersOf(((Integer) it.next()).intValue()));
    }
    return found;
  }

  /** A complete one may not stay: as if it had been lost. */
  void takeBack(Integer shuffle) {
    stayed.remove(shuffle);
    generations.unregister(tracker, shuffle.intValue());
    generations.forgotten(shuffle.intValue());
    renewed.put(shuffle, Long.valueOf(Tasks.NONE));
    spread(shuffle);
  }

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
        } else if (!renewed.containsKey(reader) && isWrittenSince(reader.intValue(), written)) {
          renewed.put(reader, Long.valueOf(tasksOf(reader.intValue()).first()));
          renewedWhole.add(reader);
          left.add(reader);
        }
      }
    }
    made = null;
  }

  /** All of it, from what was written again before we came to it: it is new, and what lies behind it may be a mix. */
  private boolean isWrittenSince(int reader, Integer written) {
    Tasks tasks = tasksOf(reader);
    long since = ((Long) renewed.get(written)).longValue();
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
    renewed.put(Integer.valueOf(shuffle), Long.valueOf(tasks.firstFrom(since))); // where nothing is old: the first
    if (tasks.areBeforeAndFrom(since)) {
      forgetLate(shuffle);
      generations.forgotten(shuffle);
    } else if (tasks.first() < since && !tasks.areAll()) {
      forgetPart(shuffle);
      generations.forgotten(shuffle);
    }
  }

  /** What is written again, and what was so already. */
  Set allNew() {
    Set found = new TreeSet(rewritten);
    found.addAll(renewedWhole);
    return found;
  }

  boolean isNew(Integer shuffle) {
    return rewritten.contains(shuffle) || renewedWhole.contains(shuffle);
  }

  /**
   * What was made of an old generation, directly or not, of any job; also what is gone meanwhile. When all is followed.
   * `beside`: what counts as that too.
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

  /** What is written again, and what was made of that before we came to it. */
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

  /** Those that are not written again here: that began when it was there as it is now, or the others. */
  private Set readersOf(Integer written, boolean isNew) {
    Long since = (Long) renewed.get(written);
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

  /** By memory, and by what is live: a job may have started before anybody listened. */
  private Set readersOf(int shuffle) {
    Set found = history.readersOf(shuffle);
    Set live = (Set) listed.get(Integer.valueOf(shuffle));
    if (live != null) {
      found.addAll(live);
    }
    return found;
  }

  /** Whether all of it may have been made of cached blocks of the old one, whenever that was: then it counts as that. */
  private boolean isOfBlocks(int reader, Integer written) {
    return history.behindPersisted(reader).contains(written) && tasksOf(reader).areAll();
  }

  /**
   * Sees to a reader of what is written again: forgets what of it is old, and has the rest owed where it stays. Answers
   * whether it is written again with it.
   */
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
    renewed.put(Integer.valueOf(reader), Long.valueOf(tasksOf(reader).first())); // what is left of it is new
    return true;
  }

  /** Nobody will have it written now: it is new already, or stays and is owed. */
  private void leave(int reader, Integer written, ShuffleMapStage stage) {
    if (isWrittenSince(reader, written)) {
      followsLoss |= history.wasWhole(reader, generations.presentOf(reader)); // and was written again meanwhile
      return;
    }
    boolean isOld = tasksOf(reader).first() < ((Long) renewed.get(written)).longValue();
    stay(reader, stage != null && (isOld || !stage.isAvailable()));
  }

  private void stay(int reader, boolean isOldOfLive) {
    owe(reader);
    if (isOldOfLive) {
      stayed.add(Integer.valueOf(reader));
    }
  }

  /** Whether somebody will have it written now; who only lists it, behind what is there, will not. */
  private boolean isWanted(ShuffleMapStage stage) {
    boolean isMissing = stage != null && !stage.isAvailable();
    return isMissing && (needed.contains(Integer.valueOf(Stages.writes(stage))) || stages.isRunning(stage));
  }

  private boolean isLost(int shuffle) {
    return history.wasWhole(shuffle, generations.presentOf(shuffle)) && available(shuffle) < total(shuffle);
  }

  /** Whether tasks of it have read the new generation, and others the old one, or the new one is a mix itself. */
  private boolean isMix(int reader, Integer written) {
    long since = ((Long) renewed.get(written)).longValue();
    Tasks tasks = tasksOf(reader);
    long first = tasks.firstSince(since);
    if (first == Tasks.NONE || (tasks.first() > since && !late.contains(written))) {
      return false;
    }
    renewed.put(Integer.valueOf(reader), Long.valueOf(first));
    return true;
  }

  /** Whether one of these is written again, or was when that had not been heard of. When all is followed. */
  boolean isOneNew(Set read) {
    return !newOf(read).isEmpty();
  }

  /** Whether it is under way, begun when all that it reads of what is written again was there again. */
  boolean isReadAnew(ResultStage result) {
    boolean isAllOfIt = stages.isRunning(result) && !isLaterAttempt(result) && stages.lateSets(result).isEmpty();
    long first = isAllOfIt ? stages.firstTask(result) : 0L;
    for (Iterator it = newOf(Stages.reads(result)).iterator(); it.hasNext();) {
      Tasks tasks = tasksOf(((Integer) it.next()).intValue());
      if (!tasks.areAll() || first <= tasks.last()) {
        return false;
      }
    }
    return true;
  }

  /** What earlier attempts of it have delivered was read nobody knows when. */
  private static boolean isLaterAttempt(ResultStage result) {
    return Stages.delivered(result) > 0 && result.latestInfo().attemptNumber() > 0;
  }

  /** Whether a task of it may have read what is written again, or the mix that was there in between. */
  boolean isRead(ResultStage result) {
    return firstAnew(Stages.reads(result)) <= stages.lastTask(result);
  }

  /** The same, and others have not. */
  boolean isReadBySome(ResultStage result) {
    long first = isLaterAttempt(result) ? 0L : stages.firstTask(result);
    return isRead(result) && first < firstAnew(Stages.reads(result));
  }

  /** The first task that wrote one of these again; NONE where nothing is there yet. */
  long firstAnew(Set read) {
    long first = Tasks.NONE;
    for (Iterator it = newOf(read).iterator(); it.hasNext();) {
      first = Math.min(first, firstAnew((Integer) it.next()));
    }
    return first;
  }

  long firstAnew(Integer shuffle) {
    Long since = (Long) renewed.get(shuffle);
    return since == null ? tasksOf(shuffle.intValue()).first() : since.longValue();
  }

  private Set newOf(Set read) {
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

  private Tasks tasksOf(int shuffle) {
    return new Tasks(generations, tracker, shuffle);
  }

  /** Whether all of it is under way, begun when the input had already been written again. */
  private boolean isWrittenAnew(ShuffleMapStage stage, Integer written) {
    ShuffleMapStage input = stages.writing(written.intValue());
    boolean isWhole = stages.isRunning(stage) && stage.latestInfo().numTasks() == stage.numPartitions();
    long since = ((Long) renewed.get(written)).longValue();
    boolean isNew = tasksOf(Stages.writes(stage)).first() >= since;
    return isWhole && isNew && stages.firstTask(stage) >= since && input != null && input.isAvailable();
  }

  private void forgetLate(int shuffle) {
    late.add(Integer.valueOf(shuffle));
    owe(shuffle);
    generations.unregister(tracker, shuffle);
  }

  private void owe(int shuffle) {
    generations.owe(shuffle, stages.nextTaskId());
  }

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
