package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * What became of Celeborn's ids whose flags are down. It outlives an attachment.
 *
 * The ids of the present generation are those that were neither fenced nor freed, whatever their flags say: Celeborn takes
 * a flag down by itself where data were lost, and files of such an id are still there. What was fenced has no writers and
 * will have none: the fence saw to that. Of any other id an attempt that was told it before may still write.
 */
class FencedIds {
  /** What is known of one id. */
  static class One {
    final int shuffle;
    final long olderThan;
    final boolean isFenced; // else Celeborn itself took the flag down
    long bytes = 0L; // that nobody was told of as freed
    Map given = null; // where its files may lie, of one that was half-written when it was freed first
    boolean freed = false;
    boolean forgotten = false;

    One(int shuffle, long olderThan, boolean isFenced) {
      this.shuffle = shuffle;
      this.olderThan = olderThan;
      this.isFenced = isFenced;
    }
  }

  private final Map ids = new HashMap(); // id -> One

  One of(Object id) {
    return (One) ids.get(id);
  }

  One put(Object id, One one) {
    ids.put(id, one);
    return one;
  }

  /** Those of them that are of the present generation, oldest first. */
  List present(List all) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < all.size(); i++) {
      One one = of(all.get(i));
      if (one == null || !(one.isFenced || one.freed)) {
        found.add(all.get(i));
      }
    }
    return found;
  }

  /** Of a shuffle that the client knows no more nobody can ask for an id, and Celeborn itself deletes what is left of it. */
  void dropCleaned(Map known) {
    Iterator it = ids.values().iterator();
    while (it.hasNext()) {
      One one = (One) it.next();
      if (!known.containsKey(Integer.valueOf(one.shuffle))) {
        it.remove();
      }
    }
  }
}
