package shufflelifecycle;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * What follows from a shuffle's being written again: which others are to be written again as a whole.
 *
 * A direct reader that is not complete would take the rest of its input from another generation than the part it has,
 * so what it has is forgotten, and what reads *it* is looked at in turn. A complete reader is of one generation, and
 * stays; should it lose a part later, it is the next to be written as a whole: it is *owed*.
 */
class Recomputation {
  private final Generations generations;
  private final History history;
  private final Stages stages;
  private final MapOutputTrackerMaster tracker;
  final Set rewritten = new TreeSet(); // app shuffles, of live jobs, with the first one
  final Set late = new TreeSet(); // those of them that were repaired in part before we came to it

  Recomputation(Generations generations, History history, Stages stages, MapOutputTrackerMaster tracker) {
    this.generations = generations;
    this.history = history;
    this.stages = stages;
    this.tracker = tracker;
  }

  void follow(int shuffle) {
    ArrayList left = new ArrayList();
    ShuffleMapStage first = stages.writing(shuffle);
    if (first != null && first.latestInfo().numTasks() < first.numPartitions()) {
      forgetPart(shuffle); // else all of it is under way
    }
    rewritten.add(Integer.valueOf(shuffle));
    left.add(Integer.valueOf(shuffle));
    while (!left.isEmpty()) {
      Integer written = (Integer) left.remove(left.size() - 1);
      Iterator it = readersOf(written.intValue()).iterator();
      while (it.hasNext()) {
        Integer reader = (Integer) it.next();
        if (!rewritten.contains(reader) && isToBeRewritten(reader.intValue(), written.intValue())) {
          rewritten.add(reader);
          left.add(reader);
        }
      }
    }
  }

  /** By memory, and by what is live: a job may have started before anybody listened. */
  private Set readersOf(int shuffle) {
    Set found = history.readersOf(shuffle);
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      if (Stages.writes(stage) >= 0 && Stages.reads(stage).contains(Integer.valueOf(shuffle))) {
        found.add(Integer.valueOf(Stages.writes(stage)));
      }
    }
    return found;
  }

  private boolean isToBeRewritten(int reader, int written) {
    ShuffleMapStage stage = stages.writing(reader);
    if (stage != null && stage.isAvailable() && wasRepairedMeanwhile(stage, written)) {
      late.add(Integer.valueOf(reader));
      tracker.unregisterAllMapAndMergeOutput(reader);
      return true;
    }
    if (stage == null || !isWrittenAnew(stage, written)) {
      forgetPart(reader);
    }
    if (stage == null || stage.isAvailable()) {
      generations.owe(reader); // nobody wants it written now
      return false;
    }
    return true;
  }

  /** Whether all of it is under way, begun when the input had already been written again. */
  private boolean isWrittenAnew(ShuffleMapStage stage, int written) {
    ShuffleMapStage input = stages.writing(written);
    boolean isWhole = stages.isRunning(stage) && stage.latestInfo().numTasks() == stage.numPartitions();
    return isWhole && input != null && input.isAvailable();
  }

  /** Whether it was completed by a few tasks only, begun when the input had already been written again. */
  private boolean wasRepairedMeanwhile(ShuffleMapStage stage, int written) {
    ShuffleMapStage input = stages.writing(written);
    if (input == null || !input.isAvailable() || stage.latestInfo().numTasks() >= stage.numPartitions()) {
      return false;
    }
    scala.Option end = input.latestInfo().completionTime();
    scala.Option begin = stage.latestInfo().submissionTime();
    return end.isDefined() && begin.isDefined() && number(begin.get()) >= number(end.get());
  }

  private static long number(Object value) {
    return ((Number) value).longValue();
  }

  private void forgetPart(int shuffle) {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle));
    if (status.isDefined()) {
      int available = Outputs.available((ShuffleStatus) status.get());
      if (available > 0 && available < ((ShuffleStatus) status.get()).mapStatuses().length) {
        tracker.unregisterAllMapAndMergeOutput(shuffle);
      }
    }
  }
}
