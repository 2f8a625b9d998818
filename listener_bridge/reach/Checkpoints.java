package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;

/**
 * RDDs that wait to be checkpointed: when the first job over what was made of them has ended, another one computes them
 * once more, also from behind what that job has written or cached. For one look.
 *
 * Spark goes down from the job's own RDD to look for them, and says of each RDD that it was there, forever. So one where
 * it was waits no longer, unless Spark is on its way at this moment: then a thread's stack says so, and everything
 * marked counts. That is asked last. Whoever sets out later finds what we have found; whoever is back has done it.
 */
public class Checkpoints {
  private final Deadline deadline;
  private final boolean arePossible;
  private final Set met = Collections.newSetFromMap(new IdentityHashMap()); // on the way down to where Spark was
  private final Set metBehind = Collections.newSetFromMap(new IdentityHashMap()); // and on the way past it
  private boolean isUnderWay = false;

  public Checkpoints(SparkContext context, Deadline deadline) {
    this.deadline = deadline;
    this.arePossible = context.getCheckpointDir().isDefined(); // `checkpoint()` refuses without
  }

  /** Those that were not told before, from these RDDs down; what does not show its parents is passed by. */
  public Set awaited(Collection ends) {
    Set found = Collections.newSetFromMap(new IdentityHashMap());
    if (!arePossible) {
      return found;
    }
    find(ends, met, false, found);
    isUnderWay = isUnderWay || isSparkOnItsWay();
    if (isUnderWay) {
      find(ends, metBehind, true, found);
    }
    return found;
  }

  private void find(Collection from, Set met, boolean past, Set found) {
    ArrayDeque todo = new ArrayDeque(from);
    while (!todo.isEmpty()) {
      deadline.check();
      RDD rdd = (RDD) todo.pop();
      if (!met.add(rdd) || (!past && wasVisited(rdd))) {
        continue;
      }
      if (Parents.awaitsCheckpoint(rdd)) {
        found.add(rdd);
      } else {
        addParents(todo, rdd);
      }
    }
  }

  private static void addParents(ArrayDeque todo, RDD rdd) {
    try {
      List parents = Parents.of(rdd);
      for (int i = 0; i < parents.size(); i++) {
        todo.push(Parents.rdd(parents.get(i)));
      }
    } catch (Parents.Unknown unknown) {
      return;
    }
  }

  private static boolean isSparkOnItsWay() {
    Iterator stacks = Thread.getAllStackTraces().values().iterator();
    while (stacks.hasNext()) {
      StackTraceElement[] stack = (StackTraceElement[]) stacks.next();
      for (int i = 0; i < stack.length; i++) {
        if (stack[i].getMethodName().indexOf("doCheckpoint") >= 0 && stack[i].getClassName().startsWith(RDDS)) {
          return true;
        }
      }
    }
    return false;
  }

  private static final String RDDS = "org.apache.spark.rdd.";
  private static final Field VISITED = visited();

  /** Whether Spark has looked here for RDDs to be checkpointed. Where it does not say, it may come yet. */
  private static boolean wasVisited(RDD rdd) {
    try {
      return VISITED != null && VISITED.getBoolean(rdd);
    } catch (IllegalAccessException refused) {
      throw new IllegalStateException(VISITED + " cannot be read: " + refused, refused);
    }
  }

  private static Field visited() {
    try {
      Field field = RDD.class.getDeclaredField("doCheckpointCalled");
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException missing) {
      return null;
    }
  }
}
