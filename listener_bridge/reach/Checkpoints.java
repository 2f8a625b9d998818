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
import java.util.WeakHashMap;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;
import scala.Option;

/**
 * RDDs that wait to be checkpointed: when the first job over what was made of them has ended, another one computes them
 * once more, also from behind what that job has written.
 *
 * Spark looks for them from the job's own RDD down, once: it never again goes past an RDD where it was. So what is
 * new since the last job has to be walked, and not the lineage. One that was found is remembered until it is
 * checkpointed, or nobody holds it: while Spark checkpoints one of them, it has been at all that lead to the others.
 */
public class Checkpoints {
  private final Set awaited = Collections.newSetFromMap(new WeakHashMap()); // of RDD, which equals but itself

  /** Those that wait, after a walk from these RDDs on; what does not show its parents is passed by. */
  public List awaited(Collection ends) {
    find(ends);
    ArrayList found = new ArrayList();
    Iterator it = awaited.iterator();
    while (it.hasNext()) {
      RDD rdd = (RDD) it.next();
      if (Parents.isCheckpointed(rdd)) {
        it.remove();
      } else {
        found.add(rdd);
      }
    }
    return found;
  }

  private void find(Collection ends) {
    Set met = Collections.newSetFromMap(new IdentityHashMap());
    ArrayDeque todo = new ArrayDeque(ends);
    while (!todo.isEmpty()) {
      RDD rdd = (RDD) todo.pop();
      if (!met.add(rdd) || wasVisited(rdd)) {
        continue;
      }
      if (isMarked(rdd)) {
        awaited.add(rdd);
      } else {
        addParents(todo, rdd);
      }
    }
  }

  private static void addParents(ArrayDeque todo, RDD rdd) {
    try {
      List parents = Parents.of(rdd);
      for (int i = 0; i < parents.size(); i++) {
        Object parent = parents.get(i);
        todo.push(parent instanceof RDD ? parent : ((Dependency) parent).rdd());
      }
    } catch (Parents.Unknown unknown) {
      return;
    }
  }

  private static boolean isMarked(RDD rdd) {
    Option data = (Option) Fields.get(RDD.class, rdd, "checkpointData");
    return data != null && data.isDefined();
  }

  /** Whether Spark has looked here for RDDs to be checkpointed. */
  private static boolean wasVisited(RDD rdd) {
    try {
      return VISITED.getBoolean(rdd);
    } catch (IllegalAccessException refused) {
      throw new IllegalStateException(VISITED + " cannot be read: " + refused, refused);
    }
  }

  private static final Field VISITED = visited();

  private static Field visited() {
    try {
      Field field = RDD.class.getDeclaredField("doCheckpointCalled");
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException missing) {
      throw new IllegalStateException("RDDs of this Spark do not say where it has looked for checkpoints", missing);
    }
  }
}
