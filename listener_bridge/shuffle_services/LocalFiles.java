package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleManager;
import org.apache.spark.shuffle.sort.SortShuffleManager;

/**
 * Unlinks the files of a shuffle where the driver is the executor, some at a time: while a large file is still being
 * written to disk, its unlinking waits, and one that waits must not hold up the others.
 *
 * Invariant: when `delete` returns, Spark's own manager has seen to all of them, also to those that nobody named.
 */
public class LocalFiles implements Runnable {
  private static final int AT_A_TIME = 4;

  private final IndexShuffleBlockResolver resolver;
  private final int shuffle;
  private final Iterator mapIds; // Long; under its own monitor

  private LocalFiles(IndexShuffleBlockResolver resolver, int shuffle, Iterator mapIds) {
    this.resolver = resolver;
    this.shuffle = shuffle;
    this.mapIds = mapIds;
  }

  static void delete(ShuffleManager manager, int shuffle, List mapIds) throws InterruptedException {
    if (mapIds.size() > 1) {
      IndexShuffleBlockResolver resolver = (IndexShuffleBlockResolver) ((SortShuffleManager) manager).shuffleBlockResolver();
      together(new LocalFiles(resolver, shuffle, mapIds.iterator()), Math.min(AT_A_TIME, mapIds.size()));
    }
    manager.unregisterShuffle(shuffle); // the driver's map output tracker is not asked
  }

  private static void together(LocalFiles files, int count) throws InterruptedException {
    Thread[] threads = new Thread[count];
    for (int i = 0; i < count; i++) {
      threads[i] = new Thread(files, "shuffle-lifecycle-unlink-" + i);
      threads[i].setDaemon(true);
      threads[i].start();
    }
    for (int i = 0; i < count; i++) {
      threads[i].join();
    }
  }

  public void run() {
    try {
      for (Long mapId = next(); mapId != null; mapId = next()) {
        resolver.removeDataByMap(shuffle, mapId.longValue());
      }
    } catch (Throwable t) {
      return; // the manager comes to what is left, and says what is wrong with it
    }
  }

  private Long next() {
    synchronized (mapIds) {
      return mapIds.hasNext() ? (Long) mapIds.next() : null;
    }
  }
}
