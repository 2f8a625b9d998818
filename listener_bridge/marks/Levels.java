package shufflelifecycle;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;

/**
 * What Spark takes RDDs' outputs for when they are computed again, and how that is changed and put back.
 *
 * To be used in the scheduler's thread alone, which is the one that reads it. Nothing here computes anything: an RDD
 * whose dependencies have never been asked for is not asked either, since asking may list files.
 *
 * Invariant: what is kept of an RDD is the level that it had before the first mark on it.
 */
public class Levels {
  private final Map found = new IdentityHashMap(); // marked RDD -> the level that it had
  private final Object indeterminate;
  private final Field level;
  private final Field dependencies;
  private final Method compute;

  public Levels() throws Exception {
    Class names = Class.forName("org.apache.spark.rdd.DeterministicLevel$");
    Object module = names.getField("MODULE$").get(null);
    this.indeterminate = names.getMethod("INDETERMINATE", new Class[0]).invoke(module, new Object[0]);
    this.level = field("outputDeterministicLevel");
    this.dependencies = field("dependencies_");
    this.compute = RDD.class.getDeclaredMethod("getOutputDeterministicLevel", new Class[0]);
    this.compute.setAccessible(true);
  }

  static Field field(String ending) {
    Field[] fields = RDD.class.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getName().endsWith(ending)) {
        fields[i].setAccessible(true);
        return fields[i];
      }
    }
    throw new IllegalStateException("RDD has no field that ends in " + ending + "; this Spark was never tried");
  }

  /** The level that it had, where it is not marked yet; else null. Asking for it first makes Spark keep it in the field. */
  String mark(RDD rdd) throws Exception {
    if (found.containsKey(rdd)) {
      return null;
    }
    Object before = rdd.outputDeterministicLevel();
    found.put(rdd, before);
    level.set(rdd, indeterminate);
    return before.toString();
  }

  int size() {
    return found.size();
  }

  List marked() {
    return new ArrayList(found.keySet());
  }

  /** Gives those that it puts back. */
  List restoreAllBut(Map kept) throws Exception {
    List restored = new ArrayList();
    List all = marked();
    for (int i = 0; i < all.size(); i++) {
      if (!kept.containsKey(all.get(i))) {
        level.set(all.get(i), found.remove(all.get(i)));
        restored.add(all.get(i));
      }
    }
    return restored;
  }

  /** Those that say INDETERMINATE without a mark; none is asked that never was. */
  List inheriting(List rdds) throws Exception {
    List inheriting = new ArrayList();
    for (int i = 0; i < rdds.size(); i++) {
      if (!found.containsKey(rdds.get(i)) && level.get(rdds.get(i)) == indeterminate) {
        inheriting.add(rdds.get(i));
      }
    }
    return inheriting;
  }

  /** Asks the RDDs again, parents first, that say INDETERMINATE without a mark; gives those that say something else now. */
  List askAgain(List roots) throws Exception {
    List changed = new ArrayList();
    Map seen = new IdentityHashMap();
    for (int i = 0; i < roots.size(); i++) {
      askAgain((RDD) roots.get(i), seen, changed);
    }
    return changed;
  }

  private void askAgain(RDD root, Map seen, List changed) throws Exception {
    List order = parentsFirst(root, seen);
    for (int i = 0; i < order.size(); i++) {
      RDD rdd = (RDD) order.get(i);
      if (!found.containsKey(rdd) && level.get(rdd) == indeterminate) {
        Object now = compute.invoke(rdd, new Object[0]);
        if (now != indeterminate) {
          level.set(rdd, now);
          changed.add(rdd);
        }
      }
    }
  }

  /** Lineages are long: a stack of our own. Each RDD is put on it twice, the second time when its parents are done. */
  private List parentsFirst(RDD root, Map seen) throws Exception {
    List order = new ArrayList();
    ArrayList stack = new ArrayList();
    stack.add(root);
    while (!stack.isEmpty()) {
      RDD rdd = (RDD) stack.remove(stack.size() - 1);
      Object state = seen.get(rdd);
      if (state == null) {
        seen.put(rdd, Boolean.FALSE);
        scala.collection.Seq parents = (scala.collection.Seq) dependencies.get(rdd);
        if (parents == null) {
          continue; // never asked for, or checkpointed: nothing was inherited through it
        }
        stack.add(rdd);
        scala.collection.Iterator it = parents.iterator();
        while (it.hasNext()) {
          RDD parent = ((Dependency) it.next()).rdd();
          if (seen.get(parent) == null) {
            stack.add(parent);
          }
        }
      } else if (state == Boolean.FALSE) {
        seen.put(rdd, Boolean.TRUE);
        order.add(rdd);
      }
    }
    return order;
  }
}
