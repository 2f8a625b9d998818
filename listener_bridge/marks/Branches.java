package shufflelifecycle;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * What a job would read of the old generation beside what is written again for it: two branches of one shuffle, of which
 * one was lost and the other stayed. Each is of one generation, and together they are of two.
 *
 * So the branch that stayed is to be written again too, where that harms nobody: no stage is reading it that could end
 * as it is, nobody has a part of a result from it, and no other job would come to read two generations by it. Refuses to
 * know why something is written again; it is asked where a loss was the cause. (A policy's own miss would throw away all
 * that a loop has made from what was missed.)
 *
 * Invariant: nothing is taken back before all of the plan is known, and then only what a job needs that reads what is
 * written again. A job that has nothing to do with that reads what it would have read.
 */
class Branches {
  private final Stages stages;
  private final Recomputation again;
  private final Set old; // complete, of the old generation, or made from what is
  private final Set pinned = new TreeSet(); // those of them that have to stay
  private final Set torn = new TreeSet(); // jobs, by their ids, that read both for that
  private Set planned = new TreeSet(); // those of them that go

  Branches(Stages stages, Recomputation again) {
    this.stages = stages;
    this.again = again;
    this.old = again.stayed.isEmpty() ? new TreeSet() : oldOnes();
  }

  /** Takes back what stayed and these jobs read; gives those for which it had to stay. */
  List unite(List jobs) {
    while (!isConsistent(jobs)) {
      planned = new TreeSet(); // something was pinned
    }
    for (Iterator it = planned.iterator(); it.hasNext();) {
      again.takeBack((Integer) it.next());
    }
    ArrayList left = new ArrayList();
    for (int i = 0; i < jobs.size(); i++) {
      if (torn.contains(Integer.valueOf(((ActiveJob) jobs.get(i)).jobId()))) {
        left.add(jobs.get(i));
      }
    }
    return left;
  }

  /** Whether something was taken back. */
  boolean haveGone() {
    return !planned.isEmpty();
  }

  /** Plans until nothing is added; false where a job turned out to read what has to stay. */
  private boolean isConsistent(List jobs) {
    for (boolean changed = !old.isEmpty(); changed;) {
      changed = false;
      for (int i = 0; i < jobs.size(); i++) {
        ActiveJob job = (ActiveJob) jobs.get(i);
        Set beside = oldBesideNew(job, planned);
        if (beside.isEmpty() || torn.contains(Integer.valueOf(job.jobId()))) {
          continue;
        }
        if (mustStay(beside)) {
          pin(job);
          return false;
        }
        changed |= planned.addAll(beside);
      }
    }
    return true;
  }

  /** It keeps what it reads; where that is two generations without any plan of ours, it is torn. */
  private void pin(ActiveJob job) {
    if (!oldBesideNew(job, new TreeSet()).isEmpty()) {
      torn.add(Integer.valueOf(job.jobId()));
    }
    pinned.addAll(Stages.ancestors(job.finalStage()));
  }

  /** What is old and read, or was read by what is read, by a job that reads what is written again; not what goes already. */
  private Set oldBesideNew(ActiveJob job, Set going) {
    Set found = new TreeSet();
    boolean readsNew = false;
    Set seen = new TreeSet();
    ArrayList left = new ArrayList();
    left.add(job.finalStage());
    while (!left.isEmpty()) {
      scala.collection.Iterator it = ((Stage) left.remove(left.size() - 1)).parents().iterator();
      while (it.hasNext()) {
        ShuffleMapStage parent = (ShuffleMapStage) it.next();
        Integer written = Integer.valueOf(Stages.writes(parent));
        if (!seen.add(written)) {
          continue;
        }
        if (parent.isAvailable() && !going.contains(written)) {
          found.add(written);
          found.addAll(Stages.ancestors(parent));
        } else {
          readsNew |= again.isNew(written) || going.contains(written);
          left.add(parent);
        }
      }
    }
    found.retainAll(readsNew ? old : new TreeSet());
    found.removeAll(going);
    return found;
  }

  /** Whether they are pinned, or a stage reads one of them that could end as it is, or somebody has a result from one. */
  private boolean mustStay(Set some) {
    if (Stages.meet(some, pinned)) {
      return true;
    }
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      boolean delivered = Stages.delivered(stage) > 0;
      boolean canEnd = stages.isRunning(stage) && !isMissing(stage.parents());
      if ((canEnd && Stages.meet(Stages.reads(stage), some)) || (delivered && Stages.meet(Stages.ancestors(stage), some))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isMissing(scala.collection.Seq parents) {
    scala.collection.Iterator it = parents.iterator();
    while (it.hasNext()) {
      if (!((ShuffleMapStage) it.next()).isAvailable()) {
        return true;
      }
    }
    return false;
  }

  /** Spark makes a stage after those that it reads: by their ids, what is made from old ones comes after them. */
  private Set oldOnes() {
    TreeMap byId = new TreeMap();
    List live = stages.live();
    for (int i = 0; i < live.size(); i++) {
      byId.put(Integer.valueOf(((Stage) live.get(i)).id()), live.get(i));
    }
    Set made = new TreeSet(again.stayed); // also what is not there
    Set there = new TreeSet();
    for (Iterator it = byId.values().iterator(); it.hasNext();) {
      Stage stage = (Stage) it.next();
      Integer written = Integer.valueOf(Stages.writes(stage));
      boolean isMade = made.contains(written) || Stages.meet(Stages.reads(stage), made);
      if (stage instanceof ShuffleMapStage && isMade) {
        made.add(written);
        if (((ShuffleMapStage) stage).isAvailable()) {
          there.add(written);
        }
      }
    }
    return there;
  }
}
