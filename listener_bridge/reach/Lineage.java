package shufflelifecycle;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;

/**
 * The cut of an RDD: the app shuffles from it down to outputs that are intact. For one look, which walks every RDD once.
 *
 * An app shuffle that is not intact is in the cut too, and so is what it would be written from; unless a live job has
 * announced it. Then the coordinator knows what it is written from, and goes on behind it itself for as long as it is not
 * intact. An RDD that does not show its parents needs everything. An RDD of another application, one that ended in this
 * JVM before ours began, needs nothing: no job computes it again, and our application uses the same ids anew.
 */
public class Lineage {
  /** An RDD whose parents are being walked. */
  static class Step {
    final RDD rdd;
    final List parents;
    int done = 0;
    Ids cut = Ids.NONE;

    Step(RDD rdd, List parents) {
      this.rdd = rdd;
      this.parents = parents;
    }
  }

  private final SparkContext context;
  private final Intact intact;
  private final Ids announced;
  private final CachedRdds cached;
  private final Deadline deadline;
  private final Map cuts = new IdentityHashMap(); // RDD -> Ids
  private final Set ends = Collections.newSetFromMap(new IdentityHashMap()); // RDDs at which walks have ended
  private final ArrayDeque path = new ArrayDeque(); // of Step: a lineage may be too long for recursion
  private String fault = null;

  public Lineage(SparkContext context, Intact intact, Ids announced, CachedRdds cached, Deadline deadline) {
    this.context = context;
    this.intact = intact;
    this.announced = announced;
    this.cached = cached;
    this.deadline = deadline;
  }

  /** What computing the RDD would read. */
  public Ids of(RDD rdd) {
    path.clear();
    if (known(rdd) == null) {
      enter(rdd);
    }
    while (!path.isEmpty()) {
      deadline.check();
      advance((Step) path.peek());
    }
    return known(rdd);
  }

  /** What reading the dependency's data would read. */
  public Ids of(ShuffleDependency shuffle) {
    if (isForeign(shuffle.rdd())) {
      return Ids.NONE;
    }
    Ids self = Ids.of(shuffle.shuffleId());
    return endsAt(shuffle) ? self : self.and(of(shuffle.rdd()));
  }

  /** Whether a walk ends at a shuffle; where it does, that is noted. */
  private boolean endsAt(ShuffleDependency shuffle) {
    boolean ends = intact.is(shuffle.shuffleId()) || announced.contains(shuffle.shuffleId());
    if (ends) {
      this.ends.add(shuffle.rdd());
    }
    return ends;
  }

  /** The RDDs at which walks have ended since this was asked last: their output is there or announced, or they are cached. */
  public List takeEnds() {
    List taken = new ArrayList(ends);
    ends.clear();
    return taken;
  }

  /** Why a cut could not be found since this was asked last; null where all were. */
  public String takeFault() {
    String taken = fault;
    fault = null;
    return taken;
  }

  private Ids known(RDD rdd) {
    return (Ids) cuts.get(rdd);
  }

  private boolean isForeign(RDD rdd) {
    Object own = Fields.get(RDD.class, rdd, "_sc"); // null in a copy that was sent somewhere
    return own != null && own != context;
  }

  private List parentsOf(RDD rdd) {
    if (isForeign(rdd)) {
      return Collections.EMPTY_LIST;
    }
    if (cached.wholly(rdd)) {
      ends.add(rdd);
      return Collections.EMPTY_LIST;
    }
    return Parents.of(rdd);
  }

  private void enter(RDD rdd) {
    try {
      path.push(new Step(rdd, parentsOf(rdd)));
    } catch (Parents.Unknown unknown) {
      fault = unknown.getMessage();
      cuts.put(rdd, intact.all());
    }
  }

  private void advance(Step step) {
    if (step.done == step.parents.size()) {
      path.pop();
      cuts.put(step.rdd, step.cut);
      return;
    }
    Object parent = step.parents.get(step.done);
    if (parent instanceof ShuffleDependency) {
      shuffle(step, (ShuffleDependency) parent);
    } else {
      below(step, Parents.rdd(parent));
    }
  }

  private void shuffle(Step step, ShuffleDependency shuffle) {
    step.cut = step.cut.and(Ids.of(shuffle.shuffleId()));
    if (endsAt(shuffle)) {
      step.done++;
    } else {
      below(step, shuffle.rdd());
    }
  }

  private void below(Step step, RDD parent) {
    Ids cut = known(parent);
    if (cut == null) {
      enter(parent); // and come back to this step when it is known
    } else {
      step.cut = step.cut.and(cut);
      step.done++;
    }
  }

  /** Adds every app shuffle below an RDD, intact or not; not what lies below an RDD that does not show its parents. */
  public void addAll(RDD rdd, Set shuffles) {
    Set met = Collections.newSetFromMap(new IdentityHashMap());
    ArrayDeque todo = new ArrayDeque();
    todo.push(rdd);
    while (!todo.isEmpty()) {
      deadline.check();
      RDD next = (RDD) todo.pop();
      if (met.add(next)) {
        addBelow(next, todo, shuffles);
      }
    }
  }

  private static void addBelow(RDD rdd, ArrayDeque todo, Set shuffles) {
    try {
      List parents = Parents.of(rdd);
      for (int i = 0; i < parents.size(); i++) {
        Object parent = parents.get(i);
        if (parent instanceof ShuffleDependency) {
          shuffles.add(Integer.valueOf(((ShuffleDependency) parent).shuffleId()));
        }
        todo.push(Parents.rdd(parent));
      }
    } catch (Parents.Unknown unknown) {
      return;
    }
  }
}
