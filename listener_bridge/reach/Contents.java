package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.api.java.JavaRDDLike;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * The cut of any object that the program may hold: the cuts of all RDDs, queries and plans to which its fields lead.
 *
 * Models, summaries, writers, grouped data, iterators, Scala's collections are all read field by field, which computes
 * nothing and takes no lock. Classes that never lead to an RDD or a plan of the program (sessions, configurations, types)
 * are dull: they are listed by package or name, and not read. An object that leads to more than `CAPACITY` others
 * fails, so that it needs everything.
 */
public class Contents {
  /** The object holds more than can be looked at. */
  public static class TooMuch extends RuntimeException {
    TooMuch(Object root) {
      super("an object of class " + root.getClass().getName() + " holds more than " + CAPACITY + " others");
    }
  }

  private static final int CAPACITY = 20000;
  private static final String[] DULL_PACKAGES = {
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "scala.reflect.", "scala.runtime.", "scala.math.", "scala.util.matching.",
    "scala.concurrent.", "py4j.", "org.slf4j.", "org.apache.logging.", "org.apache.hadoop.", "org.apache.arrow.",
    "org.apache.commons.", "org.json4s.", "com.fasterxml.", "com.codahale.", "com.google.", "io.netty.", "breeze.", "dev.ludovic.",
    "org.codehaus.", "org.sparkproject.", "shufflelifecycle.", "org.apache.spark.api.python.Python", "org.apache.spark.broadcast.",
    "org.apache.spark.deploy.", "org.apache.spark.executor.", "org.apache.spark.internal.", "org.apache.spark.io.",
    "org.apache.spark.launcher.", "org.apache.spark.memory.", "org.apache.spark.metrics.", "org.apache.spark.ml.attribute.",
    "org.apache.spark.ml.linalg.", "org.apache.spark.ml.param.", "org.apache.spark.ml.tree.", "org.apache.spark.mllib.feature.",
    "org.apache.spark.mllib.tree.", "org.apache.spark.network.", "org.apache.spark.resource.",
    "org.apache.spark.rpc.", "org.apache.spark.scheduler.", "org.apache.spark.security.", "org.apache.spark.serializer.",
    "org.apache.spark.shuffle.", "org.apache.spark.status.", "org.apache.spark.streaming.ui.", "org.apache.spark.storage.", "org.apache.spark.ui.",
    "org.apache.spark.unsafe.", "org.apache.spark.util.", "org.apache.spark.sql.artifact.", "org.apache.spark.sql.catalog.",
    "org.apache.spark.sql.catalyst.analysis.", "org.apache.spark.sql.catalyst.catalog.", "org.apache.spark.sql.catalyst.encoders.",
    "org.apache.spark.sql.catalyst.expressions.codegen.", "org.apache.spark.sql.catalyst.optimizer.",
    "org.apache.spark.sql.catalyst.parser.", "org.apache.spark.sql.catalyst.rules.", "org.apache.spark.sql.connector.",
    "org.apache.spark.sql.execution.metric.", "org.apache.spark.sql.execution.ui.", "org.apache.spark.sql.hive.",
    "org.apache.spark.sql.internal.SQLConf", "org.apache.spark.sql.internal.SessionState",
    "org.apache.spark.sql.internal.SharedState", "org.apache.spark.sql.internal.CatalogImpl",
    "org.apache.spark.sql.internal.SessionResourceLoader", "org.apache.spark.sql.internal.RuntimeConfigImpl",
    "org.apache.spark.sql.sources.", "org.apache.spark.sql.types."
  };
  private static final String[] JAVAS = {"java.", "javax.", "jdk.", "sun.", "com.sun."}; // whose fields may not be read
  private static final String[] DULL_CLASSES = {
    "org.apache.spark.SparkContext", "org.apache.spark.SparkConf", "org.apache.spark.SparkEnv", "org.apache.spark.TaskContext",
    "org.apache.spark.ContextCleaner", // whose weak references are read by itself alone
    "org.apache.spark.Partitioner", "org.apache.spark.Aggregator", "org.apache.spark.api.java.JavaSparkContext",
    "org.apache.spark.sql.SparkSession", "org.apache.spark.sql.SQLContext", "org.apache.spark.sql.RuntimeConfig",
    "org.apache.spark.sql.Encoder", "org.apache.spark.sql.catalyst.QueryPlanningTracker"
  };
  private static final String[] TELLING = { // not dull, although their packages are
    "org.apache.spark.api.python.PythonRDD", "org.apache.spark.api.python.PythonServer", "org.apache.spark.util.LazyTry",
    "scala.runtime.ObjectRef", "scala.runtime.VolatileObjectRef", "scala.runtime.LazyRef"
  };
  private static final ConcurrentHashMap DULL = new ConcurrentHashMap(); // class -> Boolean

  private final Lineage lineage;
  private final Queries queries;
  private final Deadline deadline;
  private final ArrayDeque todo = new ArrayDeque();
  private Set met;
  private Ids cut;

  public Contents(Lineage lineage, Queries queries, Deadline deadline) {
    this.lineage = lineage;
    this.queries = queries;
    this.deadline = deadline;
  }

  public Ids of(Object root) {
    cut = Ids.NONE;
    met = Collections.newSetFromMap(new IdentityHashMap());
    todo.clear();
    add(root);
    while (!todo.isEmpty()) {
      deadline.check();
      if (met.size() > CAPACITY) {
        throw new TooMuch(root);
      }
      look(todo.pop());
    }
    return cut;
  }

  private void add(Object value) {
    if (value != null && !isDull(value.getClass()) && met.add(value)) {
      todo.push(value);
    }
  }

  private void look(Object object) {
    if (object instanceof RDD) {
      found(lineage.of((RDD) object));
    } else if (object instanceof JavaRDDLike) {
      found(lineage.of(((JavaRDDLike) object).rdd()));
    } else if (object instanceof ShuffleDependency) {
      found(lineage.of((ShuffleDependency) object));
    } else if (object instanceof QueryExecution) {
      found(queries.held((QueryExecution) object));
    } else if (object instanceof SparkPlan) {
      found(queries.physical((SparkPlan) object));
    } else if (object instanceof LogicalPlan) {
      found(queries.logical((LogicalPlan) object));
    } else if (Streams.isQuery(object)) {
      found(Streams.cutOf(object, queries));
    } else {
      inside(object);
    }
  }

  private void found(Ids more) {
    cut = cut.and(more);
  }

  private void inside(Object object) {
    if (object instanceof Object[]) {
      addAll((Object[]) object);
    } else if (object instanceof Map && isOfJava(object.getClass())) {
      addAll(((Map) object).keySet().toArray());
      addAll(((Map) object).values().toArray());
    } else if (object instanceof Collection && isOfJava(object.getClass())) {
      addAll(((Collection) object).toArray());
    } else if (object instanceof java.util.Optional) {
      add(((java.util.Optional) object).orElse(null));
    } else if (object instanceof java.util.concurrent.atomic.AtomicReference) {
      add(((java.util.concurrent.atomic.AtomicReference) object).get());
    } else {
      inFields(object);
    }
  }

  private void addAll(Object[] values) {
    for (int i = 0; i < values.length; i++) {
      add(values[i]);
    }
  }

  private void inFields(Object object) {
    Field[] fields = Fields.of(object.getClass());
    for (int i = 0; i < fields.length; i++) {
      if (!isDull(fields[i].getType()) && !isOfSchema(fields[i])) {
        add(Fields.read(fields[i], object));
      }
    }
  }

  /** Since Spark 4.0 a Dataset of the type of its parent keeps the function that made the parent's encoder: its query's schema. */
  private static boolean isOfSchema(Field field) {
    return field.getName().endsWith("$encoderGenerator");
  }

  private static boolean isOfJava(Class type) {
    return type.getName().startsWith("java.util.");
  }

  /** Whether nothing that such a class holds, or declares to hold, can lead to an RDD. */
  static boolean isDull(Class type) {
    Boolean known = (Boolean) DULL.get(type);
    if (known == null) {
      known = Boolean.valueOf(decide(type));
      DULL.put(type, known);
    }
    return known.booleanValue();
  }

  private static boolean decide(Class type) {
    if (type.isArray()) {
      return decide(type.getComponentType());
    }
    if (type.isPrimitive() || type.isEnum() || isStandIn(type)) {
      return true;
    }
    if (type == Object.class || type.isInterface() && !isNamed(type, DULL_CLASSES) || canHold(type)) {
      return false;
    }
    for (Class part = type; part != null; part = part.getSuperclass()) {
      if (isNamed(part, DULL_CLASSES)) {
        return true;
      }
    }
    return startsWith(type.getName(), DULL_PACKAGES);
  }

  private static boolean isStandIn(Class type) {
    return java.lang.reflect.Proxy.class.isAssignableFrom(type) || Class.class == type;
  }

  private static boolean canHold(Class type) {
    return RDD.class.isAssignableFrom(type) || isContainer(type) || java.util.Optional.class == type
        || java.util.concurrent.atomic.AtomicReference.class.isAssignableFrom(type) || isNamed(type, TELLING);
  }

  /** Of any library, also of one that is dull otherwise: a pair of Commons', a list of Guava's. */
  private static boolean isContainer(Class type) {
    return isOfCollections(type) && (isOfJava(type) || !startsWith(type.getName(), JAVAS));
  }

  /** Iterators and entries, too: they lead to what they were taken from. And futures, where their outcome is there. */
  private static boolean isOfCollections(Class type) {
    return Map.class.isAssignableFrom(type) || Collection.class.isAssignableFrom(type)
        || java.util.Iterator.class.isAssignableFrom(type) || Map.Entry.class.isAssignableFrom(type)
        || java.util.concurrent.Future.class.isAssignableFrom(type) || scala.concurrent.Awaitable.class.isAssignableFrom(type);
  }

  private static boolean isNamed(Class type, String[] names) {
    for (int i = 0; i < names.length; i++) {
      if (type.getName().equals(names[i])) {
        return true;
      }
    }
    return false;
  }

  private static boolean startsWith(String name, String[] prefixes) {
    for (int i = 0; i < prefixes.length; i++) {
      if (name.startsWith(prefixes[i])) {
        return true;
      }
    }
    return false;
  }
}
