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
 * RDDs that are marked for `checkpoint()` and wait for it. When the first job above such an RDD has ended, Spark runs another
 * one that computes the RDD once more, also if that job has read it from behind a shuffle or a cache. For one look.
 *
 * To find them Spark goes down from the job's RDD, and sets `doCheckpointCalled` for good in each RDD that it passes. So an RDD
 * behind one where it is set waits no longer; unless Spark is on this way at the very moment, which some thread's stack
 * shows: then every marked RDD counts. The stacks are looked at last. Where Spark begins later it finds the RDDs that
 * were found here before; where it has come back by then, it is done with them.
 */
public class Checkpoints {
  private final Deadline deadline;
  private final boolean arePossible;
  private final Set met = Collections.newSetFromMap(new IdentityHashMap()); // by the search that stops where Spark has passed
  private final Set metBehind = Collections.newSetFromMap(new IdentityHashMap()); // by the search that does not
  private boolean isUnderWay = false;

  public Checkpoints(SparkContext context, Deadline deadline) {
    this.deadline = deadline;
    this.arePossible = context.getCheckpointDir().isDefined(); // `checkpoint()` refuses without
  }

  /** From these RDDs down, those that wait and were not given before. RDDs that do not show their parents are passed by. */
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

  /** Whether Spark has passed here to look for RDDs to checkpoint. False where this Spark has no such field. */
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
