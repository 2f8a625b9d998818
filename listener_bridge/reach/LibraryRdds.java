package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.rdd.RDD;

/**
 * RDDs that a library persists, and drops by itself while others may still read them. For all looks.
 *
 * They are known by the names that the library gives them. Who reads one that was dropped holds it, be it where no look
 * comes to, on the stack of a call: so what a walk has met stays a root until the JVM has collected it (ADR 22).
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

  public List alive() {
    return new ArrayList(met);
  }
}
