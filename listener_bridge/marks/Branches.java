package shufflelifecycle;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * What a job would read of the old generation beside what is written again for it: two branches of one shuffle, of which
 * one was lost and the other stayed. Each is of one generation, and together they are of two.
 *
 * So the branch that stayed is written again too, where that harms nobody: no stage is reading it that could go on, and
 * nobody has a part of a result from it. Refuses to know why something is written again; it is asked where a loss was the
 * cause. (A policy's own miss would throw away all that a loop has made from what was missed.)
 *
 * Invariant: what is taken back is needed by a job that reads what is written again.
 */
class Branches {
  private final Stages stages;
  private final Recomputation again;

  Branches(Stages stages, Recomputation again) {
    this.stages = stages;
    this.again = again;
  }

  /** Takes back what stayed and these jobs read; gives those for which it had to stay. */
  List unite(List jobs) {
    ArrayList torn = new ArrayList();
    for (boolean changed = true; changed;) {
      changed = false;
      for (int i = 0; i < jobs.size(); i++) {
        ActiveJob job = (ActiveJob) jobs.get(i);
        Set old = torn.contains(job) ? new TreeSet() : oldBesideNew(job.finalStage());
        if (isInUse(old)) {
          torn.add(job);
        } else {
          changed |= takeBack(old);
        }
      }
    }
    return torn;
  }

  private boolean takeBack(Set old) {
    Object[] all = old.toArray();
    for (int i = 0; i < all.length; i++) {
      again.takeBack((Integer) all[i]);
    }
    return all.length > 0;
  }

  /** What stayed and is read, or was read by what is read, by a job that will read what is written again. */
  private Set oldBesideNew(Stage last) {
    Set old = new TreeSet();
    boolean readsNew = false;
    Set seen = new TreeSet();
    ArrayList left = new ArrayList();
    left.add(last);
    while (!left.isEmpty()) {
      scala.collection.Iterator it = ((Stage) left.remove(left.size() - 1)).parents().iterator();
      while (it.hasNext()) {
        ShuffleMapStage parent = (ShuffleMapStage) it.next();
        Integer written = Integer.valueOf(Stages.writes(parent));
        if (parent.isAvailable()) {
          old.add(written);
          old.addAll(Stages.ancestors(parent));
        } else if (seen.add(written)) {
          readsNew |= again.rewritten.contains(written);
          left.add(parent);
        }
      }
    }
    old.retainAll(readsNew ? again.stayed : new TreeSet());
    return old;
  }

  /** Whether a stage reads one of them that could end without what is written again, or has delivered what it read. */
  private boolean isInUse(Set old) {
    List live = old.isEmpty() ? new ArrayList() : stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      Set reads = Stages.reads(stage);
      boolean canEnd = stages.isRunning(stage) && !Stages.meet(reads, again.rewritten);
      boolean delivered = stage instanceof ResultStage && Stages.delivered((ResultStage) stage) > 0;
      if ((canEnd && Stages.meet(reads, old)) || (delivered && Stages.meet(Stages.ancestors(stage), old))) {
        return true;
      }
    }
    return false;
  }
}
