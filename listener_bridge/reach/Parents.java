package shufflelifecycle;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;

/**
 * The parents of an RDD, read from its fields. `RDD.dependencies()` would compute: list files, take shuffle ids, lock.
 *
 * Spark fills `dependencies_` when the dependencies are first asked for. Until then, an RDD whose class does not override
 * `getDependencies` has them in `deps`, from its constructor. A class of Spark's own that overrides it has its parents
 * in fields of its own (all of these classes were read: `CoGroupedRDD`, `ShuffledRDD`, `UnionRDD`, `CoalescedRDD`, …). What
 * another class depends on is not guessed: its parents are unknown.
 */
public class Parents {
  /** The RDD does not tell what it was made of. */
  public static class Unknown extends RuntimeException {
    Unknown(RDD rdd) {
      super("RDD " + rdd.id() + " of class " + rdd.getClass().getName() + " does not show its parents yet");
    }
  }

  private static final ConcurrentHashMap DECLARERS = new ConcurrentHashMap(); // class -> who declares getDependencies

  /** RDDs and dependencies, mixed; none for a checkpointed RDD. Throws `Unknown`. */
  public static List of(RDD rdd) {
    ArrayList found = new ArrayList();
    if (!isCheckpointed(rdd) && !addDependencies(found, rdd) && !isCheckpointed(rdd)) { // asked again: a checkpoint clears its dependencies
      throw new Unknown(rdd);
    }
    return found;
  }

  /** The RDD that one of these is, or depends on. */
  public static RDD rdd(Object parent) {
    return parent instanceof RDD ? (RDD) parent : ((Dependency) parent).rdd();
  }

  /** Whether it was marked to be checkpointed, and is not yet. */
  public static boolean awaitsCheckpoint(RDD rdd) {
    scala.Option data = (scala.Option) ofRdd(rdd, "checkpointData");
    return data != null && data.isDefined() && !isCheckpointed(rdd);
  }

  private static boolean isCheckpointed(RDD rdd) {
    scala.Option data = (scala.Option) ofRdd(rdd, "checkpointData");
    if (data == null || !data.isDefined()) {
      return false;
    }
    scala.Option checkpoint = (scala.Option) Fields.get(data.get(), "cpRDD");
    return checkpoint != null && checkpoint.isDefined();
  }

  private static boolean addDependencies(List to, RDD rdd) {
    Object known = ofRdd(rdd, "dependencies_");
    if (known != null) {
      return addAll(to, known);
    }
    Class declarer = declarerOf(rdd.getClass());
    if (declarer == RDD.class) {
      return addAll(to, ofRdd(rdd, "deps"));
    }
    return declarer.getName().startsWith("org.apache.spark.") && addFields(to, rdd);
  }

  /** A field that class `RDD` declares, even where a subclass has another one of that name. */
  private static Object ofRdd(RDD rdd, String name) {
    return Fields.get(RDD.class, rdd, name);
  }

  private static Class declarerOf(Class type) {
    Class known = (Class) DECLARERS.get(type);
    if (known == null) {
      known = type;
      while (known != RDD.class && !declaresDependencies(known)) {
        known = known.getSuperclass();
      }
      DECLARERS.put(type, known);
    }
    return known;
  }

  private static boolean declaresDependencies(Class type) {
    java.lang.reflect.Method[] methods = type.getDeclaredMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals("getDependencies") && methods[i].getParameterTypes().length == 0) {
        return true;
      }
    }
    return false;
  }

  private static boolean addFields(List to, RDD rdd) {
    Field[] fields = Fields.of(rdd.getClass());
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getDeclaringClass() != RDD.class) {
        addAll(to, read(fields[i], rdd));
      }
    }
    return !to.isEmpty();
  }

  private static Object read(Field field, RDD rdd) {
    try {
      return field.get(rdd);
    } catch (IllegalAccessException refused) {
      throw new Unknown(rdd);
    }
  }

  /** Adds what is a parent. Answers false only for null. */
  private static boolean addAll(List to, Object value) {
    if (value instanceof RDD || value instanceof Dependency) {
      to.add(value);
    } else if (value instanceof scala.collection.Seq) {
      scala.collection.Iterator it = ((scala.collection.Seq) value).iterator();
      while (it.hasNext()) {
        add(to, it.next());
      }
    } else if (value instanceof Object[]) {
      for (int i = 0; i < Array.getLength(value); i++) {
        add(to, Array.get(value, i));
      }
    }
    return value != null;
  }

  private static void add(List to, Object value) {
    if (value instanceof RDD || value instanceof Dependency) {
      to.add(value);
    }
  }
}
