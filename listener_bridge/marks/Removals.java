package shufflelifecycle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerMaster;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removals of outdated cached blocks: executors take a moment to drop them, and stages that begin in it may read them.
 *
 * The scheduler's thread waits for that moment, `GONE_MS` at the most. It takes longer if there are many blocks, if a task that
 * may not be killed goes on reading one, or if an executor cannot be asked for a while: that one reads on, and reports its
 * blocks again later (`Scheduler.struckOff`). Stages that begin meanwhile are remembered until `CachedBlocks.takeReaders`
 * takes them.
 *
 * Refuses to know which blocks are to go. To be used in the scheduler's thread, but for what says otherwise. Invariant: a
 * removal stays here until it is over and its readers were taken.
 */
class Removals {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");
  private static final long GONE_MS = 200L; // so long the scheduler waits at the most
  private static final int TRIES = 10; // of two minutes each, as a rule
  private static final long AWAY_MS = 120000L;
  private static final long LOOK_MS = 100L;

  /** Of one RDD's blocks. A thread, since the call returns only when all executors have dropped them. */
  class Removal extends Thread {
    final int rdd;
    final Integer shuffle; // that is written again
    final Map readers = new HashMap(); // stage id -> Submitted: stages that may have read some of the blocks
    private final long untilNs = System.nanoTime() + GONE_MS * 1000000L;
    private volatile boolean isOver = false;

    Removal(int rdd, Integer shuffle) {
      super("shuffle-lifecycle-removal");
      setDaemon(true);
      this.rdd = rdd;
      this.shuffle = shuffle;
    }

    public void run() {
      int tries = 1;
      while (!areDropped() && tries < TRIES) {
        tries++;
      }
      isOver = true;
      whenGone.run();
    }

    private boolean areDropped() {
      try {
        boolean isOneAway = isOneAway();
        master.removeRdd(rdd, true); // waits for as long as `spark.rpc.askTimeout` says
        if (scheduler.executors().contains("driver")) {
          own.removeRdd(rdd); // in local mode, where a failed fetch strikes it off for good
        }
        if (isOneAway || isOneAway()) {
          awaitAll();
          return false; // an executor was not asked, and reports its blocks again
        }
        return true;
      } catch (Throwable t) {
        LOG.info("RDD " + rdd + ": it is not known yet whether executors have dropped its cached blocks", t);
        return false;
      }
    }

    private boolean isOneAway() {
      return !scheduler.struckOff(master).isEmpty();
    }

    private void awaitAll() throws InterruptedException {
      long end = System.nanoTime() + AWAY_MS * 1000000L;
      while (isOneAway() && System.nanoTime() - end < 0L) {
        Thread.sleep(LOOK_MS);
      }
    }

    boolean isOverInTime() throws Exception {
      long leftMs = (untilNs - System.nanoTime()) / 1000000L;
      if (leftMs > 0L) {
        join(leftMs);
      }
      return isOver;
    }
  }

  private final Scheduler scheduler;
  private final BlockManager own; // the driver's
  private final BlockManagerMaster master;
  private final Runnable whenGone;
  private final Near near = new Near();
  private final Map going = new ConcurrentHashMap(); // id of an RDD -> Removal

  /** `whenGone`: run in a thread of ours whenever executors have dropped some. */
  Removals(Scheduler scheduler, BlockManager own, Runnable whenGone) {
    this.scheduler = scheduler;
    this.own = own;
    this.master = own.master();
    this.whenGone = whenGone;
  }

  /** Any thread. */
  boolean areUnderWay() {
    return !going.isEmpty();
  }

  /** Executors are to drop the RDD's blocks, since the shuffle is written again. */
  void start(int rdd, Integer shuffle) {
    Removal removal = new Removal(rdd, shuffle);
    Removal before = (Removal) going.put(Integer.valueOf(rdd), removal);
    if (before != null) {
      removal.readers.putAll(before.readers);
    }
    removal.start();
  }

  /** Waits for what is under way, for a short time. Readers are to be killed before: a block stays while a task reads it. */
  void await() throws Exception {
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      Removal removal = (Removal) it.next();
      if (removal.isOverInTime() && removal.readers.isEmpty()) {
        it.remove();
      }
    }
  }

  /** A stage begins, and may read blocks that are going. `live`: the stage; null if it is over by now. */
  void begins(Submitted reader, Stage live) throws Exception {
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      Removal removal = (Removal) it.next();
      if (live == null ? reader.reads.contains(removal.shuffle) : near.reads(live.rdd(), removal.rdd)) {
        removal.readers.put(Integer.valueOf(reader.stage), reader);
      }
    }
  }

  /** The stage's job has failed: what it has read does not matter. */
  void failed(int stage) {
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      ((Removal) it.next()).readers.remove(Integer.valueOf(stage));
    }
  }

  /** Takes the removals that are over out of here. */
  List takeOver() {
    List over = new ArrayList();
    for (Iterator it = going.values().iterator(); it.hasNext();) {
      Removal removal = (Removal) it.next();
      if (removal.isOver) {
        it.remove();
        over.add(removal);
      }
    }
    return over;
  }
}
