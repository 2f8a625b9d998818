package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;

/** What an RDD is computed from, down to the next shuffles. It reads fields alone, so nothing is computed. */
public class Near {
  private final Field dependencies = dependencies();

  private static Field dependencies() {
    Field[] fields = RDD.class.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getName().endsWith("dependencies_")) {
        fields[i].setAccessible(true);
        return fields[i];
      }
    }
    throw new IllegalStateException("RDD has no field that ends in dependencies_; this Spark was never tried");
  }

  /** What it is computed from, as it is known by now; null where nobody has asked it yet. */
  public scala.collection.Seq inputs(RDD rdd) throws Exception {
    return (scala.collection.Seq) dependencies.get(rdd);
  }

  /** The RDDs from this one down to the next shuffles, whose ids are added to `shuffles`. */
  public Set of(RDD root, Set shuffles) throws Exception {
    return of(root, shuffles, Collections.EMPTY_SET);
  }

  /** The same, where these RDDs are not computed. */
  public Set of(RDD root, Set shuffles, Set ends) throws Exception {
    Map seen = new IdentityHashMap();
    ArrayList left = new ArrayList();
    left.add(root);
    while (!left.isEmpty()) {
      RDD rdd = (RDD) left.remove(left.size() - 1);
      boolean isNew = seen.put(rdd, rdd) == null && !ends.contains(rdd);
      scala.collection.Seq parents = inputs(rdd);
      scala.collection.Iterator it = isNew && parents != null ? parents.iterator() : null; // null: nothing came through it
      while (it != null && it.hasNext()) {
        Dependency parent = (Dependency) it.next();
        if (parent instanceof ShuffleDependency) {
          shuffles.add(Integer.valueOf(((ShuffleDependency) parent).shuffleId()));
        } else {
          left.add(parent.rdd());
        }
      }
    }
    return seen.keySet();
  }

  /** Whether the RDD with this id is among them. */
  public boolean reads(RDD root, int id) throws Exception {
    for (Iterator it = of(root, new TreeSet()).iterator(); it.hasNext();) {
      if (((RDD) it.next()).id() == id) {
        return true;
      }
    }
    return false;
  }
}
