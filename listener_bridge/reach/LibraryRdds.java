package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.rdd.RDD;

/**
 * RDDs that a library persists, and unpersists by itself while others may still read them. For all looks.
 *
 * They are known by the names that the library gives them. Whoever reads one that was unpersisted refers to it, perhaps only
 * from a thread's stack, where no look comes. So one that a walk has met stays a root until the JVM has collected it (ADR 22).
 */
public class LibraryRdds {
  private static final String[] NAMES = { // how they begin
    "Delta Table State", "Delta Source Snapshot" // of Delta Lake: what a table's log says, until a commit replaces it
  };
  private final Set met = Collections.newSetFromMap(new WeakHashMap()); // of RDDs, which are equal to themselves alone

  /** Whether an RDD is one of these; if so, it is remembered. */
  public boolean meet(RDD rdd) {
    Object name = Fields.get(RDD.class, rdd, "name");
    for (int i = 0; name != null && i < NAMES.length; i++) {
      if (((String) name).startsWith(NAMES[i])) {
        met.add(rdd);
        return true;
      }
    }
    return false;
  }

  /** Those that were met and that the JVM has not collected yet. */
  public List alive() {
    return new ArrayList(met);
  }
}
