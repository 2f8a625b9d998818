package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleManager;
import org.apache.spark.shuffle.sort.SortShuffleManager;

/**
 * Unlinks the files of a shuffle where the driver is the executor; large ones some at a time: while a file is still being
 * written to disk, its unlinking waits, and one that waits must not hold up the others. What is small is gone sooner than
 * threads have begun.
 *
 * Invariant: after `end` no file is begun, and Spark's own manager is asked for the rest, those that nobody named, only
 * before it: it deletes what there is then, which could be another generation's.
 */
public class LocalFiles implements Runnable {
  private static final int AT_A_TIME = 4;
  private static final long LARGE_BYTES = 64L << 20; // of a shuffle

  private final IndexShuffleBlockResolver resolver;
  private final int shuffle;
  private final Iterator mapIds; // Long; under its own monitor
  private final long end;

  private LocalFiles(IndexShuffleBlockResolver resolver, int shuffle, Iterator mapIds, long end) {
    this.resolver = resolver;
    this.shuffle = shuffle;
    this.mapIds = mapIds;
    this.end = end;
  }

  /** Null where they are gone; else why not. */
  static String delete(ShuffleManager manager, int shuffle, List mapIds, long bytes, long end) throws InterruptedException {
    if (mapIds.size() > 1 && bytes >= LARGE_BYTES) {
      IndexShuffleBlockResolver resolver = (IndexShuffleBlockResolver) ((SortShuffleManager) manager).shuffleBlockResolver();
      together(new LocalFiles(resolver, shuffle, mapIds.iterator(), end), Math.min(AT_A_TIME, mapIds.size()));
    }
    if (System.nanoTime() >= end) {
      return "not all files could be unlinked in time";
    }
    manager.unregisterShuffle(shuffle); // the driver's map output tracker is not asked
    return null;
  }

  private static void together(LocalFiles files, int count) throws InterruptedException {
    Thread[] others = new Thread[count - 1];
    for (int i = 0; i < others.length; i++) {
      others[i] = new Thread(files, "shuffle-lifecycle-unlink-" + i);
      others[i].setDaemon(true);
      others[i].start();
    }
    files.run();
    for (int i = 0; i < others.length; i++) {
      others[i].join();
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
      return mapIds.hasNext() && System.nanoTime() < end ? (Long) mapIds.next() : null;
    }
  }
}
